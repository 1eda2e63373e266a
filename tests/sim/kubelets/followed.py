# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet of 1.24 or later on a node with a follower, which decides as the real one does, and with a guard."""

from __future__ import annotations

import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import delivery as deliveries
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, document, following
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.following import Answer, Orders
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow import decide
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow.decide import Action, Seen
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Moment, Trial
from tests.lab.kubeadm import OWN_CONFIG
from tests.sim.api.store import stamp
from tests.sim.kubelets.kubelet import MERGE, Away
from tests.sim.kubelets.static import FOLDER, StaticKubelet

NAME = "90-livenodes-kubelet.conf"
Source = dict[str, str] | None


class FollowedKubelet(StaticKubelet):
    """Looks at its Node `delay` seconds after a change. `refuses`: why it refuses every source, else empty."""

    def __init__(self, *arguments: t.Any, **options: t.Any) -> None:
        super().__init__(*arguments, folder=True, **options)
        self.refuses = ""
        self.answer_ = Answer()
        self.trial: Trial | None = None
        self.assigned: Source = None
        self.active: Source = None
        self.good: Source = None
        self._local, self._texts = self.own, {None: (self.own, dict[str, str]())}
        self._seen: t.Any = None

    def start(self) -> None:
        """Report as a follower that was just installed."""
        self._note(answer=self.answer_)

    def see(self, node: t.Mapping[str, t.Any]) -> None:
        """See its Node; a change is looked at later."""
        notes = node["metadata"].get("annotations") or {}
        now = notes.get(annotation.SOURCE), notes.get(following.FOLLOW)
        if now != self._seen:
            self._seen = now
            self.host.after(self.delay, self._look, now)

    def _look(self, seen: t.Any) -> None:
        with self.lock:
            if self.deaf or seen != self._seen:
                return
            notes = dict(zip((annotation.SOURCE, following.FOLLOW), seen))
            records = annotation.records({name: text for name, text in notes.items() if text}, None, None)
            orders = following.orders(notes)[0]
            given = Seen(records.source, orders, self.answer_, self.assigned, self.trial)
            try:
                self._do(decide.action(given), given, records.delivery)
            except Away:
                self.host.after(self.delay, self._look, seen)

    def _do(self, action: Action, seen: Seen, delivery: str) -> None:
        if action.kind == decide.NOTHING:
            return
        if action.kind in (decide.CONFIRM, decide.REVERT):
            self._judge(action, seen.orders)
            return
        refused = action.reason if action.kind == decide.REFUSE else ""
        self.answer_ = Answer(configMap=dict(seen.source or {}), attempt=seen.orders.attempt, refused=refused)
        if action.kind == decide.ASSIGN and seen.source is not None:
            refused = self.refuses or self._assign(dict(seen.source), seen.orders, delivery)
            name = self.trial.name if self.trial and not refused else ""
            self.answer_ = self.answer_._replace(refused=refused, trial=name)
        elif action.kind == decide.RETURN:
            self._revert(action.reason)
        elif action.kind == decide.RESET:
            self._switch(None)
            self.assigned = self.good = self.trial = None
            self._note(status=None)
        self._note(answer=self.answer_)

    def _judge(self, action: Action, orders: Orders) -> None:
        failed = ""
        if self.trial is None or self.trial.name != orders.trial or self.trial.failed:
            failed = "it is not on trial"
        elif action.kind == decide.REVERT:
            self._revert(action.reason)
        else:
            self.trial = self.trial._replace(confirmed=True)
            self._report_status(annotation.CONFIRMED)
            self.host.after(orders.trial_seconds, self._graduate, self.trial.name)
        self.answer_ = self.answer_._replace(judged=orders.trial, failed=failed)
        self._note(answer=self.answer_)

    def _assign(self, source: dict[str, str], orders: Orders, delivery: str) -> str:
        path = f"/api/v1/namespaces/{source['namespace']}/configmaps/{source['name']}"
        status, found = self.host.request("GET", path)
        if status in (403, 404):
            return f"the ConfigMap {source['namespace']}/{source['name']} cannot be read: {status}"
        if status >= 400:
            raise Away(f"{status} {found.get('message')}")
        full = {**source, **{key: found["metadata"][key] for key in ("uid", "resourceVersion")}}
        text = found["data"][source["kubeletConfigKey"]]
        self._texts[full["uid"]] = (text, {}) if deliveries.of(delivery).whole else (self._local, {NAME: text})
        if full != self.assigned or (self.trial and self.trial.failed):
            self.trial = Trial(full, self.good, Moment("boot", self.host.clock(), 0.0))
            self.assigned = full
            self._switch(full)
            if not self.running:
                self._revert(f"the kubelet ended: {self.words}")
                return self.trial.failed if self.trial else ""
            self.host.after(orders.confirm_seconds, self._expire, self.trial.name)
        self._report_status(annotation.ON_TRIAL)
        return ""

    def _switch(self, source: Source) -> None:
        self.active = source
        own, dropins = self._texts[source["uid"] if source else None]
        self.write(own, dropins)
        self.restarted()

    def _revert(self, reason: str) -> None:
        if self.trial is None:
            return
        self.trial = self.trial._replace(failed=reason)
        self._switch(self.good)
        self._report_status("", reason)

    def _expire(self, name: str) -> None:
        with self.lock:
            if self.trial and self.trial.name == name and not self.trial.confirmed and not self.trial.failed:
                self._revert("not confirmed in time")

    def _graduate(self, name: str) -> None:
        with self.lock:
            if self.trial and self.trial.name == name and not self.trial.failed:
                self.good, self.trial = self.trial.to, None
                self._report_status("")

    def _report_status(self, reason: str, error: str = "") -> None:
        parts = {"assigned": self.assigned, "active": self.active, "lastKnownGood": self.good}
        status: dict[str, t.Any] = {name: {"configMap": one} for name, one in parts.items() if one}
        more = {"reason": reason, "time": stamp(self.host.clock()), "started": stamp(self.started)}
        self._note(status={**status, **more, **({"error": error} if error else {})})

    def _note(self, **given: t.Any) -> None:
        """Write annotations of its Node. Raises Away."""
        notes: dict[str, str | None] = {}
        if "answer" in given:
            notes[following.FOLLOWER] = following.text(given["answer"]._replace(facts=self._facts()))
        if "status" in given:
            notes[annotation.STATUS] = given["status"] and annotation.text(given["status"])
        body = {"metadata": {"annotations": notes}}
        status, answer = self.host.request("PATCH", f"/api/v1/nodes/{self.name}", body, MERGE)
        if status >= 400:
            raise Away(f"{status} {answer.get('message')}")

    def _facts(self) -> dict[str, t.Any]:
        content = document.parse(self._local, OWN_CONFIG)
        disk: dict[str, t.Any] = {"path": OWN_CONFIG, "started": self.started, "changed": 0.0}
        disk["dropins"] = {f"{FOLDER}/{name}": document.parse(text, name) for name, text in self.dropins.items()}
        if self.active and not self.dropins:
            checkpoint = {key: self.active[key] for key in ("uid", "resourceVersion")}
            disk.update(checkpoint=checkpoint, content=document.parse(self.own, OWN_CONFIG))
        kubelet = {"version": f"v1.{self.minor}.0", "local_config": OWN_CONFIG, "shadowed": {}, "config_dir_files": []}
        own = [{"path": OWN_CONFIG, "content": content}]
        return {"kubelet": kubelet, "disk": disk, "own": own, "dropin": {"link": f"{FOLDER}/{NAME}"}}
