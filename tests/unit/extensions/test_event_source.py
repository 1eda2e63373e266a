# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The event source of Event-Driven Ansible: which events follow from the Nodes, each once; its watch over HTTP."""

from __future__ import annotations

import asyncio
import runpy
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from tests.sim.api.direct import Direct
from tests.sim.cluster import Cluster
from tests.support.api.calls import MERGE, NODES
from tests.support.api.objects import node, place, reference, status
from tests.support.api.server import Answer, Server
from tests.support.lab.views import eventually
from tests.support.plays.ansible import ROOT

PATH = ROOT / "extensions/eda/plugins/event_source/nodes.py"
# As ansible-rulebook runs it.
SOURCE = runpy.run_path(str(PATH))
NEW = reference("config-b")
Events = list[tuple[str, str]]


def options(**others: t.Any) -> dict[str, t.Any]:
    """Return the options of the source alone."""
    return {"label_selectors": [], "drift_seconds": 900, "state_file": None, **others}


def noted(reason: str, active: t.Any, good: t.Any = None, time: str = "2026-01-01T00:00:00Z", **more: str) -> t.Any:
    """Return what a node with the delivery of checkpoints is assigned and reports."""
    report = {**status(NEW, active, good), "reason": reason, "time": time, **more}
    return {"marked": place("config-b"), "reported": report}


TRIAL, GOOD = noted("on trial", NEW), noted("good", NEW, NEW)
DIED = noted("reverted to local", None, error="it died")


class Run:
    """A source over a cluster in memory, and what it emits."""

    def __init__(self, api: Direct, **others: t.Any) -> None:
        self.api = api
        self.events: list[dict[str, t.Any]] = []
        self.source = SOURCE["Source"](api, options(**others), self.events.append)

    def look(self) -> Events:
        """Look once, and return what was emitted."""
        self.events.clear()
        self.source.look()
        return [(event["type"], event["node"]) for event in self.events]


def begun(found: dict[str, t.Any], **others: t.Any) -> Run:
    """Return a source that has looked once at a cluster with this Node."""
    run = Run(Direct(found), **others)
    run.look()
    return run


def test_what_is_there_at_the_start_is_no_event() -> None:
    run = Run(Direct(node("n1"), node("n2", **noted("reverted to local", None, error="died"))))
    assert run.look() == run.look() == []


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(TRIAL, noted("on trial, confirmed", NEW), ["confirmed"], id="confirmed"),
        pytest.param(noted("on trial, confirmed", NEW), GOOD, [], id="confirmed-before"),
        pytest.param(TRIAL, GOOD, ["confirmed"], id="good-at-once"),
        pytest.param(TRIAL, DIED, ["reverted"], id="reverted"),
        pytest.param(
            DIED,
            noted("reverted to local", None, error="it died", time="2026-01-01T00:09:00Z"),
            ["reverted"],
            id="reverted-again",
        ),
        pytest.param(GOOD, noted("good", NEW, NEW, error="it ends"), ["failed"], id="failed"),
        pytest.param({}, TRIAL, [], id="a-trial-begins"),
    ],
)
def test_events_of_a_status(before: t.Any, after: t.Any, expected: list[str]) -> None:
    run = begun(node("n1", **before))
    run.api.nodes["n1"] = node("n1", **after)
    assert run.look() == [(kind, "n1") for kind in expected]
    assert run.look() == []


def test_a_kubelet_that_follows_its_node_by_itself_falls_back() -> None:
    """Native delivery has no reason in its status: the source that it runs shows the revert."""
    run = begun(node("n1", NEW, status(NEW, NEW)))
    run.api.nodes["n1"] = node("n1", NEW, status(NEW, None, None, "failed to validate"))
    assert run.look() == [("reverted", "n1")]
    assert run.events[0]["variant"] == "local" and run.events[0]["error"] == "failed to validate"


def test_nodes_that_come_go_and_are_upgraded() -> None:
    run = begun(node("n1"))
    api = run.api
    api.nodes["n2"] = node("n2")
    api.nodes["n1"] = node("n1", version="v1.20.9")
    assert run.look() == [("version_changed", "n1"), ("new_node", "n2")]
    del api.nodes["n2"]
    assert run.look() == []
    api.nodes["n2"] = node("n2")
    assert run.look() == [("new_node", "n2")]


def test_drift_is_one_event_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(SOURCE["time"], "time", lambda: now[0])
    run = begun(node("n1", **GOOD), drift_seconds=60)
    run.api.nodes["n1"] = node("n1", **{**GOOD, "marked": place("other")})
    seen = []
    for now[0] in (1001.0, 1050.0, 1062.0, 1100.0):
        seen.append(run.look())
    assert seen == [[], [], [("drifted", "n1")], []]
    run.api.nodes["n1"] = node("n1", **GOOD)
    now[0] = 1200.0
    assert run.look() == []


def test_what_happens_while_it_does_not_run_is_emitted_once(tmp_path: Path) -> None:
    file = str(tmp_path / "state.json")
    api = Direct(node("n1", **TRIAL))
    assert Run(api, state_file=file).look() == []
    api.nodes["n1"] = node("n1", **DIED)
    api.nodes["n2"] = node("n2")
    second = Run(api, state_file=file)
    assert second.look() == [("reverted", "n1"), ("new_node", "n2")]
    assert Run(api, state_file=file).look() == []
    assert [item.name for item in tmp_path.iterdir()] == ["state.json"]


