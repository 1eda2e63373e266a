# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate before a batch, with a group of ten Node objects without kubelets."""

from __future__ import annotations

import json
import shlex
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.contract.clusters import CONFIGMAPS, NODES, Contracted, configmap
from tests.lab.objects import bare_node
from tests.support.plays.ansible import Ansible

PAUSE, LABEL = "livenodes-kubelet-rollout", "livenodes.test"


@pytest.fixture
def group(around: Contracted) -> t.Iterator[list[str]]:
    """Yield ten Ready Nodes, with rollouts not paused; remove them afterwards. One is not named as its host."""
    names = [f"gate-{number:05d}" for number in range(10)]
    bodies = [bare_node(name, {LABEL: "gate"}) for name in names]
    bodies[-1]["metadata"]["labels"]["kubernetes.io/hostname"] = "another"
    _clear(around)
    for body in bodies:
        around.call("POST", NODES, body)
    yield names
    _clear(around)


def _clear(cluster: Contracted) -> None:
    for item in cluster.get(f"{NODES}?labelSelector={LABEL}%3Dgate")["items"]:
        cluster.call("DELETE", f"{NODES}/{item['metadata']['name']}")
    if any(item["metadata"]["name"] == PAUSE for item in cluster.get(CONFIGMAPS)["items"]):
        cluster.call("DELETE", f"{CONFIGMAPS}/{PAUSE}")


def test_pause(around: Contracted, group: list[str], ansible: Ansible) -> None:
    """Set and ended as kubectl does it, by the command in the message. The API server knows who set it."""
    options = {"nodes": [group[0]], "group_nodes": group}
    around.call("POST", CONFIGMAPS, configmap(PAUSE, {"reason": "release day"}))
    assert not ansible.module("kubelet_rollout_gate", options)["failed"]
    around.call("PATCH", f"{CONFIGMAPS}/{PAUSE}", {"data": {"paused": "true"}})
    found = ansible.module("kubelet_rollout_gate", {**options, "timeout": 600})
    assert found["failed"]
    about = around.get(f"{CONFIGMAPS}/{PAUSE}")["metadata"]
    # The simulation does not record who writes a field.
    unknown = {"time": about["creationTimestamp"], "manager": "", "fieldsV1": {"f:data": {"f:paused": {}}}}
    entries = about.get("managedFields", [unknown])
    writer = next(entry for entry in entries if "f:paused" in entry["fieldsV1"]["f:data"])
    assert found["paused"] == {"since": writer["time"], "by": writer["manager"], "reason": "release day"}
    by = f" by {writer['manager']}" if writer["manager"] else ""
    assert f"rollouts are paused since {writer['time']}{by}: release day" in found["msg"]
    remedy = shlex.split(found["msg"].split("`")[1])
    assert remedy[:6] == ["kubectl", "-n", "kube-system", "patch", "configmap", PAUSE]
    around.call("PATCH", f"{CONFIGMAPS}/{PAUSE}", json.loads(remedy[-1]))
    assert not ansible.module("kubelet_rollout_gate", options)["failed"]


def test_a_dry_run_is_answered_like_a_write_and_stores_nothing(around: Contracted, group: list[str]) -> None:
    """So a rollout asks before a drain whether an assignment would be refused. No watch shows it to a follower."""
    session, path = around.session, f"{NODES}/{group[0]}"
    revision = around.get(path)["metadata"]["resourceVersion"]
    dry, real = ({"metadata": {"annotations": {annotation.SOURCE: value}}} for value in ("dry", "real"))
    assert session.patch(path, dry, True)["metadata"]["annotations"][annotation.SOURCE] == "dry"
    with pytest.raises(ApiError, match="Required value") as refused:
        session.patch(path, {"spec": {"configSource": {"configMap": {"namespace": "kube-system"}}}}, True)
    assert refused.value.status == 422
    with pytest.raises(ApiError) as outdated:
        session.patch(path, {"metadata": {"resourceVersion": "1"}, "spec": {"unschedulable": True}}, True)
    assert outdated.value.status == 409
    session.patch(path, real)
    query = [("watch", "true"), ("resourceVersion", revision), ("timeoutSeconds", 2)]
    query.append(("fieldSelector", f"metadata.name={group[0]}"))
    seen = [json.loads(line)["object"]["metadata"] for line in session.lines(NODES, query, 10.0) if line]
    noted = [meta.get("annotations", {}).get(annotation.SOURCE) for meta in seen]
    assert "real" in noted and "dry" not in noted
