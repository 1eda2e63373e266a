# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of a module that runs on a node: a lost connection fails the task instead of removing the host.

Ansible removes an unreachable host from the play without rescue and always. If it was the last host of a batch, nothing
of the batch would be cleaned up.
"""

from __future__ import annotations

import contextlib
import typing as t

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action.normal import ActionModule as Normal

from . import sealed

UNREACHABLE = "unreachable"
FOUND = "discovered_interpreter_"


class NodeAction(Normal):  # type: ignore[misc]  # ansible-core has no types
    """Base class of the actions. Ansible treats a task with C(ignore_unreachable) as it treats any other."""

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module. A host that cannot be reached is a failure with C(state=unreachable)."""
        given = self._task.args
        try:
            self._task.args = sealed.unseal(given)
        except sealed.SealError as error:
            return {"failed": True, "changed": False, "msg": str(error)}
        try:
            return without_variables(self._reached(tmp, task_vars))
        finally:
            # Callbacks get the arguments, too. A retry needs them as they were.
            self._task.args = given if self._task.until or self._task.retries else sealed.masked(given)

    def _reached(self, tmp: t.Any, task_vars: dict[str, t.Any] | None) -> dict[str, t.Any]:
        try:
            result: dict[str, t.Any] = super().run(tmp, task_vars)
        except AnsibleConnectionFailure as error:
            if self._task.ignore_unreachable:
                raise
            return lost(str(error))
        if result.get(UNREACHABLE) and not self._task.ignore_unreachable:
            return lost(str(result.get("msg") or ""))
        return result

    def cleanup(self, force: bool = False) -> None:
        """Remove the temporary folder on the node. A lost connection must not replace the result of the task."""
        # The next task on the host reports it.
        with contextlib.suppress(AnsibleConnectionFailure):
            super().cleanup(force)


def without_variables(result: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the result of a module on a node without facts and statistics, which none of these modules has.

    Root on the node decides what its Python prints. Facts would be variables of the host: those that tasks of the whole
    batch use on the controller, such as the address of the API server. AWX hands statistics to later jobs.
    """
    kept = {key: value for key, value in result.items() if key not in ("ansible_facts", "ansible_stats")}
    # Which Python Ansible has found: it removes that of a module itself.
    given = result.get("ansible_facts")
    if isinstance(given, dict):
        facts = {key: given[key] for key in given if key.startswith(FOUND)}
        if facts:
            kept["ansible_facts"] = facts
    return kept


def lost(reason: str) -> dict[str, t.Any]:
    """Return the failure of a task whose host cannot be reached, for Ansible's own `reason`."""
    cause = " ".join(reason.split()).rstrip(". ")
    return {
        "failed": True,
        "changed": False,
        "state": UNREACHABLE,
        "msg": f"its host cannot be reached: {cause or 'the connection failed'}. Run again once it can be reached",
    }
