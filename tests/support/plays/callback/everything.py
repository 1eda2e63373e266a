# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write all that a callback gets of each task: what AWX and other programs keep at any verbosity."""

from __future__ import annotations

import os
import typing as t

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: everything
type: aggregate
short_description: Keeps what callbacks get, for tests
description: Needs the path of a file in the environment.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no types
    """Keeps the results of all tasks, and the arguments of the tasks of this collection."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "everything"
    CALLBACK_NEEDS_ENABLED = True

    def v2_runner_on_ok(self, result: t.Any) -> None:
        self._write(result)

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        self._write(result)

    def _write(self, result: t.Any) -> None:
        ours = str(result._task.action).startswith("livenodes.kubelet.")
        arguments = (result._task_fields or {}).get("args") if ours else None
        with open(os.environ["LIVENODES_TEST_EVERYTHING"], "a", encoding="utf-8") as file:
            file.write(f"{result._task.get_name()}: {result._result!r} {arguments!r}\n")
