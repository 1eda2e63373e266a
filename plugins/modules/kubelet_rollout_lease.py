#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_rollout_lease
short_description: Keep two rollouts off the same nodes
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Holds a Lease (coordination.k8s.io/v1, Kubernetes 1.14 and later) for the nodes of a rollout, one Lease a rollout. Two rollouts with a node in common
    exclude each other, whatever their groups are called; others do not know of each other.
  - Fails when a live rollout holds one of the nodes, naming its holder, its group, since when, when it was last heard of, the nodes in both and the
    remedy.
  - A holder that renews its Lease no more counts as dead when its duration is over, plus 5 seconds for clocks that differ. Its Lease is deleted and
    reported in RV(taken_over). A rollout that was killed is so resumed by running it again, which waits until then.
  - Renewed by the modules that have an option C(lease), such as M(livenodes.kubelet.kubelet_rollout_gate).
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes
  - livenodes.kubelet.attributes.actiongroup_cluster
attributes:
  check_mode:
    support: full
    details: Creates nothing; what would stand in the way is returned in RV(obstacles) and told as a warning.
  diff_mode:
    support: none
  idempotent:
    support: partial
    details: With O(state=released). Each O(state=held) is another rollout.
options:
  state:
    description:
      - V(held) begins a rollout, V(released) ends it.
    type: str
    choices: [held, released]
    default: held
  nodes:
    description:
      - Names of all nodes of the rollout. They need not exist. Required with O(state=held).
    type: list
    elements: str
  group:
    description:
      - What the rollout is about, in words for the people whose rollout it stops. Required with O(state=held).
    type: str
  holder:
    description:
      - Who rolls out, for the same people, such as a user and a machine or the number of a job. Required with O(state=held).
    type: str
  duration:
    description:
      - Seconds after which a holder that does not renew counts as dead.
    type: int
    default: 300
  wait:
    description:
      - Seconds to wait for the Lease of a holder that does not renew to expire. As soon as it renews, or when it cannot expire in time, the module fails.
      - O(duration) and 10 seconds more by default, which is enough for a killed rollout with the same O(duration).
    type: int
  namespace:
    description:
      - Namespace of the Leases. Rollouts see each other only in the same one.
    type: str
    default: kube-system
  lease:
    description:
      - What O(state=held) returned as RV(lease). Required with O(state=released).
    type: dict
notes:
  - The clock of the controller may differ from that of the API server by a quarter of O(duration) at most.
seealso:
  - module: livenodes.kubelet.kubelet_rollout_gate
"""

EXAMPLES = r"""
- name: Begin
  livenodes.kubelet.kubelet_rollout_lease:
    group: batch
    nodes: [n1, n2]
    holder: "{{ lookup('ansible.builtin.env', 'USER') }}@{{ lookup('ansible.builtin.pipe', 'hostname') }}"
  delegate_to: localhost
  run_once: true
  register: rollout

- name: End
  livenodes.kubelet.kubelet_rollout_lease:
    state: released
    lease: "{{ rollout.lease }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
lease:
  description: What modules with an option C(lease) take; empty in check mode.
  returned: success
  type: dict
  sample:
    name: livenodes-kubelet-rollout-6f1c0e9b2a
    namespace: kube-system
    uid: 2f9c6f3e-7f0e-4a61-a3a4-8d1d4cf5a0d1
    holder: ops@bastion
    group: batch
    duration: 300
taken_over:
  description: The rollouts that were dead and whose Lease was deleted.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the Lease.
      type: str
    holder:
      description: Who held it.
      type: str
    group:
      description: What that rollout was about.
      type: str
    renewed:
      description: When it was last heard of.
      type: str
obstacles:
  description: The rollouts that stand in the way, or in check mode would; rows as in RV(taken_over).
  returned: on success, and when a live rollout holds one of the nodes
  type: list
  elements: dict
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import lease

MODULE = controller_module.define(
    {
        "state": {"type": "str", "choices": ["held", "released"], "default": "held"},
        "nodes": {"type": "list", "elements": "str"},
        "group": {"type": "str"},
        "holder": {"type": "str"},
        "duration": {"type": "int", "default": 300},
        "wait": {"type": "int"},
        "namespace": {"type": "str", "default": "kube-system"},
        "lease": {"type": "dict"},
    },
    lease.lease,
    patient=True,
    required_if=[("state", "held", ("nodes", "group", "holder")), ("state", "released", ("lease",))],
)


def main() -> None:
    """Run the module."""
    MODULE.run()


if __name__ == "__main__":
    main()
