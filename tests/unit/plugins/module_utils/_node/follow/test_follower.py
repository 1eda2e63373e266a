# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a look at the Node calls and answers.

Here the calls of kubelet_checkpoint are recorded; tests/contract/test_followers.py runs them on a real node.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path
from types import MappingProxyType

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.following import Answer, Orders
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow import follower
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow.follow_install import Limits
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow.follower import Follower
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report.status_annotation import Outbox
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Moment, Trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import checkpoint_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch.one_call import StepError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.connection import ApiError
from tests.support.node.stored import source

A = source("config-a", uid="u1")
LABELS = {"app.kubernetes.io/managed-by": "livenodes.kubelet"}
FACTS = {"kubelet": {"version": "v1.28.0", "local_config": "/own"}, "own": [{"path": "/own", "content": {}}]}
SWITCHED = {"reasons": [], "restart_needed": True, "changed": True, "trial": {"name": "boot/1.0"}}
RESTART = ("restarted", "boot/1.0")
FIRST = Orders(attempt=1)


class World:
    """An API server with one Node and one ConfigMap, and a record of the calls on the node by state and trial."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.notes: dict[str, str] = {}
        self.problems: list[ApiError] = []
        """The last one is what the API server answers instead of the ConfigMap."""
        self.configmap: dict[str, t.Any] = {
            "metadata": {"uid": "u1", "resourceVersion": "7", "labels": LABELS},
            "data": {"kubelet": json.dumps({"maxPods": 50})},
        }
        self.calls: list[tuple[str, t.Any]] = []
        self.results: dict[str, t.Any] = {"assigned": SWITCHED, "rolled_back": SWITCHED, "reset": SWITCHED}
        self.facts: dict[str, t.Any] = dict(FACTS)
        monkeypatch.setattr(follower.one_call, "apply", self._apply)
        monkeypatch.setattr(Follower, "_facts", lambda _self: self.facts)
        self.follower = Follower(Store(str(folder)), Limits(), t.cast("t.Any", self), "n1")

    def call(self, method: str, path: str, body: t.Any = None, _kind: str = "") -> t.Any:
        """Answer as an API server."""
        if "/configmaps/" in path:
            if self.problems:
                raise self.problems[-1]
            return self.configmap
        assert path == "/api/v1/nodes/n1"
        if method == "PATCH":
            self.notes.update(body["metadata"]["annotations"])
        return {"metadata": {"uid": "uid-n1", "annotations": self.notes}, "status": {"nodeInfo": {"machineID": "m1"}}}

    def _apply(self, options: dict[str, t.Any], _pretend: bool) -> t.Any:
        self.calls.append((options["state"], options["trial"]))
        result = self.results.get(options["state"], {"changed": True})
        if isinstance(result, Exception):
            raise result
        return result

    def look(
        self, source: t.Mapping[str, str] | None = MappingProxyType(A), orders: Orders = FIRST, **more: t.Any
    ) -> Answer:
        """Assign a source, look, and return the answer."""
        if source is not None:
            source = dict(source)
            self.notes[annotation.SOURCE] = annotation.text({"configMap": source, **more})
        self.notes[following.FOLLOW] = following.text(orders)
        self.follower.look()
        found, fault = following.answer(self.notes)
        assert found is not None and not fault
        return found


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    return World(monkeypatch, tmp_path)


def test_assign(world: World) -> None:
    found = world.look()
    assert world.calls == [("assigned", None), RESTART]
    assert (found.source, found.attempt, found.refused, found.trial) == (A, 1, "", "boot/1.0")
    assert found.facts == FACTS


def test_a_switch_that_was_done_already_needs_no_restart(world: World) -> None:
    world.results["assigned"] = {**SWITCHED, "restart_needed": False, "trial": None}
    assert world.look().trial == ""
    assert world.calls == [("assigned", None)]


def test_a_kubelet_that_does_not_come_up_is_reverted(world: World) -> None:
    world.results["restarted"] = StepError("restarting", "not healthy")
    world.results["rolled_back"] = {"changed": False}
    assert "not healthy" in world.look().refused
    assert world.calls == [("assigned", None), RESTART, ("rolled_back", "boot/1.0")]


def test_what_the_inspection_refuses(world: World) -> None:
    world.results["assigned"] = {"reasons": ["swap is on", "no memory"], "restart_needed": False}
    assert world.look().refused == "swap is on; no memory"


def test_a_configmap_that_is_gone_is_refused_and_one_that_cannot_be_read_now_is_not(world: World) -> None:
    world.problems.append(ApiError("404 not found", 404))
    assert "cannot be read with the credentials of the kubelet" in world.look().refused
    world.problems.append(ApiError("timed out", 0))
    with pytest.raises(ApiError):
        world.look(orders=Orders(attempt=2))


def test_a_follower_without_limits_refuses_what_is_new_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.look()
    world.calls.clear()
    sent: list[t.Any] = []
    call = world.call
    monkeypatch.setattr(world, "call", lambda *given: (sent.append(given[0]), call(*given))[1])
    for orders, requests in ((FIRST, ["GET"]), (Orders(attempt=2), ["GET", "PATCH"]), (Orders(attempt=2), ["GET"])):
        sent.clear()
        world.notes[following.FOLLOW] = following.text(orders)
        world.follower.refuse("the settings are gone")
        assert sent == requests
    found, _fault = following.answer(world.notes)
    assert found is not None
    assert (found.source, found.attempt, found.refused, found.trial) == (A, 2, "the settings are gone", "")
    assert found.facts == FACTS and world.calls == []
    world.notes[following.FOLLOW] = following.text(Orders("ssh", attempt=3))
    world.follower.refuse("the settings are gone")
    assert sent == ["GET", "GET"]


def test_own_files_that_changed_since_the_plan(world: World) -> None:
    """Those that cannot be read now did not change."""
    world.look()
    known, world.facts = world.facts, {"kubelet": FACTS["kubelet"]}
    assert world.look({**A}, Orders(attempt=9)).refused == ""
    world.facts = known
    world.look(orders=Orders(attempt=10))
    world.facts = {**FACTS, "own": [{"path": "/own", "content": {"maxPods": 9}}]}
    assert world.look({**A, "uid": "u1"}, Orders(attempt=2)).refused == follower.OWN_FILE_CHANGED
    # That answer named the changed file, so the next plan knows it.
    assert world.look(orders=Orders(attempt=3)).refused == ""


@pytest.mark.parametrize("content", [None, "[]", "\x00"], ids=["no file", "no mapping", "no YAML"])
def test_a_damaged_checkpoint_is_named_and_not_what_was_assigned(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    """Whether the limit of root allows a change is not known then."""
    path = Path(world.follower.store.stage(A, {"kubelet": "{}"})) / "kubelet"
    path.unlink()
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr(world.follower.store, "active_source", lambda: A)
    refused = world.look().refused
    assert "the effect of the change is not known" in refused
    assert f"{tmp_path}/store/checkpoints/u1/7 does not match its digest" in refused
    assert world.calls == []


@pytest.mark.parametrize(
    ("facts", "cause"), [({"msg": "systemd is busy"}, "systemd is busy"), ({"kubelet": {}}, "its binary")]
)
def test_a_change_whose_effect_is_not_known(world: World, facts: dict[str, t.Any], cause: str) -> None:
    """The inspection that follows may succeed, and knows no limit."""
    world.facts = facts
    assert cause in world.look().refused and world.calls == []


def test_a_drop_in_that_takes_the_place_of_a_checkpoint(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kubelet takes up the own file again, of which a checkpoint hides all."""
    world.follower.store.stage(A, {"kubelet": '{"maxPods": 50}'})
    monkeypatch.setattr(world.follower.store, "active_source", lambda: A)
    world.facts["own"] = [{"path": "/own", "content": {"cpuManagerPolicy": "static"}}]
    assert world.look(delivery="dropin").refused.startswith("cpuManagerPolicy: the effect of the change is")
    assert world.calls == []


