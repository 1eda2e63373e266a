#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_preflight_info
short_description: Show what a node's kubelet really runs, and check a configuration for it
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Runs on the node. Returns the kubelet's effective command line, its config file, the fields that a flag overrides
    (with the file and line of the flag), and the settings of the host that a configuration must match.
  - With O(config), the node's own kubelet binary also checks that configuration. The check runs in a sandbox without
    network, in which only a temporary folder is writable. It does not affect the running kubelet.
  - Decides from these facts whether O(config) may be assigned or, with O(local), whether the node may be reset. What
    prevents it is in RV(reasons). Other problems of the configuration become warnings of the task.
  - The node needs systemd 239 or later with its message bus, and Python.
options:
  unit:
    description: The kubelet's systemd unit.
    type: str
    default: kubelet.service
  config:
    description:
      - A complete KubeletConfiguration, as the text of the future config file.
      - Without it and O(local), RV(check) is V(null).
      - The node's log does not contain it. Its secrets are masked in messages.
    type: json
  local:
    description:
      - Whether RV(problems) and RV(check) refer to the configuration that the unit itself names. The kubelet runs it
        after this collection is removed from the node.
      - O(config) takes precedence.
    type: bool
    default: false
  disk:
    description:
      - Whether to also return RV(disk), what the kubelet would read from the node's disk now, with secrets masked.
    type: bool
    default: false
  config_dir:
    description: Folder of the store on the node.
    type: path
    default: /var/lib/kubelet-config
  key:
    description:
      - Name of the file in the store that the kubelet reads.
    type: str
    default: kubelet
  state_files:
    description:
      - What to do with the state file of a CPU or memory manager whose policy changes.
      - V(keep) makes such a change one of the RV(reasons). V(switch) returns the file in RV(state_files).
    type: str
    choices: [keep, switch]
    default: keep
  files:
    description:
      - Names of the files that will be in the same folder as the file of O(config), such as the keys of its ConfigMap.
      - A relative path in O(config) starts from that folder.
    type: list
    elements: str
    default: []
  allow_pending_edits:
    description:
      - Whether edits of unit or environment files may wait for a restart of the kubelet.
      - If they may, the restart after the switch applies them too.
    type: bool
    default: false
  allow_unchecked:
    description: Whether O(config) may be assigned if the node's kubelet binary could not check it.
    type: bool
    default: false
  allow_offline_guard:
    description:
      - Whether O(config) may be assigned if the guard cannot ask the API server for its Node.
      - The module sends that request with the kubelet's own credentials.
    type: bool
    default: false
  node:
    description:
      - Name of the Node whose host this must be. If the certificate of its kubelet names another one, that is one of
        the RV(reasons).
      - By default, and for a kubelet without a certificate in its kubeconfig, the module does not compare.
    type: str
    default: ""
  ask:
    description:
      - Fields, such as V(memorySwap.swapBehavior), and feature gates, such as V(featureGates.NodeSwap).
      - The node's kubelet binary is asked whether it has them, besides those in its files and flags. For
        RV(kubelet.facts).
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - livenodes.kubelet.options.layer
  - livenodes.kubelet.attributes.read_only
"""

EXAMPLES = r"""
- name: Inspect the kubelets of this group
  livenodes.kubelet.kubelet_preflight_info:
  register: preflight

- name: Show the fields that no configuration can change, and where to change them instead
  ansible.builtin.debug:
    var: preflight.kubelet.shadowed

- name: Check whether this node's kubelet accepts a configuration
  livenodes.kubelet.kubelet_preflight_info:
    config: "{{ lookup('ansible.builtin.file', 'kubelet.yaml') }}"
  register: preflight
  failed_when: preflight.check.verdict != 'valid'
