#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_drain
short_description: Drain many nodes at once, and undo only what was ours
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Cordons nodes and evicts their pods through the Eviction API, all nodes and pods side by side, so that disruption budgets are kept; waits until the
    pods are gone.
  - Marks its cordons with the annotation C(kubelet-config.livenodes.io/cordoned), which names the holder of O(lease), and undoes those alone.
  - Follows the rules of C(kubectl drain --ignore-daemonsets). Static pods and pods of a DaemonSet stay; finished pods are evicted, whatever they are;
    pods without a controller, and pods with an emptyDir volume, are refused before anything is cordoned or evicted, unless that is asked for.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.lease
  - livenodes.kubelet.attributes
  - livenodes.kubelet.attributes.actiongroup_cluster
attributes:
  check_mode:
    support: full
    details: >-
      By a dry run of the API server, which asks the disruption budgets for each pod alone. Nothing is waited for; what would be is a warning. O(lease) is
      not renewed.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  state:
    description:
      - V(drained) cordons O(nodes) and evicts their pods. A node that somebody else has cordoned is drained, and not marked as ours.
      - V(restored) uncordons those of O(nodes) that have our mark, whichever run set it. Where somebody has uncordoned the node meanwhile only the mark is
        taken away. Nodes without the mark are left as they are.
    type: str
    choices: [drained, restored]
    default: drained
  nodes:
    description:
      - Names of the nodes. Every one of them has to exist.
    type: list
    elements: str
    required: true
  timeout:
    description:
      - Seconds in which all pods of all nodes have to be gone. Until then the eviction of a pod that its disruption budget does not let go is asked for
        again and again, while others go on.
      - What is left then is named, with its budget; the nodes stay cordoned.
    type: int
    default: 300
  grace_period:
    description:
      - Seconds that each pod has to end; by default its own C(terminationGracePeriodSeconds).
    type: int
  delete_emptydir_data:
    description:
      - Whether pods with an emptyDir volume may be evicted, whose data is lost then.
    type: bool
    default: false
  force:
    description:
      - Whether pods without a controller may be evicted, which nobody makes again.
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

- name: Let pods on them again, unless somebody else had cordoned them
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
    changed:
      description: Whether the node was cordoned or uncordoned, or a pod of it evicted.
      type: bool
    cordoned:
      description: Whether the node is cordoned now, by whomever.
      type: bool
    evicted:
      description: The pods that were evicted, each with C(namespace) and C(name).
      type: list
      elements: dict
    skipped:
      description: The pods that a drain leaves where they are, each with C(namespace), C(name) and C(reason).
      type: list
      elements: dict
    message:
      description: What was done, or what stands in the way and what helps.
      type: str
  sample:
    n1:
      changed: true
      cordoned: true
      evicted: [{namespace: default, name: web-7d9c6b5f4-x2x8q}]
      skipped: [{namespace: kube-system, name: kube-proxy-kx7lm, reason: "of DaemonSet/kube-proxy, which would make it again here"}]
      message: 1 pods evicted
pods:
  description: The pods that the nodes have afterwards, by node and uid, in the shape that M(livenodes.kubelet.node_soak) takes.
  returned: with O(state=drained), on success
  type: dict
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


def main() -> None:
    """Run the module."""
    MODULE.run()


if __name__ == "__main__":
    main()
