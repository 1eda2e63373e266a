# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the roles of the five stages hand to each other when a play lists them itself."""

from __future__ import annotations

import typing as t

Variables = t.Mapping[str, t.Any]

STAGES = ("dump", "edit", "push", "assign", "verify")
CURRENT, PLAN, SOURCES = "kubelet_config_current", "kubelet_config_plan", "kubelet_config_sources"
FOUND = {"dump": ("dump_result", "kubelet_configz"), "edit": ("edit_result", "plan")}
"""By role, the variable that it registers and the key of what it has found."""
FILES = {"dump": "kubelet_config_dump_file", "edit": "kubelet_config_plan_file"}
"""The variable of a role that names one file for all hosts."""
READ = frozenset(
    {CURRENT, PLAN, SOURCES, "ansible_facts", "dump_result", "edit_result", "push_result", "assign_result"}
)
"""All variables by which it is known what the roles before have found."""
ALONE = ("free", "host_pinned")
"""The ends of the names of strategies under which each host runs a task at its own time, in spite of `run_once`."""


def found(given: t.Any, role: str, variables: Variables) -> t.Any:
    """Return what was given, else what a role before has found for the current host; an empty mapping if nothing."""
    if given:
        return given
    result, key = FOUND[role]
    own = (variables.get(result) or {}).get(key)
    if not own and role == "dump":
        # The module kubelet_configz_facts leaves it there in plays that call it themselves.
        own = (variables.get("ansible_facts") or {}).get(key)
    return own or {}


def unshared(stage: str, variables: Variables) -> str:
    """Return what is wrong with a file for all hosts where each host works alone; empty if there is none."""
    name = FILES.get(stage)
    if name not in variables:
        return ""
    return (
        f"{name} is one file for all hosts, but under the strategy of this play each host works alone: use the "
        f"strategy linear, or do not set {name}. Nothing was changed"
    )


def missing(stage: str, variables: Variables, names: t.Sequence[str]) -> str:
    """Return which role must run before that of a stage, for the operator; empty if nothing is missing.

    C(names): the nodes for which it works. What a play hands on by a variable needs no role before.
    """
    check = _CHECKS.get(stage)
    return check(variables, names) if check else ""


def _of_edit(variables: Variables, names: t.Sequence[str]) -> str:
    read = found(variables.get(CURRENT), "dump", variables).get("nodes") or {}
    unread = [name for name in names if name not in read]
    if not unread:
        return ""
    return _sentence("edit", "dump", "has read nothing of", unread, f"set {CURRENT}")


def _of_push(variables: Variables, names: t.Sequence[str]) -> str:
    if found(variables.get(PLAN), "edit", variables):
        return ""
    return _sentence("push", "edit", "has planned nothing for", names, f"set {PLAN}")


def _of_assign(variables: Variables, names: t.Sequence[str]) -> str:
    if variables.get(SOURCES) is not None or variables.get(PLAN):
        return ""
    plan = found(None, "edit", variables)
    if not plan:
        return _sentence("assign", "edit", "has planned nothing for", names, f"set {PLAN} or {SOURCES}")
    left = _assigned(plan, names)
    if left and "push_result" not in variables:
        return _sentence("assign", "push", "has pushed nothing for", left, f"set {SOURCES}")
    return ""


def _of_verify(variables: Variables, names: t.Sequence[str]) -> str:
    """By itself, the role verifies what the nodes are assigned. A plan that was not assigned must not pass as such."""
    if variables.get(SOURCES) is not None or variables.get(PLAN) or "assign_result" in variables:
        return ""
    left = _assigned(found(None, "edit", variables), names)
    if not left:
        return ""
    return _sentence("verify", "assign", "has assigned nothing to", left, "verify in another run")


def _assigned(plan: Variables, names: t.Sequence[str]) -> list[str]:
    rows = plan.get("nodes") or {}
    return [name for name in names if rows.get(name, {}).get("action") == "assign"]


def _sentence(role: str, first: str, what: str, names: t.Sequence[str], otherwise: str) -> str:
    return (
        f"the role livenodes.kubelet.{role} continues what livenodes.kubelet.{first} does, which {what} "
        f"{', '.join(names)}: run livenodes.kubelet.{first} first, or {otherwise}. Nothing was changed"
    )


_CHECKS: dict[str, t.Callable[[Variables, t.Sequence[str]], str]] = {
    "edit": _of_edit,
    "push": _of_push,
    "assign": _of_assign,
    "verify": _of_verify,
}
