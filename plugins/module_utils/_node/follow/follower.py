# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One look of a follower at its Node: it does what the annotations ask for, as the module kubelet_checkpoint does it
over ssh, and answers in an annotation.

A look can be repeated, also after it was killed at any point: what it does follows from the Node and from the store,
and the store can be interrupted anywhere.
"""

from __future__ import annotations

from typing import Any, Mapping

from ..._config.delivery import DROPIN, noted, of
from ..._config.values import annotation, following
from ..._config.values.annotation import NodeRecords
from ..._config.values.following import Answer
from ..._config.values.short_texts import minor_of
from ..guard import base
from ..host import preflight
from ..host.preflight_decisions import Terms
from ..report.status_annotation import MERGE_PATCH
from ..store.meta import Source
from ..store.store import Store
from ..store.store_reader import quietly
from ..switch import checkpoint_module, one_call, values
from ..switch.one_call import StepError
from ..switch.values import Standing
from ..system import config_summary, files
from ..system.connection import ApiError
from ..system.files import StoreError
from ..system.kubeconfig import Kubeconfig
from ..system.lock import locked
from ..unit import dropin_folder
from ..unit.unit import Unit, UnitError
from . import decide
from .decide import Action, Seen
from .follow_install import Limits, running

Config = Mapping[str, Any]
LARGEST = 1 << 20
"""The most bytes of a ConfigMap: the API server stores no larger object (etcd's limit is 1.5 MiB with its envelope)."""
OWN_FILE_CHANGED = (
    "a file of the node that its kubelet reads was changed since this was planned. Run again, which plans with the "
    "changed file"
)
_FACTS = ("kubelet", "disk", "own", "dropin")
_KUBELET = ("version", "local_config", "config_given_by", "shadowed", "config_dir_files")
_REFUSING = (400, 403, 404, 422)
"""The answers of an API server that a second request does not change."""


class Refusal(Exception):
    """The node does not run what its Node names. The text has cause and remedy."""


class Follower:
    """The follower of one node. C(name): that of its Node."""

    def __init__(self, store: Store, limits: Limits, api: Kubeconfig, name: str) -> None:
        self.store, self.limits, self.api, self.name = store, limits, api, name
        self.path = f"/api/v1/nodes/{name}"
        self._options = {**values.defaults(), **limits.options, "config_dir": store.config_dir, "node": name}
        self._unit = Unit(self._options["unit"], child=bool(self._options["dropin_dir"]))

    def look(self) -> None:
        """Look at the Node once, do what it asks for, and answer. Raises ApiError if that must be tried again."""
        # Before the Node: a run over ssh names its source there before it switches the store.
        assigned, trial = quietly(self.store.assigned), quietly(self.store.trial)
        node = self.api.call("GET", self.path)
        notes = node["metadata"].get("annotations") or {}
        machine = annotation.machine(node["metadata"], node["status"].get("nodeInfo") or {})
        records, facts = annotation.records(notes, None, None), self._facts()
        before, _fault = following.answer(notes)
        orders, fault = following.orders(notes)
        fault = fault and f"its annotation {following.FOLLOW} is malformed: {fault}. Assign again"
        before = before or Answer()
        seen = Seen(
            records.source,
            orders,
            before,
            assigned,
            trial,
            bool(quietly(lambda: files.check_folder(self.store.folder, self.store.fs))),
            annotation.is_another(records.machine, machine),
            records.malformed.get(annotation.SOURCE, fault),
        )
        after = self._done(decide.action(seen), seen, records, facts)
        after = after._replace(format=following.FORMAT, facts=self._facts() if after != before else facts)
        if after != before:
            self._answer(node, after)
        if after.judged != before.judged:
            # The source may have changed with the verdict, or since.
            self.look()

    def refuse(self, reason: str) -> None:
        """Answer that the node does not take up what its Node names, unless that is answered. Raises ApiError."""
        node = self.api.call("GET", self.path)
        notes = node["metadata"].get("annotations") or {}
        source = annotation.records(notes, None, None).source
        orders, _fault = following.orders(notes)
        before = following.answer(notes)[0] or Answer()
        if orders.transport == following.SSH or (before.source, before.attempt) == (source, orders.attempt):
            return
        after = before._replace(configMap=dict(source or {}), attempt=orders.attempt, refused=reason, trial="")
        self._answer(node, after._replace(format=following.FORMAT))

    def _answer(self, node: Mapping[str, Any], answer: Answer) -> None:
        # The uid refuses a Node that was created again during the look: what it names was not looked at.
        notes = {following.FOLLOWER: following.text(answer)}
        body = {"metadata": {"uid": node["metadata"]["uid"], "annotations": notes}}
        self.api.call("PATCH", self.path, body, MERGE_PATCH)

    def _done(self, action: Action, seen: Seen, records: NodeRecords, facts: Config) -> Answer:
        """Do what was decided, and return the answer."""
        if action.kind == decide.NOTHING:
            return seen.answer
        if action.kind in (decide.CONFIRM, decide.REVERT):
            return self._judged(action, seen)
        answer = seen.answer._replace(
            configMap=dict(seen.source or {}), attempt=seen.orders.attempt, refused="", trial=""
        )
        try:
            return answer._replace(trial=self._changed(action, seen, records, facts))
        except (Refusal, StepError, StoreError, UnitError, OSError) as error:
            return answer._replace(refused=str(error))

    def _changed(self, action: Action, seen: Seen, records: NodeRecords, facts: Config) -> str:
        """Do what was decided, and return the trial that it began; empty if none. Raises Refusal and other errors."""
        if action.kind == decide.REFUSE:
            raise Refusal(action.reason)
        if action.kind == decide.RESET:
            self._reset(seen)
        if action.kind == decide.ANSWER and seen.source is not None and records.status is None:
            self._report()
        if action.kind == decide.RETURN and seen.trial is not None:
            self._revert(seen.trial.name, action.reason)
        if action.kind == decide.ASSIGN and seen.source is not None:
            self._check_facts(seen.answer, facts)
            return self._assign(seen.source, seen, records.delivery, facts)
        return ""

    def _report(self) -> None:
        """Let the guard report once more what runs."""
        with locked(self.store.config_dir):
            base.queue_again(self.store, "")
        checkpoint_module.start_guard()

    def _judged(self, action: Action, seen: Seen) -> Answer:
        """Confirm or revert the trial that the controller has judged."""
        answer = seen.answer._replace(judged=seen.orders.trial, failed="")
        try:
            if action.kind == decide.CONFIRM:
                self._apply("confirmed", trial=seen.orders.trial)
            else:
                self._revert(seen.orders.trial, action.reason)
        except (StepError, StoreError, UnitError, OSError) as error:
            answer = answer._replace(failed=str(error))
        return answer

    def _assign(self, source: Source, seen: Seen, delivery: str, facts: Config) -> str:
        """Switch to a source, and return the name of its trial; empty without one. Raises Refusal and the module's."""
        configmap = self._configmap(source)
        full = {**source, **{key: configmap["metadata"][key] for key in ("uid", "resourceVersion")}}
        data = configmap.get("data") or {}
        delivery = noted(delivery)
        self._check_effect(data.get(source["kubeletConfigKey"]), delivery, facts)
        found = self._apply(
            "assigned",
            source=values.option(full),
            data=data,
            delivery=delivery,
            trial_seconds=seen.orders.trial_seconds,
            confirm_seconds=seen.orders.confirm_seconds,
            attempt=seen.orders.attempt,
            standing=_standing(seen),
        )
        if found["reasons"]:
            raise Refusal("; ".join(found["reasons"]))
        name = (found["trial"] or {}).get("name", "")
        if found["restart_needed"]:
            self._restart(name)
        return str(name)

    def _restart(self, trial: str) -> None:
        """Restart the kubelet with what was switched to. If it does not become healthy, revert that and raise."""
        try:
            self._apply("restarted", trial=trial)
        except (StepError, StoreError, UnitError) as error:
            self._revert(trial, str(error))
            raise

    def _revert(self, trial: str, reason: str) -> None:
        done = self._apply("rolled_back", reason=reason, trial=trial, unconfirmed_only=True)
        if done["changed"]:
            self._apply("restarted", trial=(done["trial"] or {}).get("name"))

    def _reset(self, seen: Seen) -> None:
        """Return to the local configuration. The follower stays."""
        found = self._apply("reset", standing=_standing(seen))
        if found["reasons"]:
            raise Refusal("; ".join(found["reasons"]))
        trial = found["trial"]
        if trial is not None and found["restart_needed"]:
            self._restart(trial["name"])
        self._apply("removed", keep_follower=True)

    def _apply(self, state: str, **options: Any) -> dict[str, Any]:
        return one_call.apply({**self._options, "state": state, **options}, False)

    def _configmap(self, source: Source) -> dict[str, Any]:
        """Return the ConfigMap of a source. Raises Refusal for one that may not be assigned, ApiError."""
        where = f"the ConfigMap {source['namespace']}/{source['name']}"
        try:
            found: dict[str, Any] = self.api.call(
                "GET", f"/api/v1/namespaces/{source['namespace']}/configmaps/{source['name']}"
            )
        except ApiError as error:
            if error.status not in _REFUSING:
                raise
            raise Refusal(
                f"{where} cannot be read with the credentials of the kubelet: {error}. Assign it with this collection, "
                "which lets the node read it, or push it again if it was deleted"
            ) from None
        for key in ("uid", "resourceVersion"):
            if source.get(key) not in (None, found["metadata"][key]):
                raise Refusal(f"{where} is another one than was assigned: its {key} differs. Run the rollout again")
        wrong = self.limits.of_source(source, found["metadata"].get("labels") or {})
        if sum(map(len, (found.get("data") or {}).values())) > LARGEST:
            wrong = f"{where} has more than {LARGEST} bytes"
        if wrong:
            raise Refusal(wrong)
        return found

    def _check_facts(self, before: Answer, facts: Config) -> None:
        """Raise Refusal if the node's own files are not those that the last answer named."""
        known, now = before.facts.get("own"), facts.get("own")
        # Where they cannot be read, the inspection before the switch has the reason.
        if known is not None and now is not None and known != now:
            raise Refusal(OWN_FILE_CHANGED)

    def _check_effect(self, text: str | None, delivery: str, facts: Config) -> None:
        """Raise Refusal if the change has a stronger effect than this node allows."""
        minor = minor_of((facts.get("kubelet") or {}).get("version"))
        if text is None:
            # The inspection before a switch refuses it.
            return
        if minor is None:
            why = facts.get("msg") or "its binary does not answer"
            raise Refusal(
                f"the version of the kubelet is not known, so the effect of the change is not either: {why}. Assign "
                "again, or change this node over ssh"
            )
        is_whole = not dropin_folder.installed(self.store.config_dir)
        try:
            now = running(facts, self._active(), is_whole, minor)
            after = running(facts, config_summary.load(text), of(delivery).whole, minor)
        except ValueError as error:
            raise Refusal(f"the configuration cannot be read: {error}") from None
        reasons = self.limits.of_changes(now, after, minor)
        if reasons:
            raise Refusal("; ".join(reasons))

    def _active(self) -> Config | None:
        """Return the configuration that the store has as active, None for the local one. Raises Refusal."""
        source = quietly(self.store.active_source)
        if source is None:
            return None
        try:
            self.store.verify(source)
            return config_summary.load(self.store.data(source)[source["kubeletConfigKey"]].decode())
        except (StoreError, ValueError) as error:
            raise Refusal(
                f"what the node has as active cannot be read, so the effect of the change is not known: {error}. Do "
                "that over ssh, or reset the node"
            ) from None

    def _facts(self) -> dict[str, Any]:
        """Return what a plan needs of the node's own files, or why it cannot be read under C(msg)."""
        options = self._options
        terms = Terms(config_dir=self.store.config_dir, delivery=DROPIN, dropin_dir=options["dropin_dir"] or "")
        try:
            found = preflight.look(self._unit.name, None, with_disk=True, terms=terms)
        except (UnitError, StoreError, OSError) as error:
            return {"msg": str(error)}
        facts: dict[str, Any] = config_summary.shown({key: found[key] for key in _FACTS if key in found}, "")
        facts["kubelet"] = {key: facts["kubelet"][key] for key in _KUBELET}
        if not facts["disk"].get("checkpoint"):
            # It is the first of the own layers.
            facts["disk"].pop("content", None)
        return facts


def _standing(seen: Seen) -> Standing:
    """Return what the store had when the follower decided."""
    return Standing(seen.assigned, seen.trial.name if seen.trial else "")
