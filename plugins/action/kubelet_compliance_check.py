# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module kubelet_compliance_check in Ansible's own process where it can, and adds the page."""

from __future__ import annotations

import typing as t

from ansible_collections.livenodes.kubelet.plugins.modules import kubelet_compliance_check
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.page import compliance
from ansible_collections.livenodes.kubelet.plugins.plugin_utils.actions import ControllerAction


class ActionModule(ControllerAction):
    module = kubelet_compliance_check.MODULE

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module, and return its result with the same as a page."""
        result = super().run(tmp, task_vars)
        # With async, there is no result yet.
        if "summary" in result:
            result["html"] = compliance.make(result)
        return result
