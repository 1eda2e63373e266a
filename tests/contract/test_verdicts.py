# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every reason why a node may not run its source: each has its own message."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import diagnose, verdict, verify
from tests.contract.clusters import NAMES, NODES, Contracted
from tests.support.api.assigning import patiently
from tests.support.api.proxy import Fault, Proxy

OPTIONS = patiently()


@pytest.fixture
def good(cluster: Contracted) -> dict[str, dict[str, str]]:
    """Return a source per node, with its own live configuration and another eventBurst."""
    return {name: _push(cluster, name, eventBurst=21) for name in NAMES}


def _push(cluster: Contracted, node: str, **fields: t.Any) -> dict[str, str]:
    live = cluster.look(node).configz
    config = {
        "kind": "KubeletConfiguration",
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "enforceNodeAllocatable": ["pods"] if live["cgroupsPerQOS"] else [],
        **live,
        **fields,
    }
    return cluster.apply(f"verdict-{node}-{next(iter(fields)).lower()}", {"kubelet": json.dumps(config)})


def _failures(cluster: Contracted, **options: t.Any) -> NodesFailed:
    if "wait_timeout" in options:
        options["wait_timeout"] = cluster.seconds(options["wait_timeout"])
    with pytest.raises(NodesFailed) as failed:
        verify.config_source(cluster.session, {**OPTIONS, **options}, False)
    return failed.value


# What an API server of 1.20 answers, which does not change any more.
@pytest.mark.long_on_lab
def test_the_api_servers_gate_is_off(cluster: Contracted, good: dict[str, dict[str, str]]) -> None:
    """The API server answers "patched" and drops the field: the error names every node, none counts as changed."""
    with cluster.dynamic_gate_off():
        for check_mode in (True, False):
            with pytest.raises(NodesFailed) as failed:
                options = {**OPTIONS, "sources": good, "wait": False}
                verify.config_source(cluster.session, options, check_mode)
            assert set(failed.value.failures) == set(NAMES)
            assert "feature gate DynamicKubeletConfig is off" in failed.value.message
            assert failed.value.result["changed"] is False
    assert {cluster.look(name).spec for name in NAMES} == {None}


def test_a_kubelet_that_does_not_listen(cluster: Contracted, good: dict[str, dict[str, str]]) -> None:
    """Without --dynamic-config-dir: a stale status never changes; native delivery to a Node without a status is refused
    before anything is written.
    """
    with cluster.not_following("n3"):
        stale = _failures(cluster, sources={"n3": good["n3"]}, wait_timeout=15)
        assert stale.result["nodes"]["n3"]["state"] == "not_restarting"
        assert "--dynamic-config-dir" in stale.message and "n3" in stale.failures
        cluster.register_again("n3")
        refused = _failures(cluster, sources=good, delivery="native")
        assert set(refused.failures) == {"n3"}
        assert (
            "its kubelet is not listening" in refused.message and "nothing was written to any node" in refused.message
        )
        assert cluster.look("n1").spec is None


def test_a_crash_loop_is_distinguished_from_a_slow_kubelet(cluster: Contracted) -> None:
    """A value that passes validation and ends the kubelet at every start, assigned without the plan that refuses it."""
    deadly = _push(cluster, "n1", evictionHard={"memory.available": "lots"})
    try:
        failed = _failures(cluster, sources={"n1": deadly}, wait_timeout=70)
        row = failed.result["nodes"]["n1"]
        assert row["state"] == "silent", row["message"]
        for text in ("no heartbeat", "crash loop", "journalctl -u kubelet", "store/meta/assigned"):
            assert text in row["message"], row["message"]
        assert cluster.restarts("n1") > 5
        # Removing the source does not help, and the message does not suggest it.
        reset = _failures(cluster, state="absent", nodes=["n1"], wait_timeout=5)
        assert reset.result["nodes"]["n1"]["state"] == "silent", reset.message
    finally:
        # The remedy in the message works.
        cluster.call("PATCH", f"{NODES}/n1", {"spec": {"configSource": None}})
        cluster.empty_store("n1")
    assert cluster.look("n1").configz["evictionHard"]["memory.available"] != "lots"


# What an API server of 1.20 answers, which does not change any more.
@pytest.mark.long_on_lab
def test_forbidden_is_distinguished_from_unreachable(cluster: Contracted, good: dict[str, dict[str, str]]) -> None:
    """The API server's own authorizer decides: n1 may read what its spec names, and n2 may not."""
    verify.config_source(cluster.session, {**OPTIONS, "sources": {"n1": good["n1"]}}, False)
    found = verdict.Verdict("sync_error", "its kubelet reports that it failed to sync")
    assert "the node may read it" in diagnose.sync_error(cluster.session, "n1", good["n1"], found).message
    forbidden = diagnose.sync_error(cluster.session, "n2", good["n1"], found).message
    assert "system:node:n2 is forbidden to read it" in forbidden
    assert "no relationship found between node 'n2' and this object" in forbidden


def test_a_concurrent_assignment_of_another_user(
    cluster: Contracted, proxy: Proxy, good: dict[str, dict[str, str]]
) -> None:
    """A change between read and write is not overwritten; the other nodes continue."""
    place = {"namespace": "kube-system", "name": "theirs", "kubeletConfigKey": "kubelet"}
    theirs = {"spec": {"configSource": {"configMap": place}}}
    done: list[object] = []

    def interfere(method: str, path: str, _count: int) -> Fault | None:
        if method == "PATCH" and path.startswith("/api/v1/nodes/n1") and not done:
            done.append(cluster.call("PATCH", f"{NODES}/n1", theirs))
        return None

    proxy.fault = interfere
    with pytest.raises(NodesFailed) as failed:
        verify.config_source(Session({"host": proxy.url}), {**OPTIONS, "sources": good, "wait": False}, False)
    assert set(failed.value.failures) == {"n1"}
    assert "another user or program changed spec.configSource to kube-system/theirs" in failed.value.message
    assert (cluster.look("n1").spec, cluster.look("n2").spec) == (place, good["n2"])
    rows: t.Any = failed.value.result["nodes"]
    assert (rows["n1"]["changed"], rows["n2"]["changed"]) == (False, True)
