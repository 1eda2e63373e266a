#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_config_policy
short_description: Limit who may assign configurations to nodes
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Every user who may patch Nodes could assign a configuration to a node that follows its Node. The
    ValidatingAdmissionPolicy C(livenodes-kubelet-assignments) lets only those users change the annotations
    C(source), C(follow), C(previous) and C(own) of a Node who may C(update) C(assignments) with the name of the Node,
    in the API group that C(docs/rbac/option-policy.yaml) names. C(status) and C(follower) may also be changed by the
    node itself.
  - Such a permission is a name for RBAC. It needs no object of the cluster.
  - Kubernetes has such policies from 1.30 on. The module fails for an older API server.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.attributes
attributes:
  diff_mode:
    support: none
options:
  state:
    description:
      - V(present) creates the policy and its binding, or restores them. Only an administrator of the cluster may do so.
      - V(required) changes nothing, and fails if one of them does not exist or is another than this collection has.
    type: str
    choices: [present, required]
    default: required
seealso:
  - module: livenodes.kubelet.node_config_source
"""

EXAMPLES = r"""
- name: Let only those users assign configurations who may
  livenodes.kubelet.node_config_policy:
    state: present
  delegate_to: localhost
  run_once: true
"""

RETURN = r""" # """

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import policy

MODULE = controller_module.define(
    {"state": {"type": "str", "choices": ["present", "required"], "default": "required"}},
    policy.ensure,
)
main = MODULE.run

if __name__ == "__main__":
    main()