"""

RETURN = r"""
kubelet:
  description: What the unit runs.
  returned: success
  type: dict
  contains:
    unit:
      description: The unit.
      type: str
    state:
      description: The unit's ActiveState.
      type: str
    form:
      description: >-
        How the unit names its config file. V(kubeadm), alone in a variable that a unit file sets; V(plain), elsewhere;
        V(refused), in a way that this collection cannot override; V(child), with O(dropin_dir), for a unit that runs
        another program.
      type: str
    reason:
      description: Why the form is refused, with the remedy; empty for the other forms.
      type: str
    version:
      description: Output of the binary's C(--version); V(null) if there is none.
      type: str
      sample: v1.20.2
    binary:
      description: Path of the kubelet's binary.
      type: str
    command:
      description: The effective command line. Secret values are masked.
      type: list
      elements: str
    command_source:
      description: >-
        Where the command line comes from. V(process), the running kubelet; V(systemd), the command of a stopped kubelet
        according to systemd.
      type: str
    next_command:
      description: The command line of the next start, with the current environment files.
      type: list
      elements: str
    changes_at_restart:
      description: >-
        Whether RV(kubelet.next_command) differs from RV(kubelet.command). A restart then applies more than a
        configuration.
      type: bool
    config:
      description: The config file; V(null) if the kubelet has none.
      type: str
    config_unreadable:
      description: Why the config file is unreadable on the node; V(null) if it is readable.
      type: str
    local_config:
      description: The config file that the unit names without this collection; V(null) if it is not known.
      type: str
    config_given_by:
      description: File and line that name the config file without this collection.
      type: dict
    config_dir:
      description: The folder in C(--config-dir).
      type: str
    config_dir_files:
      description: >-
        The drop-ins in that folder that are not of this collection, in the order in which the kubelet merges them into
        its configuration.
      type: list
      elements: str
    dynamic_config_dir:
      description: The folder in C(--dynamic-config-dir). A configuration in it replaces the config file.
      type: str
    shadowed:
      description: >-
        The fields that a flag overrides, by path. C(file) and C(line) are V(null) for a flag that is no longer in any
        file.
      type: dict
      sample: {maxPods: {flag: --max-pods=61, file: /etc/default/kubelet, line: 1}}
    facts:
      description:
        - What the kubelet's binary answers about itself, without O(config) and O(local). V(null) without an answer.
        - C(version). C(flags), all of them. C(gates), a word for each feature gate, with the stage (C(a), C(b), C(g),
          C(d)), the default (C(+) or C(-)), and C(!) if it is locked; C(x) for one that it does not know. C(fields),
          whether it has each field that it was asked about.
        - C(/run) keeps the answers of a binary until another one takes its place, or the node reboots.
      type: dict
    differences:
      description: Flags, feature gates and fields in which the binary differs from the release of its version.
      type: list
      elements: str
host:
  description: The settings of the host. V(null) means unknown.
  returned: success
  type: dict
  contains:
    container_runtime:
      description: Name, endpoint and cgroup driver of the current container runtime, and their source.
      type: dict
      sample:
        name: containerd
        endpoint: "unix:///run/containerd/containerd.sock"
        cgroup_driver: systemd
        source: containerd config dump
    resolv_conf:
      description: Path of the effective resolvConf, and whether it exists.
      type: dict
    systemd_resolved:
      description: Whether systemd-resolved runs and C(/etc/resolv.conf) names its stub.
      type: bool
    hostname:
      description: The host's name.
      type: str
    hostname_override:
      description: Value of C(--hostname-override).
      type: str
    state_files:
      description: >-
        Path and policy of the state files of the C(cpu) and the C(memory) manager; V(null) for a file that does not
        exist.
      type: dict
check:
  description: >-
    How the node's kubelet binary judges O(config), or with O(local) the configuration that the unit itself names;
    V(null) without both.
  returned: success
  type: dict
  contains:
    verdict:
      description: V(valid), V(invalid), or V(not checked) if the binary could not run or its answer is unknown.
      type: str
    messages:
      description: The reasons of the binary, or why it did not run.
      type: list
      elements: str
    unknown_fields:
      description: Fields that the binary does not know and would ignore.
      type: list
      elements: str
disk:
  description: What the kubelet would read from the node's disk now.
  returned: O(disk=true)
  type: dict
  contains:
    path:
      description: >-
        The config file, with links resolved. With C(--dynamic-config-dir), the assigned checkpoint in that folder, if
        there is one.
      type: str
    content:
      description: The configuration in the file, with secrets masked; V(null) if it could not be read on the node.
      type: dict
    unreadable:
      description: Why the file could not be read.
      type: str
    checkpoint:
      description: >-
        C(uid) and C(resourceVersion) of the checkpoint that the file belongs to, and C(damage) if it does not match its
        digest; V(null) if it belongs to none.
      type: dict
    changed:
      description: When the file, or a link that leads to it, last changed, in seconds since the epoch.
      type: float
    started:
      description: When the kubelet's process started, in seconds since the epoch; V(null) if it does not run.
      type: float
    dropins:
      description: >-
        The content of each of RV(kubelet.config_dir_files), with secrets masked; V(null) for a file that could not be
        read.
      type: dict
