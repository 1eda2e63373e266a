# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The value `rollout`: what the roles pass on from the preparation to the last batch, and the part of one batch."""

from __future__ import annotations

from typing import Any, Container, Iterable, Mapping, NamedTuple

from ...module_utils._config.delivery import AUTO
from ...module_utils._config.values import document, paths
from ...module_utils._config.values.short_texts import clipped
from . import goals
from . import rows as batch_rows
from .order import changes

Value = Mapping[str, Any]
ALWAYS, WHEN_NEEDED = "always", "when_needed"
_MIGRATIONS = tuple(goals.entry_point(goal) for goal in (goals.CHECKPOINT, goals.NATIVE))
_DRAINED_EFFECTS = ("drain", "reboot")
"""The effects of a change for which a node is drained with C(when_needed)."""


class Options(NamedTuple):
    """The options of all batches of a rollout, as the inventory has them: numbers may be text, such as 60.0."""

    drain: str = "never"
    soak_seconds: Any = 0
    canary_soak_seconds: Any = None
    max_failed: Any = 0

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Options:
        """Return those of the options that belong here, and remove them there."""
        return cls(**{key: options.pop(key) for key in cls._fields if key in options})

    def drains(self, row: Value | None, own: str | None = None) -> bool:
        """Return whether a node is drained; C(row) is its row of the plan. Migrations have no effect.

        C(own): what its host has in place of C(drain).
        """
        drain = own or self.drain
        if drain == WHEN_NEEDED:
            return (row or {}).get("effect") in _DRAINED_EFFECTS
        return drain == ALWAYS

    def soak(self, started: bool) -> int:
        """Return the seconds of the soak of the first batch, or of a later one (C(started))."""
        if not started and self.canary_soak_seconds not in (None, ""):
            return int(float(self.canary_soak_seconds))
        return int(float(self.soak_seconds))


def begin(
    order: Value,
    plan: Value,
    table: Mapping[str, Mapping[str, Any]],
    rows: Mapping[str, Value],
    group: str,
    current: Value | None,
    dry_run: bool,
    options: Options,
    began: float,
    rollout: str = "",
    back: Value | None = None,
    skipped: Value | None = None,
) -> dict[str, Any]:
    """Return the value of a rollout before its first batch. C(began): when the run began, in seconds since 1970.
    C(skipped): why nodes of the play are skipped, by name.

    C(rollout): its name, for the nodes that it changes; empty for a rollback, a reset and a migration. C(back): the
    plan of a rollback or a reset, for its effects.

    C(order) is its order, C(table) the node_table of the hosts, C(rows) the status of the group, C(current) the dump.
    Keys: those of the order; C(group), its pattern; C(names), all nodes of the group; C(text), a plan that was made
    from the status; C(name), that of the rollout; C(undoes), the rollout that it undoes, or None; C(whole), whether it
    changes all nodes of its goal, not only those of C(--limit); C(lease), empty until it is held; C(failed), why nodes
    have failed so far; C(skipped); C(stuck), why a rollback leaves nodes; C(marked), the nodes to uncordon;
    C(max_failed), how many may fail; C(on_nodes), whether any batch needs steps on nodes. Each of the C(batches) has
    all that its tasks read, since a template is evaluated again by each task: see C(of_host).
    """
    before = (current or {}).get("nodes") or {}
    effects = (back or {}).get("nodes") or {}
    given = _Given(plan, table, rows, before, effects, dry_run, options)
    batches: list[dict[str, Any]] = []
    done = 0
    for batch in order["batches"]:
        done += len(batch["nodes"])
        batches.append(given.batch(batch, bool(batches), done))
    changed = [*plan["nodes"], *plan.get("local", ())]
    return {
        **order,
        "batches": batches,
        "group": group,
        "names": list(rows),
        "text": list(plan["text"]) if "local" in plan else [],
        "name": rollout,
        "undoes": plan.get("undoes"),
        "whole": set(table["hosts"]).issuperset(changed),
        "lease": {},
        "began": began,
        "failed": {},
        "skipped": dict(skipped or {}),
        "stuck": {node: why for node, why in plan.get("stuck", {}).items() if node in table["hosts"]},
        "marked": _marked(rows, batches[0]["drain"] if batches else ()),
        "max_failed": int(float(options.max_failed)),
        "on_nodes": any(batch["on_nodes"] for batch in batches),
    }


