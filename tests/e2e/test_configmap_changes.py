# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ConfigMaps that change while kubelets follow them: edited in place, deleted, created again."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError, NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import assign_and_wait, dump, push
from tests.lab.lab import Lab
from tests.support.views import eventually, look

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
PUSH = {
    "state": "present",
    "src": None,
    "name": "mutable",
    "namespace": "kube-system",
    "key": "kubelet",
    "immutable": False,
}


def test_edited_deleted_recreated(lab: Lab, fleet: tuple[str, ...], session: Session) -> None:
    """The kubelet follows, and verify reports which change happened."""
    table = dump.dump(session, {"nodes": ["n1"], "label_selectors": None, "facts": True}, False)["ansible_facts"][
        "kubelet_configz"
    ]
    variant = table["nodes"]["n1"]["variant"]
    (place,) = push.push(session, {**PUSH, "variants": table["variants"]}, False)["configmaps"].values()
    assign_and_wait.config_source(session, {**OPTIONS, "sources": {"n1": place}}, False)
    first = look(lab, "n1")
    verified = {**OPTIONS, "state": "verified", "nodes": ["n1"]}

    # Edited in place: the kubelet restarts with the new revision, and the name no longer matches the content.
    edited = json.dumps({"data": {"kubelet": json.dumps({**table["variants"][variant], "maxPods": 43})}})
    lab.kubectl("patch", "configmap", "-n", "kube-system", place["name"], "--type=merge", "-p", edited)
    assert assign_and_wait.config_source(session, verified, False)["nodes"]["n1"]["state"] == "active"
    second = look(lab, "n1")
    assert (second.configz["maxPods"], second.spec, second.error) == (43, first.spec, "")
    assert second.invocation != first.invocation
    assert (
        second.status["active"]["configMap"]["resourceVersion"]
        != first.status["active"]["configMap"]["resourceVersion"]
    )
    with pytest.raises(ClusterError, match="edited in place"):
        push.push(session, {**PUSH, "variants": table["variants"]}, False)

    # Deleted: the kubelet keeps its checkpoint and reports that it cannot fetch the ConfigMap.
    lab.kubectl("delete", "configmap", "-n", "kube-system", place["name"])
    with pytest.raises(NodesFailed, match=f"{place['name']} key kubelet does not exist"):
        assign_and_wait.config_source(session, verified, False)
    eventually(lambda: look(lab, "n1").error.startswith("failed to sync"), 40, "the sync error in the status")
    third = look(lab, "n1")
    assert (third.configz["maxPods"], third.invocation, third.name_of("active")) == (
        43,
        second.invocation,
        place["name"],
    )

    # Created again with the same content: a new uid, so the kubelet restarts, with the same live configuration.
    push.push(session, {**PUSH, "variants": table["variants"]}, False)
    assert assign_and_wait.config_source(session, verified, False)["nodes"]["n1"]["state"] == "active"
    fourth = look(lab, "n1")
    assert (fourth.configz, fourth.error) == (first.configz, "")
    assert fourth.invocation != third.invocation


def test_forbidden_is_distinguished_from_missing(lab: Lab, fleet: tuple[str, ...], session: Session) -> None:
    """A node may only read ConfigMaps that its spec names; the message contains the API server's answer."""
    absent = {"namespace": "kube-system", "name": "never-made", "kubeletConfigKey": "kubelet"}
    with pytest.raises(NodesFailed, match="nothing was written to any node") as refused:
        assign_and_wait.config_source(session, {**OPTIONS, "sources": {"n1": absent, "n2": absent}}, False)
    assert set(refused.value.failures) == {"n1", "n2"}
    assert look(lab, "n1").spec is None
