# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One rollout at a time on a node, by Leases."""

from __future__ import annotations

import concurrent.futures
import json
import time
import typing as t
import urllib.parse
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import lease, lease_objects
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.contract.clusters import Contracted
from tests.support.api.proxy import Fault, Proxy
from tests.support.plays.ansible import Ansible

LABEL = f"{PREFIX}lease=rollout"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
NODES = ["n1", "n2"]


@pytest.fixture(autouse=True)
def no_leases(around: Contracted) -> t.Iterator[None]:
    """Delete the Leases of rollouts before and after the test."""
    _clear(around)
    yield
    _clear(around)


def _clear(around: Contracted) -> None:
    for name in leases(around):
        around.call("DELETE", f"{LEASES}/{name}")


def leases(around: Contracted) -> dict[str, dict[str, t.Any]]:
    """Return the Leases of rollouts by name, read without the code under test."""
    found = around.get(f"{LEASES}?labelSelector={urllib.parse.quote(LABEL)}")["items"]
    return {item["metadata"]["name"]: item for item in found}


# pylint: disable-next=dangerous-default-value  # never changed
def hold(session: Session, nodes: t.Sequence[str] = NODES, **options: t.Any) -> dict[str, t.Any]:
    given = {
        "state": "held",
        "nodes": list(nodes),
        "group": "batch",
        "holder": "me",
        "duration": 60,
        "wait": 0,
        "namespace": "kube-system",
        "lease": None,
    }
    return lease.lease(session, {**given, **options}, False)


# The lab keeps what its API server decides: races, preconditions, sizes.
@pytest.mark.long_on_lab
def test_module(around: Contracted, ansible: Ansible) -> None:
    """Hold and release, in check mode, for real, and again; numbers are strings as from a survey."""
    options = {"nodes": NODES, "group": "batch", "holder": "ops@bastion", "duration": "60", "wait": "0"}
    forecast = ansible.module("kubelet_rollout_lease", options, "--check")
    assert (forecast["changed"], forecast["lease"], leases(around)) == (True, {}, {})
    held = ansible.module("kubelet_rollout_lease", options)
    assert held["changed"] and list(leases(around)) == [held["lease"]["name"]]
    item = leases(around)[held["lease"]["name"]]
    assert item["metadata"]["annotations"][f"{PREFIX}state"] == "held"
    assert (item["spec"]["holderIdentity"], item["spec"]["leaseDurationSeconds"]) == ("ops@bastion", 60)

    other = {**options, "nodes": ["n2", "n3"], "group": "frontend", "holder": "job 7"}
    refused = ansible.module("kubelet_rollout_lease", other)
    assert refused["failed"] and refused["obstacles"][0]["holder"] == "ops@bastion"
    assert (
        "ops@bastion has been rolling out to batch since " in refused["msg"]
        and "Nodes in both rollouts: n2." in refused["msg"]
    )
    forecast = ansible.module("kubelet_rollout_lease", other, "--check")
    assert not forecast["failed"] and forecast["obstacles"][0]["holder"] == "ops@bastion"
    assert list(leases(around)) == [held["lease"]["name"]]

    release = {"state": "released", "lease": held["lease"]}
    for check, changed, left in ((True, True, 1), (False, True, 0), (True, False, 0), (False, False, 0)):
        done = ansible.module("kubelet_rollout_lease", release, *(["--check"] if check else []))
        assert (done["failed"], done["changed"], len(leases(around))) == (False, changed, left)


@pytest.mark.fault(case=23)
def test_two_at_once(around: Contracted, tmp_path: Path) -> None:
    """Four rollouts start at the same moment, many times: of the three on one node one wins, the fourth always wins."""
    kubeconfig = str(around.kubeconfig(tmp_path))
    sessions = [Session({"kubeconfig": kubeconfig}) for _number in range(4)]
    sets = (["n1", "n2"], ["n2", "n3"], ["n2"], ["n9"])

    def begin(number: int) -> dict[str, t.Any] | None:
        try:
            return hold(sessions[number], sets[number], holder=f"h{number}")["lease"]
        except ClusterError as error:
            assert "another rollout is running" in error.message
            return None

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _round in range(15):
            won = list(pool.map(begin, range(4)))
            assert won[3] is not None
            assert sum(held is not None for held in won[:3]) == 1
            assert set(leases(around)) == {held["name"] for held in won if held}
            for held in won:
                lease.lease(sessions[0], {"state": "released", "lease": held or {}}, False)
    assert leases(around) == {}


def test_dead_holder_that_comes_back_at_the_last_moment(around: Contracted, session: Session, proxy: Proxy) -> None:
    """The holder renews between our read and our DELETE: the API server's preconditions keep its Lease."""
    slow = hold(session, duration=1, holder="slow")["lease"]
    # Beyond the duration, the allowance for clocks, and a second: the API server shows its clock without fractions.
    time.sleep(7.5)
    renewed: list[str] = []

    def back(method: str, path: str, _count: int) -> Fault | None:
        if method == "DELETE" and slow["name"] in path and not renewed:
            lease_objects.renew(session, slow)
            renewed.append(path)

    proxy.fault = back
    with pytest.raises(ClusterError, match="slow has been rolling out to batch"):
        hold(Session({"host": proxy.url}), holder="hasty")
    assert renewed and list(leases(around)) == [slow["name"]]


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_answers_that_are_lost(around: Contracted, proxy: Proxy, method: str) -> None:
    """Each request may have been executed although its answer was lost."""
    lost: list[str] = []

    def once(seen: str, _path: str, _count: int) -> Fault | None:
        if seen != method or lost:
            return None
        lost.append(seen)
        return Fault(lose_answer=True)

    proxy.fault = once
    through = Session({"host": proxy.url})
    held = hold(through)["lease"]
    assert list(leases(around)) == [held["name"]]
    lease.lease(through, {"state": "released", "lease": held}, False)
    assert lost and leases(around) == {}


def test_three_thousand_nodes(around: Contracted, session: Session) -> None:
    names = [f"ip-10-{number // 250}-{number % 250}-7.eu-central-1.compute.internal.example" for number in range(3000)]
    held = hold(session, names)["lease"]
    assert json.loads(leases(around)[held["name"]]["metadata"]["annotations"][f"{PREFIX}nodes"]) == sorted(names)
    with pytest.raises(ClusterError, match=f"Nodes in both rollouts: {names[-1]}"):
        hold(session, names[-1:])
