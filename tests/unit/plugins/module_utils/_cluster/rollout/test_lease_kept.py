# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every call of a rollout that may wait renews its Lease meanwhile, and stops when the Lease is lost."""

from __future__ import annotations

import itertools
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import lease_objects
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import revert
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import soak, verify
from tests.sim.api.direct import Clock, Direct
from tests.support.calls import NODES
from tests.support.objects import configmap, live, node, place, pod, reference, status, text
from tests.support.soaking import OWNED, snapshot, stopped

LEASE = {"name": "mine", "namespace": "kube-system", "uid": "u", "holder": "me", "group": "batch", "duration": 30}
A, BAD = reference(), reference("bad")


class Leased(Direct):
    """A node whose kubelet does nothing; `renewed` are the seconds of all renewals, from `lost` on they fail."""

    def __init__(self, clock: Clock, *nodes: dict[str, t.Any]) -> None:
        super().__init__(
            *nodes,
            pods=[pod("a", **OWNED)],
            configmaps=[configmap(content=text(maxPods=50))],
            live={"n1": live(maxPods=50)},
            clock=clock,
        )
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


OPTIONS: dict[str, t.Any] = {
    "nodes": ["n1"],
    "source": None,
    "sources": None,
    "delivery": "auto",
    "check_source": True,
    "wait": True,
    "wait_timeout": 100,
    "wait_sleep": 2,
    "lease": LEASE,
}


def _source(api: Leased, check: bool, **given: t.Any) -> t.Any:
    return verify.config_source(api, {**OPTIONS, **given}, check)  # type: ignore[arg-type]  # by its shape


def assigned(api: Leased, check: bool = False) -> t.Any:
    return _source(api, check, state="present", source=place())


def reset(api: Leased, check: bool = False) -> t.Any:
    api.nodes["n1"] = node("n1", place(), status(A, A))
    return _source(api, check, state="absent")


def verified(api: Leased, check: bool = False) -> t.Any:
    api.nodes["n1"] = node("n1", place(), status())
    return _source(api, check, state="verified")


def soaked(api: Leased, check: bool = False) -> t.Any:
    """Without seconds: it waits for a pod that is not Ready again."""
    api.nodes["n1"] = node("n1", place(), status(A, A))
    before = snapshot(api)
    api.pods["a"]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    options = {**OPTIONS, "seconds": 0, "pods": before, "allow_pod_loss": "0", "pods_timeout": 100}
    return soak.soak(api, options, check)  # type: ignore[arg-type]  # by its shape


def reverted(api: Leased, check: bool = False) -> t.Any:
    api.nodes["n1"] = node("n1", place("bad"), status(BAD, BAD))
    row = {"changed": True, "delivery": "native", "source": place("bad"), "previous": place()}
    options = {"nodes": {"n1": row}, "current": None, "wait_timeout": 100, "wait_sleep": 2, "lease": LEASE}
    return revert.revert(api, options, check)  # type: ignore[arg-type]  # by its shape


CALLS = [assigned, reset, verified, soaked, reverted]
WRITING = [assigned, reset, reverted]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = stopped(monkeypatch)
    monkeypatch.setattr(revert, "time", made)
    return made


@pytest.fixture
def api(clock: Clock) -> Leased:
    return Leased(clock, node("n1", config=status()))


@pytest.mark.parametrize("call", CALLS)
def test_the_lease_is_renewed_while_the_call_waits(clock: Clock, api: Leased, call: t.Callable[..., t.Any]) -> None:
    """A third of its duration at most between two renewals, and from the last one to the end."""
    with pytest.raises(Exception, match="1 node failed"):
        call(api)
    moments = [*api.moments, clock.now - 1000]
    assert moments[0] == 0 and moments[-1] >= 99
    assert max(later - sooner for sooner, later in itertools.pairwise(moments)) <= 10.01


@pytest.mark.parametrize("call", WRITING)
@pytest.mark.fault(case=56)
def test_a_lost_lease_stops_before_the_first_write(api: Leased, call: t.Callable[..., t.Any]) -> None:
    api.lost = 0
    with pytest.raises(lease_objects.LeaseLost, match="this rollout lost its Lease kube-system/mine, held by me"):
        call(api)
    assert not api.writes


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.fault(case=56)
def test_a_lease_that_is_lost_while_the_call_waits_ends_it(
    clock: Clock, api: Leased, call: t.Callable[..., t.Any]
) -> None:
    """Without a verdict: the next step must not revert nodes that another rollout changes now."""
    api.lost = 35
    with pytest.raises(lease_objects.LeaseLost, match="lost its Lease") as caught:
        call(api)
    assert 35 <= clock.now - 1000 <= 45.01
    assert not any("differences" in row for row in caught.value.result.get("nodes", {}).values())
    assert caught.value.result.get("stop", True) is True


@pytest.mark.parametrize("call", CALLS)
def test_check_mode_renews_nothing(api: Leased, call: t.Callable[..., t.Any]) -> None:
    if call in WRITING:
        call(api, True)
    else:
        with pytest.raises(Exception, match="1 node failed"):
            call(api, True)
    assert not api.moments
