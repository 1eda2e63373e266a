#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_config_drift_info
short_description: Show where kubelets do not run what is declared, and why
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Compares, field by field, what the inventory declares, what the ConfigMap holds that a node's config source names, what the node reports as
    assigned, what is on its disk and what its kubelet really runs. Each difference is told once, with its cause and a remedy.
  - A field is declared when O(node_configs) names it. Every other field is compared between the other stages only.
  - Changes nothing and fails for no drift. One LIST of nodes, one read of C(/configz) for each node that O(current) has not, one of each distinct ConfigMap.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.selection
  - livenodes.kubelet.attributes
  - livenodes.kubelet.attributes.read_only
  - livenodes.kubelet.attributes.actiongroup_cluster
options:
  current:
    description:
      - The table that M(livenodes.kubelet.kubelet_configz_facts) has just returned. What it has of a node is not read again.
    type: dict
  node_configs:
    description:
      - What is declared, by node name, as a mapping, YAML text, or a list of these that are applied in order.
    type: dict
  hosts:
    description:
      - Results of M(livenodes.kubelet.kubelet_preflight_info) with O(livenodes.kubelet.kubelet_preflight_info#module:disk=true), by node name, of the
        nodes that were looked at. A result that says C(unreachable) or has failed is no failure here, the node's row says so.
      - Without it the disk is not compared, and a flag is told as the cause only where O(flags) has it.
    type: dict
  flags:
    description:
      - Words of the kubelet's command line by node name, where known. For a node in O(hosts), what was seen there counts.
    type: dict
  deliveries:
    description:
      - The delivery of nodes by name, V(native), V(checkpoint) or V(auto), which is what the node itself says and the default.
    type: dict
  kubeadm_configs:
    description:
      - What is declared for the whole group, by node name, as O(node_configs). What all of them say is compared with kubeadm's own ConfigMap.
      - That ConfigMap is not read without it.
    type: dict
seealso:
  - module: livenodes.kubelet.kubelet_preflight_info
  - module: livenodes.kubelet.node_config_info
"""

EXAMPLES = r"""
- name: Find out what two nodes do not run although it is declared
  livenodes.kubelet.kubelet_config_drift_info:
    nodes: [n1, n2]
    node_configs:
      n1: {maxPods: 80}
      n2: {maxPods: 80}
  delegate_to: localhost
  run_once: true
  register: drift

- name: Show it
  ansible.builtin.debug:
    msg: "{{ drift.text }}"
  run_once: true
"""

RETURN = r"""
nodes:
  description: One row for each node.
  returned: success
  type: dict
  contains:
    delivery:
      description: V(native), V(checkpoint) or V(none).
      type: str
    kubelet_version:
      description: The kubelet's version.
      type: str
    host:
      description: V(looked at), or why the node itself was not looked at; empty where nobody was to look.
      type: str
    drift:
      description: The differences, those of the node as a whole first, with the path C((config source)).
      type: list
      elements: dict
      contains:
        path:
          description: The field.
          type: str
        declared:
          description: What O(node_configs) has. V(null), as in all of these, is absent or not known. Secrets are masked.
          type: raw
        pushed:
          description: What the ConfigMap has that the node's config source names.
          type: raw
        assigned:
          description: What the node reports as assigned, as far as its content is known.
          type: raw
        disk:
          description: What the file on the node has.
          type: raw
        live:
          description: What the kubelet runs.
          type: raw
        kubeadm:
          description: What kubeadm's ConfigMap has, where it is not in step.
          type: raw
        cause:
          description: >-
            V(flag), V(drop-in), V(edited file), V(not restarted), V(other kubelet version), V(not rolled out), V(configmap changed),
            V(configmap gone), V(fell back), V(somebody else's source), V(kubeadm) or V(unknown).
          type: str
        message:
          description: How the cause shows on this node, with the flag, the file or the ConfigMap.
          type: str
        remedy:
          description: What to do.
          type: str
    rendering:
      description: Declared values that the kubelet shows in another form with the same meaning, cause V(configz rendering). They are no drift.
      type: list
      elements: dict
summary:
  description: Counts, and the nodes that should have been looked at and were not.
  returned: success
  type: dict
  sample: {nodes: 40, drifted: 1, differences: 1, causes: {flag: 1}, not_looked_at: []}
text:
  description: The drift for people, nodes with the same drift together.
  returned: success
  type: list
  elements: str
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import drift

MODULE = controller_module.define(
    {
        **nodes.SELECTION,
        **{
            name: {"type": "dict"}
            for name in ("current", "node_configs", "hosts", "flags", "deliveries", "kubeadm_configs")
        },
    },
    drift.look,
)


def main() -> None:
    """Run the module."""
    MODULE.run()


if __name__ == "__main__":
    main()
