# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage edit: the plan. It sends no requests."""

from __future__ import annotations

import typing as t

from ..._config.plan import plan, plan_text
from ..._config.undo import undo_plan
from ..api.errors import ClusterError


def edit(options: dict[str, t.Any], _check_mode: bool) -> dict[str, t.Any]:
    """Plan the configuration of each kubelet.

    Raises ClusterError for invalid options, and, with the plan in its result, for a plan that contains a refusal.
    """
    given = dict(options)
    back = given.pop("back", False)
    _check(options["current"], back)
    try:
        made = (
            undo_plan.make(given["current"], given["flags"], given["allow_effect"], given["allow_effects"])
            if back
            else plan.make_plan(plan.Request(given.pop("current"), configmap_name=given.pop("name"), **given))
        )
    except ValueError as error:
        raise ClusterError(str(error)) from error
    result = {"changed": False, "plan": made, "diff": plan_text.diffs(options["current"], made)}
    if made["refused"]:
        raise ClusterError(plan_text.refusals(made), result)
    return result


def _check(current: dict[str, t.Any], back: bool) -> None:
    """Raise ClusterError for what is no dump. On the way `back`, what a node runs may be unknown."""
    variants, rows = current.get("variants"), current.get("nodes")
    if isinstance(variants, dict) and isinstance(rows, dict):
        named = {row.get("variant") if isinstance(row, dict) else "" for row in rows.values()}
        if named <= ({*variants, None} if back else variants.keys()):
            return
    raise ClusterError(
        "current is no result of kubelet_configz_facts, which has nodes and the variants that they name. Pass its "
        "kubelet_configz (as a fact: ansible_facts.kubelet_configz)"
    )
