# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every module that talks to the API does around its one call."""

from __future__ import annotations

import typing as t

from . import auth
from .definition import Definition
from .errors import ClusterError
from .session import FIRST_CONTACT, PATIENT_CONTACT, Session

Stage = t.Callable[[Session, "dict[str, t.Any]", bool], "dict[str, t.Any]"]


def define(spec: dict[str, t.Any], stage: Stage, patient: bool = False, **limits: t.Any) -> Definition:
    """Define a module that does `stage(session, options, check_mode)`.

    `patient` stages sit out an API server that is away when they begin; the others soon tell a wrong address.
    `limits` are AnsibleModule's own. The API server's warnings are shown too.
    """

    def call(options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
        session = Session(options, first_contact=PATIENT_CONTACT if patient else FIRST_CONTACT)
        try:
            return _with_warnings(session, stage(session, options, check_mode))
        except ClusterError as error:
            error.result = _with_warnings(session, error.result)
            raise

    return Definition({**auth.argument_spec(), **spec}, call, limits)


def _with_warnings(session: Session, result: dict[str, t.Any]) -> dict[str, t.Any]:
    return {**result, "warnings": [*(f"API server: {text}" for text in session.warnings), *result.get("warnings", ())]}