def test_without_a_name_there_is_no_state_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rulebooks name an empty one unless the variable is set."""
    monkeypatch.chdir(tmp_path)
    found = SOURCE["options_of"]({"host": "http://127.0.0.1:1", "state_file": ""})
    run = Run(Direct(node("n1")), **{name: found[name] for name in options()})
    assert run.look() == [] and not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["", "[]", '{"n1": [1]}', "{"])
def test_a_state_file_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(ClusterError, match=r"state_file .* cannot be read: .* Remove it"):
        Run(Direct(), state_file=str(tmp_path / "state.json"))


def test_the_id_of_an_event_is_the_same_when_it_is_seen_again() -> None:
    ids = []
    for _time in range(2):
        run = begun(node("n1", **TRIAL))
        run.api.nodes["n1"] = node("n1", **DIED)
        run.look()
        ids += [event["id"] for event in run.events]
    assert len(ids) == 2 and len(set(ids)) == 1


@pytest.mark.parametrize(
    "text", ["{{ lookup('pipe', 'id') }}", "{", "{% if x %}{{{x}}}{% endif %}", "{# x #}", "#jinja2: a:'[['\n[[ x ]]"]
)
def test_what_a_node_writes_is_no_template(text: str) -> None:
    """A rulebook passes it on to a module or a playbook, where Ansible would evaluate it on the controller."""
    run = begun(node("n1", **TRIAL))
    run.api.nodes["n1"] = node("n1", **noted(f"reverted {text}", None, error=text), version=text)
    run.look()
    assert len(run.events) == 2 and run.events[0]["error"].replace(" ", "") == text.replace(" ", "")
    words = "".join(str(value) for event in run.events for value in event.values())
    assert [mark for mark in ("{{", "{%", "{#", "#jinja2:") if mark in words] == []


def test_options_that_are_wrong() -> None:
    with pytest.raises(ClusterError, match=r"livenodes.kubelet.nodes: .*label_selector.* Correct the source"):
        SOURCE["options_of"]({"host": "http://127.0.0.1:1", "label_selector": "a=b"})


def test_a_watch_over_http_sees_each_change_once() -> None:
    """The real session and a real watch; a break of the connection and an API server that restarts cost no event."""
    with Cluster() as cluster:
        cluster.simulate("n1")
        eventually(lambda: cluster.node("n1")["status"].get("config") == {}, 60, "n1 listens", every=0.02)
        session = Session({"host": cluster.url})
        seen: list[dict[str, t.Any]] = []
        source = SOURCE["Source"](session, options(), seen.append)
        source.look()

        def note(name: str, **parts: str) -> None:
            notes = node(**noted(**{"reason": "on trial", "active": NEW, **parts}))["metadata"]["annotations"]
            body = {"metadata": {"annotations": notes}}
            Session({"host": cluster.url}).request("PATCH", f"{NODES}/{name}", (), body, MERGE)

        note("n1")
        note("n1", reason="on trial, confirmed")
        source.watch(1)
        cluster.stop()
        with pytest.raises(ApiError) as caught:
            source.watch(1)
        assert caught.value.transient
        cluster.start()
        note("n1", reason="reverted to local", error="it died")
        source.look()
        source.watch(1)
    assert [event["type"] for event in seen] == ["confirmed", "reverted"]


def test_a_proxy_that_ends_each_watch_at_once_is_not_asked_again_at_once() -> None:
    """The source pauses by chance, as after a failure."""
    run = Run(Direct(node("n1")))
    watches: list[int] = []
    pauses: list[float] = []

    class Stopped:
        def is_set(self) -> bool:
            return len(pauses) == 3

        def wait(self, seconds: float) -> None:
            pauses.append(seconds)

    run.source.watch = watches.append
    run.source.run(Stopped())
    assert len(watches) == 3 and all(1 <= seconds <= 20 for seconds in pauses)


def test_main_fills_the_queue_and_ends_with_the_error() -> None:
    """As ansible-rulebook calls it. A user who may not list Nodes ends it, with the permission that is missing."""

    async def first() -> dict[str, t.Any]:
        queue: asyncio.Queue[dict[str, t.Any]] = asyncio.Queue(1)
        running = asyncio.create_task(SOURCE["main"](queue, {"host": cluster.url}))
        while not queue.qsize():
            cluster.simulate(f"n{len(names)}")
            names.append("")
            await asyncio.sleep(0.1)
        event = await queue.get()
        running.cancel()
        return event

    names: list[str] = []
    with Cluster() as cluster:
        event = asyncio.run(asyncio.wait_for(first(), 20))
        assert event["type"] == "new_node"
        refused = SOURCE["main"](asyncio.Queue(), {"host": cluster.url, "impersonate_user": "stranger"})
        with pytest.raises(ClusterError, match="cannot list resource"):
            asyncio.run(asyncio.wait_for(refused, 20))


def test_main_ends_with_whatever_ends_the_watch() -> None:
    """An answer that is no Node, such as that of a proxy, must not leave a rulebook that waits for events for ever."""
    with Server(Answer(body={"kind": "NodeList", "metadata": {}, "items": [{"metadata": "n1"}]})) as server:
        ended = SOURCE["main"](asyncio.Queue(), {"host": server.url})
        with pytest.raises(Exception, match="str"):
            asyncio.run(asyncio.wait_for(ended, 5))
