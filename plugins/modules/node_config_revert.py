#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_config_revert
short_description: Bring nodes back from an assignment that failed, and see that they are
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Points nodes at the source they had before, unless their kubelet or guard went back by itself and says why in the Node's status, which is left as it
    is. Then waits until each node is Ready and runs again what it ran before.
  - Nodes that somebody else has given another source meanwhile are left alone and reported.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes
  - livenodes.kubelet.attributes.actiongroup_cluster
attributes:
  check_mode:
    support: full
    details: By a dry run of the API server. Nothing is waited for.
  diff_mode:
    support: none
  idempotent:
    support: full
options:
  nodes:
    description:
      - The failed assignments, by node name, as RV(livenodes.kubelet.node_config_source#module:nodes) has them.
    type: dict
    required: true
  current:
    description:
      - The live configurations from before, as M(livenodes.kubelet.kubelet_configz_facts) returns them. What a node runs is held against this.
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
  ignore_errors: true  # what failed is brought back by the next task

- name: Bring back what failed
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
      description: Whether the node had to be pointed back.
      type: bool
    ok:
      description: Whether the node runs again what it ran before.
      type: bool
    state:
      description: V(back), V(not_reverted), or V(reassigned) when somebody else changed what the node should run.
      type: str
    message:
      description: The same in words, with cause and remedy.
      type: str
    source:
      description: What the node should run now.
      type: dict
  sample:
    n1: {changed: true, ok: true, state: back, message: runs again what it ran before, source: null}
summary:
  description: Counts over all nodes.
  returned: always
  type: dict
  sample: {nodes: 1, back: 1, failed: 0}
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import revert

MODULE = controller_module.define(
    {
        "nodes": {"type": "dict", "required": True},
        "current": {"type": "dict"},
        "wait_timeout": {"type": "int", "default": 180},
        "wait_sleep": {"type": "int", "default": 2},
    },
    revert.back,
    patient=True,
)


def main() -> None:
    """Run the module."""
    MODULE.run()


if __name__ == "__main__":
    main()
