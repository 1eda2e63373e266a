#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_rollout_batch
short_description: Run one step of a batch
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - The roles C(rollout), C(assign) and C(verify) call it for each step on the nodes of a batch. It is not made for
    plays of your own, which use the modules that it calls.
  - A step calls one module for all nodes of the batch. The options follow from the rollout, from the variables of the
    play and from what the steps before have found out. A step that has nothing to do is skipped.
  - A node that has failed takes part in no further step. A failure of single nodes fails no step; it is in their rows.
  - Runs on the controller, without a connection to the hosts.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.attributes
attributes:
  check_mode:
    details: As the module that the step calls.
  diff_mode:
    support: none
options:
  step:
    description:
      - The step.
      - With V(admit), a dry run asks the API server whether it would refuse the first write to the nodes to drain.
      - With V(stop), the module fails with one sentence on where the rollout stopped.
      - With V(report_assigned) and V(report_verified), it fails if the node of the host has failed. These two run on
        each host.
    type: str
    required: true
    choices:
      - gate
      - admit
      - drain
      - revert
      - uncordon
      - stop
      - assign
      - rehearse
      - verify
      - soak
      - reset
      - verify_local
      - look_to_checkpoint
      - annotate
      - leave_native
      - verify_moved
      - restore
      - restore_all
      - look_to_native
      - assign_native
      - drop_annotation
      - verify_native
      - report_assigned
      - report_verified
  batch:
    description:
      - What the steps before have found out, RV(batch) of the last one.
    type: dict
    default: {}
  reason:
    description:
      - With O(step=stop), why the rollout stopped.
    type: str
seealso:
  - module: livenodes.kubelet.kubelet_rollout_gate
  - module: livenodes.kubelet.node_config_source
  - module: livenodes.kubelet.node_soak
"""

EXAMPLES = r"""
- name: Check whether the batch may begin
  livenodes.kubelet.kubelet_rollout_batch:
    step: gate
  delegate_to: localhost
  run_once: true
  register: gate

- name: Drain
  livenodes.kubelet.kubelet_rollout_batch:
    step: drain
    batch: "{{ gate.batch }}"
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
batch:
  description: What is known after the step, for O(batch) of the next one.
  returned: always
  type: dict
  sample: {soak: 60, found: '{"rows": {"n1": {"ok": true, "state": "active"}}}'}
on_hosts:
  description: The hosts that have work to do next, with what each needs for it.
  returned: if the step may be followed by one on the hosts
  type: dict
  sample: {n1: {source: {namespace: kube-system, name: livenodes-kubelet-5m7f2b6t4c}, reason: ""}}
steps:
  description: The entry point of the role C(assign) that changes the nodes.
  returned: with O(step=gate)
  type: str
  sample: switch
on_nodes:
  description: Whether the batch has steps on its hosts.
  returned: with O(step=gate)
  type: bool
failures:
  description: Why nodes have failed, by name.
  returned: with O(step=revert)
  type: dict
  sample: {}
verdicts:
  description: The message for each failed host in C(hosts), and in C(lost) one message on all hosts that were lost.
  returned: with O(step=revert)
  type: dict
  sample: {hosts: {}, lost: ""}
continues:
  description: Whether so few nodes have failed that the rollout goes on after this batch.
  returned: with O(step=revert)
  type: bool
"""
