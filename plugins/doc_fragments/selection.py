# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that choose nodes."""

from __future__ import annotations


class ModuleDocFragment:
    """Nodes by name or by label."""

    DOCUMENTATION = r"""
options:
  nodes:
    description:
      - Names of the nodes. Every one of them has to exist.
      - All nodes that match O(label_selectors) when not given, all nodes of the cluster when that is not given either.
    type: list
    elements: str
  label_selectors:
    description:
      - Label selectors that nodes have to match.
    type: list
    elements: str
"""
