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


# The proxy decides, before either cluster.
@pytest.mark.long_on_lab
def test_dump_assign_verify(cluster: Contracted, proxy: Proxy, through: Session) -> None:
    """Dump sends at most N + 2, assign at most 2 N + 2, and each poll of verify the same for any number of nodes."""
    nodes = len(NAMES)
    sources = _pushed(through)
    assert proxy.count("GET", "/configz") == nodes
    proxy.forget()
    dump.dump(through, {"nodes": list(NAMES), "label_selectors": None, "facts": True}, False)
    assert proxy.count() <= nodes + 2

    proxy.forget()
    verify.config_source(through, {**OPTIONS, "sources": sources}, False)
    assert proxy.count("PATCH") == nodes
    assert proxy.count() <= 2 * nodes + 2

    polls = []
    for chosen in (NAMES[:1], NAMES):
        proxy.forget()
        verify.config_source(
            through, {**OPTIONS, "state": "verified", "sources": {name: sources[name] for name in chosen}}, False
        )
        lists = proxy.count("GET", "/api/v1/nodes?")
        distinct = len({place["name"] for place in (sources[name] for name in chosen)})
        # One GET per ConfigMap at the beginning and one configz per node at the end; the rest are polls.
        assert proxy.count("GET", "/configz") == len(chosen)
        assert proxy.count() == lists + len(chosen) + distinct
        polls.append(lists)
    # The second run finds nothing to change: one LIST serves all nodes.
    assert polls[1] == 1 or polls[0] >= 1

    proxy.forget()
    verify.config_source(through, {**OPTIONS, "sources": sources}, False)
    assert (proxy.count("PATCH"), proxy.count()) == (0, 1)


# The proxy decides, before either cluster.
@pytest.mark.long_on_lab
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(status=429, retry_after=1), id="too-many-requests"),
        pytest.param(Fault(status=503), id="unavailable"),
        pytest.param(Fault(status=408), id="request-timeout"),
        pytest.param(Fault(lose_answer=True), id="answer-lost"),
        pytest.param(Fault(status=409), id="conflict"),
    ],
)
def test_temporary_faults_are_retried(cluster: Contracted, proxy: Proxy, through: Session, fault: Fault) -> None:
    """The first patch of every node fails; all nodes are assigned nevertheless."""
    sources = _pushed(through)
    met: set[str] = set()

    def once_a_node(method: str, path: str, _count: int) -> Fault | None:
        if method != "PATCH" or path in met:
            return None
        met.add(path)
        return fault

    proxy.fault = once_a_node
    result = verify.config_source(through, {**OPTIONS, "sources": sources}, False)
    assert len(met) == len(NAMES)
    assert result["summary"] == {"nodes": 3, "changed": 3, "failed": 0, "unchanged": 0}
    # Compares only what was written: the first kubelets may already restart.
    written = {name: cluster.get(f"{NODES}/{name}")["spec"]["configSource"]["configMap"] for name in NAMES}
    assert written == {name: _place(place) for name, place in sources.items()}


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
