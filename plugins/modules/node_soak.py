#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_soak
short_description: Watch changed nodes for some time, verify them again, and find lost pods
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Watches nodes for some time after their verification, and verifies them again at the end. Each poll is one watch,
    or one LIST of at most 8 nodes.
  - A node passes when its kubelet's process has not changed during the soak, its healthz answers three times in a row,
    and the live configuration is the one assigned to the node. The Node must also be Ready with a heartbeat since the
    start of the soak.
  - Compares the pods of the nodes with a snapshot from before the change. A pod that its kubelet failed, or of which a
    container restarted, fails its node. Finished pods do not count as lost. A static pod is the same pod as long as its
    containers are the same. Restarts of a pod that was not Ready before the change are ignored.
  - A restart of a kubelet deletes no pod. A deleted pod counts as lost only if its kubelet had failed it before, or if
    its Node was not Ready for longer than the pod tolerates. Pods that controllers, users or a descheduler deleted are
    reported. If pods were deleted, the module watches pods for one second to read their last state.
  - Ends when every pod that was Ready before is Ready again, or after O(pods_timeout). It does not wait for failed
    nodes.
  - A temporary outage of the API server fails no node.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.options.source
  - livenodes.kubelet.options.delivery
  - livenodes.kubelet.options.lease
  - livenodes.kubelet.attributes.read_only
attributes:
  check_mode:
    details: This module changes no node. It renews O(lease), but not in check mode.
options:
  sources:
    description:
      - A config source by node name, as for M(livenodes.kubelet.node_config_source). Without this option and
        O(source), the default is the assigned source of each node.
    type: dict
  seconds:
    description:
      - Duration of the soak. With V(0), the nodes count as just verified. The module then checks healthz once, compares
        the pods, and ends as soon as they are Ready.
    type: int
    default: 60
  pods:
    description:
      - The pods of each node before the change (after the drain, if there was one), from
        RV(livenodes.kubelet.kubelet_rollout_gate#module:pods). Without this option, pods are not compared.
    type: dict
  allow_pod_loss:
    description:
      - How many pods each node may lose; V(true) for any number. Pods that restarted, and pods that are not Ready again
        in time, count as lost.
    type: str
    default: '0'
  pods_timeout:
    description:
      - Seconds from the start in which pods that were Ready before must be Ready again.
    type: int
    default: 120
seealso:
  - module: livenodes.kubelet.node_config_source
  - module: livenodes.kubelet.node_drain
"""

EXAMPLES = r"""
- name: Watch a verified batch for five minutes
  livenodes.kubelet.node_soak:
    nodes: [n1, n2]
    seconds: 300
    pods: "{{ gate.pods }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
nodes:
  description:
    - One row for each node, by name, on failure as well. It also contains the parts of the status that
      M(livenodes.kubelet.node_config_info) returns.
  returned: always
  type: dict
  contains:
    ok:
      description: Whether the node is still as verified and has lost no more pods than allowed.
      type: bool
    state:
      description: >-
        V(active) or V(local) if it passed; V(gone) or V(replaced) if the Node was deleted since; V(restarted),
        V(pods_lost), V(pods_unready), V(pending) if the API server stayed unreachable, or the states of
        M(livenodes.kubelet.node_config_source).
      type: str
    message:
      description: The state in words, with cause and remedy.
      type: str
    differences:
      description: Fields whose live value differs from the source, with the flags that can override them.
      type: list
      elements: dict
    seen:
      description: >-
        For the option C(sources) of M(livenodes.kubelet.node_config_source) with C(state=settled). Only for nodes whose
        follower has a configuration on trial.
      type: str
    pods:
      description: >-
        The C(lost), C(restarted) and C(unready) pods, and those that are only C(reported), each with C(namespace),
        C(name) and C(reason). Reported pods were deleted through the API, ended for a reason of their own, or became
        Ready with the same containers.
      type: dict
  sample:
    n1:
      ok: false
      state: pods_lost
      message: "pods were lost or restarted during the batch: default/web: Evicted. ..."
      pods: {lost: [{namespace: default, name: web, reason: Evicted}], restarted: [], unready: [], reported: []}
summary:
  description: Counts over all nodes.
  returned: always
  type: dict
  sample: {nodes: 1, ok: 0, failed: 1, states: {pods_lost: 1}, waited_seconds: 30.2}
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import config_sources
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import soak

MODULE = controller_module.define(
    {
        **config_sources.SELECTION,
        "seconds": {"type": "int", "default": 60},
        "pods": {"type": "dict"},
        "allow_pod_loss": {"type": "str", "default": "0"},
        "pods_timeout": {"type": "int", "default": 120},
        "lease": {"type": "dict"},
    },
    soak.soak,
    patient=True,
    mutually_exclusive=[("source", "sources"), ("nodes", "sources")],
    required_one_of=[("nodes", "sources")],
    required_by={"source": ("nodes",)},
)
main = MODULE.run

if __name__ == "__main__":
    main()