class _Given(NamedTuple):
    """What C(begin) makes each batch from. C(before): the dumped nodes; C(effects): those of C(back)."""

    plan: Value
    table: Mapping[str, Mapping[str, Any]]
    rows: Mapping[str, Value]
    before: Mapping[str, Any]
    effects: Mapping[str, Value]
    dry_run: bool
    options: Options

    def batch(self, ordered: Value, started: bool, done: int) -> dict[str, Any]:
        """Return one batch of the order. C(done): how many hosts are done when it ends."""
        steps, names = ordered["steps"], list(ordered["nodes"].values())
        planned = {name: self.plan["nodes"][name] for name in names if name in self.plan["nodes"]}
        sources = _sources(planned, self.table)
        # A migration has steps on the node in both directions.
        on_node = [name for name in names if steps in _MIGRATIONS or self._is_logged_in(name)]
        drained = [name for name in names if self._is_drained(name, planned.get(name))]
        return {
            "hosts": dict(ordered["nodes"]),
            "names": names,
            "steps": steps,
            "sources": _assigned(sources, planned),
            "expected": _without_records(sources),
            # In check mode, push does not create the ConfigMaps.
            "texts": _texts(self.plan, planned) if self.dry_run else {},
            "drain": drained,
            "reach": [name for name in drained if name in on_node],
            "soak": self.options.soak(started),
            "on_nodes": bool(on_node),
            "before": self._before(names),
            "uids": self._uids(names),
            "transports": paths.only(self.table.get("transports", {}), names),
            "started": started,
            "done": done,
        }

    def _uids(self, names: Iterable[str]) -> dict[str, str]:
        return {name: self.rows[name]["uid"] for name in names if self.rows[name].get("uid")}

    def _is_logged_in(self, name: str) -> bool:
        table = self.table
        return batch_rows.is_logged_in(
            self.rows[name], table["deliveries"].get(name), table.get("transports", {}).get(name)
        )

    def _is_drained(self, name: str, planned: Value | None) -> bool:
        own = self.table.get("drains", {}).get(name)
        return self.options.drains(self.effects.get(name) or planned, own)

    def _before(self, names: list[str]) -> dict[str, Any]:
        found = {}
        for name in names:
            variant = (self.before.get(name) or {}).get("variant")
            if variant:
                found[name] = {"variant": variant}
        return found


def _marked(rows: Mapping[str, Value], drained: Container[str]) -> list[str]:
    """Return the nodes that a killed run has left cordoned, but for those that the first batch drains anyway."""
    return [name for name, row in rows.items() if row.get("cordon") is not None and name not in drained]


def _texts(plan: Value, planned: Mapping[str, Value]) -> dict[str, str]:
    """Return the planned configurations by node name."""
    variants = plan.get("variants", {})
    texts = {}
    for name, row in planned.items():
        if row.get("variant") in variants:
            texts[name] = document.render(variants[row["variant"]])
    return texts


