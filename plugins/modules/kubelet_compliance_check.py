#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_compliance_check
short_description: Compare what kubelets run with security profiles
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Reads the live configuration of each kubelet, and gives a verdict on each item of the profiles of its node. A value
    in a drop-in passes, and a correct file that a flag overrides fails.
  - Names where each value comes from, if O(hosts) has the node.
  - Changes nothing, and does not fail because of a verdict.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.attributes.read_only
options:
  profiles:
    description:
      - By node name, a profile or a list of them, V(cis-1.12) or V(stig-v2r6). All of these nodes must exist.
    type: dict
    required: true
  exceptions:
    description:
      - By node name, then by the number of an item, a mapping with C(owner), C(until) (the last day, such as
        V(2027-03-31)) and C(reason). Until the end of that day, the verdict is V(excepted) in place of any other but
        V(pass); after it, V(fail).
    type: dict
  hosts:
    description:
      - Results of M(livenodes.kubelet.kubelet_preflight_info) with
        O(livenodes.kubelet.kubelet_preflight_info#module:disk=true), by node name, of the nodes that were inspected. A
        result that is C(unreachable) or failed does not fail the module.
      - Items about files and flags are V(not checked) on other nodes.
    type: dict
seealso:
  - module: livenodes.kubelet.kubelet_preflight_info
  - module: livenodes.kubelet.kubelet_config_drift_info
"""

EXAMPLES = r"""
- name: Check two nodes
  livenodes.kubelet.kubelet_compliance_check:
    profiles: {n1: cis-1.12, n2: [cis-1.12, stig-v2r6]}
    exceptions:
      n2:
        4.2.9: {owner: platform team, until: "2027-03-31", reason: the site has no CA yet}
  delegate_to: localhost
  run_once: true
  register: compliance

- name: Show the table
  ansible.builtin.debug:
    msg: "{{ compliance.text }}"
  run_once: true
"""

RETURN = r"""
nodes:
  description: One entry for each node.
  returned: success
  type: dict
  contains:
    kubelet_version:
      description: The kubelet's version.
      type: str
    rows:
      description: One row for each item of its profiles.
      type: list
      elements: dict
      contains:
        profile:
          description: The profile.
          type: str
        item:
          description: The number of the item.
          type: str
        title:
          description: What the item asks for.
          type: str
        verdict:
          description: V(pass), V(fail), V(manual), V(not checked) or V(excepted).
          type: str
        value:
          description: What the kubelet runs, or the owner or mode of a file.
          type: str
        origin:
          description: >-
            Where the value comes from, a flag with file and line, a drop-in, a file, or V(default). Empty if that is
            not known.
          type: str
        message:
          description: The cause and the remedy.
          type: str
        exception:
          description: C(owner), C(until) and C(reason) of the exception; V(null) without one.
          type: dict
summary:
  description: >-
    When the nodes were checked, the number of nodes, the number of items by verdict, and whether none fails.
  returned: success
  type: dict
  sample:
    checked: "2026-11-27T05:00:00Z"
    nodes: 2
    pass: 40
    fail: 0
    manual: 2
    not checked: 1
    excepted: 1
    compliant: true
text:
  description: A table for people. Nodes with the same verdict and value are listed together.
  returned: success
  type: list
  elements: str
junit:
  description: The same as a JUnit document, with a test suite for each node.
  returned: success
  type: str
html:
  description: The same as a page for people.
  returned: success, if the action of this collection ran
  type: str
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster import comply
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module

MODULE = controller_module.define(
    {
        "profiles": {"type": "dict", "required": True},
        "exceptions": {"type": "dict"},
        "hosts": {"type": "dict"},
    },
    comply.check,
)
main = MODULE.run

if __name__ == "__main__":
    main()
