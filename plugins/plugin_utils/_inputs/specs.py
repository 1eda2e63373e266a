# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of the collection: their argument specs, which are installed with it, and whose they are: a host's, the
run's, or those that roles hand to each other.
"""

from __future__ import annotations

import typing as t
from pathlib import Path

from ansible.module_utils.common.yaml import yaml_load

from .check import OF_THE_PLAYBOOKS, Option

ROLES = Path(__file__).resolve().parents[3] / "roles"


AUTH = "kubelet_config_auth"
"""The variable that names the cluster of a run."""

OF_THE_HOST = frozenset(
    {
        "kubelet_config",
        "kubelet_config_allow_effect",
        "kubelet_config_allow_offline_guard",
        "kubelet_config_allow_pending_edits",
        "kubelet_config_allow_unchecked",
        "kubelet_config_delivery",
        "kubelet_config_dir",
        "kubelet_config_drain",
        "kubelet_config_dropin_dir",
        "kubelet_config_exceptions",
        "kubelet_config_flags",
        "kubelet_config_follow_effect",
        "kubelet_config_forecast",
        "kubelet_config_forecast_pods",
        "kubelet_config_host",
        "kubelet_config_metrics_dir",
        "kubelet_config_node_name",
        "kubelet_config_profile",
        "kubelet_config_state_files",
        "kubelet_config_target_binary",
        "kubelet_config_transport",
        "kubelet_config_trial_seconds",
        "kubelet_config_unit",
    }
)
"""Each host has its own value."""

INTERNAL: dict[str, t.Any] = {
    "__kubelet_config_batch": {},
    "__kubelet_config_began": None,
    "__kubelet_config_migrate": "stay",
    "__kubelet_config_own": {},
    "__kubelet_config_rollout": None,
    "__kubelet_config_rollout_goal": "plan",
    "__kubelet_config_row": None,
    "__kubelet_config_trial": None,
}
"""Roles and playbooks hand these to each other, and no user sets them. The values are the defaults, None without."""

HANDED_ON = INTERNAL.keys() | {
    "kubelet_config_confirm",
    "kubelet_config_current",
    "kubelet_config_data",
    "kubelet_config_node_delivery",
    "kubelet_config_plan",
    "kubelet_config_reason",
    "kubelet_config_source",
    "kubelet_config_sources",
}
"""Roles hand these to each other. Users set those without underscores in plays of their own that call the roles."""


def by_role(folder: Path = ROLES, entry_point: str | None = None) -> dict[str, dict[str, Option]]:
    """Return the specs of the variables by role and name: of one entry point, or of all.

    A variable has one type in all entry points.
    """
    found: dict[str, dict[str, Option]] = {}
    for path in sorted(folder.glob("*/meta/argument_specs.yml")):
        entries = yaml_load(path.read_text(encoding="utf-8"))["argument_specs"]
        options: dict[str, Option] = {}
        for title, entry in entries.items():
            if entry_point in (None, title):
                options.update(entry.get("options") or {})
        found[path.parent.parent.name] = options
    return found


def known(roles: t.Mapping[str, t.Mapping[str, Option]]) -> dict[str, Option]:
    """Return the specs of all variables by name."""
    found: dict[str, Option] = {**OF_THE_PLAYBOOKS}
    for options in roles.values():
        found.update(options)
    return found


def is_of_the_run(name: str) -> bool:
    """Return whether all hosts of a run must have the same value of a variable."""
    return name not in OF_THE_HOST and name not in HANDED_ON
