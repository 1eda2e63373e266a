# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads of Nodes, by one LIST or one GET for each."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import session as session_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_requests
from tests.sim.api.direct import Direct
from tests.support.api.calls import NODES, PAGE, Call, Calls
from tests.support.api.objects import items, node

EXPIRED = ApiError(410, "too old resource version", "Expired")


@pytest.mark.parametrize(
    ("selectors", "query"), [([], []), (["a=b", "c notin (d)"], [("labelSelector", "a=b,c notin (d)")])]
)
def test_read_all(selectors: list[str], query: list[tuple[str, str]]) -> None:
    with Calls(Call("GET", NODES, items(node("n2"), node("n1")), (*query, *PAGE))) as session:
        assert list(node_requests.read(session, selectors=selectors)) == ["n2", "n1"]


def gets(*names: str) -> list[Call]:
    return [Call("GET", f"{NODES}/{name}", node(name)) for name in names]


def absent(name: str) -> Call:
    return Call("GET", f"{NODES}/{name}", ApiError(404, f"nodes {name} not found", "NotFound"))


MANY = [f"n{number}" for number in range(20)]


def listed(names: t.Sequence[str], more: str = "", remaining: int = 0) -> dict[str, t.Any]:
    page = items(*map(node, names), more=more)
    return {**page, "metadata": {**page["metadata"], **({"remainingItemCount": remaining} if remaining else {})}}


def test_several_are_listed_in_the_order_of_the_names() -> None:
    with Calls(Call("GET", NODES, listed(MANY[:8]), [("limit", 8)])) as session:
        assert list(node_requests.read(session, ["n7", "n2"])) == ["n7", "n2"]


def test_few_of_a_large_cluster_are_read_by_name() -> None:
    """After a short LIST that shows how large it is; later reads do without it."""
    short = Call("GET", NODES, listed(MANY[:8], "token", 4992), [("limit", 8)])
    with Calls(short, gets("n9", "n8"), gets("n9", "n8")) as session:
        for _turn in range(2):
            assert list(node_requests.read(session, ["n9", "n8"])) == ["n9", "n8"]
    assert session.nodes_listed == 5000


def test_the_list_of_a_large_cluster_ends_early() -> None:
    """Once the missing ones are few of the nodes that remain: these are read by name."""
    first = Call("GET", NODES, listed(MANY[2:7], "token", 4 * 5 - 1), [("limit", 40)])
    second = Call("GET", NODES, listed(MANY[7:8], "token 2", 4 * 4), (*PAGE, ("continue", "token")))
    with Calls(first, second, gets("n0", "n1", "n8", "n9")) as session:
        assert list(node_requests.read(session, MANY[:10])) == MANY[:10]
    assert session.nodes_listed == 6 + 16


def test_the_list_ends_when_all_are_found() -> None:
    with Calls(Call("GET", NODES, listed(MANY, "token", 1000), [("limit", 80)])) as session:
        assert list(node_requests.read(session, MANY)) == MANY


def test_a_list_that_does_not_count_its_rest_is_read_to_its_end() -> None:
    """API servers before 1.15."""
    first = Call("GET", NODES, listed(MANY[:9], "token"), [("limit", 80)])
    with Calls(first, Call("GET", NODES, listed(MANY[9:]), (*PAGE, ("continue", "token")))) as session:
        assert list(node_requests.read(session, MANY)) == MANY


def test_all_unknown_names_are_named() -> None:
    listing = Call("GET", NODES, listed(["n1"]), [("limit", 12)])
    with Calls(listing) as session, pytest.raises(ClusterError) as caught:
        node_requests.read(session, ["n9", "n1", "n8"])
    assert "the cluster at https://api.example:6443 has no node named n9, n8: check the names" in caught.value.message
    assert "kubelet_config_node_name" in caught.value.message


def test_names_that_a_list_did_not_reach_may_be_unknown() -> None:
    first = Call("GET", NODES, listed(MANY[:18], "token", 1000), [("limit", 80)])
    with Calls(first, gets("n18"), absent("n19")) as session, pytest.raises(ClusterError, match="named n19: check"):
        node_requests.read(session, MANY)


FORTY = [f"n{number}" for number in range(40)]


@pytest.mark.parametrize(
    ("count", "later"), [(10, gets(*FORTY[:10])), (11, [Call("GET", NODES, listed(FORTY), [("limit", 44)])])]
)
def test_few_of_many_are_read_again_one_by_one(count: int, later: list[Call]) -> None:
    """As many as a fourth of the cluster."""
    with Calls(Call("GET", NODES, listed(FORTY), [("limit", 160)]), later) as session:
        node_requests.read(session, FORTY)
        assert list(node_requests.read(session, FORTY[:count])) == FORTY[:count]


def _event(kind: str, name: str, revision: str, first: str = "name") -> str:
    meta = {"name": name, "resourceVersion": revision}
    if first != "name":
        meta = {first: "", **meta}
    return json.dumps({"type": kind, "object": {"kind": "Node", "apiVersion": "v1", "metadata": meta}}) + "\n"


