# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One look of a follower at its Node: it does what the annotations ask for, as the module kubelet_checkpoint does it
over ssh, and answers in an annotation.

A look can be repeated, also after it was killed at any point: what it does follows from the Node and from the store,
and the store can be interrupted anywhere. What comes next is a pure function of the two: action().
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from ..._config.delivery import CHECKPOINT, DROPIN
from ..._config.values import annotation, following
from ..._config.values.annotation import NodeRecords
from ..._config.values.following import Answer, Orders
from ..._config.values.short_texts import minor_of
from ..host import preflight
from ..host.preflight_decisions import Terms
from ..report.status_annotation import MERGE_PATCH
from ..store.meta import Source
from ..store.store import Store
from ..store.store_reader import quietly
from ..store.trial import Trial
from ..switch import one_call, values
from ..switch.one_call import StepError
from ..switch.values import Standing
from ..system import config_summary, files
from ..system.files import StoreError
from ..system.kubeconfig import ApiError, Kubeconfig
from ..unit.unit import Unit, UnitError
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
        after = self._done(action(seen), seen, records, facts)
        after = after._replace(format=following.FORMAT, facts=self._facts() if after != before else facts)
        if after != before:
            body = {"metadata": {"annotations": {following.FOLLOWER: following.text(after)}}}
            self.api.call("PATCH", self.path, body, MERGE_PATCH)
        if after.judged != before.judged:
            # The source may have changed with the verdict, or since.
            self.look()

    def _done(self, action: Action, seen: Seen, records: NodeRecords, facts: Config) -> Answer:
        """Do what was decided, and return the answer."""
        if action.kind == NOTHING:
            return seen.answer
        if action.kind in (CONFIRM, REVERT):
            return self._judged(action, seen)
        answer = seen.answer._replace(
            configMap=dict(seen.source or {}), attempt=seen.orders.attempt, refused="", trial=""
        )
        try:
            if action.kind == REFUSE:
                raise Refusal(action.reason)
            if action.kind == RESET:
                self._reset(seen)
            elif action.kind == RETURN and seen.trial is not None:
                self._revert(seen.trial.name, action.reason)
            elif action.kind == ASSIGN and seen.source is not None:
                self._check_facts(seen.answer, facts)
                answer = answer._replace(trial=self._assign(seen.source, seen, records.delivery, facts))
        except (Refusal, StepError, StoreError, UnitError, OSError) as error:
            answer = answer._replace(refused=str(error))
        return answer

    def _judged(self, action: Action, seen: Seen) -> Answer:
        """Confirm or revert the trial that the controller has judged."""
        answer = seen.answer._replace(judged=seen.orders.trial, failed="")
        try:
            if action.kind == CONFIRM:
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
        delivery = DROPIN if delivery == DROPIN else CHECKPOINT
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
        if text is None or minor is None:
            # The inspection before a switch refuses both.
            return
        whole = delivery == CHECKPOINT
        try:
            now = running(facts, self._active(), whole, minor)
            after = running(facts, config_summary.load(text), whole, minor)
        except ValueError as error:
            raise Refusal(f"the configuration cannot be read: {error}") from None
        reasons = self.limits.of_changes(now, after, minor)
        if reasons:
            raise Refusal("; ".join(reasons))

    def _active(self) -> Config | None:
        """Return the configuration that the store has as active, None for the local one. Raises ValueError."""
        source = quietly(self.store.active_source)
        data = quietly(lambda: self.store.data(source)) if source else None
        if source is None or data is None:
            return None
        return config_summary.load(data[source["kubeletConfigKey"]].decode())

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


NOTHING, ANSWER, ASSIGN, RESET = "nothing", "answer", "assign", "reset"
CONFIRM, REVERT, REFUSE = "confirm", "revert", "refuse"
RETURN = "return"
"""A revert that no verdict asks for."""
REPLACED = "it was assigned to another machine or Node: this one is new. Run the rollout again, which plans it anew"


class Seen(NamedTuple):
    """What the decision follows from."""

    source: Source | None
    """The source in the annotation of the Node, None for the local configuration."""
    orders: Orders
    answer: Answer
    """The last answer; the defaults before the first one."""
    assigned: Source | None
    """The source that the store has as assigned."""
    trial: Trial | None
    """The last trial, None without one."""
    has_store: bool = False
    """Whether the node has a store. A reset removes it."""
    is_other_machine: bool = False
    """Whether the annotation names another machine or Node."""
    fault: str = ""
    """Why the annotations cannot be read."""


class Action(NamedTuple):
    """What is done. C(reason): of a revert, a return or a refusal."""

    kind: str
    reason: str = ""


def action(seen: Seen) -> Action:
    """Return what a follower does next."""
    orders, trial = seen.orders, seen.trial
    if orders.transport == following.SSH:
        return Action(NOTHING)
    if orders.trial and orders.trial != seen.answer.judged:
        return Action(REVERT if orders.reason else CONFIRM, orders.reason)
    if _is_answered(seen):
        return Action(NOTHING)
    if seen.fault:
        return Action(REFUSE, seen.fault)
    if seen.is_other_machine:
        return Action(REFUSE, REPLACED)
    if trial is not None and trial.failed and _was_tried(seen, trial):
        return Action(REFUSE, trial.failed)
    if _is_done(seen) and (trial is None or _is_of_seed(seen, trial)):
        return Action(ANSWER)
    if seen.source is None:
        return Action(RESET)
    if trial is not None and not trial.failed and not trial.confirmed and following.fits(seen.source, trial.revert_to):
        return Action(RETURN, "its previous source was assigned again")
    return Action(ASSIGN)


def _is_of_seed(seen: Seen, trial: Trial) -> bool:
    """Return whether what is assigned came with the machine: no controller asked for it, and nothing is left to do."""
    return not seen.orders.attempt and not seen.answer.configMap and bool(trial.confirmed or trial.failed)


def _is_answered(seen: Seen) -> bool:
    """Return whether the last answer is about the present source and attempt, and still holds.

    A Node that was created again names no source and has no answer. That is not the removal of a source.
    """
    answer = seen.answer
    if seen.fault:
        return answer.refused == seen.fault
    if answer.source != seen.source or answer.attempt != seen.orders.attempt:
        return False
    return bool(answer.refused) or seen.source is None or _is_done(seen) or _has_returned(seen)


def _was_tried(seen: Seen, trial: Trial) -> bool:
    """Return whether this attempt has failed before it was answered."""
    if seen.source is None or not following.fits(seen.source, trial.to):
        return False
    return bool(trial.extra.get("attempt") == seen.orders.attempt)


def _has_returned(seen: Seen) -> bool:
    """Return whether a revert has led to the source: the store keeps as assigned what has failed."""
    trial = seen.trial
    if trial is None or seen.source is None:
        return False
    return bool(trial.failed) and following.fits(seen.source, trial.revert_to)


def _is_done(seen: Seen) -> bool:
    """Return whether the store has what the Node names."""
    if seen.source is None:
        return seen.assigned is None and not seen.has_store
    return following.fits(seen.source, seen.assigned)
