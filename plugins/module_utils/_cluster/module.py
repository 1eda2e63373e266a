# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every module that talks to the API does around its one call."""
from __future__ import annotations

import typing as t

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from . import auth
from .errors import ClusterError, MissingLibrary
from .session import FIRST_CONTACT, PATIENT_CONTACT, Session

Stage = t.Callable[[Session, "dict[str, t.Any]", bool], "dict[str, t.Any]"]


def run(spec: dict[str, t.Any], stage: Stage, patient: bool = False, **limits: t.Any) -> t.NoReturn:
    """Run a stage as an Ansible module: options in, `stage(session, options, check_mode)`, result or failure out.

    `patient` stages sit out an API server that is away when they begin; the others soon tell a wrong address.
    `limits` are AnsibleModule's own (required_one_of, mutually_exclusive, required_if). A `diff` in the result is kept only where
    the user asked for one, `warnings` are shown. Failures carry the result so far, so that it is known where every node stands.
    """
    module = AnsibleModule(argument_spec={**auth.argument_spec(), **spec}, supports_check_mode=True, **limits)
    module.no_log_values |= auth.secrets(module.params["kubeconfig"])
    session = None
    try:
        session = Session(module.params, first_contact=PATIENT_CONTACT if patient else FIRST_CONTACT)
        result = stage(session, module.params, module.check_mode)
    except MissingLibrary as error:
        module.fail_json(msg=f"{error.message}. {missing_required_lib('kubernetes')}", **error.result)
    except ClusterError as error:
        _pass_on_warnings(module, session, error.result)
        module.fail_json(msg=error.message, **_visible(module, error.result))
    _pass_on_warnings(module, session, result)
    module.exit_json(**_visible(module, result))
    raise AssertionError("exit_json ends the process")


def _visible(module: AnsibleModule, result: dict[str, t.Any]) -> dict[str, t.Any]:
    asked = module._diff  # pylint: disable=protected-access  # there is no public way to ask for --diff
    return result if asked else {key: value for key, value in result.items() if key != "diff"}


def _pass_on_warnings(module: AnsibleModule, session: Session | None, result: dict[str, t.Any]) -> None:
    for text in [*(f"API server: {text}" for text in (session.warnings if session else [])), *result.pop("warnings", ())]:
        module.warn(text)
