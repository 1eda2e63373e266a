# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write each result of a run and where it stands as a line of JSON, including the parts that Ansible does not print."""

from __future__ import annotations

import json
import os
import time
import typing as t
from pathlib import Path

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: tape
type: aggregate
short_description: Keeps the results of a run, for tests
description: Needs the path of a folder in the environment.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no types
    """Gets the results that every callback gets: censored for tasks with no_log."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "tape"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *arguments: t.Any, **more: t.Any) -> None:
        super().__init__(*arguments, **more)
        # Runs in their order; two may run at once.
        self._file = os.path.join(os.environ["LIVENODES_TAPE"], f"{time.time_ns()}-{os.getpid()}")
        self._playbook = self._play = ""
        self._tasks = 0

    def v2_playbook_on_start(self, playbook: t.Any) -> None:
        self._playbook = Path(playbook._file_name).name

    def v2_playbook_on_play_start(self, play: t.Any) -> None:
        self._play = play.get_name()

    def v2_playbook_on_task_start(self, task: t.Any, is_conditional: bool) -> None:
        """Count it: hosts finish a task in any order."""
        self._tasks += 1

    v2_playbook_on_handler_task_start = v2_playbook_on_task_start

    def v2_runner_on_ok(self, result: t.Any) -> None:
        self._write("ok", result)

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        self._write("failed", result)

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        self._write("unreachable", result)

    def _write(self, end: str, result: t.Any) -> None:
        shown = {key: value for key, value in result._result.items() if not key.startswith("_ansible")}
        head = [self._playbook, self._play, result._task.get_name(), result._host.get_name(), end]
        with open(self._file, "a", encoding="utf-8") as file:
            how = [result._task.resolved_action, bool(result._task.check_mode)]
            file.write(json.dumps([self._tasks, head, how, shown], default=str) + "\n")
