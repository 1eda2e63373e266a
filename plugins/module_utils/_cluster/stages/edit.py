# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage edit: the plan, which sends no requests, and the forecast of which pods it would disrupt."""

from __future__ import annotations

import typing as t

from ..._config import rollback
from ..._config.fields.fields import NEWEST_MINOR
from ..._config.forecast import pod_forecast
from ..._config.forecast.pod_forecast import ConfigChange
from ..._config.plan import plan_text, sources
from ..._config.plan.plan import Request, make_plan
from ..._config.values.short_texts import minor_of
from ..api.errors import ClusterError, NodesFailed, explained
from ..api.session import Session
from ..objects import node_requests, nodes, pod_usage

_REFUSE, _WARN, _IGNORE = "refuse", "warn", "ignore"
_Rows = t.Dict[str, t.Dict[str, t.List[t.Any]]]


def edit(options: dict[str, t.Any], _check_mode: bool) -> dict[str, t.Any]:
    """Plan the configuration of each kubelet.

    Raises ClusterError for invalid options, and, with the plan in its result, for a plan that contains a refusal.
    """
    given = dict(options)
    back = given.pop("back", False)
    _check(options["current"], back)
    with explained(ValueError):
        if back:
            made = rollback.make(given["current"], given["flags"], given["allow_effect"], given["allow_effects"])
        else:
            made = make_plan(Request(given.pop("current"), configmap_name=given.pop("name"), **given))
    result = {"changed": False, "plan": made, "diff": plan_text.diffs(options["current"], made)}
    if made["refused"]:
        raise ClusterError(plan_text.refusals(made), result)
    return result


def _check(current: dict[str, t.Any], back: bool) -> None:
    """Raise ClusterError for what is not a dump. On the way `back`, what a node runs may be unknown."""
    variants, rows = current.get("variants"), current.get("nodes")
    if isinstance(variants, dict) and isinstance(rows, dict):
        named = set()
        for row in rows.values():
            named.add(row.get("variant") if isinstance(row, dict) else "")
        if back:
            named.discard(None)
        if named <= variants.keys():
            return
    raise ClusterError(
        "current is not a result of kubelet_configz_facts, which has nodes and the variants that they name. Pass its "
        "kubelet_configz (as a fact: ansible_facts.kubelet_configz)"
    )


def forecast(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Return the effect of the plan on the pods of every node that it changes.

    Requests: those of `node_requests.read`; for each node with a change that can affect pods, one LIST of pods and one
    GET. None if there is no such node. Raises NodesFailed, which names every node whose pods cannot be listed, and
    ClusterError, with the result, if more pods would be lost than allowed.
    """
    plan, current = options["plan"], options["current"]
    known = _changes(plan, current)
    terms = {name: _terms(options, name) for name in known}
    changes = {name: change for name, change in known.items() if terms[name].mode != _IGNORE}
    rows, failures = _forecasts(session, changes)
    counts = pod_forecast.summary(rows, plan)
    result = {"changed": False, "nodes": rows, "summary": counts, "text": pod_forecast.lines(rows, counts)}
    if failures:
        raise NodesFailed("forecasting what becomes of running pods", failures)
    refusals = [_refusal(rows, plan, allowed, names) for allowed, names in _limited(rows, terms).items()]
    if any(refusals):
        raise ClusterError("\n".join(filter(None, refusals)), result)
    return result


def _forecasts(session: Session, changes: dict[str, ConfigChange]) -> tuple[_Rows, dict[str, str]]:
    """Return the rows of nodes with these changes, and by node why its pods are unknown."""
    asked = [name for name, change in changes.items() if change.touches()]
    rows: _Rows = {name: pod_forecast.nothing() for name in changes}
    failures: dict[str, str] = {}
    found: list[nodes.Node] = []
    if asked:
        found = list(node_requests.read(session, asked).values())
    for outcome in session.each(found, lambda node: pod_usage.read(session, node)):
        name = outcome.item.name
        if outcome.value is None:
            failures[name] = outcome.why
        else:
            rows[name] = pod_forecast.forecast(changes[name], outcome.value)
    return rows, failures


class _ForecastTerms(t.NamedTuple):
    """What applies to a node: whether its forecast refuses the plan, and for how many pods."""

    mode: str
    pods: int


def _terms(options: dict[str, t.Any], node: str) -> _ForecastTerms:
    own = (options.get("by_node") or {}).get(node) or {}
    try:
        mode, pods = own.get("forecast", _REFUSE), int(own.get("pods", options["allow_pods"]))
    except (AttributeError, TypeError, ValueError) as error:
        raise ClusterError(
            f"by_node: the value of node {node} is {own!r}: set a mapping with forecast and pods, a whole number"
        ) from error
    if "forecast" not in own and not options["refuse"]:
        mode = _WARN
    # A misspelled mode must not lose pods.
    return _ForecastTerms(mode, pods)


def _limited(rows: _Rows, terms: t.Mapping[str, _ForecastTerms]) -> dict[int, list[str]]:
    """Return the nodes whose forecast may refuse the plan, by the number of pods that all of them together may lose."""
    found: dict[int, list[str]] = {}
    for name in rows:
        if terms[name].mode != _WARN:
            found.setdefault(terms[name].pods, []).append(name)
    return found


def _refusal(rows: _Rows, plan: dict[str, t.Any], allowed: int, names: list[str]) -> str:
    """Return why the forecast of these nodes refuses the plan; empty if it does not."""
    of_these = {name: rows[name] for name in names}
    counts = pod_forecast.summary(of_these, plan)
    if pod_forecast.at_risk(counts) <= allowed:
        return ""
    return pod_forecast.refusal(of_these, counts, allowed)


def _changes(plan: dict[str, t.Any], current: dict[str, t.Any]) -> dict[str, ConfigChange]:
    found: dict[str, ConfigChange] = {}
    known: dict[t.Any, ConfigChange] = {}
    try:
        for name, row in plan["nodes"].items():
            # A rollback need not know what a node runs.
            if row["action"] == "none" or row["live_variant"] is None:
                continue
            minor = minor_of(row["kubelet_version"]) or NEWEST_MINOR
            hidden = tuple(change["path"] for change in row["changes"] if change["shadowed_by"])
            alike = (minor, row["live_variant"], sources.way(row), hidden)
            if alike not in known:
                running = current["variants"][row["live_variant"]]
                desired = sources.outcome(current["variants"], plan["variants"], row)
                known[alike] = ConfigChange(running, desired, minor, row["changes"])
            found[name] = known[alike]
    except (KeyError, TypeError) as error:
        raise ClusterError(
            "plan and current do not match, or are not results of kubelet_config_plan and kubelet_configz_facts "
            f"({error!r}): plan again from a new dump"
        ) from error
    return found
