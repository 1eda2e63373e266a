# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many requests each stage sends, counted by a proxy, and how it retries when the API server is busy."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import dump, push, verify
from tests.contract.clusters import NAMES, NODES, Contracted
from tests.support.api.assigning import patiently
from tests.support.api.proxy import Fault, Proxy

OPTIONS = patiently(wait=False)
PUSH = {
    "state": "present",
    "src": None,
    "name": "count",
    "namespace": "kube-system",
    "key": "kubelet",
    "immutable": True,
    "keep_days": 0,
}


@pytest.fixture
def through(proxy: Proxy) -> Session:
    """Return a session through the counting proxy."""
    return Session({"host": proxy.url})


def _pushed(session: Session) -> dict[str, dict[str, str]]:
    table = dump.dump(session, {"nodes": list(NAMES), "label_selectors": None, "facts": True}, False)["ansible_facts"][
        "kubelet_configz"
    ]
    pushed = push.push(session, {**PUSH, "variants": table["variants"]}, False)["configmaps"]
    return {name: pushed[row["variant"]] for name, row in table["nodes"].items()}


def test_a_concurrent_assignment_of_another_user(cluster: Contracted, proxy: Proxy, through: Session) -> None:
    """A change between read and write is not overwritten; the other nodes continue."""
    sources = _pushed(through)
    place = {"namespace": "kube-system", "name": "theirs", "kubeletConfigKey": "kubelet"}
    theirs = {"spec": {"configSource": {"configMap": place}}}
    done: list[object] = []

    def interfere(method: str, path: str, _count: int) -> Fault | None:
        if method == "PATCH" and path.startswith("/api/v1/nodes/n1") and not done:
            done.append(cluster.call("PATCH", f"{NODES}/n1", theirs))
        return None

    proxy.fault = interfere
    with pytest.raises(NodesFailed) as failed:
        verify.config_source(through, {**OPTIONS, "sources": sources}, False)
    assert set(failed.value.failures) == {"n1"}
    assert "another user or program changed spec.configSource to kube-system/theirs" in failed.value.message
    assert (cluster.look("n1").spec or {})["name"] == "theirs"
    assert cluster.look("n2").spec == _place(sources["n2"])
    rows: t.Any = failed.value.result["nodes"]
    assert (rows["n1"]["changed"], rows["n2"]["changed"]) == (False, True)


def _place(reference: dict[str, str]) -> dict[str, str]:
    return {key: reference[key] for key in ("namespace", "name", "kubeletConfigKey")}
