# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reset to a local configuration that works, and to one that ends the kubelet, which is reverted."""

from __future__ import annotations

import typing as t

import pytest

from tests.support.lab import settled
from tests.support.lab_node.node_bench import STORE
from tests.support.lab_node.role_bench import Role
from tests.support.plays import boundaries

OWN = "/var/lib/kubelet/config.yaml"
# The binary accepts it, and the kubelet ends with it.
DEADLY = "\nevictionHard: {memory.available: lots}\n"


@pytest.fixture
def switched(role: Role) -> t.Iterator[Role]:
    """Yield a node that runs a confirmed configuration; restore its own config file before it is reset."""
    role.node.run(f"cp -a {OWN} /root/own.yaml")
    run = role.play(role.bench.source(), {**role.local, settled.FIELD: settled.NEW}, kubelet_config_trial_seconds=1)
    try:
        assert run.code == 0, run.output
        role.bench.wait(lambda: not role.bench.on_trial() and settled.quiet(role.bench), 60, "graduation", every=1)
        yield role
    finally:
        role.node.run(f"cp -a /root/own.yaml {OWN}; rm /root/own.yaml")


def rewrite(role: Role, more: str) -> None:
    """Rewrite the node's own config file, as an upgrade of kubeadm does."""
    role.node.run(f"grep -v '^evictionHard' /root/own.yaml > {OWN}; cat >> {OWN}", stdin=more)


def restarts(role: Role, since: float) -> int:
    """Return how often systemd started the kubelet since a time of the node's clock."""
    lines = role.node.run(f"journalctl --unit=kubelet --since=@{since:.3f} --output=short").splitlines()
    return sum("systemd[1]: Started kubelet" in line for line in lines)


@pytest.mark.fault(case=34)
def test_a_file_that_ends_the_kubelet_is_reverted(switched: Role) -> None:
    role = switched
    active = role.bench.active()
    rewrite(role, DEADLY)
    run = role.play(None, "", tasks_from="reset")
    assert run.code and "was not reset, and was reverted to its previous configuration" in run.output, run.output
    settled.runs(role.bench, settled.NEW, 60)
    assert role.bench.active() == active
    role.bench.wait(lambda: role.bench.status().get("error"), 60, "annotation")
    assert "assigned" not in role.bench.status()


@pytest.mark.long
@pytest.mark.fault(case=34)
def test_the_guard_reverts_an_interrupted_reset_alone(switched: Role) -> None:
    role = switched
    active = role.bench.active()
    play = role.write(dict.fromkeys(role.benches, (None, "")), "reset", kubelet_config_confirm_seconds=30)
    run = boundaries.steps(role.ansible, play, lambda _count, name: not name.startswith("Reset | Confirm"))
    assert run.code == -9 and settled.qps(role.bench) == settled.OLD, run.output
    settled.settled(role.bench, settled.NEW, 90)
    assert role.bench.active() == active and "was not confirmed" in role.bench.status()["error"]


def test_the_own_file_as_it_is_now(switched: Role) -> None:
    role = switched
    rewrite(role, "\nmaxPods: 42\n")
    text = role.node.run(f"cat {OWN}")
    run = role.play(None, "", tasks_from="reset")
    assert run.code == 0, run.output
    assert role.bench.configz()["maxPods"] == 42 and role.node.run(f"cat {OWN}") == text
    assert not role.node.run(f"ls -d {STORE} 2>/dev/null", check=False)


@pytest.mark.long
def test_the_number_of_restarts(switched: Role) -> None:
    """Two after a configuration; one if the local configuration is active already."""
    role = switched
    now = float(role.node.run("date +%s.%N"))
    assert role.play(None, "", tasks_from="reset").code == 0
    assert restarts(role, now) == 2
    bad = role.play(role.bench.source(), {**role.local, "evictionHard": {"memory.available": "lots"}})
    assert bad.code and role.bench.active() == "store/local/config", bad.output
    role.bench.wait(lambda: role.bench.healthy() and settled.quiet(role.bench), 60, "end of the revert", every=1)
    now = float(role.node.run("date +%s.%N"))
    assert role.play(None, "", tasks_from="reset").code == 0
    assert restarts(role, now) == 1
