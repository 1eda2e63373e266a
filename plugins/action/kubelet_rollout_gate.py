# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module kubelet_rollout_gate in Ansible's own process where it can."""

from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.modules import kubelet_rollout_gate
from ansible_collections.livenodes.kubelet.plugins.plugin_utils.actions import ControllerAction


class ActionModule(ControllerAction):
    module = kubelet_rollout_gate.MODULE
