# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter for the values that the roles of a rollout pass on, and those for its times."""

from __future__ import annotations

import time
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import rollback
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import layers, own_values
from ansible_collections.livenodes.kubelet.plugins.plugin_utils import sealed
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import clock, goals, order, rows, value

Mapping = t.Mapping[str, t.Any]


def begin(
    plan: Mapping,
    table: Mapping,
    info: Mapping,
    group: str,
    goal: str = goals.PLAN,
    current: t.Any = None,
    dry_run: bool = False,
    began: t.Any = None,
    undo: str = "",
    declared: t.Any = None,
    lost: Mapping | None = None,
    skipped: Mapping | None = None,
    writes: bool = False,
    **options: t.Any,
) -> dict[str, t.Any]:
    """Return the value of a rollout before its first batch. C(options): those of value.Options, and of order.order.

    C(began): when the run began, in seconds since 1970; by default now. C(undo): the rollout that a rollback undoes.
    C(declared): what the goal of a rollout follows from, for its name. C(lost): the rows of the nodes of the group that
    are away. C(skipped): why nodes of the play are skipped, by name. C(writes): whether this is no plan alone.
    """
    planned = goals.of_goal(goal, plan, info, undo, table["hosts"])
    goals.refuse_without_way_back(planned, info, table["hosts"])
    before = (current or {}).get("nodes") or {}
    others = goals.created_again(before, info)
    if writes and not dry_run:
        goals.refuse_older_plan(before, _without(info, others))
    begins = float(began or time.time())
    own = value.Options.taken_from(options)
    away = {name: row["message"] for name, row in (lost or {}).items()}
    gone = _gone(table["hosts"], info, others, away)
    table, skipped = {**table, "hosts": _without(table["hosts"], gone)}, {**(skipped or {}), **gone}
    ordered = order.order(planned, goal, table, info, lost=away, **options)
    name, back = "", plan
    if goal == goals.PLAN:
        name, back = rollback.of_run(info, order.changing(ordered), sealed.without(declared), begins), {}
    return value.begin(ordered, planned, table, info, group, current, dry_run, own, begins, name, back, skipped)


def _without(found: Mapping, names: t.Container[str]) -> dict[str, t.Any]:
    """Return what is found of the nodes except those of the names."""
    return {name: value for name, value in found.items() if name not in names}


def _gone(hosts: Mapping, info: Mapping, others: Mapping, away: Mapping) -> dict[str, str]:
    """Return by name why nodes of the hosts are not those that were planned: C(others) were created again, those that
    are C(away) and without a row were deleted.
    """
    deleted = {name: why for name, why in away.items() if name not in info}
    since = {**others, **deleted}
    return {name: since[name] for name in hosts if name in since}


def undo_plan(info: Mapping, table: Mapping, goal: str, undo: str = "") -> dict[str, t.Any]:
    """Return what a rollback or a reset is about to do, before it is planned.

    C(headline): what it undoes, for people. C(goals): by node of the C(table) the source to return to, empty for its
    own file.
    """
    planned = goals.of_goal(goal, {}, info, undo)
    goals.refuse_without_way_back(planned, info, table["hosts"])
    sources = {name: row["source"] for name, row in planned["nodes"].items()}
    every = {**sources, **{name: {} for name in planned["local"]}}
    return {
        "headline": goals.headline(planned, info, table["hosts"]),
        "goals": {name: source for name, source in every.items() if name in table["hosts"]},
    }


def result(rollout: Mapping, host: str = "", begun: bool = True) -> dict[str, t.Any]:
    """Return the result for later jobs, after the batch of a C(host), or before it if it has not C(begun). By default
    after the last batch.
    """
    return value.result(rollout, value.done(rollout, host, begun) if host else len(rollout["hosts"]))


def skipped(found: Mapping, hosts: Mapping, limit: t.Any = None) -> dict[str, t.Any]:
    """Return under C(nodes) why nodes of a play are skipped, by name. See rows.of_play."""
    return {"nodes": rows.of_play(found, hosts, limit)}


STEPS: dict[str, t.Callable[..., t.Any]] = {
    "begin": begin,
    "undo_plan": undo_plan,
    "skipped": skipped,
    "named": rows.named,
    "counted": value.counted,
    "problem": value.problem,
    "result": result,
    "shown": goals.shown,
    "own_files": own_values.files_needed,
    "to_inspect": rows.to_inspect,
    "asked": layers.asked,
    "results": rows.results,
}
"""The functions by the name that the roles use."""


REFUSING = ("begin", "undo_plan", "skipped")
"""Those that refuse a run. A task reports why: of an error in a filter, Ansible shows the template around it, too."""


def rollout(given: t.Any, step: str, *arguments: t.Any, **options: t.Any) -> t.Any:
    """Return what a step of a rollout makes of its input; of a run that a step of REFUSING refuses, why, as C(refused).

    Raises AnsibleFilterError for an unknown step and where another function raises ValueError, with its message.
    """
    if step not in STEPS:
        raise AnsibleFilterError(f"rollout: there is no step {step!r}, only {', '.join(STEPS)}")
    try:
        return STEPS[step](given, *arguments, **options)
    except ValueError as error:
        if step in REFUSING:
            return {"refused": str(error)}
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {
            "rollout": rollout,
            "confirm_seconds": clock.confirm_seconds,
            "confirm_problem": clock.confirm_problem,
            "lease_seconds": clock.lease_seconds,
        }
