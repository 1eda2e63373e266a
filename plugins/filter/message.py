# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter that makes one message about a node of what several tasks and modules reported."""

from __future__ import annotations

import typing as t

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.message import node_message


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {"node_message": node_message}
