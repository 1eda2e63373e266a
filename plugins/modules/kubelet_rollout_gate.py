#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_rollout_gate
short_description: Check whether a batch of a rollout may begin
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Checks the live cluster before a batch of nodes changes, with one call for all nodes. Fails unless the batch may
    begin.
  - Budget. A node is unavailable when it is not Ready, when its kubelet has sent no heartbeat for one minute, when it
    is cordoned, or when its configuration failed, whatever the cause. The batch may begin when the unavailable nodes of
    the group plus the nodes of the batch do not exceed O(max_unavailable). With 2 of 10 nodes not Ready, V(20%) blocks
    all other nodes.
  - Control plane. Nodes with the label C(node-role.kubernetes.io/control-plane) or C(node-role.kubernetes.io/master)
    change one at a time, and only while the API server and etcd pods of all others are Ready. If these are not pods in
    C(kube-system), the gate does not wait for them.
  - Pause. A key C(paused) with a true value in a ConfigMap stops every rollout before its next batch.
  - Window. A batch that would end after the window of its rollout does not begin, see O(window).
  - Pods. A restarted kubelet admits its pods again, and rejects those whose node selector or required node affinity no
    longer matches the labels of the Node. With O(pods), a batch that would cost a node more such pods than
    O(allow_pod_loss) does not begin. Static pods are not counted.
  - Waits for budget and control plane for at most O(timeout) seconds.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.options.lease
  - livenodes.kubelet.attributes.read_only
attributes:
  check_mode:
    details: The module does not wait in check mode. It changes no node. It renews O(lease), but not in check mode.
