#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_drain
short_description: Drain many nodes at once, and undo only this collection's cordons
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Cordons nodes and evicts their pods through the Eviction API, which respects disruption budgets. Works on all nodes
    and pods concurrently, and waits until the pods are gone.
  - Marks its cordons with the annotation C(cordoned), which names the holder of O(lease),
    and undoes only these.
  - Follows the rules of C(kubectl drain --ignore-daemonsets). Static pods and pods of a DaemonSet stay. Finished pods
    are evicted.
  - If a pod has no controller or has an emptyDir volume, the module fails before it cordons or evicts anything, unless
    O(force) or O(delete_emptydir_data) allows the eviction.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.options.lease
  - livenodes.kubelet.attributes
attributes:
  check_mode:
    details: >-
      Uses a dry run of the API server, which checks the disruption budgets for each pod separately. The module does not
      wait; pods for which it would have to wait are reported as a warning. O(lease) is not renewed.
options:
  state:
    description:
      - V(drained) cordons O(nodes) and evicts their pods. A node that is already cordoned is drained, but not marked.
      - V(restored) uncordons those O(nodes) that have the mark, whichever run set it. If the node is no longer
        cordoned, only the mark is removed. Nodes without the mark are not changed.
    type: str
    choices: [drained, restored]
    default: drained
  nodes:
    description:
      - Names of the nodes. A node that does not exist fails alone; the others are drained.
    type: list
    elements: str
    required: true
  timeout:
    description:
      - Seconds in which all pods of all nodes must be gone. Until then, an eviction that a disruption budget blocks is
        repeated while others proceed.
      - Pods that remain after that are reported with their budget. The nodes stay cordoned.
    type: int
    default: 300
  grace_period:
    description:
      - Seconds that each pod has to terminate. The default is its own C(terminationGracePeriodSeconds).
    type: int
  delete_emptydir_data:
    description:
      - Whether pods with an emptyDir volume may be evicted. The data in the volume is lost.
    type: bool
    default: false
  force:
    description:
      - Whether pods without a controller may be evicted. Nothing creates them again.
    type: bool
    default: false
seealso:
  - module: livenodes.kubelet.node_soak
"""

EXAMPLES = r"""
- name: Drain two nodes
  livenodes.kubelet.node_drain:
    nodes: [n1, n2]
    timeout: 600
  delegate_to: localhost
  run_once: true

- name: Uncordon them, unless they were cordoned before the drain
  livenodes.kubelet.node_drain:
    state: restored
    nodes: [n1, n2]
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
nodes:
  description: One row for each node, by name, on failure as well.
  returned: always
  type: dict
  contains:
    ok:
      description: Whether the node was drained or restored.
      type: bool
    state:
      description: >-
        V(drained), V(not_drained) or, if the module refused to begin, V(unchanged). V(restored) or V(cordoned) with
        O(state=restored). V(gone) if there is no such Node.
      type: str
    changed:
      description: Whether the module cordoned or uncordoned the node, or evicted a pod from it.
      type: bool
    cordoned:
      description: Whether the node is cordoned now, whatever the cause.
      type: bool
    evicted:
      description: The evicted pods, each with C(namespace) and C(name).
      type: list
      elements: dict
    skipped:
      description: The pods that a drain does not evict, each with C(namespace), C(name) and C(reason).
      type: list
      elements: dict
    message:
      description: What was done, or what blocks it and the remedy.
      type: str
  sample:
    n1:
      changed: true
      cordoned: true
      evicted: [{namespace: default, name: web-7d9c6b5f4-x2x8q}]
      skipped:
        - namespace: kube-system
          name: kube-proxy-kx7lm
          reason: "of DaemonSet/kube-proxy, which would create it again on this node"
      message: 1 pod evicted
stop:
  description: >-
    Whether a node failed that still exists. If it is V(false), a failure concerns only nodes that were deleted.
  returned: always
  type: bool
pods:
  description: >-
    The pods of the nodes after the drain, by node and uid, in the form that M(livenodes.kubelet.node_soak) accepts.
  returned: with O(state=drained), unless RV(stop) is true
  type: dict
check_mode:
  description: V(true) if the rows of RV(nodes) name what would be changed.
  returned: in check mode, if a node would be changed
  type: bool
summary:
  description: Counts over all nodes.
  returned: always
  type: dict
  sample: {nodes: 1, changed: 1, failed: 0, evicted: 1}
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import drain

MODULE = controller_module.define(
    {
        "state": {"type": "str", "choices": ["drained", "restored"], "default": "drained"},
        "nodes": {"type": "list", "elements": "str", "required": True},
        "timeout": {"type": "int", "default": 300},
        "grace_period": {"type": "int"},
        "delete_emptydir_data": {"type": "bool", "default": False},
        "force": {"type": "bool", "default": False},
        "lease": {"type": "dict"},
    },
    drain.drain,
    patient=True,
)
main = MODULE.run

if __name__ == "__main__":
    main()
