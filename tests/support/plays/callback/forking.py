# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interrupt a controller while it forks the worker of a task: Python ignores what a signal handler raises there."""

from __future__ import annotations

import os
import signal
import typing as t

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: forking
type: aggregate
short_description: Interrupts the controller in a fork, for tests
description: Once, at the fork for the first task that assigns config sources.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no types
    """Runs in the controller's main process."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "forking"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._due = False
        os.register_at_fork(after_in_parent=self._interrupt)

    def v2_playbook_on_task_start(self, task: t.Any, is_conditional: bool) -> None:
        """The next fork is for the worker of this task."""
        self._due = "Assign the config sources" in task.get_name()

    def _interrupt(self) -> None:
        if self._due:
            self._due = False
            os.kill(os.getpid(), signal.SIGINT)
