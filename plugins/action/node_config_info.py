# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module of the same name in Ansible's own process where it can.

The actions of the other modules of the controller are symbolic links to this file: Ansible loads each under its name.
"""

from __future__ import annotations

import importlib

from ansible_collections.livenodes.kubelet.plugins.plugin_utils.controller import ControllerAction

NAME = __name__.rpartition(".")[2]


class ActionModule(ControllerAction):
    """See the module."""

    module = importlib.import_module(f"ansible_collections.livenodes.kubelet.plugins.modules.{NAME}").MODULE
