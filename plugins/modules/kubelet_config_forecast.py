#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_config_forecast
short_description: Forecast which running pods a plan would evict or reject
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - A kubelet that restarts with a new configuration evicts pods when new thresholds are exceeded. It also admits its
    pods again, and rejects a pod for which resources are no longer sufficient. This module forecasts these pods from
    the requests and the usage of the pods and from the statistics of each node.
  - Only effects of the change are reported, not pods that the running configuration would also evict or reject. Pods
    whose node selector or required node affinity no longer matches the labels of the Node are reported too, since the
    restart costs them. Static pods are not.
  - Sends requests only when a change affects which pods run, such as C(maxPods), C(evictionHard) or C(kubeReserved).
    Then it reads these nodes, and for each affected node one LIST of pods and one read of C(/stats/summary). For other
    changes, M(livenodes.kubelet.kubelet_rollout_gate) compares the labels before each batch.
  - The forecast is an estimate, because usage changes from minute to minute. At the first restart, the Node object
    often still shows the old allocatable resources. The kubelet admits pods by these, so it may reject pods only at a
    later restart.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.attributes.read_only
options:
  plan:
    description:
      - The plan that M(livenodes.kubelet.kubelet_config_plan) returns. Nodes without a change need no request.
    type: dict
    required: true
  current:
    description:
      - The table from M(livenodes.kubelet.kubelet_configz_facts) on which the plan is based.
    type: dict
    required: true
  refuse:
    description:
      - Whether to fail, with the forecast in the result, when more than O(allow_pods) pods would be evicted or
        rejected.
      - Pods with an unknown outcome are reported but do not make the module fail.
    type: bool
    default: true
  allow_pods:
    description:
      - Number of pods that may be lost, summed over all nodes.
    type: int
    default: 0
  by_node:
    description:
      - What replaces O(refuse) and O(allow_pods) for single nodes, by node name. C(forecast) is V(refuse), V(warn) or
        V(ignore), which makes no forecast of the node. C(pods) is the number of pods that may be lost, summed over all
        nodes with this number.
    type: dict
    default: {}
seealso:
  - module: livenodes.kubelet.kubelet_config_plan
"""

EXAMPLES = r"""
- name: Forecast the pods that a plan evicts
  livenodes.kubelet.kubelet_config_forecast:
    plan: "{{ edit_result.plan }}"
    current: "{{ ansible_facts.kubelet_configz }}"
    allow_pods: 2
  delegate_to: localhost
  run_once: true
  register: forecast_result

- name: Show the forecast
  ansible.builtin.debug:
    msg: "{{ forecast_result.text }}"
  run_once: true
"""

RETURN = r"""
nodes:
  description: One row for each node to which the plan assigns a source.
  returned: when pods could be listed
  type: dict
  contains:
    evicted:
      description: >-
        Pods that the eviction manager would evict, each with C(namespace), C(pod), C(uid), C(reason) and C(detail), the
        numbers of this node.
      type: list
      elements: dict
    refused:
      description: >-
        Pods that the kubelet would reject at the restart or preempt for a critical pod, in the same form.
      type: list
      elements: dict
    unknown:
      description: >-
        Pods with an unknown outcome, for example because only the node assigns CPUs. A row without C(pod) is about the
        whole node, for example because its statistics cannot be read.
      type: list
      elements: dict
    notes:
      description: Remarks on the node, such as a threshold that evictions cannot satisfy.
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
      description: Restarting nodes whose change has the effect V(drain) or V(reboot).
      type: int
    nodes_at_risk:
      description: Nodes that would lose pods.
      type: int
    nodes_unknown:
      description: Nodes of which some data is unknown.
      type: int
    pods_evicted:
      description: Pods that would be evicted.
      type: int
    pods_refused:
      description: Pods that would be rejected.
      type: int
    pods_unknown:
      description: Pods with an unknown outcome.
      type: int
  sample:
    nodes_to_restart: 3
    nodes_to_drain: 0
    nodes_at_risk: 1
    nodes_unknown: 0
    pods_evicted: 2
    pods_refused: 0
    pods_unknown: 0
text:
  description: The forecast for people, line by line.
  returned: when pods could be listed
  type: list
  elements: str
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import edit

SPEC = {
    "plan": {"type": "dict", "required": True},
    "current": {"type": "dict", "required": True},
    "refuse": {"type": "bool", "default": True},
    "allow_pods": {"type": "int", "default": 0},
    "by_node": {"type": "dict", "default": {}},
}

MODULE = controller_module.define(SPEC, edit.forecast)
main = MODULE.run

if __name__ == "__main__":
    main()
