# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules that assign or verify one source for several nodes (config_sources.SELECTION)."""

from __future__ import annotations


class ModuleDocFragment:
    """Several nodes and their common config source."""

    DOCUMENTATION = r"""
options:
  nodes:
    description:
      - Names of the nodes. All of them must exist.
    type: list
    elements: str
  source:
    description:
      - The config source of all O(nodes), such as RV(livenodes.kubelet.kubelet_configmap#module:source).
    type: dict
    suboptions:
      namespace:
        description: Namespace of the ConfigMap.
        type: str
        default: kube-system
      name:
        description: Name of the ConfigMap.
        type: str
        required: true
      kubelet_config_key:
        description: Key of the ConfigMap that holds the configuration.
        type: str
        default: kubelet
        aliases: [kubeletConfigKey]
      uid:
        description: Part of a result of M(livenodes.kubelet.kubelet_configmap). Ignored, as the three that follow.
        type: str
      resource_version:
        description: See O(source.uid).
        type: str
        aliases: [resourceVersion]
      variant:
        description: See O(source.uid).
        type: str
      changed:
        description: See O(source.uid).
        type: bool
"""
