# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several runs of ansible-playbook at once, on groups that share nodes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.sim.api.handlers import Request
from tests.sim.api.refusal import Refusal
from tests.sim.played import PlayedCluster, played_ansible
from tests.support.api import objects
from tests.support.api.calls import CONFIGMAPS, NODES
from tests.support.plays.ansible import Ansible, Run, extra

LEFT, RIGHT = "n1:n2", "n2:n3"
OLD = "livenodes-kubelet-abcdefghij"
# A run that is refused waits for a renewal of this Lease, at most a third of its duration.
SECONDS = 24
VALUES = {"n1": 80, "n2": 81}
"""The declared values of two nodes that have a batch each."""


class Watched(PlayedCluster):
    """Three nodes, and a ConfigMap that no node uses.

    `unlocked` are the writes of nodes, and the removals of ConfigMaps, without one Lease that covers them or beside
    another one that does.
    """

    def __init__(self) -> None:
        super().__init__("n1", "n2", "n3")
        self.configmaps[OLD] = objects.configmap(OLD)
        self.unlocked: list[str] = []

    def serve(self, method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        """Answer one request."""
        words = f"{method} {url}"
        if method == "PATCH" and url.startswith(NODES) and "configSource" in (body.get("spec") or {}):
            self._watch(words, url.partition("?")[0].rpartition("/")[2])
        if method == "DELETE" and url.startswith(CONFIGMAPS):
            self._watch(words, None)
        return super().serve(method, url, body, request)

    def _watch(self, words: str, node: str | None) -> None:
        covering = []
        for lease in list(self.claims.items.values()):
            notes = lease["metadata"]["annotations"]
            names = json.loads(notes[f"{PREFIX}nodes"])
            if notes[f"{PREFIX}state"] == "held" and (None in (names, node) or node in names):
                covering.append(names)
        if len(covering) != 1 or (node is None and covering != [None]):
            self.unlocked.append(f"{words} under {covering}")

    def state(self) -> tuple[dict[str, int], set[str]]:
        """Return what all kubelets run, and the names of all ConfigMaps."""
        return self.runs(), set(self.configmaps)


@pytest.fixture
def fleet() -> t.Iterator[Watched]:
    """Three nodes with native delivery."""
    with Watched() as made:
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: Watched) -> Ansible:
    """ansible-playbook with the fleet as its cluster."""
    return playbooks(tmp_path, fleet)


@pytest.fixture
def two(tmp_path: Path, fleet: Watched) -> Ansible:
    """ansible-playbook for the nodes of VALUES. The kubelet of n1 does not follow its source until it is woken."""
    fleet.deaf = {"n1"}
    return playbooks(tmp_path, fleet, {name: {"kubelet_config": {"maxPods": value}} for name, value in VALUES.items()})


def playbooks(home: Path, fleet: PlayedCluster, hosts: dict[str, t.Any] | None = None) -> Ansible:
    given = {"kubelet_config_wait_timeout": 500, "kubelet_config_lease_seconds": SECONDS}
    return played_ansible(home, fleet, hosts, **given)


