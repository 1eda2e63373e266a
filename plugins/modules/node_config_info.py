#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_config_info
short_description: Read the kubelet config status of many nodes
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Returns, from one LIST of nodes, which configuration each kubelet was told to run, runs, and would fall back to, with the counts that
    rollout budgets are made of.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.selection
  - livenodes.kubelet.attributes
  - livenodes.kubelet.attributes.read_only
  - livenodes.kubelet.attributes.actiongroup_cluster
seealso:
  - module: livenodes.kubelet.node_config_source
"""

EXAMPLES = r"""
- name: Which nodes of the cluster are in trouble
  livenodes.kubelet.node_config_info:
  delegate_to: localhost
  run_once: true
  register: status

- name: Name them
  ansible.builtin.debug:
    var: status.summary.failed
"""

RETURN = r"""
nodes:
  description: One row for each node, by name.
  returned: success
  type: dict
  contains:
    delivery:
      description: >-
        V(checkpoint) when this collection wrote a checkpoint on the node, else V(native) when its kubelet follows Node.spec.configSource, else V(none).
      type: str
    listening:
      description: Whether the kubelet follows Node.spec.configSource, also where that is not what counts.
      type: bool
    kubelet_version:
      description: Version of the kubelet.
      type: str
    source:
      description: What Node.spec.configSource, or the annotation in its place, names; V(null) for the local config.
      type: dict
    config_source:
      description: What Node.spec.configSource names, also where that is not what counts.
      type: dict
    assigned:
      description: Reference to the source the kubelet has been told to use, as its node reports it.
      type: dict
    active:
      description: Reference to the source the kubelet runs with; V(null) for its local config.
      type: dict
    lastKnownGood:
      description: Reference to the source the kubelet falls back to; V(null) for its local config.
      type: dict
    previous:
      description: >-
        Reference to the source the kubelet ran before it was last given something else; an empty mapping for its local config, V(null) when that is not
        known.
      type: dict
    error:
      description: The error the kubelet or, with delivery V(checkpoint), the guard on the node reports, empty when there is none.
      type: str
    reason:
      description: With delivery V(checkpoint), what the guard said last, such as V(on trial) or V(passed its trial); else empty.
      type: str
    settled:
      description: Whether the kubelet runs what it should, without an error.
      type: bool
    ready:
      description: Whether the Node's condition Ready is true.
      type: bool
    ready_reason:
      description: Reason and message of that condition.
      type: str
    heartbeat:
      description: When the kubelet last posted that condition.
      type: str
    schedulable:
      description: Whether the node is not cordoned.
      type: bool
    control_plane:
      description: Whether the node has one of the labels C(node-role.kubernetes.io/control-plane) and C(node-role.kubernetes.io/master).
      type: bool
  sample:
    n1:
      delivery: native
      kubelet_version: v1.20.2
      source: {namespace: kube-system, name: livenodes-kubelet-5m7f2b6t4c, kubeletConfigKey: kubelet}
      settled: true
      ready: true
summary:
  description: Counts over all nodes, and the names of those with an error.
  returned: success
  type: dict
  sample: {nodes: 3, ready: 3, unschedulable: 0, unavailable: 0, native: 3, checkpoint: 0, settled: 3, failed: []}
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_status, nodes

MODULE = controller_module.define(nodes.SELECTION, node_status.info)


def main() -> None:
    """Run the module."""
    MODULE.run()


if __name__ == "__main__":
    main()
