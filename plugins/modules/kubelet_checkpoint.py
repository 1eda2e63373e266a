#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_checkpoint
short_description: Switch the kubelet of a node to another configuration, confirm it, and roll it back
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Runs on the node and writes the store of checkpoints that kubelets of 1.24 and later no longer have. Files and terms
    are those of the kubelets of 1.11 to 1.23.
  - V(staged), V(assigned) and V(reset) of O(state) inspect the node first, as
    M(livenodes.kubelet.kubelet_preflight_info) does. What the inspection finds decides about the change. If
    RV(reasons) is not empty, nothing was changed.
  - The guard is a small program on the node. It reverts a configuration automatically when the kubelet fails with it,
    or when it is not confirmed in time. It works without Ansible, SSH, network and API server, and across reboots. The
    module writes the guard's program below O(config_dir), its service, and one drop-in of the kubelet's unit. The
    unit's own files are not changed.
  - Returns the assigned, the active and the last-known-good source and the error in the format of
    M(livenodes.kubelet.node_config_info).
  - Every change is atomic and durable. After a power failure at any time the kubelet finds a complete configuration.
  - Only V(restarted) and V(removed) of O(state) restart the kubelet. The role P(livenodes.kubelet.checkpoint#role)
    restarts it when RV(restart_needed) is set, and then confirms.
  - Needs root, and only Python's standard library on the node, 3.7 or later.
extends_documentation_fragment:
  - livenodes.kubelet.options.layer
  - livenodes.kubelet.attributes
attributes:
  diff_mode:
    details: Fields that hold secrets are masked. A configuration that is not JSON is shown only if the node has PyYAML.
  idempotent:
    support: partial
    details: V(restarted) of O(state) restarts every time, unless the kubelet was started since the revert of O(trial).
options:
  state:
    description:
      - V(staged) stores O(data) as the checkpoint of O(source) and installs the guard's program. The kubelet starts as
        before, also after a reboot.
      - V(assigned) stages O(source) if needed, installs the guard, records the source to revert to, arms the trial, and
        makes the kubelet start with O(source). The first time it keeps a copy of the node's own config file, byte for
        byte, which is the "local" configuration from then on. Checkpoints that are no longer needed are removed.
      - V(restarted) restarts the kubelet. It fails unless the kubelet has a new InvocationID that remains, and its
        healthz answers several times in a row within 60 seconds. If O(trial) was reverted, and the kubelet was started
        since, the module only verifies it.
      - V(confirmed) records that the assigned configuration was verified. It becomes last-known-good once it has also
        passed the trial.
      - V(rolled_back) reverts the assigned configuration to the last-known-good, else to the local one, as a failed
        trial does. If nothing restarts the kubelet within 60 seconds, the guard does.
      - V(reset) brings an installed guard up to date and makes the kubelet start with the local configuration, on trial
        too. Checkpoints that are no longer needed are removed.
      - V(removed) ends a reset. It confirms the local configuration if that is on trial, and removes the guard, the
        drop-in and the status annotation of the Node. It restarts the kubelet and verifies it as V(restarted) does, and
        then removes O(config_dir). If the kubelet fails, the module restores the drop-in, keeps the guard, and fails.
      - V(updated) brings an installed guard to the version of this module and to O(metrics_dir), and changes nothing
        else. Where no guard is installed, it changes nothing.
      - V(followed) installs a follower, also in the middle of a trial. It is a service of the guard's program that
        watches the Node of this node, and does the same as V(assigned), V(restarted), V(confirmed), V(rolled_back),
        V(reset) and V(removed) once the annotations of the Node ask for it. V(unfollowed) removes it.
    type: str
    choices:
      [staged, assigned, restarted, confirmed, rolled_back, reset, removed, updated, followed, unfollowed]
    default: assigned
  node:
    description:
      - Name of the Node whose host this must be. If the certificate of its kubelet names another one, that is one of
        the RV(reasons).
      - By default, and for a kubelet without a certificate in its kubeconfig, the module does not compare.
    type: str
    default: ""
  state_files:
    description:
      - What to do with the state file of a CPU or memory manager whose policy changes.
      - V(keep) makes such a change one of the RV(reasons). V(switch) moves the file away. O(state=removed) needs the
        value that the reset had.
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
    description:
      - Whether a configuration may be assigned if the guard cannot ask the API server for its Node.
      - Such a configuration becomes last-known-good although the guard has not seen the Node as Ready itself.
    type: bool
    default: false
  unit:
    description:
      - The kubelet's systemd unit.
    type: str
    default: kubelet.service
  metrics_dir:
    description:
      - For V(staged), V(assigned) and V(updated) of O(state), a folder of the node's C(node_exporter) that its textfile
        collector reads. The guard writes the metrics C(kubelet_node_config_assigned), C(kubelet_node_config_active),
        C(kubelet_node_config_last_known_good) and C(kubelet_node_config_error) there, in the file
        C(livenodes-kubelet.prom).
      - The folder must exist, and must not be a link. If the file cannot be written, the module warns.
      - With an empty one the guard writes no metrics, and the module removes an earlier file of the guard.
        O(state=removed) removes it too.
      - Without this option, O(state=updated) keeps the folder that the guard has. The other states then do the same as
        with an empty one.
    type: path
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
  trial_seconds:
    description:
      - Seconds that an assigned configuration must run without failure before it becomes last-known-good.
    type: int
    default: 600
  confirm_seconds:
    description:
      - Seconds to wait for O(state=confirmed) before the guard reverts the node. The default is O(trial_seconds).
    type: int
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
      - The trial that O(state=confirmed) confirms. If another run has armed another one since, that is an error.
      - The trial for which O(state=restarted) restarts the kubelet, or after whose revert it does so unless the guard
        has done that. If another run has armed another one since, that is an error.
      - By default O(state=rolled_back) ends and O(state=confirmed) confirms whichever there is, and O(state=restarted)
        always restarts.
    type: str
  config_dir:
    description:
      - Folder of the store.
      - Its path is absolute and holds only letters, digits and C(. _ + - /), without C(..).
      - Root must own it and every folder above it, and no other user may write to them. Otherwise the module refuses
        V(staged), V(assigned) and V(confirmed) of O(state).
    type: path
    default: /var/lib/kubelet-config
  namespace:
    description:
      - With O(state=followed), the only namespace of which the follower takes ConfigMaps.
    type: str
    default: kube-system
  effect:
    description:
      - With O(state=followed), the strongest effect of a change that the follower takes up.
    type: str
    choices: [safe, disrupt, drain, reboot]
    default: disrupt
  key:
    description:
      - With O(state=followed), the key of the ConfigMaps, until the first one was assigned.
    type: str
    default: kubelet
seealso:
  - module: livenodes.kubelet.kubelet_preflight_info
  - module: livenodes.kubelet.kubelet_configmap
  - module: livenodes.kubelet.node_config_info
"""

EXAMPLES = r"""
- name: Inspect the node, install the guard and assign a pushed configuration
  livenodes.kubelet.kubelet_checkpoint:
    source:
      name: livenodes-kubelet-5m7f2b6t4c
      uid: 147d55bf-dddc-42d0-be77-614fc2a1d38c
      resourceVersion: "274"
    data:
      kubelet: "{{ configuration | to_nice_json }}"
    allow_unchecked: true
  register: switched
  failed_when: switched is failed or switched.reasons | length > 0

- name: Restart the kubelet and verify the restart
  livenodes.kubelet.kubelet_checkpoint:
    state: restarted
  when: switched.restart_needed

- name: Confirm a verified configuration
  livenodes.kubelet.kubelet_checkpoint:
    state: confirmed

- name: Revert to the last-known-good configuration
  livenodes.kubelet.kubelet_checkpoint:
    state: rolled_back
    reason: the pods of the canary did not become ready
  notify: Restart kubelet

- name: Let a guard that is installed already write metrics for node_exporter
  livenodes.kubelet.kubelet_checkpoint:
    state: updated
    metrics_dir: /var/lib/prometheus/node-exporter
"""

RETURN = r"""
assigned:
  description: The source that the kubelet must use; V(null) for its local configuration.
  returned: success, unless there are RV(reasons), except for V(restarted) and V(updated) of O(state)
  type: dict
  sample: &source
    namespace: kube-system
    name: livenodes-kubelet-5m7f2b6t4c
    uid: 147d55bf-dddc-42d0-be77-614fc2a1d38c
    resourceVersion: "274"
    kubeletConfigKey: kubelet
active:
  description: The source with which the kubelet starts; V(null) for its local configuration.
  returned: success, unless there are RV(reasons), except for V(restarted) and V(updated) of O(state)
  type: dict
  sample: *source
lastKnownGood:
  description: The source to which the guard reverts the kubelet; V(null) for its local configuration.
  returned: success, unless there are RV(reasons), except for V(restarted) and V(updated) of O(state)
  type: dict
error:
  description: Why the active source is not the assigned one; empty when it is.
  returned: success, unless there are RV(reasons), except for V(restarted) and V(updated) of O(state)
  type: str
trial:
  description: The trial that is armed or has failed; V(null) if there is none.
  returned: success, unless there are RV(reasons), except for V(restarted) and V(updated) of O(state)
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
  returned: success, except for V(restarted) and V(updated) of O(state)
  type: bool
config:
  description: The path that the kubelet's C(--config) must name.
  returned: success, unless there are RV(reasons), except for V(restarted) and V(updated) of O(state)
  type: str
  sample: /var/lib/kubelet-config/active/kubelet
checkpoint:
  description: Folder of the checkpoint of O(source).
  returned: success, unless there are RV(reasons), except for V(restarted) and V(updated) of O(state)
  type: str
  sample: /var/lib/kubelet-config/store/checkpoints/147d55bf-dddc-42d0-be77-614fc2a1d38c/274
reasons:
  description: Why nothing was changed. Each names cause and remedy. Empty if the switch or reset has begun.
  returned: with V(staged), V(assigned) and V(reset) of O(state)
  type: list
  elements: str
preflight:
  description:
    - What the inspection found.
    - The keys are those of M(livenodes.kubelet.kubelet_preflight_info), such as C(kubelet), C(host) and C(check).
  returned: with V(staged), V(assigned) and V(reset) of O(state)
  type: dict
invocation_id:
  description: InvocationID of the kubelet's unit after the restart.
  returned: with O(state=restarted), except in check mode
  type: str
seconds:
  description: Seconds from the restart until healthz had answered often enough.
  returned: with O(state=restarted), except in check mode
  type: float
step:
  description: The step that failed. The message begins with it; the steps before it were done.
  returned: when a call of several steps fails
  type: str
  sample: installing the guard
removed:
  description: Folders of the checkpoints that were removed.
  returned: success, unless there are RV(reasons), except for V(restarted) and V(updated) of O(state)
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import one_call, values
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch.one_call import StepError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit import UnitError


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        values.SPEC,
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
    except (StoreError, UnitError, OSError) as error:
        module.fail_json(msg=str(error))
    for text in result.pop("warnings", []):
        module.warn(text)
    if not module._diff:  # pylint: disable=protected-access
        result.pop("diff", None)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
