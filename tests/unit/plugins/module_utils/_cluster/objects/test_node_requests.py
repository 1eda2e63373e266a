# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads of Nodes, by LISTs or one GET for each, and the watch of those that change."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_requests, nodes
from tests.sim.api.direct import Clock, Direct
from tests.support.api.calls import NODES, PAGE, Call, Calls, by_name
from tests.support.api.objects import items, node

MANY = [f"n{number}" for number in range(600)]
EXPIRED = ApiError(410, "too old resource version", "Expired")


def gets(*names: str) -> list[Call]:
    return [Call("GET", f"{NODES}/{name}", node(name)) for name in names]


def absent(name: str) -> Call:
    return Call("GET", f"{NODES}/{name}", ApiError(404, f"nodes {name} not found", "NotFound"))


def listed(names: t.Sequence[str], more: str = "") -> dict[str, t.Any]:
    return items(*map(node, names), more=more)


def test_a_node_whose_label_is_not_its_name_is_read_by_its_name() -> None:
    """What has the label of another host does not count, and a name that no label can have is not asked for so."""
    long = "n" * 64
    listing = Call("GET", NODES, listed(["other", "n1"]), by_name("n0", "n1"))
    with Calls(listing, gets("n0", long)) as session:
        assert list(node_requests.read(session, ["n0", "n1", long])) == ["n0", "n1", long]


def test_many_nodes_without_such_labels_are_read_with_all_others() -> None:
    names = MANY[:251]
    with Calls(
        Call("GET", NODES, listed([]), by_name(*names)),
        Call("GET", NODES, listed(names[:250], "token"), PAGE),
        Call("GET", NODES, listed([names[250], "other"]), (*PAGE, ("continue", "token"))),
    ) as session:
        assert list(node_requests.read(session, names)) == names


# As many as a label selector takes of these.
LONG = [f"n{number:059}" for number in range(5 * 95)]


@pytest.mark.parametrize(
    ("there", "wanted", "lists"),
    [
        *((LONG[:count], LONG[:count], lists) for count, lists in ((95, 1), (96, 2), (4 * 95, 4), (4 * 95 + 1, 2))),
        (MANY[:3], MANY[:3], 1),
        *((MANY, MANY[:: 600 // count][:count], lists) for count, lists in ((1, 1), (8, 1), (60, 1), (600, 3))),
    ],
)
def test_requests_of_an_api_server(there: list[str], wanted: list[str], lists: int) -> None:
    """No URL is longer than proxies take: names that need more than four LISTs cost a LIST of all, by its pages.

    Few nodes of a large cluster cost neither its pages nor the bytes of all its nodes.
    """
    api = Direct(*map(node, there))
    assert list(node_requests.read(api, wanted)) == wanted
    assert (api.count("GET", NODES), len(api.requests)) == (lists, lists)


def test_a_watch_begins_at_the_first_of_several_lists() -> None:
    """A node of the first may change before the second."""
    names = LONG[:97]
    first = {**listed(names[:95]), "metadata": {"resourceVersion": "5"}}
    second = {**listed(names[95:]), "metadata": {"resourceVersion": "9"}}
    with Calls(
        Call("GET", NODES, first, by_name(*names[:95])), Call("GET", NODES, second, by_name(*names[95:]))
    ) as session:
        session.nodes_revision = ""
        node_requests.read(session, names)
        assert session.nodes_revision == "5"


def test_all_unknown_names_are_named() -> None:
    listing = Call("GET", NODES, listed(["n1"]), by_name("n9", "n1", "n8"))
    with Calls(listing, absent("n9"), absent("n8")) as session, pytest.raises(ClusterError) as caught:
        node_requests.read(session, ["n9", "n1", "n8"])
    assert "the cluster at https://api.example:6443 has no node named n9, n8: check the names" in caught.value.message
    assert "kubelet_config_node_name" in caught.value.message


def test_an_outage_of_the_api_server_is_no_missing_node() -> None:
    away = Call("GET", f"{NODES}/n9", ApiError(503, "away", transient=True))
    listing = Call("GET", NODES, listed([]), by_name("n8", "n9"))
    with Calls(listing, gets("n8"), away) as session, pytest.raises(ApiError, match="away"):
        node_requests.read(session, ["n8", "n9"])


def _event(kind: str, name: str, revision: str, **labels: str) -> bytes:
    return json.dumps({"type": kind, "object": node(name, revision=revision, labels=labels)}).encode() + b"\n"


BOOKMARK = b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "7"}}}\n'
NAMES = MANY[:9]
DONE = [_event("MODIFIED", name, "4", done="yes") for name in NAMES]


def is_done(one: nodes.Node) -> bool:
    return one.labels.get("done") == "yes"


def watch(answer: t.Any, seconds: int = 2) -> Call:
    query = [("watch", "true"), ("allowWatchBookmarks", "true"), ("resourceVersion", "3"), ("timeoutSeconds", seconds)]
    return Call("GET", NODES, answer, query)


def changed(*calls: Call, seconds: float = 2, clock: Clock | None = None) -> tuple[dict[str, str], list[str], str]:
    """Return the revisions of the nodes that have changed, those that are gone, and where the next watch begins.

    With a clock, the watch lasts two seconds.
    """

    class Lasting(Calls):
        def lines(self, *given: t.Any) -> t.Iterator[bytes]:
            yield from super().lines(*given)
            if clock:
                clock.now += 2

    with Lasting(*calls) as session:
        session.nodes_revision = "3"
        found, lost = node_requests.changed(session, dict.fromkeys(NAMES, ""), seconds, is_done)
    return {name: one.resource_version for name, one in found.items()}, list(lost), str(session.nodes_revision)


