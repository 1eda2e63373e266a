# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of a controller module: runs the module in Ansible's own process if the result is the same.

A process for the module would cost most of a second.
"""

from __future__ import annotations

import os
import sys
import typing as t

from ansible import constants as C
from ansible.plugins.action.normal import ActionModule as Normal

from ..module_utils._cluster.api.controller_module import Definition
from ..module_utils._cluster.api.errors import MissingLibrary
from . import in_process

# Python and the dynamic loader read these variables when they start.
AT_START = ("PYTHON", "LD_")


class ControllerAction(Normal):  # type: ignore[misc]  # ansible-core has no types
    """Base class of the actions; a subclass sets `module`. Ansible runs the module if this class cannot."""

    module: Definition

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module in this process, otherwise as an ordinary module."""
        variables = task_vars or {}
        environment: dict[str, t.Any] = {}
        self._compute_environment_string(environment)
        if self._is_here(variables) and not any(name.startswith(AT_START) for name in environment):
            try:
                with in_process.surroundings(environment, self._loader.get_basedir()):
                    result = in_process.run(
                        self.module,
                        self._task.action,
                        self._task.args,
                        check_mode=self._task.check_mode,
                        diff=self._task.diff,
                        verbosity=self._display.verbosity,
                        invocation=_wants_invocation(variables),
                    )
                if not (self._task.until or self._task.retries):
                    # This process ends with the task, and its arguments return to the main process with the result.
                    self._task.args = in_process.brief(self._task.args)
                return result
            except MissingLibrary:
                # The interpreter that Ansible finds for modules may be another one that has the library.
                pass
        return t.cast("dict[str, t.Any]", super().run(tmp, task_vars))

    def _is_here(self, variables: dict[str, t.Any]) -> bool:
        if self._connection.transport != "local" or self._connection.become or self._task.async_val:
            return False
        if self._task.delegate_to:
            variables = variables["ansible_delegated_vars"][self._task.delegate_to]
        python = str(self._templar.template(C.config.get_config_value("INTERPRETER_PYTHON", variables=variables)))
        return python.startswith("auto") or _same_python(python, sys.executable)


def _same_python(one: str, other: str) -> bool:
    """Return whether two paths are the same Python.

    The interpreter of a virtual environment is a link to another one, so the folders must be equal too.
    """
    return os.path.dirname(one) == os.path.dirname(other) and os.path.realpath(one) == os.path.realpath(other)


def _wants_invocation(variables: dict[str, t.Any]) -> bool:
    setting = "INJECT_INVOCATION"  # since ansible-core 2.21; before, always
    return not C.config.get_configuration_definition(setting) or bool(
        C.config.get_config_value(setting, variables=variables)
    )
