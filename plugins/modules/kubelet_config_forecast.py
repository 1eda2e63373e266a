#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_config_forecast
short_description: Forecast which running pods a plan would evict or refuse
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - A kubelet that restarts with a new configuration evicts pods for new thresholds, and admits its pods anew, so that one that finds no room any more
    is failed. This module says beforehand which pods that would be, from the pods of each node, what they request and use, and the node's own statistics.
  - Only what the change causes counts. A pod that the running configuration would evict or refuse as well is not told.
  - Asks the API server nothing unless a node has a change that decides who runs, such as C(maxPods), C(evictionHard) or C(kubeReserved); then for one LIST
    of nodes, and one LIST of pods and the C(/stats/summary) of each such node.
  - It is a forecast. Usage changes from minute to minute. A kubelet admits pods by the room that its Node object shows, at the first restart often still
    the old one, so that pods are refused only at the next restart, whatever that is for.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes
  - livenodes.kubelet.attributes.read_only
  - livenodes.kubelet.attributes.actiongroup_cluster
options:
  plan:
    description:
      - The plan that M(livenodes.kubelet.kubelet_config_plan) returns. Nodes with nothing to do cost nothing.
    type: dict
    required: true
  current:
    description:
      - The table that M(livenodes.kubelet.kubelet_configz_facts) returns, and that the plan was made from.
    type: dict
    required: true
  refuse:
    description:
      - Whether to fail when more pods would be evicted or refused than O(allow_pods), with the forecast in the result.
      - What is not known is shown, and refuses nothing.
    type: bool
    default: true
  allow_pods:
    description:
      - So many pods may be lost, over all nodes.
    type: int
    default: 0
seealso:
  - module: livenodes.kubelet.kubelet_config_plan
"""

EXAMPLES = r"""
- name: Which pods would this plan cost
  livenodes.kubelet.kubelet_config_forecast:
    plan: "{{ edit_result.plan }}"
    current: "{{ ansible_facts.kubelet_configz }}"
    allow_pods: 2
  delegate_to: localhost
  run_once: true
  register: forecast_result

- name: Show it
  ansible.builtin.debug:
    msg: "{{ forecast_result.text }}"
  run_once: true
"""

RETURN = r"""
nodes:
  description: One row for each node that the plan assigns something to.
  returned: when pods could be listed
  type: dict
  contains:
    evicted:
      description: >-
        Pods that the eviction manager would end, each with C(namespace), C(pod), C(uid), C(reason) and C(detail), the numbers of this node.
      type: list
      elements: dict
    refused:
      description: Pods that would not be admitted again at the restart, or preempted by a critical one, in the same form.
      type: list
      elements: dict
    unknown:
      description: >-
        Pods of which nobody can say beforehand, as with CPUs that only the node hands out. Without a C(pod) the row is about the whole node, such as when
        its statistics cannot be read.
      type: list
      elements: dict
    notes:
      description: What is true of the node, such as a threshold that evictions would not satisfy.
      type: list
      elements: str
  sample:
    n1:
      evicted:
        - namespace: default
          pod: web-0
          uid: 6a1c3f7e-0000-4000-8000-000000000001
          reason: evictionHard memory.available 4Gi is more than is available
          detail: 2.1Gi of 7.7Gi available
      refused: []
      unknown: []
      notes: []
summary:
  description: Counts.
  returned: when pods could be listed
  type: dict
  contains:
    nodes_to_restart:
      description: Nodes whose kubelet restarts.
      type: int
    nodes_to_drain:
      description: Those of them whose change has the effect V(drain) or V(reboot).
      type: int
    nodes_at_risk:
      description: Nodes that would lose pods.
      type: int
    nodes_unknown:
      description: Nodes of which something is not known as a whole.
      type: int
    pods_evicted:
      description: Pods that would be evicted.
      type: int
    pods_refused:
      description: Pods that would be refused.
      type: int
    pods_unknown:
      description: Pods of which it is not known.
      type: int
  sample: {nodes_to_restart: 3, nodes_to_drain: 0, nodes_at_risk: 1, nodes_unknown: 0, pods_evicted: 2, pods_refused: 0, pods_unknown: 0}
text:
  description: The forecast for people, line by line.
  returned: when pods could be listed
  type: list
  elements: str
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import forecast

SPEC = {
    "plan": {"type": "dict", "required": True},
    "current": {"type": "dict", "required": True},
    "refuse": {"type": "bool", "default": True},
    "allow_pods": {"type": "int", "default": 0},
}

MODULE = controller_module.define(SPEC, forecast.forecast)


def main() -> None:
    """Run the module."""
    MODULE.run()


if __name__ == "__main__":
    main()
