# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a drain does with each pod, the eviction of one pod, and the meaning of its answers."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import evict
from tests.support.calls import Call, Calls, OldCalls


@pytest.mark.parametrize(
    ("fields", "options", "action", "reason"),
    [
        pytest.param({}, (), "evict", "", id="of a controller"),
        pytest.param({"owner": ""}, (), "refuse", "(force evicts it", id="without owner"),
        pytest.param({"owner": ""}, ("force",), "evict", "", id="without owner, forced"),
        pytest.param({"emptydir": True}, (), "refuse", "(delete_emptydir_data accepts", id="with data"),
        pytest.param({"emptydir": True}, ("force",), "refuse", "(delete_emptydir_data accepts", id="with data, forced"),
        pytest.param({"emptydir": True}, ("delete_emptydir_data",), "evict", "", id="with data, accepted"),
        pytest.param(
            {"owner": "", "emptydir": True},
            (),
            "refuse",
            "elsewhere (force evicts it anyway) and has an emptyDir",
            id="both",
        ),
        pytest.param({"owner": "", "emptydir": True, "phase": "Succeeded"}, (), "evict", "", id="finished"),
        pytest.param({"owner": "", "emptydir": True, "phase": "Failed"}, (), "evict", "", id="failed"),
        pytest.param({"owner": "", "emptydir": True, "reason": "Terminating"}, (), "wait", "", id="going"),
        pytest.param({"owner": "DaemonSet/proxy"}, ("force",), "skip", "of DaemonSet/proxy", id="of a daemon set"),
        pytest.param(
            {"owner": "DaemonSet/proxy", "reason": "Terminating"},
            (),
            "skip",
            "of DaemonSet/proxy",
            id="of a daemon set, going",
        ),
        pytest.param({"owner": "DaemonSet/proxy", "phase": "Failed"}, (), "evict", "", id="of a daemon set, failed"),
        pytest.param(
            {"owner": "Node/n1", "static": True, "emptydir": True}, ("force",), "skip", "static pod", id="static"
        ),
        pytest.param(
            {"owner": "Node/n1", "static": True, "phase": "Failed"},
            ("force",),
            "skip",
            "static pod",
            id="static, failed",
        ),
    ],
)
def test_choose(fields: dict[str, t.Any], options: tuple[str, ...], action: str, reason: str) -> None:
    pod = {"phase": "Running", "reason": "", "owner": "ReplicaSet/a", "static": False, "emptydir": False, **fields}
    found = evict.choose(pod, "force" in options, "delete_emptydir_data" in options)
    assert (found.action, reason in found.reason) == (action, True)


@pytest.mark.parametrize(
    ("resource", "version"),
    [({"group": "policy", "version": "v1"}, "policy/v1"), ({}, "policy/v1beta1")],
)
def test_version(resource: dict[str, str], version: str) -> None:
    """An API server without group and version has policy/v1beta1."""
    with Calls(Call("GET", "/api/v1", {"resources": [{"name": "pods"}, {"name": "pods/eviction", **resource}]})) as api:
        assert evict.version(t.cast("t.Any", api)) == version
    with Calls(Call("GET", "/api/v1", {"resources": []})) as api, pytest.raises(ApiError, match="pods/eviction"):
        evict.version(t.cast("t.Any", api))


@pytest.mark.parametrize(
    ("grace_period", "dry_run", "options"),
    [(None, False, {}), (0, False, {"gracePeriodSeconds": 0}), (None, True, {"dryRun": ["All"]})],
)
def test_evict(grace_period: int | None, dry_run: bool, options: dict[str, t.Any]) -> None:
    """By uid, and not repeated."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": "default", "name": "a"},
        "deleteOptions": {"preconditions": {"uid": "u"}, **options},
    }
    with Calls(Call("POST", "/api/v1/namespaces/default/pods/a/eviction", {}, (), body)) as api:
        pod = ("u", {"namespace": "default", "name": "a"})
        evict.evict(t.cast("t.Any", api), "policy/v1", pod, grace_period, dry_run)
    assert api.budgets == [0.0]


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        pytest.param(None, evict.Answer(True), id="accepted"),
        pytest.param(ApiError(404, "gone"), evict.Answer(False, "gone"), id="deleted"),
        pytest.param(ApiError(409, "other uid"), evict.Answer(False, "other uid"), id="replaced"),
        pytest.param(
            ApiError(403, "ending", causes={"NamespaceTerminating": "x"}), evict.Answer(False, "ending"), id="namespace"
        ),
        pytest.param(
            ApiError(429, "no", "", 7.0, True, {"DisruptionBudget": "needs 1"}),
            evict.Answer(False, "needs 1", 7.0),
            id="budget",
        ),
        pytest.param(ApiError(0, "cut", transient=True), evict.Answer(False, "cut", 0.0, True), id="no answer"),
        pytest.param(ApiError(504, "late", transient=True), evict.Answer(False, "late", 0.0, True), id="timeout"),
        pytest.param(
            ApiError(500, f"found {evict.TWO_BUDGETS}", transient=True),
            evict.Answer(False, f"found {evict.TWO_BUDGETS}", None),
            id="two budgets",
        ),
        pytest.param(ApiError(403, "forbidden"), evict.Answer(False, "forbidden", None), id="forbidden"),
        pytest.param(ClusterError("other"), evict.Answer(False, "other", None), id="other error"),
    ],
)
def test_meaning(error: ClusterError | None, answer: evict.Answer) -> None:
    assert evict.meaning(error) == answer


def test_an_api_server_without_dry_runs() -> None:
    """Nothing is sent: the pod would be gone."""
    with OldCalls() as session:
        row = {"namespace": "default", "name": "web"}
        evict.evict(t.cast("t.Any", session), "policy/v1beta1", ("u1", row), None, True)
