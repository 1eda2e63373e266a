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

from ..module_utils._cluster.api import cluster_options, kubelet_on_host, kubelet_ways
from ..module_utils._cluster.api.controller_module import Definition
from ..module_utils._cluster.api.errors import MissingLibrary
from . import in_process, sealed
from .host_programs import HostPrograms

# Python and the dynamic loader read these variables when they start.
AT_START = ("PYTHON", "LD_")

ELSEWHERE = (
    "this task is delegated to localhost, and the inventory has a host of this name with the connection {}: the task, "
    "with the credentials of the cluster in its arguments, would run there. Nothing was sent. Rename the host, or set "
    "its ansible_connection to local"
)


class ControllerAction(Normal):  # type: ignore[misc]  # ansible-core has no types
    """Base class of the actions; a subclass sets `module`. Ansible runs the module if this class cannot."""

    module: Definition

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module in this process, otherwise as an ordinary module. Secrets are sealed in its result."""
        given = self._task.args
        if self._task.delegate_to in C.LOCALHOST and self._connection.transport != "local":
            # Before the credentials are opened.
            return {"failed": True, "changed": False, "msg": ELSEWHERE.format(self._connection.transport)}
        try:
            self._task.args = sealed.unseal(given)
        except sealed.SealError as error:
            return {"failed": True, "changed": False, "msg": str(error)}
        try:
            result = self._result(tmp, task_vars or {})
        finally:
            opened, self._task.args = self._task.args, given
        if not (self._task.until or self._task.retries):
            # This process ends with the task, and its arguments return to the main process with the result.
            self._task.args = in_process.shown(self.module, opened)
        if (result.get("invocation") or {}).get("module_args"):
            given = cluster_options.shown(result["invocation"]["module_args"], self.module.spec)
            result["invocation"] = {"module_args": sealed.masked(given)}
        result = sealed.seal(result)
        if not sealed.SHARED and sealed.has_sealed(result):
            # The next task could not open them.
            return {**sealed.unseal(result), "_ansible_no_log": True}
        return result

    def _result(self, tmp: t.Any, variables: dict[str, t.Any]) -> dict[str, t.Any]:
        environment: dict[str, t.Any] = {}
        self._compute_environment_string(environment)
        if self._is_here(variables) and not any(name.startswith(AT_START) for name in environment):
            try:
                programs = HostPrograms(self, variables)
                surroundings = in_process.surroundings(environment, self._loader.get_basedir())
                known = kubelet_ways.remembered_in(C.DEFAULT_LOCAL_TMP)
                with surroundings, known, kubelet_on_host.running_programs_with(programs):
                    return in_process.run(
                        self.module,
                        self._task.action,
                        self._task.args,
                        check_mode=self._task.check_mode,
                        diff=self._task.diff,
                        verbosity=self._display.verbosity,
                        invocation=_wants_invocation(variables),
                    )
            except MissingLibrary:
                # The interpreter that Ansible finds for modules may be another one that has the library.
                pass
        if self._connection.transport != "local":
            # With -vvv, the connection ssh prints what a module has printed.
            self._play_context.no_log = True
        return t.cast("dict[str, t.Any]", super().run(tmp, variables))

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
