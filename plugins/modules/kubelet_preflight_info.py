#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_preflight_info
short_description: Show what a node's kubelet really runs and whether it would take a configuration
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Runs on the node. Returns the kubelet's effective command line, the config file it reads, the fields that a flag hides, with the file and
    the line that give the flag, and the settings of the host that a configuration has to agree with.
  - With O(config) it also asks the node's own kubelet binary whether it would take that configuration, in a sandbox without network and with
    nothing but a scratch folder to write to. The running kubelet does not notice.
  - The node needs systemd 239 or newer with its message bus, and nothing else than Python.
options:
  unit:
    description: The kubelet's systemd unit.
    type: str
    default: kubelet.service
  config:
    description:
      - A complete KubeletConfiguration, as the text that would become the kubelet's config file.
      - V(check) is V(null) in the result without it.
    type: json
  local:
    description:
      - Whether RV(problems) are those of the configuration that the unit names by itself, which it runs once this collection is gone from the node.
      - O(config) goes before it.
    type: bool
    default: false
  disk:
    description:
      - Whether to return RV(disk) as well, what the kubelet would read from the node's disk now, with secrets masked.
    type: bool
    default: false
extends_documentation_fragment:
  - livenodes.kubelet.attributes
  - livenodes.kubelet.attributes.read_only
"""

EXAMPLES = r"""
- name: What do the kubelets of this group run
  livenodes.kubelet.kubelet_preflight_info:
  register: preflight

- name: Name the fields that no configuration can change, and where to change them instead
  ansible.builtin.debug:
    var: preflight.kubelet.shadowed

- name: Would this node's kubelet take a configuration
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
        How the unit names its config file: V(kubeadm), in a variable that a unit file sets; V(plain), in C(ExecStart=); V(refused), in a way that
        this collection cannot override.
      type: str
    reason:
      description: Why the form is refused, with the remedy; else empty.
      type: str
    version:
      description: What C(--version) of the binary says; V(null) when it says nothing.
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
        Who says so: V(process), the running kubelet; V(systemd), what systemd would start, for a kubelet that does not run; V(files), the unit's
        files, where systemd cannot be asked.
      type: str
    next_command:
      description: The command line that the next start will use, with environment files as they are now.
      type: list
      elements: str
    changes_at_restart:
      description: Whether RV(kubelet.next_command) differs from RV(kubelet.command), so that a restart brings in more than a configuration.
      type: bool
    config:
      description: The config file; V(null) when the kubelet has none.
      type: str
    config_unreadable:
      description: Why that file could not be read on the node, V(null) when it was.
      type: str
    config_given_by:
      description: File and line that name it when this collection does not.
      type: dict
    config_dir:
      description: The folder given with C(--config-dir).
      type: str
    config_dir_files:
      description: The drop-ins in it, in the order in which the kubelet lays them over its config.
      type: list
      elements: str
    dynamic_config_dir:
      description: The folder given with C(--dynamic-config-dir), whose configurations take the place of the config file.
      type: str
    shadowed:
      description: The fields that a flag hides from every configuration, by path. C(file) and C(line) are V(null) for a flag that no file gives any more.
      type: dict
      sample: {maxPods: {flag: --max-pods=61, file: /etc/default/kubelet, line: 1}}
host:
  description: The settings of the host. V(null) means that it cannot be told.
  returned: success
  type: dict
  contains:
    container_runtime:
      description: Name, endpoint and cgroup driver of the container runtime in use, and who says so.
      type: dict
      sample: {name: containerd, endpoint: "unix:///run/containerd/containerd.sock", cgroup_driver: systemd, source: containerd config dump}
    resolv_conf:
      description: Path of the resolvConf in force, and whether it exists.
      type: dict
    systemd_resolved:
      description: Whether systemd-resolved is in use.
      type: bool
    hostname:
      description: The host's name.
      type: str
    hostname_override:
      description: Value of C(--hostname-override).
      type: str
    state_files:
      description: Path and policy of the state file of the C(cpu) and the C(memory) manager, V(null) for one that is not there.
      type: dict
check:
  description: What the node's kubelet binary says of O(config); V(null) without it.
  returned: success
  type: dict
  contains:
    verdict:
      description: V(valid), V(invalid), or V(not checked) when it could not be asked or its answer is not known.
      type: str
    messages:
      description: Its reasons, or why it was not asked.
      type: list
      elements: str
    unknown_fields:
      description: Fields that it does not know and would ignore.
      type: list
      elements: str
disk:
  description: What the kubelet would read from the node's disk now.
  returned: O(disk=true)
  type: dict
  contains:
    path:
      description: The config file, links resolved. With C(--dynamic-config-dir) the checkpoint that is assigned in there, when one is.
      type: str
    content:
      description: The configuration in it, secrets masked; V(null) when it could not be read on the node.
      type: dict
    unreadable:
      description: Why it could not.
      type: str
    checkpoint:
      description: C(uid) and C(resourceVersion) of the checkpoint it belongs to, and the C(damage) when it does not match its digest; V(null) for none.
      type: dict
    changed:
      description: When the file, or a link on the way to it, was last changed, in seconds since the epoch.
      type: float
    started:
      description: When the kubelet's process was started, in seconds since the epoch; V(null) when none runs.
      type: float
    dropins:
      description: The content of each of RV(kubelet.config_dir_files), secrets masked; V(null) for one that could not be read.
      type: dict
problems:
  description: Where O(config), or without it the config in use, does not agree with the host.
  returned: success
  type: list
  elements: dict
  sample:
    - path: cgroupDriver
      rule: cgroup-driver
      severity: warning
      message: the kubelet would use cgroupfs, the container runtime uses systemd (containerd config dump)
      remedy: "Set cgroupDriver: systemd."
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import preflight
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import config_summary
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unit


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str", "default": "kubelet.service"},
            "config": {"type": "json"},
            "local": {"type": "bool", "default": False},
            "disk": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    text = module.params["config"]
    if text:
        try:
            module.no_log_values |= set(config_summary.secrets(text))
        except ValueError:
            module.no_log_values.add(text)
    try:
        module.exit_json(
            changed=False,
            **preflight.look(
                module.params["unit"], text, local=module.params["local"], with_disk=module.params["disk"]
            ),
        )
    except unit.UnitError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
