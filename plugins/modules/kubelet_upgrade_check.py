#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_upgrade_check
short_description: Report what an upgrade to another Kubernetes version would do to each kubelet
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Compares the facts of nodes with what the target version is known to accept. It finds flags, feature gates and
    values that stop a kubelet of that version, fields that it ignores, defaults that change, and hosts that it does not
    support. Sends no requests and changes nothing.
  - Where the facts contain the answer of the target's own binary, that answer is used. The binary also finds values
    that no table contains.
  - Does not fail because of findings.
extends_documentation_fragment:
  - livenodes.kubelet.attributes.read_only
options:
  hosts:
    description:
      - Results of M(livenodes.kubelet.kubelet_upgrade_info) by node name. If a result is C(unreachable) or failed, the
        row of the node contains a finding.
    type: dict
    required: true
  target_version:
    description:
      - The version of the upgrade, such as V(1.36) or V(v1.36.2). Only the minor version counts.
      - In YAML, put it in quotes.
    type: str
    required: true
  target_binary:
    description:
      - Path of a kubelet of the target version on the controller. It is asked about each node whose result has no
        answer of a binary on the node.
      - It judges what the files and flags of the node set, without secrets. What depends on the host of a node, it
        cannot judge. It does not become a kubelet, and ends after its validation. As root, it runs in a sandbox of
        systemd.
    type: path
seealso:
  - module: livenodes.kubelet.kubelet_upgrade_info
  - module: livenodes.kubelet.kubelet_config_plan
"""

EXAMPLES = r"""
- name: Collect the facts of each node
  livenodes.kubelet.kubelet_upgrade_info:
  register: upgrade_info

- name: Compare them with 1.36
  livenodes.kubelet.kubelet_upgrade_check:
    hosts: "{{ dict(ansible_play_batch | zip(ansible_play_batch | map('extract', hostvars, 'upgrade_info'))) }}"
    target_version: "1.36"
  delegate_to: localhost
  run_once: true
  register: upgrade_check

- name: Show the findings
  ansible.builtin.debug:
    msg: "{{ upgrade_check.text }}"
  run_once: true
"""

RETURN = r"""
nodes:
  description: One row for each node.
  returned: success
  type: dict
  contains:
    kubelet_version:
      description: The kubelet's current version.
      type: str
    findings:
      description: What stops the kubelet comes first.
      type: list
      elements: dict
      contains:
        severity:
          description: >-
            V(stops), the kubelet or a static pod of it would not run. V(unknown), this could not be found out.
            V(changes), it would run and behave differently. V(stays), something stays as it is because of this
            collection.
          type: str
        kind:
          description: >-
            V(flag), V(gate), V(field), V(default), V(value), V(cgroup), V(runtime), V(pod), V(delivery), V(binary) or
            V(version).
          type: str
        name:
          description: The flag, the feature gate, the field, or what else it is about.
          type: str
        message:
          description: The cause.
          type: str
        remedy:
          description: What to do.
          type: str
        where:
          description: The files that contain it, with the line if it is known.
          type: str
summary:
  description: >-
    The target, the number of nodes, and the names of those that would stop, are unknown, or would change. C(ready) if
    no kubelet would stop and none is unknown.
  returned: success
  type: dict
  sample: {target: "1.36", nodes: 3, would_stop: [n1], unknown: [], changed: [n1, n2], ready: false}
text:
  description: The findings for people. Nodes with the same findings are listed together.
  returned: success
  type: list
  elements: str
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster import upgrade_check
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.controller_module import Definition

MODULE = Definition(
    {
        "hosts": {"type": "dict", "required": True},
        "target_version": {"type": "str", "required": True},
        "target_binary": {"type": "path"},
    },
    upgrade_check.compare,
)
main = MODULE.run

if __name__ == "__main__":
    main()
