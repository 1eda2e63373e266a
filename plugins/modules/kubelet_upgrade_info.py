#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_upgrade_info
short_description: Collect what an upgrade of a node's kubelet depends on
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Runs on the node. Returns the kubelet's command line with the place of each flag, its config file and drop-ins, and
    the settings of the host that later kubelets depend on. M(livenodes.kubelet.kubelet_upgrade_check) compares them
    with a target version.
  - With O(target_binary), that kubelet binary also checks the node's configuration with the node's own arguments and
    drop-ins. The check runs in a sandbox without network, in which only a temporary folder is writable. It does not
    affect the running kubelet.
  - Changes nothing. The node needs systemd 239 or later with its message bus, and Python.
options:
  unit:
    description: The kubelet's systemd unit.
    type: str
    default: kubelet.service
  dropin_dir:
    description:
      - The drop-in folder of a kubelet that another program starts, as in M(livenodes.kubelet.kubelet_checkpoint).
        Without it, the module takes the command line of that program for that of the kubelet.
    type: path
  target_binary:
    description:
      - Path of the future kubelet binary on the node.
      - Without it, RV(target) is V(null).
    type: path
extends_documentation_fragment:
  - livenodes.kubelet.attributes.read_only
seealso:
  - module: livenodes.kubelet.kubelet_upgrade_check
"""

EXAMPLES = r"""
- name: Ask the kubelet of the future version on each node
  livenodes.kubelet.kubelet_upgrade_info:
    target_binary: /opt/kubernetes/v1.36.2/kubelet
  register: upgrade_info
"""

RETURN = r"""
kubelet:
  description: What the unit runs, as M(livenodes.kubelet.kubelet_preflight_info) returns it.
  returned: success
  type: dict
host:
  description: The settings of the host, as M(livenodes.kubelet.kubelet_preflight_info) returns them.
  returned: success
  type: dict
disk:
  description: The config file and the drop-ins, as M(livenodes.kubelet.kubelet_preflight_info) returns them.
  returned: success
  type: dict
words:
  description:
    - The command line of the kubelet's next start, word by word, with secrets masked.
    - C(file) and C(line) are V(null) for a word that no file of the unit contains.
  returned: success
  type: list
  elements: dict
  sample: [{text: --max-pods=61, file: /etc/default/kubelet, line: 1}]
own:
  description:
    - C(path) and C(content) of the node's own config file, with secrets masked, if the kubelet reads another file, such
      as a checkpoint. Otherwise V(null).
  returned: success
  type: dict
cgroup_version:
  description: Version of the host's cgroup controllers, V(1) or V(2). V(null) means unknown.
  returned: success
  type: int
runtime_version:
  description: Version of the container runtime. V(null) means unknown.
  returned: success
  type: str
  sample: 1.6.20
huge_pages:
  description: Memory in bytes that the host reserves as huge pages. V(null) means unknown.
  returned: success
  type: int
  sample: 0
lines:
  description: For each config file and drop-in, the lines of the fields and feature gates that it sets.
  returned: success
  type: dict
  sample: {/var/lib/kubelet/config.yaml: {maxPods: 12, featureGates: 20, featureGates.NodeSwap: 21}}
static_pods:
  description: The static pods that refer to objects of the API, and the files of static pods that cannot be read.
  returned: success
  type: list
  elements: dict
  contains:
    file:
      description: The file with the pod.
      type: str
    name:
      description: Name of the pod, empty if it is not known.
      type: str
    refers_to:
      description: Kind and name of each object.
      type: list
      elements: str
      sample: [Secret etcd-certs]
    unreadable:
      description: Why the file cannot be read, V(null) if it can.
      type: str
target:
  description: The answer of O(target_binary).
  returned: success
  type: dict
  contains:
    binary:
      description: The path.
      type: str
    version:
      description: Output of the binary's C(--version); V(null) if there is none.
      type: str
    verdict:
      description: V(valid), V(invalid), or V(not checked) if the binary could not run or its answer is unknown.
      type: str
    messages:
      description: The reasons of the binary, or why it did not run.
      type: list
      elements: str
    refused_flags:
      description: Flags of the command line that the binary does not know. The other results are those without them.
      type: list
      elements: str
    unknown_fields:
      description: Fields that the binary does not know and would ignore.
      type: list
      elements: str
    facts:
      description: >-
        What the binary answers about itself, as RV(livenodes.kubelet.kubelet_preflight_info#module:kubelet.facts).
        V(null) without an answer.
      type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import upgrade_facts
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unit

# What the check of an upgrade reads; the decisions of a preflight are not part of it.
RETURNED = (
    "kubelet",
    "host",
    "disk",
    "words",
    "own",
    "cgroup_version",
    "runtime_version",
    "huge_pages",
    "lines",
    "static_pods",
    "target",
)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "unit": {"type": "str", "default": "kubelet.service"},
            "dropin_dir": {"type": "path"},
            "target_binary": {"type": "path"},
        },
        supports_check_mode=True,
    )
    given = module.params
    try:
        found = upgrade_facts.look(given["unit"], given["target_binary"] or "", dropin_dir=given["dropin_dir"] or "")
    except unit.UnitError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, **{name: found[name] for name in RETURNED})


if __name__ == "__main__":
    main()
