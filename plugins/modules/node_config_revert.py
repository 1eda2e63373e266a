#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_config_revert
short_description: Revert failed assignments and verify the nodes
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Assigns to each node the source that it had before. If the kubelet or the guard has already reverted and reports the
    reason in the Node's status, that status is kept.
  - Then waits until each node is Ready and runs its previous configuration again.
  - A node to which another user or controller has assigned a different source is not changed, but reported.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.options.lease
  - livenodes.kubelet.attributes
attributes:
  check_mode:
    details: Uses a dry run of the API server, does not wait, and does not renew O(lease).
  diff_mode:
    support: none
options:
  nodes:
    description:
      - The failed assignments by node name, from RV(livenodes.kubelet.node_config_source#module:nodes).
    type: dict
    required: true
  current:
    description:
      - The live configurations before the assignment, from M(livenodes.kubelet.kubelet_configz_facts). The module
        compares them with what each node runs after the revert.
    type: dict
  wait_timeout:
    description:
      - Seconds to wait for all nodes together.
    type: int
    default: 180
  wait_sleep:
    description:
      - Seconds between two polls.
    type: int
    default: 2
seealso:
  - module: livenodes.kubelet.node_config_source
"""

EXAMPLES = r"""
- name: Assign and wait
  livenodes.kubelet.node_config_source:
    nodes: [n1, n2]
    source:
      name: livenodes-kubelet-5m7f2b6t4c
    wait: true
  delegate_to: localhost
  run_once: true
  register: assigned
  ignore_errors: true  # the next task reverts the nodes that failed

- name: Revert the failed nodes
  livenodes.kubelet.node_config_revert:
    nodes: "{{ assigned.nodes | dict2items | rejectattr('value.ok') | items2dict }}"
  delegate_to: localhost
  run_once: true
  when: assigned is failed
"""

RETURN = r"""
nodes:
  description: One row for each node, by name, on failure as well.
  returned: always
  type: dict
  contains:
    changed:
      description: Whether the source of the node had to be changed.
      type: bool
    ok:
      description: Whether the node runs its previous configuration, again or still.
      type: bool
    state:
      description: >-
        V(reverted), V(not_reverted), V(refused) if the node was not switched, or V(reassigned) if another user or
        controller has changed the source of the node; V(gone) or V(replaced) if the Node was deleted since.
      type: str
    message:
      description: The state in words, with cause and remedy.
      type: str
    source:
      description: The source that is assigned to the node now.
      type: dict
    error:
      description: >-
        The error that the kubelet or its guard reports, with what the kubelet logged last; empty if there is none.
      type: str
  sample:
    n1: {changed: true, ok: true, state: reverted, message: running its previous configuration again, source: null,
      error: "the kubelet refused the configuration: invalid configuration: kubeAPIQPS (--kube-api-qps) -1 must not be a
        negative number"}
check_mode:
  description: V(true) if the rows of RV(nodes) name what would be changed.
  returned: in check mode, if a node would be changed
  type: bool
summary:
  description: Counts over all nodes.
  returned: always
  type: dict
  sample: {nodes: 1, reverted: 1, refused: 0, failed: 0}
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import revert

MODULE = controller_module.define(
    {
        "nodes": {"type": "dict", "required": True},
        "current": {"type": "dict"},
        "wait_timeout": {"type": "int", "default": 180},
        "wait_sleep": {"type": "int", "default": 2},
        "lease": {"type": "dict"},
    },
    revert.revert,
    patient=True,
)
main = MODULE.run

if __name__ == "__main__":
    main()
