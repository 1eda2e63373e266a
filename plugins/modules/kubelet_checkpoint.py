#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_checkpoint
short_description: Keep kubelet configurations on a node, assign one of them, and take it back
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Runs on the node. Writes the store of checkpoints that a kubelet of 1.24 and later lacks, with the files and words that the kubelets of 1.11 to 1.23
    had for it. What is assigned, active and last-known-good, and what went wrong, is told as M(livenodes.kubelet.node_config_info) tells it.
  - Every change is atomic and durable. Whenever the power is cut, the kubelet has a whole configuration to start with.
  - It only writes the store. Restarting the kubelet when RV(restart_needed) says so, and proving that it took the configuration up, is left to the role
    P(livenodes.kubelet.checkpoint#role).
  - Needs root, and nothing but Python's standard library on the node.
extends_documentation_fragment:
  - livenodes.kubelet.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: Fields that hold secrets are masked. A configuration that is not JSON is shown only where the node has PyYAML.
  idempotent:
    support: full
options:
  state:
    description:
      - V(staged) keeps O(data) as the checkpoint of O(source).
      - V(assigned) does so if needed, writes down the way back, arms the trial, and makes O(source) what the kubelet starts with. What nobody needs
        any more is removed.
      - V(confirmed) notes that the assigned configuration was proven. It becomes last-known-good when it has also held through the trial.
      - V(rolled_back) takes the assigned configuration back, to the last-known-good, else to the local one, as when its trial fails.
      - V(reset) makes the local configuration, as it was before the first V(assigned), what the kubelet starts with.
    type: str
    choices: [staged, assigned, confirmed, rolled_back, reset]
    default: assigned
  source:
    description:
      - The ConfigMap the configuration comes from. A row of RV(livenodes.kubelet.kubelet_configmap#module:configmaps) has all of it.
      - Needed for O(state=staged) and O(state=assigned). For O(state=confirmed) it has to be what is assigned.
    type: dict
    suboptions:
      namespace:
        description: Namespace of the ConfigMap.
        type: str
        default: kube-system
      name:
        description: Name of the ConfigMap.
        type: str
        required: true
      uid:
        description: Its uid.
        type: str
        required: true
      resource_version:
        description: Its resourceVersion.
        type: str
        required: true
        aliases: [resourceVersion]
      kubelet_config_key:
        description: Key of the ConfigMap that holds the configuration. All sources of a node need the same one, until it is reset.
        type: str
        default: kubelet
        aliases: [kubeletConfigKey]
  data:
    description:
      - The ConfigMap's data, every key with its text. Without it, the checkpoint has to be there.
    type: dict
  local_config:
    description:
      - Path of the config file the kubelet runs with without this collection. It is kept, the first time only, byte for byte, and is what
        "local" means from then on.
      - Needed for the first O(state=assigned) on a node.
    type: path
  local_files:
    description:
      - Further files to keep with it.
    type: list
    elements: path
  trial_seconds:
    description:
      - How long an assigned configuration has to hold before it becomes last-known-good.
    type: int
    default: 600
  confirm_seconds:
    description:
      - How long to wait for O(state=confirmed) before the node goes back by itself; as long as O(trial_seconds) if not given.
    type: int
  invocation:
    description:
      - InvocationID of kubelet.service before the restart. With it RV(restart_needed) also tells of a restart that an earlier run did not come to.
    type: str
    default: ""
  kubelet_version:
    description:
      - Version of the kubelet, such as V(v1.30.2). A last-known-good is tied to it.
    type: str
    default: ""
  was_healthy:
    description:
      - Whether the kubelet was healthy before, if that is known. One that was not is no reason to take a configuration back.
    type: bool
  state_files:
    description:
      - Manager state files that were put aside for the switch.
    type: list
    elements: path
  reason:
    description:
      - Why, for O(state=rolled_back). It becomes the error of the node's status.
    type: str
    default: taken back by a run of Ansible
  unconfirmed_only:
    description:
      - Whether O(state=rolled_back) leaves a configuration alone that was confirmed.
    type: bool
    default: false
  collect:
    description:
      - Whether O(state=assigned) and O(state=reset) remove the checkpoints that are neither assigned nor active nor last-known-good nor on trial.
    type: bool
    default: true
  remove:
    description:
      - Whether O(state=reset) also removes O(config_dir). Only when the kubelet was restarted without the drop-in that points there.
    type: bool
    default: false
  config_dir:
    description:
      - Folder of the store.
    type: path
    default: /var/lib/kubelet-config
  lock_timeout:
    description:
      - Seconds to wait for another run, or for the guard, to finish with the store.
    type: int
    default: 30
seealso:
  - module: livenodes.kubelet.kubelet_configmap
  - module: livenodes.kubelet.node_config_info
"""

EXAMPLES = r"""
- name: Assign what was pushed
  livenodes.kubelet.kubelet_checkpoint:
    source:
      name: livenodes-kubelet-5m7f2b6t4c
      uid: 147d55bf-dddc-42d0-be77-614fc2a1d38c
      resourceVersion: "274"
    data:
      kubelet: "{{ configuration | to_nice_json }}"
    local_config: /var/lib/kubelet/config.yaml
  notify: Restart kubelet

- name: It runs, and was seen to run
  livenodes.kubelet.kubelet_checkpoint:
    state: confirmed

- name: Back to what was good
  livenodes.kubelet.kubelet_checkpoint:
    state: rolled_back
    reason: the pods of the canary did not become ready
  notify: Restart kubelet
"""

RETURN = r"""
assigned:
  description: The source the kubelet was told to use; V(null) for its local config.
  returned: success
  type: dict
  sample: &source
    namespace: kube-system
    name: livenodes-kubelet-5m7f2b6t4c
    uid: 147d55bf-dddc-42d0-be77-614fc2a1d38c
    resourceVersion: "274"
    kubeletConfigKey: kubelet
active:
  description: The source the kubelet starts with; V(null) for its local config.
  returned: success
  type: dict
  sample: *source
lastKnownGood:
  description: The source the kubelet falls back to; V(null) for its local config.
  returned: success
  type: dict
error:
  description: Why what is active is not what is assigned; empty when it is.
  returned: success
  type: str
trial:
  description: The trial that is armed or that failed, V(null) when there is none.
  returned: success
  type: dict
  contains:
    to:
      description: The source on trial.
      type: dict
    back:
      description: The source to go back to; V(null) for the local config.
      type: dict
    seconds:
      description: How long it has to hold.
      type: float
    confirmed:
      description: Whether it was confirmed.
      type: bool
    failed:
      description: Why it was taken back; empty when it was not.
      type: str
    kubelet_version:
      description: Version of the kubelet it is tried with.
      type: str
restart_needed:
  description: Whether the kubelet has to be restarted to run what is active.
  returned: success
  type: bool
config:
  description: What the kubelet's C(--config) has to name.
  returned: success
  type: str
  sample: /var/lib/kubelet-config/active/kubelet
checkpoint:
  description: Folder of the checkpoint of O(source).
  returned: success
  type: str
  sample: /var/lib/kubelet-config/store/checkpoints/147d55bf-dddc-42d0-be77-614fc2a1d38c/274
removed:
  description: Folders of the checkpoints that were removed.
  returned: success
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import checkpoint_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.store_error import StoreError


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        {
            "state": {
                "type": "str",
                "choices": ["staged", "assigned", "confirmed", "rolled_back", "reset"],
                "default": "assigned",
            },
            "source": {
                "type": "dict",
                "options": {
                    "namespace": {"type": "str", "default": "kube-system"},
                    "name": {"type": "str", "required": True},
                    "uid": {"type": "str", "required": True},
                    "resource_version": {"type": "str", "required": True, "aliases": ["resourceVersion"]},
                    "kubelet_config_key": {
                        "type": "str",
                        "default": "kubelet",
                        "aliases": ["kubeletConfigKey"],
                        "no_log": False,
                    },
                },
            },
            "data": {"type": "dict", "no_log": True},
            "local_config": {"type": "path"},
            "local_files": {"type": "list", "elements": "path"},
            "trial_seconds": {"type": "int", "default": 600},
            "confirm_seconds": {"type": "int"},
            "invocation": {"type": "str", "default": ""},
            "kubelet_version": {"type": "str", "default": ""},
            "was_healthy": {"type": "bool"},
            "state_files": {"type": "list", "elements": "path"},
            "reason": {"type": "str", "default": "taken back by a run of Ansible"},
            "unconfirmed_only": {"type": "bool", "default": False},
            "collect": {"type": "bool", "default": True},
            "remove": {"type": "bool", "default": False},
            "config_dir": {"type": "path", "default": "/var/lib/kubelet-config"},
            "lock_timeout": {"type": "int", "default": 30},
        },
        supports_check_mode=True,
        required_if=[("state", "staged", ("source",)), ("state", "assigned", ("source",))],
    )
    options = dict(module.params)
    # Neither the node's log nor the result's `invocation` may have the texts, which can hold secrets. What `no_log`
    # would do beyond that, cutting every text of a ConfigMap out of paths, names and the diff (whose secrets are
    # masked), is undone.
    module.no_log_values.clear()
    module.params["data"] = sorted(options["data"] or {})
    try:
        result = checkpoint_module.apply(options, module.check_mode)
    except StoreError as error:
        module.fail_json(msg=str(error))
    for text in result.pop("warnings"):
        module.warn(text)
    if not module._diff:  # pylint: disable=protected-access
        del result["diff"]
    module.exit_json(**result)


if __name__ == "__main__":
    main()
