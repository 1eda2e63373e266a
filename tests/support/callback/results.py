# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the result of each task as a line of JSON, including the parts that Ansible does not print."""

from __future__ import annotations

import json
import os
import typing as t

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: results
type: aggregate
short_description: Keeps the results of a play, for tests
description: Needs the path of a file in the environment.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no types
    """Gets the results that every callback gets: censored for tasks with no_log."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "results"
    CALLBACK_NEEDS_ENABLED = True

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """Write the result of a successful task."""
        self._write(result)

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """Write the result of a failed task."""
        self._write(result)

    def _write(self, result: t.Any) -> None:
        shown = {key: value for key, value in result._result.items() if not key.startswith("_ansible")}
        with open(os.environ["LIVENODES_TEST_RESULTS"], "a", encoding="utf-8") as file:
            file.write(json.dumps(shown, default=str) + "\n")
