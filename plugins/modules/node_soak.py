#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_soak
short_description: Stay with nodes that were changed, prove them again, and find pods that the change cost
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Watches nodes for some time after they were verified, with one LIST a poll for all of them or a GET each where they are few of many, and proves them at
    the end once more. The kubelet's process is the one that the soak began with, its healthz answers three times in a row, the live configuration is what
    is written down for the node, and the Node is Ready with a heartbeat since the soak began.
  - Holds the pods of the nodes against a snapshot from before the change. A pod that is gone or failed, or of which a container restarted, fails its node.
    Pods that have finished and pods of Jobs are no loss; a static pod is the same while its containers are. A pod that was not Ready before cannot be
    restarted by the change.
  - Ends when every pod that was Ready before is Ready again, or O(pods_timeout) is over. A node that has failed is not waited for.
  - An API server that is away for a while fails no node.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.source
  - livenodes.kubelet.lease
  - livenodes.kubelet.attributes
  - livenodes.kubelet.attributes.read_only
  - livenodes.kubelet.attributes.actiongroup_cluster
attributes:
  check_mode:
    support: full
    details: This module changes no node; it renews O(lease), but not in check mode.
options:
  sources:
    description:
      - A config source for each node, by node name, as for M(livenodes.kubelet.node_config_source). Without it and O(source), what is written down for a
        node now is what it has to run.
    type: dict
  delivery:
    description:
      - How the config reached the kubelets, as for M(livenodes.kubelet.node_config_source).
    type: str
    choices: [auto, native, checkpoint]
    default: auto
  seconds:
    description:
      - How long to stay with the nodes. With V(0) the nodes count as just verified. The module then asks healthz once, looks at the pods, and ends as
        soon as those are Ready.
    type: int
    default: 60
  pods:
    description:
      - The pods of each node before it was changed (after it was drained, if it was), as RV(livenodes.kubelet.kubelet_rollout_gate#module:pods). Without
        it pods are not looked at.
    type: dict
  allow_pod_loss:
    description:
      - How many pods each node may lose; V(true) for any number. Pods that restarted, and those that are not Ready again in time, count as lost.
    type: str
    default: '0'
  pods_timeout:
    description:
      - Seconds from the beginning in which the pods that were Ready before have to be Ready again.
    type: int
    default: 120
seealso:
  - module: livenodes.kubelet.node_config_source
  - module: livenodes.kubelet.node_drain
"""

EXAMPLES = r"""
- name: Five minutes with a batch that was just verified
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
    - One row for each node, by name, on failure as well, with the parts of the status that M(livenodes.kubelet.node_config_info) returns.
  returned: always
  type: dict
  contains:
    ok:
      description: Whether the node is as it was verified, and lost no more pods than allowed.
      type: bool
    state:
      description: >-
        V(active) or V(local) when it is; V(restarted), V(pods_lost), V(pods_unready), V(pending) when the API server stayed away, or the states of
        M(livenodes.kubelet.node_config_source).
      type: str
    message:
      description: The same in words, with cause and remedy.
      type: str
    differences:
      description: Fields whose live value is not the one in the source, with the flags that can override them.
      type: list
      elements: dict
    pods:
      description: C(lost), C(restarted) and C(unready) pods, each with C(namespace), C(name) and C(reason).
      type: dict
  sample:
    n1:
      ok: false
      state: pods_lost
      message: "pods were lost or restarted during the batch: default/web: Evicted. ..."
      pods: {lost: [{namespace: default, name: web, reason: Evicted}], restarted: [], unready: []}
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


def main() -> None:
    """Run the module."""
    MODULE.run()


if __name__ == "__main__":
    main()