class Begun:
    """`with Begun(ansible, "rollout", "--limit", "n1") as run`: a run of its own that has just begun."""

    def __init__(self, ansible: Ansible, playbook: str, *arguments: str) -> None:
        self._process = ansible.start(playbook, *arguments)

    def __enter__(self) -> Begun:
        return self

    def __exit__(self, *_error: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def end(self) -> Run:
        """Wait for its end, for 5 minutes at most."""
        output, _nothing = self._process.communicate(timeout=300)
        return Run(self._process.returncode, output)

    def running(self) -> bool:
        """Return whether it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.1)
        return self._process.returncode is None


def of(playbook: str, hosts: str, value: int = 80) -> tuple[str, ...]:
    """Return the arguments of a run on some hosts."""
    if playbook == "prune":
        return ()
    return extra(kubelet_config_hosts=hosts, kubelet_config={"maxPods": value})


def until(what: t.Callable[[], t.Any]) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + 200
    while not what():
        assert time.monotonic() < end
        time.sleep(0.1)


BUSY = "another rollout is running on nodes of"
PAIRS = {
    "rollout-rollout": ("rollout", "rollout", f"{BUSY} {RIGHT}"),
    "rollout-reset": ("rollout", "reset", f"{BUSY} {RIGHT}"),
    "reset-rollout": ("reset", "rollout", f"{BUSY} {RIGHT}"),
    "reset-reset": ("reset", "reset", f"{BUSY} {RIGHT}"),
    "rollout-prune": ("rollout", "prune", "a rollout is under way"),
    "reset-prune": ("reset", "prune", "a rollout is under way"),
}
SHORT = ("rollout-rollout", "rollout-reset", "rollout-prune")


@pytest.mark.parametrize(
    "pair", [pytest.param(pair, marks=() if pair in SHORT else (pytest.mark.long,)) for pair in PAIRS]
)
@pytest.mark.fault(case=58)
def test_a_run_that_begins_during_another_changes_nothing(ansible: Ansible, fleet: Watched, pair: str) -> None:
    """It names the holder and the shared node, and goes through when the other one has ended."""
    first, second, words = PAIRS[pair]
    fleet.deaf = {"n1"}
    with Begun(ansible, first, *of(first, LEFT)) as one:
        until(lambda: "n1" in fleet.assigned)
        before = fleet.state()
        with Begun(ansible, second, *of(second, RIGHT, 70)) as other:
            refused = other.end()
        assert one.running() and fleet.state() == before and fleet.assigned == {"n1"}, refused.output
        fleet.wake("n1")
        done = one.end()
    assert refused.code != 0 and words in " ".join(refused.output.split()), refused.output
    assert second == "prune" or "Nodes in both rollouts: n2." in " ".join(refused.output.split()), refused.output
    value = 80 if first == "rollout" else fleet.local["maxPods"]
    assert (done.code, fleet.runs()) == (0, {"n1": value, "n2": value, "n3": 90}), done.output
    with Begun(ansible, second, *of(second, RIGHT, 70)) as other:
        again = other.end()
    assert again.code == 0, again.output
    value = {"rollout": 70, "reset": fleet.local["maxPods"], "prune": value}[second]
    assert fleet.live["n2"]["maxPods"] == value and (OLD in fleet.configmaps) == (second != "prune"), again.output
    assert (fleet.claims.items, fleet.unlocked) == ({}, [])


@pytest.mark.fault(case=23)
def test_two_limited_rollouts_at_once(two: Ansible, fleet: Watched) -> None:
    """The Lease covers the group, and the batch takes longer than it lasts without a renewal."""
    with Begun(two, "rollout", "--limit", "n1") as one:
        until(lambda: "n1" in fleet.assigned)
        time.sleep(SECONDS + 6)
        second = two.playbook("rollout", "--limit", "n2")
        assert fleet.assigned == {"n1"}
        fleet.wake("n1")
        first = one.end()
    assert second.code != 0 and "another rollout is running on nodes of all" in second.output, second.output
    assert "Nodes in both rollouts: n1, n2." in second.output, second.output
    assert (first.code, fleet.assigned, fleet.claims.items) == (0, {"n1"}, {}), first.output
    again = two.playbook("rollout", "--limit", "n2")
    assert (again.code, fleet.assigned, fleet.unlocked) == (0, {"n1", "n2"}, []), again.output
    assert fleet.runs() == {**VALUES, "n3": 90}


class Refusing(PlayedCluster):
    """A cluster that refuses new ConfigMaps; `leases` are the numbers of Leases at that time."""

    def pushing(self, body: dict[str, t.Any]) -> None:
        """Refuse."""
        self.leases = len(self.claims.items)
        raise Refusal(403, "configmaps is forbidden")


def test_what_is_pushed_is_protected_by_the_lease(tmp_path: Path) -> None:
    """It is pushed only under the Lease, so that no prune can come in between. A push that fails releases the Lease."""
    with Refusing("n1") as fleet:
        run = playbooks(tmp_path, fleet).playbook("rollout", *of("rollout", "n1"))
        assert (fleet.leases, fleet.claims.items, fleet.assigned) == (1, {}, set()), run.output
    assert run.code != 0 and "configmaps is forbidden" in run.output and "No node was changed" in run.output
