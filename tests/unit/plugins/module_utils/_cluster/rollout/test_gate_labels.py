# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate refuses a batch whose restart would lose pods because of the labels of their Node."""

from __future__ import annotations

import typing as t

import pytest

from tests.sim.api.direct import Clock
from tests.support import gating
from tests.support.calls import NODES
from tests.support.gating import group, refused, run
from tests.support.objects import node, pod


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return gating.simulated_time(monkeypatch)


ZONE = "topology.kubernetes.io/zone"


def placed(*names: str, of: str = "n1") -> list[dict[str, t.Any]]:
    """Return pods that require the zone a."""
    return [{**pod(name, of), "spec": {"nodeName": of, "nodeSelector": {ZONE: "a"}}} for name in names]


@pytest.mark.fault(case=29)
def test_pods_that_a_changed_label_would_cost(clock: Clock) -> None:
    """Without another request, and without waiting: only a change of the labels or of the pods helps."""
    api = group(n1=node("n1", labels={ZONE: "b"}), n2=node("n2", labels={ZONE: "a"}))
    api.pods.add(pod("free", "n1"), *placed("web"), *placed("db", of="n2"))
    began = clock.time()
    error = refused(api, "n1", "n2", max_unavailable=3, pods=True, timeout=60)
    assert clock.time() == began
    assert error.message == (
        "the batch may not begin, and nothing was changed on its nodes. Their restarted kubelets would reject pods. "
        "NodeAffinity: the node's labels no longer match the pod's node selector or node affinity:\n"
        f"n1: default/web needs {ZONE}=a, the node has b\n"
        "Correct the labels, move these pods to other nodes first, or accept their loss: allow_pod_loss sets how many "
        "are accepted on each node (in roles: kubelet_config_allow_pod_loss)."
    )
    assert error.result["pods"]["n1"]["uid-web"]["misplaced"] == f"{ZONE}=a, the node has b"
    assert (api.count("GET", NODES), api.count("GET", "/api/v1/pods")) == (1, 2)


@pytest.mark.parametrize(
    ("options", "begins"),
    [
        ({"allow_pod_loss": "1"}, False),
        ({"allow_pod_loss": "2"}, True),
        ({"allow_pod_loss": "true"}, True),
        ({"drained": ["n1"]}, True),
        ({"drained": ["n2"]}, False),
        ({"pods": False}, True),
    ],
)
def test_losses_that_are_allowed(clock: Clock, options: dict[str, t.Any], begins: bool) -> None:
    """On each node; the pods of a drained node move before its kubelet restarts."""
    api = group()
    api.pods.add(*placed("web", "db"), *placed("log", of="n2"))
    given = {"max_unavailable": 3, "pods": True, "allow_pod_loss": "1", **options}
    if begins:
        assert run(api, "n1", "n2", **given)["window"]
    else:
        error = refused(api, "n1", "n2", **given)
        assert "n1: default/db needs" in error.message and "n2:" not in error.message


def test_many_misplaced_pods_are_counted(clock: Clock) -> None:
    api = group()
    api.pods.add(*placed(*"abcdefg"))
    message = refused(api, "n1", pods=True).message
    assert "; default/e needs" in message and "; and 2 more\n" in message and "default/f" not in message


@pytest.mark.parametrize("given", ["some", "-1", "10%"])
def test_what_is_no_number_of_pods(clock: Clock, given: str) -> None:
    api = group()
    assert "set the number of pods a node may lose, or true" in refused(api, "n1", allow_pod_loss=given).message
    assert not api.requests
