# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet whose binary was replaced by one that refuses the configurations of the node (other_kubelet.py)."""

from __future__ import annotations

import time
import typing as t

import pytest

from tests.support.lab_node import other_kubelet
from tests.support.lab_node.node_bench import STORE, Bench

OWN = "/var/lib/kubelet/config.yaml"
REFUSED = '"maxPods": 55'
BAD = {"evictionHard": {"memory.available": "lots"}}


@pytest.fixture
def bench(bench: Bench) -> t.Iterator[Bench]:
    """Yield node n1 with the guard; restore its kubelet and its own config file afterwards."""
    bench.node.run(f"cp -p {OWN} {OWN}.saved")
    try:
        yield bench
    finally:
        other_kubelet.remove(bench.node)
        bench.node.run(f"mv {OWN}.saved {OWN}")


def graduated(bench: Bench) -> dict[str, str]:
    """Make a configuration with `maxPods: 55` last-known-good; return its source."""
    good = bench.assign({"maxPods": 55}, deadline=2, confirm=90)
    bench.wait(bench.healthy, 30, "healthz")
    bench.confirm()
    bench.wait(
        lambda: good["uid"] in bench.node.run(f"cat {STORE}/store/meta/last-known-good"), 60, "graduation", every=1
    )
    return good


def restarts(bench: Bench) -> int:
    """Return how often systemd has restarted a kubelet that ended."""
    return int(bench.node.run("systemctl show --property=NRestarts --value kubelet"))


@pytest.mark.parametrize(
    ("refused", "dies"),
    [(True, False), (False, True), *(pytest.param(both, both, marks=pytest.mark.long) for both in (True, False))],
)
@pytest.mark.fault(case=33)
def test_a_trial_makes_room_for_what_it_accepts(bench: Bench, refused: bool, dies: bool) -> None:
    """The new binary refuses the trial, or dies of it later. It also refuses last-known-good, or not."""
    good = graduated(bench)
    other_kubelet.install(bench.node, '"maxPods": 5[56]' if refused else '"maxPods": 56')

    bad = bench.assign(BAD if dies else {"maxPods": 56}, deadline=120)
    target = "store/local/config" if refused else f"store/checkpoints/{good['uid']}/1"
    took = bench.wait(lambda: bench.active() == target and bench.healthy(), 60, "revert")
    print(f"\nrecovery: {took:.1f} s")
    if not dies:
        assert restarts(bench) == 0
    error = "the kubelet refused the" if dies else f"kubelet {other_kubelet.version(bench.node)} refuses this"
    bench.wait(lambda: f"{error} configuration" in bench.status().get("error", ""), 30, "annotation")
    status = bench.status()
    assert status["assigned"]["configMap"] == bad
    assert (status.get("active"), status.get("lastKnownGood")) == (
        (None, None) if refused else ({"configMap": good}, {"configMap": good})
    )
    assert bench.configz()["maxPods"] == (110 if refused else 55)


@pytest.mark.fault(case=24)
def test_a_refused_last_known_good_makes_room_for_the_own_file_as_it_is_now(bench: Bench) -> None:
    graduated(bench)
    bench.node.run(f"sed -i '/^maxPods:/d' {OWN} && echo 'maxPods: 77' >> {OWN}")
    own = bench.node.run(f"cat {OWN}")
    other_kubelet.install(bench.node, REFUSED)

    begun = time.monotonic()
    bench.node.run("systemctl restart kubelet")
    print(f"\nstart of the new binary: {time.monotonic() - begun:.2f} s")
    bench.wait(bench.healthy, 30, "healthz")
    assert bench.active() == "store/local/config" and restarts(bench) == 0
    bench.wait(lambda: bench.status().get("error"), 30, "annotation")
    status = bench.status()
    assert status["reason"] == "reverted to the local configuration"
    refusal = f"kubelet {other_kubelet.version(bench.node)} refuses this configuration: {other_kubelet.REFUSAL}"
    assert refusal in status["error"]
    bench.wait(bench.events, 30, "Event")
    assert "maxPods is unknown" in bench.events()[-1]["message"] and bench.events()[-1]["type"] == "Warning"
    assert bench.configz()["maxPods"] == 77 and bench.node.run(f"cat {OWN}") == own

    # A downgrade is another binary too: it accepts what is active.
    other_kubelet.remove(bench.node)
    bench.node.run("systemctl start kubelet")
    bench.wait(bench.healthy, 30, "healthz")
    assert bench.active() == "store/local/config" and restarts(bench) == 0
    assert f'"version": "{bench.node.release.version}"' in bench.node.run(f"cat {STORE}/store/binary")
