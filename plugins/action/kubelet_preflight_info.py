# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module kubelet_preflight_info on its node. A lost connection is a failure that a play can rescue."""

from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.plugin_utils.actions import NodeAction


class ActionModule(NodeAction):
    """See the module."""
