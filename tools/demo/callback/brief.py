# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints what an operator reads: texts, changes and failures, a line each. For demos and screens of 100 columns."""

from __future__ import annotations

DOCUMENTATION = r"""
name: brief
type: stdout
short_description: Texts, changed tasks and failures only
author: livenodes.kubelet contributors (@livenodes)
description:
  - Prints the texts of C(debug) tasks, one line for each host of a changed task, and the message of each failure.
"""

import textwrap
import typing as t

from ansible import constants
from ansible.plugins.callback import CallbackBase

WIDTH = 100


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no types
    """Ansible's entry point."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "brief"

    def __init__(self) -> None:
        super().__init__()
        self._texts = True

    def v2_playbook_on_start(self, playbook: t.Any) -> None:
        """Begin. A rollout would show the plan again."""
        self._texts = "rollout" not in playbook._file_name

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """Print the text of a task that shows one, or that a task changed something."""
        # The underscore names also exist in ansible-core 2.16.
        found, task = result._result, result._task
        if task.action in ("debug", "ansible.builtin.debug"):
            text = found.get("msg") if self._texts else ""
            for line in text if isinstance(text, list) else str(text or "").splitlines():
                self._print(str(line), "  ")
        elif found.get("changed"):
            name = task.get_name().rpartition(" : ")[2]
            self._print(f"{result._host.get_name()}: {name}", "  changed  ", constants.COLOR_CHANGED)

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """Print why a task failed. A rollout shows the verdict alone: what it rescued before is part of that."""
        is_verdict = "Verdict |" in result._task.get_name()
        if not ignore_errors and (self._texts or is_verdict):
            message = str(result._result.get("msg") or result._result)
            self._print(f"{result._host.get_name()}: {message}", "  failed   ", constants.COLOR_ERROR)

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        """Print why a host cannot be reached."""
        self.v2_runner_on_failed(result)

    def _print(self, text: str, mark: str, color: str | None = None) -> None:
        lines = textwrap.wrap(text, WIDTH - len(mark), break_long_words=False, break_on_hyphens=False)
        inside = " " * len(mark)
        for at, line in enumerate(lines):
            self._display.display((inside if at else mark) + line, color=color)