files:
  description: >-
    Owner and mode of the kubelet's files: of its C(unit) with its drop-ins, its C(kubeconfig), its C(client_ca), and
    its C(config) with the drop-ins in its folder. A file that is not there is omitted.
  returned: O(disk=true)
  type: dict
  sample: {kubeconfig: [{path: /etc/kubernetes/kubelet.conf, mode: "0600", owner: "root:root"}]}
dropin:
  description: The kubelet's drop-in folder.
  returned: with V(dropin) of O(delivery)
  type: dict
  contains:
    folder:
      description: Its path, as the kubelet names it.
      type: str
    named_by:
      description: V(unit), the unit's command line; V(option), O(dropin_dir); V(us), this collection.
      type: str
    exists:
      description: Whether it exists.
      type: bool
    is_link:
      description: Whether it is a symbolic link. A kubelet ignores such a folder unless its path ends in a slash.
      type: bool
    link:
      description: Path of the link to the active configuration.
      type: str
    linked:
      description: Whether that link exists.
      type: bool
own:
  description:
    - The node's own layers, in the kubelet's order. The config file comes first, then each drop-in that is not that of
      this collection.
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: The file.
      type: str
    content:
      description: Its content, with secrets masked; V(null) if it could not be read.
      type: dict
    unreadable:
      description: Why it could not be read. Absent if it could.
      type: str
problems:
  description: Conflicts between the host and O(config), or the current configuration without that option.
  returned: success
  type: list
  elements: dict
  sample:
    - path: cgroupDriver
      rule: cgroup-driver
      severity: warning
      message: >-
        the kubelet would use cgroupfs, the container runtime uses systemd (containerd config dump)
      remedy: "Set cgroupDriver: systemd."
reasons:
  description:
    - Why O(config) must not be assigned or, with O(local), why the node must not be reset. Each names cause and remedy.
    - Without both options, why no configuration can be assigned to this node.
  returned: success
  type: list
  elements: str
state_files:
  description:
    - Paths of the manager state files that must be moved away before the kubelet starts with another policy.
    - Empty with O(state_files=keep).
  returned: success
  type: list
  elements: str
reads_store:
  description: Whether the kubelet reads its configuration from O(config_dir) already.
  returned: success
  type: bool
node_proof:
  description:
    - Whether the guard must see the Node as Ready itself before the configuration becomes last-known-good.
    - V(false) if it cannot ask the API server and O(allow_offline_guard=true).
  returned: success
  type: bool
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import preflight, preflight_decisions
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import values
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import config_summary
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unit


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str", "default": "kubelet.service"},
            # Ansible writes the options of a module to the node's log, except those with no_log.
            "config": {"type": "json", "no_log": True},
            "local": {"type": "bool", "default": False},
            "disk": {"type": "bool", "default": False},
            "config_dir": {"type": "path", "default": "/var/lib/kubelet-config"},
            "delivery": values.SPEC["delivery"],
            "dropin_dir": {"type": "path"},
            "key": {"type": "str", "default": "kubelet", "no_log": False},
            "state_files": {"type": "str", "choices": ["keep", "switch"], "default": "keep"},
            "files": {"type": "list", "elements": "str", "default": []},
            "allow_pending_edits": {"type": "bool", "default": False},
            "allow_unchecked": {"type": "bool", "default": False},
            "allow_offline_guard": {"type": "bool", "default": False},
            "node": {"type": "str", "default": ""},
            "ask": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    text = module.params["config"]
    # no_log would also mask every value of the configuration in the result, as in versions and paths.
    module.no_log_values.clear()
    module.params["config"] = None if text is None else config_summary.HIDDEN
    module.params["dropin_dir"] = module.params["dropin_dir"] or ""
    terms = preflight_decisions.Terms(**{name: module.params[name] for name in preflight_decisions.Terms._fields})
    try:
        found = preflight.look(
            module.params["unit"], text, local=module.params["local"], with_disk=module.params["disk"], terms=terms
        )
    except unit.UnitError as error:
        module.fail_json(msg=config_summary.without_secrets([str(error)], text or "")[0])
    result = config_summary.shown(found, text or "")
    for warning in result.pop("warnings"):
        module.warn(warning)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
