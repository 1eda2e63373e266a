# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module kubelet_rollout_lease in Ansible's own process where it can."""

from __future__ import annotations

import typing as t

from ansible_collections.livenodes.kubelet.plugins.modules import kubelet_rollout_lease
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import stages
from ansible_collections.livenodes.kubelet.plugins.plugin_utils.actions import ControllerAction


class ActionModule(ControllerAction):
    module = kubelet_rollout_lease.MODULE

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module; refuse to hold a Lease in a play in which each host would ask for it."""
        strategy = str(self._task.get_play().strategy).rpartition(".")[2]
        # Each host runs a task with run_once for itself, and the second one would wait for the Lease of the first one.
        if self._task.run_once and strategy.endswith(stages.ALONE) and self._task.args.get("state") != "released":
            return {
                "failed": True,
                "changed": False,
                "msg": f"the strategy of this play is {strategy}, with which every host would begin the rollout and "
                "wait for the Lease of the first one. Nothing was changed. Set strategy: linear in the play, or roll "
                "out with the playbooks of this collection, which do so",
            }
        return t.cast("dict[str, t.Any]", super().run(tmp, task_vars))
