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
  - Returns which configuration each kubelet must run, runs, and would revert to, and the counts for rollout budgets.
    Needs one LIST of nodes.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.options.selection
  - livenodes.kubelet.attributes.read_only
options:
  skip:
    description:
      - Whether nodes that the cluster reports as away are rows of RV(away). A node is away if it does not exist, is
        not Ready, or if its kubelet has sent no heartbeat for one minute. Needs O(nodes).
      - With V(false), the module fails if a node does not exist.
    type: bool
    default: false
  unready:
    description:
      - Whether O(skip) spares nodes that are not Ready if their kubelet still answers. Needs one request for each node
        that is not Ready.
    type: bool
    default: false
  capacity:
    description:
      - Whether to return RV(capacity).
    type: bool
    default: false
seealso:
  - module: livenodes.kubelet.node_config_source
"""

EXAMPLES = r"""
- name: Read the status of all nodes
  livenodes.kubelet.node_config_info:
  delegate_to: localhost
  run_once: true
  register: status

- name: Show the nodes with an error
  ansible.builtin.debug:
    var: status.summary.failed
"""

RETURN = r"""
away:
  description: >-
    With O(skip), one row for each node that is away, by name, with the keys of
    RV(livenodes.kubelet.node_config_source#module:nodes). C(state) is V(skipped), C(message) the reason.
  returned: success
  type: dict
  sample:
    n7:
      ok: false
      state: skipped
      message: "not Ready (NodeStatusUnknown: Kubelet stopped posting node status.)"
      changed: false
      delivery: none
      source: null
      error: ""
capacity:
  description: >-
    What the machine of each node has, by name, as whole numbers. C(cpu) is in cores, C(memory) and C(storage) are in
    bytes, C(pods) is the number that the kubelet accepts, and C(hugepages) has bytes by the size of a page. What the
    Node does not have is absent.
  returned: success, with O(capacity=true)
  type: dict
  sample:
    n1: {cpu: 4, memory: 16767627264, storage: 101203873792, pods: 110, hugepages: {2Mi: 0}}
nodes:
  description: One row for each node, by name.
  returned: success
  type: dict
  contains:
    delivery:
      description: >-
        The delivery whose source this collection wrote on the node, else V(native) if its kubelet follows
        Node.spec.configSource, else V(none).
      type: str
    listening:
      description: Whether the kubelet follows Node.spec.configSource, even if another delivery is in use.
      type: bool
    kubelet_version:
      description: Version of the kubelet.
      type: str
    source:
      description: The source in Node.spec.configSource or in the annotation that replaces it; V(null) for local.
      type: dict
    config_source:
      description: The source in Node.spec.configSource, even if another delivery is in use.
      type: dict
    assigned:
      description: The source that the kubelet must use, as its node reports it.
      type: dict
    active:
      description: The source that the kubelet runs; V(null) for its local configuration.
      type: dict
    lastKnownGood:
      description: The source to which the kubelet reverts; V(null) for its local configuration.
      type: dict
    previous:
      description: >-
        The source that the kubelet ran before its last assignment; an empty mapping for its local configuration,
        V(null) if unknown.
      type: dict
    rollout:
      description: >-
        Name of the rollout before which it ran C(previous); empty if it is unknown.
      type: str
    undone:
      description: Whether a rollback of this rollout has begun on the node.
      type: bool
    fell_back:
      description: >-
        Whether the kubelet or the guard has refused the source for good, and the node runs what it fell back to.
      type: bool
    reimaged:
      description: >-
        The machine is new or newly installed: C(source) was assigned to the one before it, and is not on its disk.
      returned: when that is so
      type: bool
    error:
      description: >-
        The error that the kubelet reports, or with delivery V(checkpoint) the guard on the node; empty if there is
        none.
      type: str
    reason:
      description: >-
        With delivery V(checkpoint), the last report of the guard, such as V(on trial) or V(passed its trial); else
        empty.
      type: str
    malformed:
      description: >-
        What is malformed and how to repair it, by annotation or field of the Node. The values of those are absent from
        the row. Empty if nothing is malformed.
      type: dict
    settled:
      description: >-
        Whether the kubelet runs its assigned source without an error. Also V(false) if its source or status is
        malformed.
      type: bool
    ready:
      description: Whether the Node's condition Ready is true.
      type: bool
    ready_reason:
      description: Reason and message of that condition.
      type: str
    heartbeat:
      description: When the kubelet last reported that condition.
      type: str
    follower:
      description: >-
        Of a node with a follower, the C(format) of its answers, and by which C(transport) its last source was
        assigned.
      returned: for nodes with a follower
      type: dict
    cordon:
      description: >-
        C(holder) and C(time) of a cordon that a drain of this collection has set and not undone; V(null) without one.
      type: dict
    schedulable:
      description: Whether the node is not cordoned.
      type: bool
    control_plane:
      description: >-
        Whether the node has the label C(node-role.kubernetes.io/control-plane) or C(node-role.kubernetes.io/master).
      type: bool
    uid:
      description: The uid of the Node. One that was deleted and created again has another.
      type: str
    place:
      description: >-
        From where a kubelet before 1.11 has its configuration. V(checkpoint) is a ConfigMap, V(init) its
        C(--init-config-dir), V(local) its flags and defaults or its own file. Only present for these kubelets.
      type: str
    explanation:
      description: >-
        What the C(error) of a kubelet before 1.11 means and what to do; empty without one. Only present for these
        kubelets.
      type: str
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
  sample:
    {nodes: 3, ready: 3, unschedulable: 0, unavailable: 0, native: 3, checkpoint: 0, dropin: 0, settled: 3, failed: []}
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_requests
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import gate

MODULE = controller_module.define(
    {
        **node_requests.SELECTION,
        "skip": {"type": "bool", "default": False},
        "unready": {"type": "bool", "default": False},
        "capacity": {"type": "bool", "default": False},
    },
    gate.info,
)
main = MODULE.run

if __name__ == "__main__":
    main()
