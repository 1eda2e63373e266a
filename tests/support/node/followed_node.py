# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole node with a follower, and the API server with its Node and the ConfigMaps.

The follower, the steps of a switch, the store and the guard are real. What an inspection finds, and what the steps of
an installation leave, is that of WholeNode.
"""

from __future__ import annotations

import contextlib
import copy
import json
import typing as t
from pathlib import Path
from unittest import mock

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.following import Answer, Orders
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow.follow_install import Limits
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow.follower import Follower
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import preflight
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_steps, restarts
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.connection import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit import UnitError
from tests.support.node.disk import PowerCut
from tests.support.node.whole_node import CONFIRM_SECONDS, TRIAL_SECONDS, WholeNode

HEALTHY_AFTER = 15.0
"""Seconds after a restart at which the follower sees whether the kubelet is healthy."""
PATH = "/api/v1/nodes/n1"
LABELS = {annotation.MANAGED_LABEL: annotation.MANAGED_BY}


class Api:
    """The API server: one Node, and ConfigMaps by name. `fails_after`: how many requests it answers, None for all.

    `before`: called before each request.
    """

    def __init__(self, before: t.Callable[[], None]) -> None:
        self.before = before
        self.uids = 0
        self.configmaps: dict[str, dict[str, t.Any]] = {}
        self.fails_after: int | None = None
        self.create_node()

    def create_node(self) -> None:
        """Create the Node, again if it is there, as its kubelet does."""
        self.uids += 1
        self.node: dict[str, t.Any] = {
            "metadata": {"uid": f"uid-n1-{self.uids}", "annotations": {}},
            "status": {"nodeInfo": {"machineID": "m1"}},
        }

    @property
    def notes(self) -> dict[str, str]:
        return t.cast("dict[str, str]", self.node["metadata"]["annotations"])

    def note(self, name: str, text: str | None) -> None:
        self.notes.pop(name, None)
        if text is not None:
            self.notes[name] = text

    def call(self, method: str, path: str, body: t.Any = None, _kind: str = "") -> t.Any:
        """Answer a request of the follower. Raises ApiError."""
        self.before()
        if self.fails_after is not None:
            if not self.fails_after:
                raise ApiError("no API server answers", 0)
            self.fails_after -= 1
        if method == "PATCH":
            uid = self.node["metadata"]["uid"]
            if body["metadata"].get("uid", uid) != uid:
                raise ApiError("409 the uid in the precondition is another one", 409)
            for name, text in body["metadata"]["annotations"].items():
                self.note(name, text)
        if path == PATH:
            return copy.deepcopy(self.node)
        found = self.configmaps.get(path.rpartition("/")[2])
        if found is None:
            raise ApiError("404 not found", 404)
        return copy.deepcopy(found)


class FollowedNode(WholeNode):
    """One node.

    `steps`: after how many steps of a look, beside changes of the disk, its process ends; None for never. `at_step`:
    what happens before a step, by its number.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        self.steps: int | None = None
        self.at_step: dict[int, t.Callable[[], object]] = {}
        self.passed = 0
        self.cluster = Api(self._request)

    @contextlib.contextmanager
    def standing_in(self) -> t.Iterator[None]:
        """Also stand in for what the steps of a switch find and install."""
        with super().standing_in(), contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(preflight, "look", self._inspected))
            stack.enter_context(mock.patch.object(restarts, "restarted", self._restarted))
            for name in ("present", "updated", "removed"):
                stack.enter_context(mock.patch.object(guard_steps, name, getattr(self, f"_{name}")))
            yield

    # What the controller does

    def point(self, source: dict[str, str] | None, transport: str = following.API, again: bool = True) -> None:
        """Write the source that the node should run, None for its local configuration, with a new attempt."""
        known = following.orders(self.cluster.notes)[0]
        attempt = known.attempt + (again and transport == following.API)
        orders = Orders(transport, attempt, int(TRIAL_SECONDS), int(CONFIRM_SECONDS))
        self.cluster.note(annotation.SOURCE, source and annotation.text({"configMap": source}))
        self.cluster.note(following.FOLLOW, following.text(orders))

    def assign(self, source: dict[str, str], content: str, cut: int | None = None, power: bool = False) -> bool:
        """Switch over ssh. The Node names the source before."""
        self.point(source, following.SSH)
        return super().assign(source, content, cut, power)

    def judge(self, reason: str) -> None:
        """Order that what the follower reports on trial is reverted for a reason, or confirmed without one."""
        orders = following.orders(self.cluster.notes)[0]
        judged = orders._replace(trial=self.answer().trial, reason=reason)
        self.cluster.note(following.FOLLOW, following.text(judged))

    def push(self, source: dict[str, str], content: str) -> None:
        metadata = {"uid": source["uid"], "resourceVersion": source["resourceVersion"], "labels": dict(LABELS)}
        self.cluster.configmaps[source["name"]] = {"metadata": metadata, "data": {"kubelet": content}}

    def answer(self) -> Answer:
        return following.answer(self.cluster.notes)[0] or Answer()

    # The follower

    def look(self, cut: int | None = None, steps: int | None = None, power: bool = False) -> bool:
        """Look at the Node once; return whether the process ended well.

        It, with `power` the node, ends after `cut` changes of the disk or so many `steps`.
        """
        self.disk.cut_after = None if cut is None else len(self.disk.calls) + cut
        self.steps, self.passed = steps, 0
        follower = self._follower()
        try:
            follower.look()
        except ApiError:
            return False
        except PowerCut:
            if power:
                self.reboot(power_cut=True)
            return False
        finally:
            self.disk.cut_after = self.steps = None
        return True

    def options(self) -> dict[str, t.Any]:
        return {**self._follower()._options, "confirm_seconds": CONFIRM_SECONDS, "trial_seconds": TRIAL_SECONDS}

    def _follower(self) -> Follower:
        return Follower(self.store(), Limits(effect="reboot"), t.cast("t.Any", self.cluster), "n1")

    def _request(self) -> None:
        self._step()
        if not self.api:
            raise ApiError("no API server answers", 0)

    def _step(self) -> None:
        self.passed += 1
        self.at_step.pop(self.passed - 1, lambda: None)()
        if self.steps is not None:
            if not self.steps:
                raise PowerCut
            self.steps -= 1

    # What the steps of a switch find and install

    def _inspected(self, _name: str = "", text: str | None = None, *_rest: t.Any, **options: t.Any) -> dict[str, t.Any]:
        self._step()
        own = {"path": str(self.own), "content": json.loads(self.own.read_text())}
        state = "reset" if options.get("local") else ""
        reasons = ["its binary refuses it"] if text is not None and self.unit.refuses(text) else []
        return {
            "kubelet": {
                "version": f"v1.{self.version}.0",
                "config": str(self.own),
                "local_config": str(self.own),
                "config_given_by": "flag",
                "shadowed": {},
                "config_dir_files": [],
            },
            "reads_store": self.dropin,
            "reasons": reasons,
            "warnings": [],
            "node_proof": True,
            "state_files": self._state_files(state, {"kubelet": text} if text else None),
            "disk": {},
            "own": [own],
            "dropin": None,
        }

    def _present(self, *_given: t.Any, **_options: t.Any) -> dict[str, t.Any]:
        self._step()
        self.install_guard()
        self.dropin = True
        return self._updated()

    def _updated(self, *_given: t.Any, **_options: t.Any) -> dict[str, t.Any]:
        found = {"invocation_id": self.unit.invocation, "healthy": self.healthy()}
        return {"changed": False, "diff": [], "warnings": [], **found}

    def _restarted(self, *_given: t.Any, only_verify: bool = False, **_options: t.Any) -> dict[str, t.Any]:
        """Restart the kubelet and wait. The guard goes on meanwhile, and only the follower ends at a cut."""
        self._step()
        held, self.disk.cut_after = self.disk.cut_after, None
        before = len(self.disk.calls)
        try:
            started = only_verify or self.restart()
            invocation = self.unit.invocation
            self.advance(HEALTHY_AFTER)
        finally:
            self.disk.cut_after = None if held is None else held + len(self.disk.calls) - before
        self._step()
        if not started or invocation != self.unit.invocation or not self.healthy():
            raise UnitError("kubelet.service: the kubelet is not healthy")
        return {"changed": not only_verify, "invocation_id": invocation}

    def _removed(self, *_given: t.Any, **_options: t.Any) -> dict[str, t.Any]:
        held, self.dropin = self.dropin, False
        try:
            found = self._restarted() if held else {}
        except UnitError:
            self.dropin = held
            self.restart()
            raise
        self.watching = False
        return {"diff": [], "warnings": [], **found, "changed": held}