@pytest.mark.parametrize(
    ("orders", "calls"),
    [
        (Orders(attempt=1, trial="boot/1.0"), [("confirmed", "boot/1.0")]),
        (Orders(attempt=1, trial="boot/1.0", reason="slow"), [("rolled_back", "boot/1.0"), ("restarted", "boot/1.0")]),
    ],
)
def test_a_trial_is_judged_once(world: World, orders: Orders, calls: list[t.Any]) -> None:
    world.look()
    del world.calls[:]
    assert world.look(orders=orders).judged == "boot/1.0"
    assert world.look(orders=orders).failed == ""
    assert world.calls[: len(calls)] == calls and ("confirmed", "boot/1.0") not in world.calls[1:]


def test_a_look_with_nothing_to_do_keeps_the_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.follower.store, "assigned", lambda: A)
    world.notes[following.FOLLOWER] = following.text(Answer(configMap=A, attempt=1, trial="boot/1.0"))
    assert world.look().trial == "boot/1.0" and world.calls == []


def test_a_confirmation_that_comes_too_late(world: World) -> None:
    world.results["confirmed"] = StepError("confirming", "the node reverted it")
    assert "the node reverted it" in world.look(orders=Orders(attempt=1, trial="boot/1.0")).failed


@pytest.mark.parametrize("place", [annotation.SOURCE, following.FOLLOW])
def test_a_malformed_annotation_is_corrected_by_hand(world: World, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Its refusal ends with it, and the name of the trial is there again."""
    found = world.look(orders=Orders())
    monkeypatch.setattr(world.follower.store, "assigned", lambda: A)
    before, world.notes[place] = world.notes[place], "{trial: boot/1.0}"
    world.follower.look()
    assert f"{place} is malformed" in world.notes[following.FOLLOWER]
    world.notes[place] = before
    world.results["assigned"] = {**SWITCHED, "restart_needed": False}
    monkeypatch.setattr(world.follower.store, "trial", lambda: Trial(A, None, Moment("boot", 1.0, 0.0)))
    world.follower.look()
    assert following.answer(world.notes) == (found, "")


def test_the_removal_of_a_malformed_source_resets_no_node(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its message asks for that, so that a rollout can write it again."""
    world.look()
    monkeypatch.setattr(world.follower.store, "assigned", lambda: A)
    world.notes[annotation.SOURCE] = "{"
    world.follower.look()
    del world.notes[annotation.SOURCE], world.calls[:]
    world.follower.look()
    found, _fault = following.answer(world.notes)
    assert found is not None and (found.source, found.refused, world.calls) == (None, "", [])


@pytest.mark.parametrize("lost", [True, False])
def test_a_node_that_was_created_again_gets_the_status_of_what_runs_already(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    """Nothing is switched, so the guard would report nothing, and a rollout would wait for it."""
    store = world.follower.store
    (tmp_path / "store").mkdir(0o700)
    monkeypatch.setattr(store, "assigned", lambda: A)
    monkeypatch.setattr(store, "active_source", lambda: A)
    started: list[str] = []
    monkeypatch.setattr(checkpoint_module, "start_guard", lambda: started.append("guard"))
    if not lost:
        world.notes[annotation.STATUS] = "{}"
    assert world.look().refused == ""
    world.look()
    report = Outbox(str(tmp_path)).report()
    assert world.calls == [] and bool(report) == bool(started) == lost and len(started) < 2
    if report:
        assert (report.status["assigned"], report.message) == ({"configMap": A}, "")


def test_reset(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The local configuration is verified as any other, and the follower stays."""
    monkeypatch.setattr(world.follower.store, "assigned", lambda: A)
    world.notes[following.FOLLOWER] = following.text(Answer(configMap=A, attempt=1))
    found = world.look(None, Orders(attempt=2))
    assert world.calls == [("reset", None), RESTART, ("removed", None)]
    assert (found.source, found.attempt, found.refused) == (None, 2, "")
