# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every reason why a node may not run its source, caused on real kubelets and a real API server: each has its own
message.
"""

from __future__ import annotations

import json
import threading
import time
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import (
    assign_and_wait,
    diagnose,
    verdict,
)
from tests.lab.lab import Lab
from tests.support.proxy import Fault, Proxy
from tests.support.views import eventually, look

META = "/var/lib/kubelet/dynamic-config/store/meta"
OPTIONS: dict[str, t.Any] = {
    "state": "present",
    "nodes": None,
    "source": None,
    "sources": None,
    "delivery": "auto",
    "check_source": True,
    "wait": True,
    "wait_timeout": 90,
    "wait_sleep": 1,
}


@pytest.fixture
def good(lab: Lab, fleet: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Return a source per node, with its own live configuration and another eventBurst."""
    return {name: _push(lab, name, eventBurst=21) for name in fleet}


def _push(lab: Lab, node: str, **fields: t.Any) -> dict[str, str]:
    live = look(lab, node).configz
    config = {
        "kind": "KubeletConfiguration",
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "enforceNodeAllocatable": ["pods"] if live["cgroupsPerQOS"] else [],
        **live,
        **fields,
    }
    name = f"verdict-{node}-{next(iter(fields)).lower()}"
    lab.kubectl(
        "apply",
        "-f",
        "-",
        stdin=json.dumps(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "data": {"kubelet": json.dumps(config)},
                "metadata": {"name": name, "namespace": "kube-system", "labels": {"livenodes.test": "yes"}},
            }
        ),
    )
    return {"namespace": "kube-system", "name": name, "kubeletConfigKey": "kubelet"}


def _failures(session: Session, **options: t.Any) -> NodesFailed:
    with pytest.raises(NodesFailed) as failed:
        assign_and_wait.config_source(session, {**OPTIONS, **options}, False)
    return failed.value


def test_the_api_servers_gate_is_off(
    lab: Lab, fleet: tuple[str, ...], session: Session, good: dict[str, dict[str, str]]
) -> None:
    """The API server answers "patched" and drops the field: the error names every node, none counts as changed."""
    lab.apiserver.stop()
    try:
        lab.apiserver.start("--feature-gates=DynamicKubeletConfig=false")
        for check_mode in (True, False):
            with pytest.raises(NodesFailed) as failed:
                assign_and_wait.config_source(session, {**OPTIONS, "sources": good, "wait": False}, check_mode)
            assert set(failed.value.failures) == set(fleet)
            assert "feature gate DynamicKubeletConfig is off" in failed.value.message
            assert failed.value.result["changed"] is False
    finally:
        lab.apiserver.stop()
        lab.apiserver.start()
    assert {look(lab, name).spec for name in fleet} == {None}


def test_a_kubelet_that_does_not_listen(
    lab: Lab, fleet: tuple[str, ...], session: Session, good: dict[str, dict[str, str]]
) -> None:
    """Without --dynamic-config-dir: a stale status never changes; native delivery to a Node without a status is refused
    before anything is written.
    """
    try:
        lab.node("n3").set_dynamic(False)
        lab.wait_ready()
        stale = _failures(session, sources={"n3": good["n3"]}, wait_timeout=15)
        assert stale.result["nodes"]["n3"]["state"] == "not_restarting"
        assert "--dynamic-config-dir" in stale.message and "n3" in stale.failures
        lab.kubectl("delete", "node", "n3")
        lab.node("n3").run("systemctl restart kubelet")
        lab.wait_ready()
        refused = _failures(session, sources=good, delivery="native")
        assert set(refused.failures) == {"n3"}
        assert (
            "its kubelet is not listening" in refused.message and "nothing was written to any node" in refused.message
        )
        assert look(lab, "n1").spec is None
    finally:
        Lab.up(nodes=len(fleet))
        eventually(lambda: lab.get("/api/v1/nodes/n3")["status"].get("config") == {}, 60, "n3 listens again")


def test_a_crash_loop_is_distinguished_from_a_slow_kubelet(lab: Lab, fleet: tuple[str, ...], session: Session) -> None:
    """A value that passes validation and ends the kubelet at every start, assigned without the plan that refuses it."""
    deadly = _push(lab, "n1", evictionHard={"memory.available": "lots"})
    try:
        failed = _failures(session, sources={"n1": deadly}, wait_timeout=70)
        row = failed.result["nodes"]["n1"]
        assert row["state"] == "silent", row["message"]
        for text in ("no heartbeat", "crash loop", "journalctl -u kubelet", "store/meta/assigned"):
            assert text in row["message"], row["message"]
        assert lab.node("n1").restarts() > 5
        # Removing the source does not help, and the message does not suggest it.
        reset = _failures(session, state="absent", nodes=["n1"], wait_timeout=5)
        assert reset.result["nodes"]["n1"]["state"] == "silent", reset.message
    finally:
        # The remedy in the message works.
        lab.kubectl("patch", "node", "n1", "--type=merge", "-p", '{"spec": {"configSource": null}}')
        lab.node("n1").run(f"truncate -s 0 {META}/assigned && systemctl restart kubelet")
        lab.wait_ready()
    assert look(lab, "n1").configz["evictionHard"]["memory.available"] != "lots"


def test_forbidden_is_distinguished_from_unreachable(
    lab: Lab, fleet: tuple[str, ...], session: Session, good: dict[str, dict[str, str]]
) -> None:
    """The API server's own authorizer decides: n1 may read what its spec names, and n2 may not."""
    assign_and_wait.config_source(session, {**OPTIONS, "sources": {"n1": good["n1"]}}, False)
    found = verdict.Verdict("sync_error", "its kubelet reports that it failed to sync")
    assert "the node may read it" in diagnose.sync_error(session, "n1", good["n1"], found).message
    forbidden = diagnose.sync_error(session, "n2", good["n1"], found).message
    assert "system:node:n2 is forbidden to read it" in forbidden
    assert "no relationship found between node 'n2' and this object" in forbidden


def test_the_api_server_stops_between_two_patches(
    lab: Lab, fleet: tuple[str, ...], proxy: Proxy, good: dict[str, dict[str, str]]
) -> None:
    """One node is written, the API server stops for some seconds, and the others are written when it answers again."""

    def back() -> None:
        time.sleep(20)
        lab.apiserver.start()

    starter = threading.Thread(target=back)

    def stop_at_the_second(method: str, _path: str, count: int) -> Fault | None:
        if method == "PATCH" and count == 2 and not starter.is_alive():
            lab.apiserver.stop()
            starter.start()
        return None

    proxy.fault = stop_at_the_second
    try:
        result = assign_and_wait.config_source(
            Session({"host": proxy.url, "concurrency": 1}), {**OPTIONS, "sources": good, "wait": False}, False
        )
    finally:
        starter.join()
        lab.apiserver.start()
        lab.wait_ready()
    assert result["summary"] == {"nodes": 3, "changed": 3, "failed": 0, "unchanged": 0}
    assert proxy.count("PATCH") > 3
    assert {name: look(lab, name).spec for name in fleet} == good