@pytest.mark.parametrize(
    ("events", "decoded", "found", "revision"),
    [
        pytest.param([("MODIFIED", "n1", "1"), ("MODIFIED", "n1", "2")], 1, {"n1": "2"}, "2", id="superseded"),
        pytest.param([("MODIFIED", "n1", "1"), ("MODIFIED", "n2", "2")], 2, {"n1": "1", "n2": "2"}, "2", id="two"),
        pytest.param([("MODIFIED", "n1", "1"), ("DELETED", "n1", "2")], 2, {}, "2", id="deleted"),
        pytest.param(
            [("DELETED", "n1", "1"), ("ADDED", "n1", "2"), ("MODIFIED", "n1", "3")],
            3,
            {"n1": "3"},
            "3",
            id="created again",
        ),
        pytest.param(
            [("MODIFIED", "n1", "1", "uid"), ("MODIFIED", "n1", "2", "uid")], 2, {"n1": "2"}, "2", id="other order"
        ),
    ],
)
@pytest.mark.parametrize("cut", ["", _event("MODIFIED", "n1", "9")[:-5]], ids=["whole", "cut off"])
def test_only_the_last_change_of_a_node_is_decoded(
    monkeypatch: pytest.MonkeyPatch,
    events: list[tuple[str, ...]],
    decoded: int,
    found: dict[str, str],
    revision: str,
    cut: str,
) -> None:
    """An event that the end of the watch has cut off is in the next one."""
    answer = "".join(_event(*event) for event in events) + cut
    query = [("watch", "true"), ("allowWatchBookmarks", "true"), ("resourceVersion", "0"), ("timeoutSeconds", 1)]
    seen: list[str] = []
    real = json.loads
    monkeypatch.setattr(session_module.json, "loads", lambda text: seen.append(text) or real(text))
    with Calls(Call("GET", NODES, answer.encode(), query)) as session:
        session.nodes_revision = "0"
        nodes, _gone = node_requests.changed(session, dict.fromkeys(map("n{}".format, range(9)), ""), 1)
        assert session.nodes_revision == revision
    assert {name: one.resource_version for name, one in nodes.items()} == found
    # The last one is what follows the last line break.
    assert len(seen) == decoded + 1


def test_an_outage_of_the_api_server_is_no_missing_node() -> None:
    short = Call("GET", NODES, listed(MANY[:8], "token", 4992), [("limit", 8)])
    away = Call("GET", f"{NODES}/n9", ApiError(503, "away", transient=True))
    with Calls(short, gets("n8"), away) as session, pytest.raises(ApiError, match="away"):
        node_requests.read(session, ["n8", "n9"])


@pytest.mark.parametrize(
    ("count", "wanted", "lists", "gets_of_nodes"),
    [(3, 3, 1, 0), (20, 20, 1, 0), (600, 1, 1, 0), (600, 8, 1, 7), (600, 60, 1, 34), (600, 600, 3, 0)],
)
def test_requests_of_an_api_server(count: int, wanted: int, lists: int, gets_of_nodes: int) -> None:
    """Few nodes of a large cluster cost neither its pages nor the bytes of all its nodes."""
    names = [f"n{number}" for number in range(count)]
    api = Direct(*map(node, names))
    chosen = names[:: max(1, count // wanted)][:wanted]
    found = node_requests.read(api, chosen)
    assert list(found) == chosen
    assert (api.count("GET", NODES), sum(path != NODES for _method, path in api.requests)) == (lists, gets_of_nodes)


def test_no_names_is_a_mistake_and_not_all_nodes() -> None:
    with Calls() as session, pytest.raises(ClusterError, match="nodes is an empty list"):
        node_requests.read(session, [])


def test_expired_pages_are_read_again_from_the_first() -> None:
    """A node that went away between the two LISTs is not kept from the first."""
    with Calls(
        Call("GET", NODES, items(node("gone"), more="token 1"), PAGE),
        Call("GET", NODES, EXPIRED, (*PAGE, ("continue", "token 1"))),
        Call("GET", NODES, items(node("n1"), more="token 2"), PAGE),
        Call("GET", NODES, items(node("n2")), (*PAGE, ("continue", "token 2"))),
    ) as session:
        assert list(node_requests.read(session)) == ["n1", "n2"]


@pytest.mark.parametrize(("error", "tries"), [(EXPIRED, 2), (ApiError(403, "forbidden"), 1)])
def test_pages_that_fail(error: ApiError, tries: int) -> None:
    """What expires twice fails, anything else at once."""
    once = [
        Call("GET", NODES, items(node("n1"), more="x"), PAGE),
        Call("GET", NODES, error, (*PAGE, ("continue", "x"))),
    ]
    with Calls(*once * tries) as session, pytest.raises(ApiError) as caught:
        node_requests.read(session)
    assert caught.value is error
