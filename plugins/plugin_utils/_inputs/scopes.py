# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose each variable is: a host's, the run's, or one that only roles hand to each other.

A variable of the run is read once, on one of its hosts, so all hosts must have the same value. Every variable that is
not named here is of this kind: a new one is refused where hosts differ, until a task reads it host by host.
"""

from __future__ import annotations

import typing as t

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
        "kubelet_config_flags",
        "kubelet_config_forecast",
        "kubelet_config_forecast_pods",
        "kubelet_config_host",
        "kubelet_config_metrics_dir",
        "kubelet_config_node_name",
        "kubelet_config_state_files",
        "kubelet_config_target_binary",
        "kubelet_config_trial_seconds",
        "kubelet_config_unit",
    }
)
"""Each host has its own value."""

INTERNAL: dict[str, t.Any] = {
    "__kubelet_config_batch": {},
    "__kubelet_config_before": {},
    "__kubelet_config_began": None,
    "__kubelet_config_migrate": "stay",
    "__kubelet_config_own": {},
    "__kubelet_config_rollout": None,
    "__kubelet_config_rollout_goal": "plan",
    "__kubelet_config_row": None,
    "__kubelet_config_rows": {},
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


def is_of_the_run(name: str) -> bool:
    """Return whether all hosts of a run must have the same value of a variable."""
    return name not in OF_THE_HOST and name not in HANDED_ON
