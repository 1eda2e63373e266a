# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that name the ConfigMaps which hold configurations."""

from __future__ import annotations


class ModuleDocFragment:
    """Name, namespace and key of the ConfigMaps."""

    DOCUMENTATION = r"""
options:
  name:
    description:
      - Prefix of the ConfigMap names.
    type: str
    default: livenodes-kubelet
  namespace:
    description:
      - Namespace of the ConfigMaps.
    type: str
    default: kube-system
  key:
    description:
      - Key of the configuration in a ConfigMap.
    type: str
    default: kubelet
"""