def _sources(planned: Mapping[str, Value], table: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the sources of a plan's rows by node name."""
    return {name: source(row, table["deliveries"].get(name, AUTO)) for name, row in planned.items()}


def _assigned(sources: Mapping[str, Any], planned: Mapping[str, Value]) -> dict[str, Any]:
    return {name: one for name, one in sources.items() if planned[name]["action"] == "assign"}


def _without_records(sources: Mapping[str, Value]) -> dict[str, Any]:
    """Return the sources without the records of the nodes' own values."""
    return {name: paths.without(one, ("own",)) for name, one in sources.items()}


def source(row: Value, delivery: str) -> dict[str, Any]:
    """Return the source of a plan's row for node_config_source, with the record of the node's own values."""
    # What a plan has decided: its source holds what this delivery needs.
    found = {**row["source"], "delivery": row.get("delivery") or delivery}
    if row.get("own"):
        found["own"] = row["own"]
    for key in ("node_uid", "migrates"):
        if key in row:
            found[key] = row[key]
    return found


def of_host(rollout: Value, host: str) -> dict[str, Any]:
    """Return the batch of a host, with the keys of batch.Batch. Raises ValueError when the host is in no batch."""
    for batch in rollout["batches"]:
        if host in batch["hosts"]:
            goes_on = len(rollout["failed"]) <= rollout["max_failed"]
            own = {key: rollout[key] for key in ("lease", "group", "name", "undoes")}
            return {**batch, **own, "continues": goes_on}
    raise ValueError(f"host {host} is in no batch")


def done(rollout: Value, host: str, begun: bool) -> int:
    """Return how many hosts are done after the batch of a host, or before it if it has not C(begun)."""
    batch = of_host(rollout, host)
    after: int = batch["done"]
    return after if begun else after - len(batch["hosts"])


def of_plan(
    plan: Value | None, sources: Mapping[str, Value] | None, table: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the same for the hosts of a play without a rollout, as far as the stages read it.

    C(sources): what to assign by node name, C(sources) if given, else that of the plan. C(expected): what to verify,
    also for nodes whose live configuration differs without an assignment; None for what is assigned now. C(texts): the
    planned configurations by node name.
    """
    plan = plan or {}
    rows = {}
    for name, row in plan.get("nodes", {}).items():
        if name in table["hosts"] and changes(row):
            rows[name] = row
    planned = _sources(rows, table)
    assigned = _assigned(planned, rows)
    expected = _without_records(planned) if "nodes" in plan else None
    if sources is not None:
        assigned, expected = dict(sources), dict(sources)
    return {
        "hosts": {host: name for name, host in table["hosts"].items()},
        "names": list(table["hosts"]),
        "sources": assigned,
        "expected": expected,
        "texts": _texts(plan, rows),
        "transports": dict(table.get("transports", {})),
        "soak": None,
        "lease": {},
        "name": "",
        "undoes": None,
    }


def counted(rollout: Value, failures: Mapping[str, str]) -> dict[str, Any]:
    """Return the value with the failures of a batch."""
    return {**rollout, "failed": {**rollout["failed"], **failures}}


def problem(rollout: Value, unreleased: str = "") -> str:
    """Return what the last batch leaves to do, for the operator; empty if there is nothing.

    C(unreleased): why the Lease could not be released.
    """
    failed, stuck = rollout["failed"], rollout["stuck"]
    texts = []
    if failed:
        texts.append(
            f"The rollout to {rollout['group']} is complete, but {len(failed)} of {len(rollout['hosts'])} nodes "
            f"failed: {', '.join(failed)}. The reasons are above; remove them and run again"
        )
    if stuck:
        reasons = "; ".join(f"{name}: {why}" for name, why in stuck.items())
        texts.append(f"The rollback leaves nodes with what they run. {reasons}. {goals.REMEDY}")
    if unreleased:
        texts.append(
            f"All batches of {rollout['group']} are done. But the Lease could not be deleted: "
            f"{unreleased.rstrip('. ')}. It expires by itself, and until then other rollouts to these nodes wait for it"
        )
    return ". ".join(texts)


def result(rollout: Value, done: int) -> dict[str, Any]:
    """Return the result for later jobs after C(done) hosts. It is short for any number of nodes.

    AWX passes it as extra variables to later jobs of a workflow.
    """
    failed = rollout["failed"]
    return {
        "group": clipped(rollout["group"], 250),
        "changed": done - len(failed),
        "untouched": len(rollout["hosts"]) - done,
        "unchanged": len(rollout["rest"]),
        "failed": len(failed),
        "skipped": len(rollout["skipped"]),
        "failures": {name: clipped(failed[name], 250) for name in list(failed)[:5]},
    }
