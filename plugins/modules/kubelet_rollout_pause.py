#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_rollout_pause
short_description: Pause the rollouts of a cluster
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - A rollout that runs pauses after its current batch, and no other one begins, until the pause ends.
  - The pause is the key C(paused) of a ConfigMap. M(livenodes.kubelet.kubelet_rollout_gate) reads it before each batch.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.attributes
options:
  state:
    description:
      - V(paused) pauses, V(resumed) ends the pause.
    type: str
    choices: [paused, resumed]
    default: paused
  reason:
    description:
      - Why, for the operators whose rollouts are paused. Without one, a pause keeps its reason.
    type: str
    default: ""
  pause_configmap:
    description:
      - Name of the ConfigMap.
    type: str
    default: livenodes-kubelet-rollout
  namespace:
    description:
      - Namespace of the ConfigMap.
    type: str
    default: kube-system
seealso:
  - module: livenodes.kubelet.kubelet_rollout_gate
"""

EXAMPLES = r"""
- name: Pause all rollouts
  livenodes.kubelet.kubelet_rollout_pause:
    reason: release day
  delegate_to: localhost
  run_once: true

- name: End the pause
  livenodes.kubelet.kubelet_rollout_pause:
    state: resumed
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
paused:
  description: The pause; V(null) without one. In check mode, that of before.
  returned: success
  type: dict
  contains:
    since:
      description: When it was set.
      type: str
    by:
      description: The program that has set it, empty if unknown.
      type: str
    reason:
      description: Why.
      type: str
  sample:
    since: "2026-01-31T12:00:00Z"
    by: OpenAPI-Generator
    reason: release day
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import pause

MODULE = controller_module.define(
    {
        "state": {"type": "str", "choices": ["paused", "resumed"], "default": "paused"},
        "reason": {"type": "str", "default": ""},
        "pause_configmap": {"type": "str", "default": "livenodes-kubelet-rollout"},
        "namespace": {"type": "str", "default": "kube-system"},
    },
    pause.pause,
)
main = MODULE.run

if __name__ == "__main__":
    main()
