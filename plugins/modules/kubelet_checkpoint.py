#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_checkpoint
short_description: Store kubelet configurations on a node, assign one of them, and roll it back
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Runs on the node and writes the store of checkpoints that kubelets of 1.24 and later no longer have. Files and terms
    are those of the kubelets of 1.11 to 1.23.
  - Returns the assigned, the active and the last-known-good source and the error in the format of
    M(livenodes.kubelet.node_config_info).
  - Every change is atomic and durable. After a power failure at any time the kubelet finds a complete configuration.
  - Without O(preflight), the module writes only the store. It never restarts the kubelet, except for O(state=removed).
    The role P(livenodes.kubelet.checkpoint#role) restarts the kubelet when RV(restart_needed) is set, and verifies that
    it runs the configuration.
  - Needs root, and only Python's standard library on the node.
extends_documentation_fragment:
  - livenodes.kubelet.layer
  - livenodes.kubelet.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: Fields that hold secrets are masked. A configuration that is not JSON is shown only if the node has PyYAML.
  idempotent:
    support: full
options:
  state:
    description:
      - V(staged) stores O(data) as the checkpoint of O(source).
      - V(assigned) stages O(source) if needed, records the source to revert to, arms the trial, and makes the kubelet
        start with O(source). Checkpoints that are no longer needed are removed.
      - V(confirmed) records that the assigned configuration was verified. It becomes last-known-good once it has also
        passed the trial.
      - V(rolled_back) reverts the assigned configuration to the last-known-good, else to the local one, as a failed
        trial does. If nothing restarts the kubelet within 60 seconds, the guard does.
      - V(reset) makes the kubelet start with the local configuration as it was before the first V(assigned).
      - V(removed) ends a reset. It confirms the local configuration if that is on trial, removes the guard and the
        drop-in with a verified restart of the kubelet, and then removes O(config_dir).
    type: str
    choices: [staged, assigned, confirmed, rolled_back, reset, removed]
    default: assigned
  preflight:
    description:
      - For O(state=assigned), makes the whole switch one call. The module inspects the node as
        M(livenodes.kubelet.kubelet_preflight_info) does, installs the guard as M(livenodes.kubelet.kubelet_guard) does,
        and then arms the trial and switches.
      - For O(state=reset), the module inspects the node, brings an installed guard up to date, and then puts the local
        configuration on trial.
      - For O(state=staged), the module inspects the node, stores the configuration and installs the guard's program.
        The kubelet starts as before, also after a reboot.
      - If RV(reasons) is not empty, nothing was changed.
      - What the inspection finds replaces O(local_config), O(invocation), O(kubelet_version), O(was_healthy),
        O(node_proof) and O(state_files).
      - The other states ignore it.
    type: dict
    suboptions:
      node:
        description:
          - Name of the Node whose host this must be. If the certificate of its kubelet names another one, that is one
            of the RV(reasons).
          - By default, and for a kubelet without a certificate in its kubeconfig, the module does not compare.
        type: str
        default: ""
      state_files:
        description:
          - What to do with the state file of a CPU or memory manager whose policy changes.
          - V(keep) makes such a change one of the RV(reasons). V(switch) moves the file away.
        type: str
        choices: [keep, switch]
        default: keep
      allow_pending_edits:
        description: Whether edits of unit or environment files may wait for a restart of the kubelet.
        type: bool
        default: false
      allow_unchecked:
        description: Whether a configuration may be assigned that the node's kubelet binary could not check.
        type: bool
        default: false
      allow_offline_guard:
        description: Whether a configuration may be assigned if the guard cannot ask the API server for its Node.
        type: bool
        default: false
  unit:
    description:
      - The kubelet's systemd unit, for O(preflight) and O(state=removed).
    type: str
    default: kubelet.service
  metrics_dir:
    description:
      - With O(preflight), for O(state=assigned) and O(state=staged), a folder of the node's C(node_exporter) that its
        textfile collector reads. The guard writes the metrics C(kubelet_node_config_assigned),
        C(kubelet_node_config_active), C(kubelet_node_config_last_known_good) and C(kubelet_node_config_error) there, in
        the file C(livenodes-kubelet.prom).
      - The folder must exist, and must not be a link. If the file cannot be written, the module warns.
      - Without this option, or with an empty one, the guard writes no metrics, and the module removes an earlier file
        of the guard. O(state=removed) removes it too.
    type: path
  seconds:
    description:
      - For O(state=removed), seconds until the kubelet's healthz must answer after the restart.
    type: int
    default: 60
  source:
    description:
      - The ConfigMap that holds the configuration. A row of RV(livenodes.kubelet.kubelet_configmap#module:configmaps)
        contains all fields.
      - Required for O(state=staged) and O(state=assigned). With O(state=confirmed) it must be the assigned source.
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
        description: The uid of the ConfigMap.
        type: str
        required: true
      resource_version:
        description: The resourceVersion of the ConfigMap.
        type: str
        required: true
        aliases: [resourceVersion]
      kubelet_config_key:
        description: >-
          Key of the ConfigMap that holds the configuration. All sources of a node must have the same key until the node
          is reset.
        type: str
        default: kubelet
        aliases: [kubeletConfigKey]
  data:
    description:
      - The data of the ConfigMap, one text for each key. Without it, the checkpoint must already exist.
    type: dict
  local_config:
    description:
      - Path of the config file that the kubelet uses without this collection. The first run keeps a copy, byte for
        byte, which is the "local" configuration from then on.
      - Required for the first O(state=assigned) on a node.
    type: path
  local_files:
    description:
      - Further files to copy with O(local_config).
    type: list
    elements: path
  trial_seconds:
    description:
      - Seconds that an assigned configuration must run without failure before it becomes last-known-good.
    type: int
    default: 600
  confirm_seconds:
    description:
      - Seconds to wait for O(state=confirmed) before the guard reverts the node. The default is O(trial_seconds).
    type: int
  invocation:
    description:
      - InvocationID of kubelet.service before the restart. With it, RV(restart_needed) also reports a restart that an
        interrupted run left out.
      - By default the trial names the one that systemd shows for O(unit).
    type: str
    default: ""
  kubelet_version:
    description:
      - Version of the kubelet, such as V(v1.30.2). A last-known-good configuration is valid for this version only.
    type: str
    default: ""
  was_healthy:
    description:
      - Whether the kubelet was healthy before, if known. If it was not, poor health does not revert a configuration.
    type: bool
  node_proof:
    description:
      - Whether the guard must see the Node as Ready itself before the configuration becomes last-known-good.
      - Set this to V(false) for a guard that cannot ask the API server; the module
        M(livenodes.kubelet.kubelet_preflight_info) finds that out.
    type: bool
    default: true
  state_files:
    description:
      - State files of the CPU and memory managers that were moved away for the switch.
      - With O(state=removed), those to remove while the kubelet is stopped, see RV(state_files).
    type: list
    elements: path
  reason:
    description:
      - Reason for O(state=rolled_back). It becomes the error in the node's status.
    type: str
    default: reverted by a run of Ansible
  unconfirmed_only:
    description:
      - Whether O(state=rolled_back) keeps a configuration that was confirmed.
    type: bool
    default: false
  trial:
    description:
      - The trial that O(state=rolled_back) ends, as RV(trial.name) named it. It ends no other one, such as that of
        another run.
      - By default it ends whichever there is.
    type: str
  collect:
    description:
      - Whether O(state=assigned) and O(state=reset) remove checkpoints that are not assigned, active, last-known-good
        or on trial.
    type: bool
    default: true
  remove:
    description:
      - Whether O(state=reset) also removes O(config_dir). Set it only after the kubelet was restarted without the
        drop-in that points there.
    type: bool
    default: false
  config_dir:
    description:
      - Folder of the store.
      - Its path is absolute and holds only letters, digits and C(. _ + - /), without C(..).
      - Root must own it and every folder above it, and no other user may write to them. Otherwise the module refuses
        V(staged), V(assigned) and V(confirmed) of O(state).
    type: path
    default: /var/lib/kubelet-config
  lock_timeout:
    description:
      - Seconds to wait while another run, or the guard, has locked the store.
    type: int
    default: 30
seealso:
  - module: livenodes.kubelet.kubelet_configmap
  - module: livenodes.kubelet.node_config_info
"""

EXAMPLES = r"""
- name: Assign a pushed configuration
  livenodes.kubelet.kubelet_checkpoint:
    source:
      name: livenodes-kubelet-5m7f2b6t4c
      uid: 147d55bf-dddc-42d0-be77-614fc2a1d38c
      resourceVersion: "274"
    data:
      kubelet: "{{ configuration | to_nice_json }}"
    local_config: /var/lib/kubelet/config.yaml
  notify: Restart kubelet

- name: Inspect the node, install the guard and assign the configuration in one call
  livenodes.kubelet.kubelet_checkpoint:
    source:
      name: livenodes-kubelet-5m7f2b6t4c
      uid: 147d55bf-dddc-42d0-be77-614fc2a1d38c
      resourceVersion: "274"
    data:
      kubelet: "{{ configuration | to_nice_json }}"
    preflight:
      allow_unchecked: true
  register: switched
  failed_when: switched is failed or switched.reasons | length > 0

- name: Confirm a verified configuration
  livenodes.kubelet.kubelet_checkpoint:
    state: confirmed

- name: Revert to the last-known-good configuration
  livenodes.kubelet.kubelet_checkpoint:
    state: rolled_back
    reason: the pods of the canary did not become ready
  notify: Restart kubelet
"""

RETURN = r"""
assigned:
  description: The source that the kubelet must use; V(null) for its local configuration.
  returned: success, unless there are RV(reasons)
  type: dict
  sample: &source
    namespace: kube-system
    name: livenodes-kubelet-5m7f2b6t4c
    uid: 147d55bf-dddc-42d0-be77-614fc2a1d38c
    resourceVersion: "274"
    kubeletConfigKey: kubelet
active:
  description: The source with which the kubelet starts; V(null) for its local configuration.
  returned: success, unless there are RV(reasons)
  type: dict
  sample: *source
lastKnownGood:
  description: The source to which the guard reverts the kubelet; V(null) for its local configuration.
  returned: success, unless there are RV(reasons)
  type: dict
error:
  description: Why the active source is not the assigned one; empty when it is.
  returned: success, unless there are RV(reasons)
  type: str
trial:
  description: The trial that is armed or has failed; V(null) if there is none.
  returned: success, unless there are RV(reasons)
  type: dict
  contains:
    name:
      description: The name of the trial, see O(trial). Each arming gives another one.
      type: str
    to:
      description: The source on trial.
      type: dict
    revert_to:
      description: The source to revert to; V(null) for the local configuration.
      type: dict
    seconds:
      description: Seconds that the source on trial must run without failure.
      type: float
    confirmed:
      description: Whether the source on trial was confirmed.
      type: bool
    failed:
      description: Why the source on trial was reverted; empty if it was not.
      type: str
    kubelet_version:
      description: Version of the kubelet in the trial.
      type: str
restart_needed:
  description: Whether the kubelet must be restarted to run the active source.
  returned: success
  type: bool
config:
  description: The path that the kubelet's C(--config) must name.
  returned: success, unless there are RV(reasons)
  type: str
  sample: /var/lib/kubelet-config/active/kubelet
checkpoint:
  description: Folder of the checkpoint of O(source).
  returned: success, unless there are RV(reasons)
  type: str
  sample: /var/lib/kubelet-config/store/checkpoints/147d55bf-dddc-42d0-be77-614fc2a1d38c/274
reasons:
  description: Why nothing was changed. Each names cause and remedy. Empty if the switch or reset has begun.
  returned: with O(preflight)
  type: list
  elements: str
preflight:
  description:
    - What the inspection found.
    - The keys are those of M(livenodes.kubelet.kubelet_preflight_info), such as C(kubelet), C(host) and C(check).
  returned: with O(preflight)
  type: dict
state_files:
  description: The state files that a call with O(state=removed) must remove, as its option O(state_files).
  returned: with O(preflight) and O(state=reset), if RV(reasons) is empty
  type: list
  elements: str
step:
  description: The step that failed. The message begins with it; the steps before it were done.
  returned: when a call of several steps fails
  type: str
  sample: installing the guard
removed:
  description: Folders of the checkpoints that were removed.
  returned: success, unless there are RV(reasons)
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import one_call
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch.one_call import StepError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        {
            "state": {
                "type": "str",
                "choices": ["staged", "assigned", "confirmed", "rolled_back", "reset", "removed"],
                "default": "assigned",
            },
            "preflight": {
                "type": "dict",
                "options": {
                    "node": {"type": "str", "default": ""},
                    "state_files": {"type": "str", "choices": ["keep", "switch"], "default": "keep"},
                    "allow_pending_edits": {"type": "bool", "default": False},
                    "allow_unchecked": {"type": "bool", "default": False},
                    "allow_offline_guard": {"type": "bool", "default": False},
                },
            },
            "unit": {"type": "str", "default": "kubelet.service"},
            "delivery": {"type": "str", "choices": ["checkpoint", "dropin"], "default": "checkpoint"},
            "dropin_dir": {"type": "path"},
            "metrics_dir": {"type": "path"},
            "seconds": {"type": "int", "default": 60},
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
            "node_proof": {"type": "bool", "default": True},
            "state_files": {"type": "list", "elements": "path"},
            "reason": {"type": "str", "default": "reverted by a run of Ansible"},
            "unconfirmed_only": {"type": "bool", "default": False},
            "trial": {"type": "str"},
            "collect": {"type": "bool", "default": True},
            "remove": {"type": "bool", "default": False},
            "config_dir": {"type": "path", "default": "/var/lib/kubelet-config"},
            "lock_timeout": {"type": "int", "default": 30},
        },
        supports_check_mode=True,
        required_if=[("state", "staged", ("source",)), ("state", "assigned", ("source",))],
    )
    options = dict(module.params)
    # Neither the node's log nor the result's `invocation` may contain the texts, which can hold secrets. Otherwise
    # `no_log` would also remove every text of a ConfigMap from paths, names and the diff. The diff masks secrets
    # itself, so this effect of `no_log` is undone.
    module.no_log_values.clear()
    module.params["data"] = sorted(options["data"] or {})
    try:
        result = one_call.apply(options, module.check_mode)
    except StepError as error:
        module.fail_json(msg=str(error), step=error.step)
    except (StoreError, OSError) as error:
        module.fail_json(msg=str(error))
    for text in result.pop("warnings"):
        module.warn(text)
    if not module._diff:  # pylint: disable=protected-access
        del result["diff"]
    module.exit_json(**result)


if __name__ == "__main__":
    main()
