#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_config_drift_info
short_description: Report where kubelets do not run what the inventory declares, and why
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Compares field by field what the inventory declares, the ConfigMap that the config source names, the source that the
    node reports as assigned, the file on its disk, and the live configuration of its kubelet. Each difference is
    reported once, with its cause and a remedy.
  - A field is declared when O(node_configs) names it. Every other field is compared between the other stages only.
  - Changes nothing and does not fail on drift. Reads the nodes, and needs one read of C(/configz) for each node that is
    not in O(current), and one read of each distinct ConfigMap.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.options.selection
  - livenodes.kubelet.attributes.read_only
options:
  current:
    description:
      - The table from a M(livenodes.kubelet.kubelet_configz_facts) task that has just run. Nodes in it are not read
        again.
    type: dict
  node_configs:
    description:
      - The declared fields by node name, in the form of
        O(livenodes.kubelet.kubelet_config_plan#module:node_configs).
    type: dict
  hosts:
    description:
      - Results of M(livenodes.kubelet.kubelet_preflight_info) with
        O(livenodes.kubelet.kubelet_preflight_info#module:disk=true), by node name, of the nodes that were inspected. A
        result that is C(unreachable) or failed does not fail the module; the row of the node reports it.
      - Without this option, disks are not compared, and a flag is reported as a cause only if O(flags) contains it.
    type: dict
  flags:
    description:
      - Arguments of the kubelet's command line by node name, where known. For a node in O(hosts), the inspected command
        line is used.
    type: dict
  deliveries:
    description:
      - The delivery by node name, as for M(livenodes.kubelet.node_config_source). The default V(auto) uses what the
        node reports.
    type: dict
  kubeadm_configs:
    description:
      - The declared fields of the whole group by node name, in the form of O(node_configs). Fields that all nodes have
        in common are compared with kubeadm's own ConfigMap.
      - Without this option, that ConfigMap is not read.
    type: dict
seealso:
  - module: livenodes.kubelet.kubelet_preflight_info
  - module: livenodes.kubelet.node_config_info
"""

EXAMPLES = r"""
- name: Find declared fields that two nodes do not run
  livenodes.kubelet.kubelet_config_drift_info:
    nodes: [n1, n2]
    node_configs:
      n1: {maxPods: 80}
      n2: {maxPods: 80}
  delegate_to: localhost
  run_once: true
  register: drift

- name: Show the drift
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
      description: The name of a delivery, or V(none).
      type: str
    kubelet_version:
      description: The kubelet's version.
      type: str
    host:
      description: V(looked at), or why the node itself was not inspected; empty if no inspection was requested.
      type: str
    drift:
      description: The differences. Those of the node as a whole, with the path C((config source)), come first.
      type: list
      elements: dict
      contains:
        path:
          description: The field.
          type: str
        declared:
          description: >-
            The value in O(node_configs). Here and below, V(null) means absent or unknown. Secrets are masked.
          type: raw
        pushed:
          description: The value in the ConfigMap that the node's config source names.
          type: raw
        assigned:
          description: The value in the source that the node reports as assigned, if its content is known.
          type: raw
        disk:
          description: The value in the file on the node.
          type: raw
        live:
          description: The value that the kubelet runs.
          type: raw
        kubeadm:
          description: The value in kubeadm's ConfigMap, if it is out of sync.
          type: raw
        cause:
          description: >-
            V(flag), V(drop-in), V(edited file), V(not restarted), V(other kubelet version), V(not rolled out),
            V(configmap changed), V(configmap gone), V(fell back), V(foreign source), V(no longer declared), V(own file
            changed), V(capacity changed), V(kubeadm) or V(unknown).
          type: str
        message:
          description: How the cause appears on this node, with the flag, the file or the ConfigMap.
          type: str
        remedy:
          description: How to remove the difference.
          type: str
    rendering:
      description: >-
        Declared values that the kubelet shows in another form with the same meaning, with the cause
        V(configz rendering). They are not drift.
      type: list
      elements: dict
summary:
  description: Counts, and the nodes that should have been inspected but were not.
  returned: success
  type: dict
  sample: {nodes: 40, drifted: 1, differences: 1, causes: {flag: 1}, not_looked_at: []}
text:
  description: The drift for people. Nodes with the same drift are listed together.
  returned: success
  type: list
  elements: str
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_requests
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import drift

MODULE = controller_module.define(
    {
        **node_requests.SELECTION,
        **{
            name: {"type": "dict"}
            for name in ("current", "node_configs", "hosts", "flags", "deliveries", "kubeadm_configs")
        },
    },
    drift.detect,
)
main = MODULE.run

if __name__ == "__main__":
    main()
