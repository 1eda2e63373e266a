# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ConfigMaps of live configurations: pushed back unchanged, edited in place, deleted, created again."""

from __future__ import annotations

import json

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError, NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import dump, push, verify
from tests.contract.clusters import CONFIGMAPS, NAMES, Contracted
from tests.support.api.assigning import patiently
from tests.support.lab.views import eventually

OPTIONS = patiently()
PUSH = {
    "state": "present",
    "src": None,
    "name": "contract",
    "namespace": "kube-system",
    "key": "kubelet",
    "immutable": False,
    "keep_days": 0,
}


@pytest.mark.fault(case=22)
def test_edited_deleted_recreated(cluster: Contracted, session: Session) -> None:
    """The kubelet follows, and verify reports which change happened."""
    table = dump.dump(session, {"nodes": ["n1"], "label_selectors": None, "facts": True}, False)["ansible_facts"][
        "kubelet_configz"
    ]
    variant = table["nodes"]["n1"]["variant"]
    (place,) = push.push(session, {**PUSH, "variants": table["variants"]}, False)["configmaps"].values()
    verify.config_source(session, {**OPTIONS, "sources": {"n1": place}}, False)
    first = cluster.look("n1")
    verified = {**OPTIONS, "state": "verified", "nodes": ["n1"]}

    # Edited in place: the kubelet restarts with the new revision, and the name no longer matches the content.
    edited = {"data": {"kubelet": json.dumps({**table["variants"][variant], "maxPods": 43})}}
    cluster.call("PATCH", f"{CONFIGMAPS}/{place['name']}", edited)
    assert verify.config_source(session, verified, False)["nodes"]["n1"]["state"] == "active"
    second = cluster.look("n1")
    assert (second.configz["maxPods"], second.spec, second.error) == (43, first.spec, "")
    assert second.invocation != first.invocation
    assert (
        second.status["active"]["configMap"]["resourceVersion"]
        != first.status["active"]["configMap"]["resourceVersion"]
    )
    with pytest.raises(ClusterError, match=f"{place['name']}.* edited in place"):
        push.push(session, {**PUSH, "variants": table["variants"]}, False)

    # Deleted: the kubelet keeps its checkpoint and reports that it cannot fetch the ConfigMap.
    cluster.call("DELETE", f"{CONFIGMAPS}/{place['name']}")
    with pytest.raises(NodesFailed, match=f"{place['name']} key kubelet does not exist"):
        verify.config_source(session, verified, False)
    eventually(lambda: cluster.look("n1").error.startswith("failed to sync"), 120, "the sync error in the status")
    third = cluster.look("n1")
    assert (third.configz["maxPods"], third.invocation, third.name_of("active")) == (
        43,
        second.invocation,
        place["name"],
    )

    # Created again with the same content: a new uid, so the kubelet restarts, with the same live configuration.
    push.push(session, {**PUSH, "variants": table["variants"]}, False)
    assert verify.config_source(session, verified, False)["nodes"]["n1"]["state"] == "active"
    fourth = cluster.look("n1")
    assert (fourth.configz, fourth.error) == (first.configz, "")
    assert fourth.invocation != third.invocation


def test_dump_and_push_back(cluster: Contracted, session: Session) -> None:
    """The kubelets restart into their own configuration, and /configz is equal."""
    before = {name: cluster.look(name) for name in NAMES}
    table = dump.dump(session, {"nodes": list(NAMES), "label_selectors": None, "facts": True}, False)["ansible_facts"][
        "kubelet_configz"
    ]
    # At least one node has an explicitly empty list, which /configz does not show.
    assert any("enforceNodeAllocatable" in row["restored"] for row in table["nodes"].values())
    pushed = push.push(session, {**PUSH, "immutable": True, "variants": table["variants"]}, False)["configmaps"]
    sources = {name: pushed[row["variant"]] for name, row in table["nodes"].items()}
    result = verify.config_source(session, {**OPTIONS, "sources": sources}, False)
    assert {row["state"] for row in result["nodes"].values()} == {"active"}
    for name in NAMES:
        now = cluster.look(name)
        assert now.configz == before[name].configz
        assert now.invocation != before[name].invocation
        assert now.error == ""
        assert now.name_of("active") == sources[name]["name"]
