# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that say where configurations are kept."""

from __future__ import annotations


class ModuleDocFragment:
    """Name, namespace and key of the ConfigMaps."""

    DOCUMENTATION = r"""
options:
  name:
    description:
      - First part of the names of the ConfigMaps.
    type: str
    default: livenodes-kubelet
  namespace:
    description:
      - Namespace of the ConfigMaps.
    type: str
    default: kube-system
  key:
    description:
      - Key under which the configuration stands in a ConfigMap.
    type: str
    default: kubelet
"""
