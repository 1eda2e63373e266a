# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that select nodes."""

from __future__ import annotations


class ModuleDocFragment:
    """Nodes by name or by label."""

    DOCUMENTATION = r"""
options:
  nodes:
    description:
      - Names of the nodes. All of them must exist.
      - The default is all nodes that match O(label_selectors), or all nodes of the cluster without that option.
    type: list
    elements: str
  label_selectors:
    description:
      - Label selectors that the nodes must match.
    type: list
    elements: str
"""