@pytest.mark.parametrize(
    ("events", "found", "gone", "revision"),
    [
        pytest.param([_event("MODIFIED", "n1", "4"), _event("MODIFIED", "n1", "5")], {"n1": "5"}, [], "5", id="twice"),
        pytest.param([_event("MODIFIED", "n1", "4"), _event("DELETED", "n1", "5")], {}, ["n1"], "5", id="deleted"),
        pytest.param([_event("DELETED", "n1", "4"), _event("ADDED", "n1", "5")], {"n1": "5"}, [], "5", id="again"),
        pytest.param([_event("MODIFIED", "another", "4")], {}, [], "4", id="another"),
        pytest.param([_event("MODIFIED", "n1", "4"), BOOKMARK], {"n1": "4"}, [], "7", id="bookmark"),
        pytest.param([], {}, [], "3", id="nothing"),
    ],
)
def test_the_last_state_of_each_node_that_changed(
    clock: Clock, events: list[bytes], found: dict[str, str], gone: list[str], revision: str
) -> None:
    """The next watch goes on where this one ended."""
    assert changed(watch(b"".join(events)), clock=clock) == (found, gone, revision)
    assert clock.slept == []


def test_a_watch_ends_once_all_have_answered(clock: Clock) -> None:
    """What comes later is in the next one."""
    later = _event("MODIFIED", "n1", "9")
    answers = watch(b"".join([*DONE[:-1], _event("DELETED", "n8", "8"), later]))
    assert changed(answers, clock=clock) == (dict.fromkeys(NAMES[:-1], "4"), ["n8"], "8")
    assert clock.now == 1000


def test_the_last_look_reads_to_the_end(clock: Clock) -> None:
    """A node that failed after it had answered must not pass."""
    failed = _event("MODIFIED", "n1", "9")
    last = watch(b"".join([*DONE, failed]), 1)
    assert changed(last, seconds=0, clock=clock)[0] == {**dict.fromkeys(NAMES, "4"), "n1": "9"}
    broken = watch(b"".join([*DONE, b"<html>"]), 1)
    read = Call("GET", NODES, listed(NAMES), by_name(*NAMES))
    assert changed(broken, read, seconds=0, clock=clock)[0] == dict.fromkeys(NAMES, "1")


def test_a_node_that_takes_its_answer_back_is_waited_for(clock: Clock) -> None:
    undone = _event("MODIFIED", "n0", "5")
    assert changed(watch(b"".join([DONE[0], undone, *DONE[1:]])))[0] == {**dict.fromkeys(NAMES, "4"), "n0": "5"}
    assert clock.slept == [2]


def test_a_server_that_goes_on_is_left(clock: Clock) -> None:
    """It may ignore how long a watch should take."""

    class Endless(Calls):
        def lines(self, *_given: t.Any) -> t.Iterator[bytes]:
            for _second in range(60):
                clock.now += 1
                yield BOOKMARK

    with Endless() as session:
        session.nodes_revision = "3"
        assert node_requests.changed(session, dict.fromkeys(NAMES, ""), 2, is_done) == ({}, {})
    assert clock.now == 1004


@pytest.mark.parametrize(
    ("answer", "revision"),
    [
        (ApiError(403, "no", "Forbidden"), "None"),
        (ApiError(410, "too old", "Expired"), "8"),
        (b'{"type": "ERROR", "object": {"code": 410, "message": "too old"}}\n', "8"),
        (b'{"type": "ERROR", "object": null}\n', "8"),
        (ApiError(0, "away", transient=True), "8"),
        (b"<html>", "8"),
        (b"", "8"),
        (b'{"type": "MODIFIED", "object": {}}\n', "8"),
        (b'{"type": "BOOKMARK", "object": {"metadata": {}}}\n', "8"),
    ],
)
def test_a_watch_that_fails_is_followed_by_a_read(clock: Clock, answer: t.Any, revision: str) -> None:
    read = {**listed(NAMES), "metadata": {"resourceVersion": "8"}}
    found = changed(watch(answer), Call("GET", NODES, read, by_name(*NAMES)))
    assert found == (dict.fromkeys(NAMES, "1"), [], revision)
    # No server is asked again and again.
    assert clock.slept == [2]


def test_a_watch_that_breaks_off_is_no_failure(clock: Clock) -> None:
    assert changed(watch(DONE[0] + b"<html>\n")) == ({"n0": "4"}, [], "4")
    assert clock.slept == [2]


def test_a_refusal_of_another_kind_is_not_repeated() -> None:
    with pytest.raises(ApiError, match="who are you"):
        changed(watch(ApiError(401, "who are you")))


def test_a_read_that_fails_half_way_hides_no_change() -> None:
    """The next watch begins where the last read that was returned had begun."""
    first = {**listed(["n0"]), "metadata": {"resourceVersion": "5"}}
    away = Call("GET", f"{NODES}/n1", ApiError(503, "away", transient=True))
    with Calls(Call("GET", NODES, first, by_name("n0", "n1")), away) as session:
        session.nodes_revision = "3"
        with pytest.raises(ApiError, match="away"):
            node_requests.find(session, ["n0", "n1"])
    assert session.nodes_revision == "3"


def test_few_nodes_are_read_again(clock: Clock) -> None:
    names = NAMES[:8]
    with Calls(Call("GET", NODES, listed(names), by_name(*names))) as session:
        session.nodes_revision = "3"
        assert [*node_requests.changed(session, dict.fromkeys(names, ""), 1.5, is_done)[0]] == names
    assert clock.slept == [1.5]


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
