# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the argument specs of the roles, which are installed with the collection."""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible.module_utils.common.yaml import yaml_load

from .check import Option
from .limits import OF_THE_PLAYBOOKS

ROLES = Path(__file__).resolve().parents[3] / "roles"


def by_role(folder: Path = ROLES, entry_point: str | None = None) -> dict[str, dict[str, Option]]:
    """Return the specs of the variables by role and name: of one entry point, or of all.

    A variable has one type in all entry points.
    """
    found: dict[str, dict[str, Option]] = {}
    for path in sorted(folder.glob("*/meta/argument_specs.yml")):
        entries = yaml_load(path.read_text(encoding="utf-8"))["argument_specs"]
        found[path.parent.parent.name] = {
            name: option
            for title, entry in entries.items()
            if entry_point in (None, title)
            for name, option in (entry.get("options") or {}).items()
        }
    return found


def known(roles: t.Mapping[str, t.Mapping[str, Option]]) -> dict[str, Option]:
    """Return the specs of all variables by name."""
    return {**OF_THE_PLAYBOOKS, **{name: option for options in roles.values() for name, option in options.items()}}