options:
  nodes:
    description:
      - Names of the nodes in the batch.
    type: list
    elements: str
    required: true
  uids:
    description:
      - The C(uid) of each Node of the batch as it was planned, by name. A Node that was created again since does not
        begin.
    type: dict
    default: {}
  group_nodes:
    description:
      - Names of all nodes of the group to which the budget applies, including those that the rollout does not change.
        Nodes that do not exist are not counted.
      - The default is O(nodes).
    type: list
    elements: str
  max_unavailable:
    description:
      - How many nodes of the group may be unavailable at once, as a number or as a percentage such as V(20%). A
        percentage counts the Nodes of the group that exist. It is rounded down, to at least 1.
    type: str
    default: "1"
  allow_unready:
    description:
      - Whether a node that is not Ready may begin. On such a node, the effect of the change cannot be verified.
    type: bool
    default: false
  reverted:
    description:
      - Nodes that this rollout has reverted. They count as unavailable only while they are not Ready or cordoned, and
        not because their configuration failed. The rollout counts its failed nodes itself.
    type: list
    elements: str
    default: []
  pause_configmap:
    description:
      - Name of the ConfigMap that pauses rollouts. It need not exist. The module reports its key C(reason).
      - With an empty name, rollouts cannot be paused.
    type: str
    default: livenodes-kubelet-rollout
  namespace:
    description:
      - Namespace of O(pause_configmap).
    type: str
    default: kube-system
  pause:
    description:
      - Whether to stop after the first batch of this rollout, see O(started).
    type: bool
    default: false
  started:
    description:
      - Whether a batch of this rollout is already done.
    type: bool
    default: false
  timeout:
    description:
      - Seconds to wait for the budget and the control plane.
    type: int
    default: 300
  pods:
    description:
      - Whether to return the pods of the batch for a later comparison. Needs one request for each node.
    type: bool
    default: false
  allow_pod_loss:
    description:
      - Number of pods that a node may lose, of those that require labels which the Node no longer has. V(true) allows
        any number. Only with O(pods).
    type: str
    default: "0"
  drained:
    description:
      - Nodes of the batch that are drained before they change, so that their pods move. The module returns their pods,
        and does not count them for O(allow_pod_loss).
    type: list
    elements: str
    default: []
  window:
    description:
      - The window of the rollout, as the role P(livenodes.kubelet.rollout#role) determines it. Without this option, the
        time does not matter.
    type: dict
    suboptions:
      minutes:
        description: The length of the window, for the message.
        type: int
        required: true
      ends:
        description: When the window ends, in seconds since 1970.
        type: float
        required: true
      needs:
        description: Seconds that the batch is expected to take.
        type: float
        required: true
      began:
        description: When each batch before this one began, as RV(window) of its gate, in seconds since 1970.
        type: list
        elements: float
        default: []
seealso:
  - module: livenodes.kubelet.kubelet_rollout_lease
  - module: livenodes.kubelet.node_config_info
"""

EXAMPLES = r"""
- name: Check whether two more nodes of a group of ten may change
  livenodes.kubelet.kubelet_rollout_gate:
    nodes: [n3, n4]
    group_nodes: "{{ groups['batch'] }}"
    max_unavailable: 20%
    timeout: 600
    lease: "{{ rollout.lease }}"
  delegate_to: localhost
  run_once: true

# kubectl -n kube-system create configmap livenodes-kubelet-rollout --from-literal=paused=true
- name: Check before planning whether rollouts are paused
  livenodes.kubelet.kubelet_rollout_gate:
    nodes: []
    group_nodes: [n1]
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
nodes:
  description: >-
    One row for each node of the batch, by name, with the keys of RV(livenodes.kubelet.node_config_source#module:nodes).
    C(state) is V(begins), V(gone) if there is no such Node, or V(replaced) if it is not the Node of O(uids). The others
    do not wait for it.
  returned: always
  type: dict
  sample:
    n3: {ok: true, state: begins, message: may begin, changed: false, delivery: none, source: null, error: ""}
budget:
  description: The state of the budget; empty if the module did not evaluate it.
  returned: on success, and when the batch must not begin
  type: dict
  contains:
    nodes:
      description: How many nodes the group has.
      type: int
    limit:
      description: How many nodes of the group may be unavailable.
      type: int
    unavailable:
      description: >-
        The unavailable nodes of the group with the reason. A node of the batch that is unavailable only because this
        rollout cordoned it is not included.
      type: dict
    left:
      description: How many nodes a batch may have now. Unavailable nodes in the batch count once.
      type: int
  sample: {nodes: 10, limit: 2, unavailable: {n7: cordoned}, left: 1}
paused:
  description: >-
    Since when, by which program and why rollouts are paused; V(null) if they are not. O(window) and O(pause) pause only
    this rollout.
  returned: on success, and when the batch must not begin
  type: dict
  contains:
    since:
      description: When the key C(paused) was written.
      type: str
    by:
      description: The program that wrote it, such as V(kubectl-edit).
      type: str
    reason:
      description: The ConfigMap's key C(reason).
      type: str
window:
  description: In C(began), when each batch began, in seconds since 1970; the last one is this batch.
  returned: when the batch may begin
  type: dict
  sample: {began: [1763900000.0, 1763900065.5]}
pods:
  description: >-
    With O(pods), the pods of each node of the batch, by node and by uid. C(misplaced) is the requirement for which a
    restarted kubelet would reject the pod, empty if there is none.
  returned: on success, and when the batch must not begin
  type: dict
  sample:
    n3:
      6f1c0e9b-7f0e-4a61-a3a4-8d1d4cf5a0d1:
        namespace: shop
        name: cart-7d9c6f3e7f-0e4a6
        ready: true
        restarts: 2
        containers: {cart: 2}
        static: false
        owner: ReplicaSet/cart-7d9c6f3e7f
        phase: Running
        reason: ""
        misplaced: ""
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import gate

MODULE = controller_module.define(
    {
        "nodes": {"type": "list", "elements": "str", "required": True},
        "uids": {"type": "dict", "default": {}},
        "group_nodes": {"type": "list", "elements": "str"},
        "max_unavailable": {"type": "str", "default": "1"},
        "allow_unready": {"type": "bool", "default": False},
        "reverted": {"type": "list", "elements": "str", "default": []},
        "pause_configmap": {"type": "str", "default": "livenodes-kubelet-rollout"},
        "namespace": {"type": "str", "default": "kube-system"},
        "pause": {"type": "bool", "default": False},
        "started": {"type": "bool", "default": False},
        "timeout": {"type": "int", "default": 300},
        "lease": {"type": "dict"},
        "pods": {"type": "bool", "default": False},
        "allow_pod_loss": {"type": "str", "default": "0"},
        "drained": {"type": "list", "elements": "str", "default": []},
        "window": {
            "type": "dict",
            "options": {
                "minutes": {"type": "int", "required": True},
                "ends": {"type": "float", "required": True},
                "needs": {"type": "float", "required": True},
                "began": {"type": "list", "elements": "float", "default": []},
            },
        },
    },
    gate.gate,
    patient=True,
)
main = MODULE.run

if __name__ == "__main__":
    main()
