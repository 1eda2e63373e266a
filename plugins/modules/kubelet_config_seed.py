#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_config_seed
short_description: Write what new machines of a group need before the first start of their kubelets
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Writes files for an image of a machine, for cloud-init or for Ignition. A machine that has them assigns the
    configuration of its group by itself, on trial, before its kubelet starts for the first time, as
    M(livenodes.kubelet.kubelet_checkpoint) does.
  - If the kubelet refuses the configuration or ends with it, the machine joins with its own configuration file. The
    guard reports that to the Node.
  - Pushes the configuration as a ConfigMap, so that the Nodes have a source that drift, rollouts and prune know.
  - All nodes of O(plan) must have one configuration and one delivery, which is not V(native). A configuration with
    secrets, or with a C(podCIDR) or C(providerID), is refused.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.options.configmap
  - livenodes.kubelet.attributes
attributes:
  diff_mode:
    support: none
options:
  plan:
    description:
      - RV(livenodes.kubelet.kubelet_config_plan#module:plan) for the nodes of the group.
    type: dict
    required: true
  hosts:
    description:
      - How the machines are switched, for each host of the group. All must have the same.
      - C(config_dir) is the folder of the store. C(options) are other options of
        M(livenodes.kubelet.kubelet_checkpoint), of which C(unit) is required. C(follow) has the C(namespace) and the
        C(effect) of a follower, and is empty for none.
    type: dict
    required: true
  dest:
    description:
      - Folder on the controller for the files C(seed.cloud-init.yaml), C(seed.ignition.json) and C(seed.tar.gz).
    type: path
    required: true
  formats:
    description:
      - Which of V(cloud-init), V(ignition) and V(tar) to write.
    type: list
    elements: str
    default: [cloud-init, ignition, tar]
  program:
    description:
      - Whether the files contain the program of the guard. Without it they are small, and the image of the machine must
        have it from the tar of any group.
    type: bool
    default: true
  immutable:
    description:
      - Whether to make the ConfigMap immutable.
    type: bool
    default: true
  keep_days:
    description:
      - Days for which O(livenodes.kubelet.kubelet_configmap#module:state=pruned) keeps the ConfigMap, although perhaps
        no node uses it.
    type: int
    default: 90
seealso:
  - module: livenodes.kubelet.kubelet_checkpoint
  - module: livenodes.kubelet.kubelet_config_plan
"""

EXAMPLES = r"""
- name: Write the seed of a group
  livenodes.kubelet.kubelet_config_seed:
    plan: "{{ edit_result.plan }}"
    hosts:
      worker1:
        config_dir: /var/lib/kubelet-config
        options:
          unit: kubelet.service
          trial_seconds: 600
        follow: {}
    dest: seeds/workers
    formats: [tar]
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
files:
  description: The paths of the files.
  returned: success
  type: list
  elements: str
sizes:
  description:
    - Bytes of each file by its path. Providers limit user data, so a large one has a warning.
  returned: success
  type: dict
source:
  description: The ConfigMap that the seed refers to.
  returned: success
  type: dict
kept_until:
  description: The last day on which the ConfigMap is kept although no node uses it.
  returned: success
  type: str
  sample: "2027-01-31"
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster import seed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module

MODULE = controller_module.define(
    {
        "plan": {"type": "dict", "required": True},
        "hosts": {"type": "dict", "required": True},
        "dest": {"type": "path", "required": True},
        "formats": {"type": "list", "elements": "str", "default": ["cloud-init", "ignition", "tar"]},
        "program": {"type": "bool", "default": True},
        "name": {"type": "str", "default": "livenodes-kubelet"},
        "namespace": {"type": "str", "default": "kube-system"},
        "key": {"type": "str", "default": "kubelet", "no_log": False},
        "immutable": {"type": "bool", "default": True},
        "keep_days": {"type": "int", "default": 90},
    },
    seed.build,
)
main = MODULE.run

if __name__ == "__main__":
    main()
