#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_rollout_lease
short_description: Prevent two rollouts from changing the same nodes
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Holds a Lease (coordination.k8s.io/v1, Kubernetes 1.14 and later) for the nodes of a rollout, one Lease for each
    rollout. Rollouts with a common node exclude each other, whatever their groups are called.
  - Fails when a live rollout holds one of the nodes. The message names its holder, its group, its start, its last
    renewal, the common nodes and the remedy.
  - A holder that no longer renews its Lease counts as dead after the duration of the Lease, plus 5 seconds. The
    module deletes its Lease, warns and returns it in RV(taken_over). To resume a rollout that was killed, run it again;
    it waits until then.
  - Modules with an option C(lease), such as M(livenodes.kubelet.kubelet_rollout_gate), renew the Lease.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.attributes
attributes:
  check_mode:
    details: >-
      Creates nothing. Rollouts that hold one of the nodes are returned in RV(obstacles) and reported as a warning.
  diff_mode:
    support: none
  idempotent:
    support: partial
    details: O(state=released) is idempotent. Each O(state=held) begins another rollout.
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
  control_plane:
    description:
      - Whether the rollout changes control-plane nodes. Such rollouts exclude each other, also without a common node,
        so that the control-plane nodes of a cluster change one at a time.
    type: bool
    default: false
  group:
    description:
      - A description of the rollout for operators whose rollout it blocks. Required with O(state=held).
    type: str
  holder:
    description:
      - Who runs the rollout, such as a user and a host or the number of a job. Required with O(state=held).
    type: str
  duration:
    description:
      - Seconds after which a holder that does not renew the Lease counts as dead.
    type: int
    default: 300
  wait:
    description:
      - Seconds to wait for the Lease of a holder that does not renew it. The module fails as soon as the holder renews
        the Lease or ends its rollout, or at once if the Lease cannot expire in time.
      - The default is O(duration) plus 10 seconds, enough for a killed rollout with the same O(duration).
    type: int
  namespace:
    description:
      - Namespace of the Leases. Rollouts exclude each other only within one namespace.
    type: str
    default: kube-system
  lease:
    description:
      - The RV(lease) of O(state=held). Required with O(state=released).
    type: dict
notes:
  - All times are those of the API server's clock. The clock of the controller does not matter.
seealso:
  - module: livenodes.kubelet.kubelet_rollout_gate
"""

EXAMPLES = r"""
- name: Begin a rollout
  livenodes.kubelet.kubelet_rollout_lease:
    group: batch
    nodes: [n1, n2]
    holder: "{{ lookup('ansible.builtin.env', 'USER') }}@{{ lookup('ansible.builtin.pipe', 'hostname') }}"
  delegate_to: localhost
  run_once: true
  register: rollout

- name: End a rollout
  livenodes.kubelet.kubelet_rollout_lease:
    state: released
    lease: "{{ rollout.lease }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
lease:
  description: The value for the option C(lease) of other modules; empty in check mode.
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
  description: The dead rollouts whose Lease was deleted.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the Lease.
      type: str
    holder:
      description: The holder of the Lease.
      type: str
    group:
      description: The description of that rollout.
      type: str
    renewed:
      description: When the Lease was last renewed.
      type: str
obstacles:
  description: >-
    The rollouts that block this one, or would block it outside check mode. The rows have the form of RV(taken_over).
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
        "control_plane": {"type": "bool", "default": False},
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
main = MODULE.run

if __name__ == "__main__":
    main()
