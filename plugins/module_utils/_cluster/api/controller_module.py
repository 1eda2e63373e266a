# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Definition of a controller module: its options, the limits between them, and its one call.

A definition runs as an Ansible module in a Python process of its own, or inside the Ansible process (see plugin_utils).
Both handle options, results and failures in the same way.
"""

from __future__ import annotations

import dataclasses
import traceback
import typing as t

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from . import cluster_options
from .errors import ClusterError, MissingLibrary
from .session import FIRST_CONTACT, PATIENT_CONTACT, Json, Session

_Call = t.Callable[["Json", bool], "Json"]
_Stage = t.Callable[[Session, "Json", bool], "Json"]


@dataclasses.dataclass(frozen=True)
class Definition:
    """A module: `call(options, check_mode)` returns its result or raises ClusterError.

    `warnings` of the result are shown; `diff` is kept only if the operator asked for it. `limits` are the keyword
    arguments of AnsibleModule (required_one_of, mutually_exclusive, required_if, required_by).
    """

    spec: Json
    call: _Call
    limits: Json = dataclasses.field(default_factory=dict)

    def outcome(self, options: Json, check_mode: bool, diff: bool, verbosity: int) -> tuple[Json, list[str]]:
        """Return the result for validated options, with `failed` and `msg` after a failure, and the warnings.

        A failure contains the result so far, which states where every node stands. `check_mode` in a result marks rows
        that are a forecast: what counts nodes sees nothing else. Raises MissingLibrary, and every exception that is a
        defect.
        """
        try:
            self._check_numbers(options)
            result = dict(self.call(options, check_mode))
        except MissingLibrary:
            raise
        except ClusterError as error:
            result = {**error.result, "failed": True, "msg": error.message}
            if verbosity >= 3:
                result["exception"] = traceback.format_exc()
        if not diff:
            result.pop("diff", None)
        if check_mode and "nodes" in result and result.get("changed"):
            result["check_mode"] = True
        return result, list(result.pop("warnings", ()))

    def _check_numbers(self, options: Json) -> None:
        """Raise ClusterError for a negative number: all of them are amounts."""
        for name, option in self.spec.items():
            if option.get("type") == "int" and (options.get(name) or 0) < 0:
                raise ClusterError(f"{name} is {options[name]}: use a number of at least 0")

    def secrets(self, options: Json) -> set[str]:
        """Return the secrets in the options that `no_log` does not cover."""
        return cluster_options.kubeconfig_secrets(options.get("kubeconfig")) | cluster_options.environment_secrets()

    def run(self) -> t.NoReturn:
        """Run as an Ansible module: read the options, exit with the result or the failure."""
        # With no_log, the options are not in the log of the host: they contain configurations.
        module = AnsibleModule(argument_spec=self.spec, supports_check_mode=True, no_log=True, **self.limits)
        module.no_log_values |= self.secrets(module.params)
        try:
            # AnsibleModule has no public attributes for --diff and -v.
            # pylint: disable-next=protected-access
            result, warnings = self.outcome(module.params, module.check_mode, module._diff, module._verbosity)
        except MissingLibrary as error:
            module.fail_json(msg=f"{error.message}. {missing_required_lib('kubernetes')}", **error.result)
        for text in warnings:
            module.warn(text)
        if result.get("failed"):
            module.fail_json(**result)
        module.exit_json(**result)
        raise AssertionError("exit_json ends the process")


def define(spec: Json, stage: _Stage, patient: bool = False, **limits: t.Any) -> Definition:
    """Define a module that runs `stage(session, options, check_mode)`.

    A `patient` stage waits for an API server that is unavailable at its start; the others soon report a wrong address.
    `limits` are the keyword arguments of AnsibleModule. Warnings of the API server are shown too.
    """

    def call(options: Json, check_mode: bool) -> Json:
        session = Session(options, first_contact=PATIENT_CONTACT if patient else FIRST_CONTACT)
        try:
            return _with_warnings(session, stage(session, options, check_mode))
        except ClusterError as error:
            error.result = _with_warnings(session, error.result)
            raise

    return Definition({**cluster_options.argument_spec(), **spec}, call, limits)


def _with_warnings(session: Session, result: Json) -> Json:
    found = [f"API server: {text}" for text in session.warnings]
    if session.kubelets is not None:
        found += session.kubelets.warnings()
    return {**result, "warnings": [*found, *result.get("warnings", ())]}
