# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module node_config_policy in Ansible's own process where it can."""

from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.modules import node_config_policy
from ansible_collections.livenodes.kubelet.plugins.plugin_utils.actions import ControllerAction


class ActionModule(ControllerAction):
    module = node_config_policy.MODULE
