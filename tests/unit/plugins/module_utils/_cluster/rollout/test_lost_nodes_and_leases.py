# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that is deleted or replaced during a call, and a Lease that is lost during one.

The row of such a node names the cause. The other nodes of the call are gated, drained, assigned, verified, soaked and
reverted.
"""

from __future__ import annotations

import itertools
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import lease_objects
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import revert
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import soak, verify
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, node_row
from tests.sim.api.direct import Clock, Direct
from tests.support.api import assigning, draining, gating, soaking
from tests.support.api.calls import NODES
from tests.support.api.objects import configmap, live, node, place, pod, reference, status, text
from tests.support.api.soaking import OWNED, snapshot

NAMES = ("n1", "n2", "n3")
LOST, OTHERS = "n2", ("n1", "n3")
A = reference("config-a")
OLD = reference("old")
OURS = {"holder": "me", "time": "2026-01-01T00:00:00Z"}
Call = t.Callable[[Direct], dict[str, t.Any]]
SOURCES = {name: {**place("config-a"), "node_uid": f"uid-{name}"} for name in NAMES}


class Autoscaled(Direct):
    """A cluster whose node LOST is deleted, or replaced by a new one, before request number `before`."""

    def __init__(self, *found: dict[str, t.Any], before: int = -1, again: bool = False, **more: t.Any) -> None:
        super().__init__(*found, **more)
        self.before = before
        self.again = again

    def _send(self, method: str, path: str, *rest: t.Any) -> bytes:
        self._scale()
        answer = super()._send(method, path, *rest)
        if method == "PATCH" and path.startswith(NODES) and "configSource" in rest[1].get("spec", {}):
            self._follow(path.rpartition("/")[2])
        return answer

    def _scale(self) -> None:
        if len(self.asked) >= self.before >= 0 and LOST in self.nodes:
            self.before = -1
            del self.nodes[LOST]
            self.pods.pop(f"web-{LOST}", None)
            if self.again:
                self.nodes[LOST] = node(LOST, config=status(), revision="9")
                self.nodes[LOST]["metadata"]["uid"] = "uid-of-the-new-one"

    def _follow(self, name: str) -> None:
        """Make a kubelet with native delivery run its source at once."""
        if name in self.nodes:
            source = (self.nodes[name]["spec"].get("configSource") or {}).get("configMap")
            full = {**source, "uid": f"uid-{source['name']}", "resourceVersion": "7"} if source else None
            self.nodes[name]["status"]["config"] = status(full, full)


def cluster(source: str, **more: t.Any) -> Autoscaled:
    """Return three nodes that run this source, each with a pod."""
    made = Autoscaled(
        *(node(name, place(source), status(reference(source), reference(source))) for name in NAMES),
        pods=[pod(f"web-{name}", node=name, owner=("ReplicaSet", "web")) for name in NAMES],
        configmaps=[configmap(name, text(maxPods=50)) for name in ("config-a", "old")],
        live=dict.fromkeys(NAMES, live(maxPods=50)),
        **more,
    )
    made.renewed = dict.fromkeys(NAMES, "2026-01-01T00:00:00Z")
    return made


def config_source(api: t.Any, state: str, **more: t.Any) -> dict[str, t.Any]:
    given = assigning.patiently(state=state, sources=SOURCES, wait=False, wait_timeout=20, wait_sleep=2, lease=None)
    return verify.config_source(api, {**given, **more}, False)


def gated(api: t.Any) -> dict[str, t.Any]:
    return gating.look(api, list(NAMES), NAMES, max_unavailable=3, started=True, timeout=10, pods=True)


def reverted(api: t.Any) -> dict[str, t.Any]:
    row = {"changed": True, "delivery": "native", "source": A, "previous": OLD}
    rows = {name: {**row, "uid": f"uid-{name}"} for name in NAMES}
    options = {"nodes": rows, "current": None, "wait_timeout": 20, "wait_sleep": 2, "lease": None}
    return revert.revert(api, options, False)


# The call, and what the nodes run before it.
STAGES: dict[str, tuple[Call, str]] = {
    "gate": (gated, "old"),
    "drain": (draining.run, "old"),
    "uncordon": (lambda api: draining.run(api, state="restored"), "old"),
    "assign": (lambda api: config_source(api, "present"), "old"),
    "assign and wait": (lambda api: config_source(api, "present", wait=True), "old"),
    "reset": (lambda api: config_source(api, "absent", nodes=list(NAMES), sources=None), "old"),
    "verify": (lambda api: config_source(api, "verified"), "config-a"),
    "soak": (lambda api: soaking.run(api, seconds=40), "config-a"),
    "revert": (reverted, "config-a"),
}


def play(stage: str, clock: Clock, before: int, again: bool) -> tuple[dict[str, t.Any], Autoscaled]:
    """Return the rows of a call during which the node is deleted, and the cluster after it."""
    call, source = STAGES[stage]
    api = cluster(source, before=before, again=again)
    if stage == "uncordon":
        for name in NAMES:
            api.nodes[name]["metadata"]["annotations"] = {annotation.CORDONED: annotation.text(OURS)}
            api.nodes[name]["spec"]["unschedulable"] = True
    for second in range(5, 300, 5):
        heartbeats = dict.fromkeys(NAMES, f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z")
        clock.at(second, lambda heartbeats=heartbeats: setattr(api, "renewed", heartbeats))
    try:
        return call(api)["nodes"], api
    except NodesFailed as failed:
        assert set(failed.failures) == {LOST}, failed
        assert failed.result.get("stop", False) is False
        return failed.result["nodes"], api


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "replaced"])
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.fault(case=51)
def test_a_node_that_is_no_longer_there_is_a_row(stage: str, again: bool, clock: Clock) -> None:
    found = set()
    undisturbed = play(stage, clock, -1, False)[1]
    for before in range(len(undisturbed.requests)):
        rows, api = play(stage, clock, before, again)
        where = f"{stage}, before request {before}: {api.requests}, {rows}"
        assert set(rows) == set(NAMES), where
        assert all(set(vars(node_row.Row(True, ""))) <= set(row) for row in rows.values()), where
        assert all(rows[name]["ok"] for name in OTHERS), where
        lost = rows[LOST]
        if not lost["ok"]:
            assert lost["state"] in node_row.ABSENT and lost["message"], where
            words = "the cluster at https://api.example:6443 has no such Node"
            assert lost["state"] != "gone" or lost["message"].startswith(words), where
            found.add(lost["state"])
        for name in OTHERS:
            done(stage, api, name)
    # These know no earlier Node: to them, a new one is a node like any other.
    assert found or (again and stage in ("gate", "drain", "uncordon", "reset")), f"{stage} has noticed nothing"


def done(stage: str, api: Autoscaled, name: str) -> None:
    """Check what a call must have done to a node, whatever happened to another one."""
    spec = api.nodes[name]["spec"]
    goal = {"assign": "config-a", "assign and wait": "config-a", "revert": "old", "reset": None}
    if stage in goal:
        assert ((spec.get("configSource") or {}).get("configMap") or {}).get("name") == goal[stage]
    if stage == "drain":
        assert spec["unschedulable"] and f"web-{name}" not in api.pods
    if stage == "uncordon":
        assert "unschedulable" not in spec


LEASE = {"name": "mine", "namespace": "kube-system", "uid": "u", "holder": "me", "group": "batch", "duration": 30}
BAD = reference("bad")


class Leased(Direct):
    """A node whose kubelet does nothing; `renewed` are the seconds of all renewals, from `lost` on they fail."""

    def __init__(self, clock: Clock, *nodes: dict[str, t.Any]) -> None:
        maps = [configmap(content=text(maxPods=50))]
        super().__init__(*nodes, pods=[pod("a", **OWNED)], configmaps=maps, live={"n1": live(maxPods=50)}, clock=clock)
        self.leases["mine"] = {"metadata": {"name": "mine", "uid": "u"}, "spec": {"holderIdentity": "me"}}
        self.lost = 1e9
        self.moments: list[float] = []
        self.writes: list[float] = []
        self.before(f"PATCH {NODES}/*", lambda: self.writes.append(clock.now - 1000))
        self.before(f"PATCH {lease_objects.path('kube-system', 'mine')}", self._renew)

    def _renew(self) -> None:
        now = self.clock.now - 1000
        if now >= self.lost:
            self.leases.clear()
        else:
            self.moments.append(now)


def _source(api: Leased, check: bool, **given: t.Any) -> t.Any:
    options = assigning.patiently(nodes=["n1"], wait_timeout=100, wait_sleep=2, lease=LEASE, **given)
    return verify.config_source(api, options, check)


def assign_one(api: Leased, check: bool = False) -> t.Any:
    return _source(api, check, source=place())


def reset_one(api: Leased, check: bool = False) -> t.Any:
    api.nodes["n1"] = node("n1", place(), status(A, A))
    return _source(api, check, state="absent")


def verify_one(api: Leased, check: bool = False) -> t.Any:
    api.nodes["n1"] = node("n1", place(), status())
    return _source(api, check, state="verified")


def soak_one(api: Leased, check: bool = False) -> t.Any:
    """Without seconds: it waits for a pod that is not Ready again."""
    api.nodes["n1"] = node("n1", place(), status(A, A))
    options = soaking.options(api, seconds=0, pods=snapshot(api), pods_timeout=100, lease=LEASE)
    api.pods["a"]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    return soak.soak(api, options, check)


def revert_one(api: Leased, check: bool = False) -> t.Any:
    api.nodes["n1"] = node("n1", place("bad"), status(BAD, BAD))
    row = {"changed": True, "delivery": "native", "source": place("bad"), "previous": place()}
    options = {"nodes": {"n1": row}, "current": None, "wait_timeout": 100, "wait_sleep": 2, "lease": LEASE}
    return revert.revert(api, options, check)  # type: ignore[arg-type]  # by its shape


OneCall = t.Callable[..., t.Any]
CALLS = [assign_one, reset_one, verify_one, soak_one, revert_one]
WRITING = [assign_one, reset_one, revert_one]


@pytest.fixture
def api(clock: Clock) -> Leased:
    return Leased(clock, node("n1", config=status()))


@pytest.mark.parametrize("call", CALLS)
def test_the_lease_is_renewed_while_the_call_waits(clock: Clock, api: Leased, call: OneCall) -> None:
    """A third of its duration at most between two renewals, and from the last one to the end."""
    with pytest.raises(Exception, match="1 node failed"):
        call(api)
    moments = [*api.moments, clock.now - 1000]
    assert moments[0] == 0 and moments[-1] >= 99 and len(moments) <= 16
    assert max(later - sooner for sooner, later in itertools.pairwise(moments)) <= 10.01


@pytest.mark.parametrize("call", WRITING)
@pytest.mark.fault(case=56)
def test_a_lost_lease_stops_before_the_first_write(api: Leased, call: OneCall) -> None:
    api.lost = 0
    with pytest.raises(lease_objects.LeaseLost, match="this rollout lost its Lease kube-system/mine, held by me"):
        call(api)
    assert not api.writes


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.fault(case=56)
def test_a_lease_that_is_lost_while_the_call_waits_ends_it(clock: Clock, api: Leased, call: OneCall) -> None:
    """Without a verdict: the next step must not revert nodes that another rollout changes now."""
    api.lost = 35
    with pytest.raises(lease_objects.LeaseLost, match="lost its Lease") as caught:
        call(api)
    assert 35 <= clock.now - 1000 <= 45.01
    assert not any("differences" in row for row in caught.value.result.get("nodes", {}).values())
    assert caught.value.result.get("stop", True) is True


@pytest.mark.parametrize("call", CALLS)
def test_check_mode_renews_nothing(api: Leased, call: OneCall) -> None:
    if call in WRITING:
        call(api, True)
    else:
        with pytest.raises(Exception, match="1 node failed"):
            call(api, True)
    assert not api.moments
