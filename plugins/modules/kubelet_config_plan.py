#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_config_plan
short_description: Plan the configuration of each kubelet
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Merges overrides into the live configuration of each node. The plan shows field by field what would change, the
    effect of each change, problems, and the resulting distinct configurations (variants). Sends no requests and changes
    nothing.
  - A field that an earlier source replaced, and that no override sets now, reverts to the node's own value, which the
    dump contains. The plan marks this change as C(no_longer_declared). If that value is not known, the plan contains a
    warning. Without both O(config) and O(node_configs), and with O(target), nothing reverts.
  - Other unset fields keep their value, because the desired configuration of a node is its live one with the overrides.
    Nodes that differ get several variants.
  - An override merges maps and replaces lists, and V(null) removes a field. It replaces C(evictionHard),
    C(evictionSoft), C(evictionSoftGracePeriod) and C(evictionMinimumReclaim) as a whole, as the kubelet does. The plan
    names the lost keys. A removed live value is a change with the effect of its field on every Kubernetes version.
  - Fails when the plan contains a refusal. The result still contains the plan.
extends_documentation_fragment:
  - livenodes.kubelet.options.configmap
  - livenodes.kubelet.attributes
attributes:
  check_mode:
    details: This module changes nothing.
  diff_mode:
    details: Shows the live and the desired configuration of each variant.
requirements:
  - PyYAML
options:
  current:
    description:
      - The table that M(livenodes.kubelet.kubelet_configz_facts) returns.
    type: dict
    required: true
  config:
    description:
      - Overrides for every node, as a mapping or as YAML text.
    type: raw
  node_configs:
    description:
      - Overrides by node name, as a mapping, YAML text, or a list of these. They are applied in order, after
        O(config).
      - Or a mapping of these by the variables C(kubelet_config) and C(kubelet_config_host), which messages then name.
        Below them, C(kubelet_config_profile) names security profiles, V(cis-1.12) or V(stig-v2r6) or a list of them.
    type: dict
  flags:
    description:
      - Arguments of the kubelet's command line by node name, where known. The plan shows which changed fields they
        override.
    type: dict
  deliveries:
    description:
      - The requested delivery by node name, as for M(livenodes.kubelet.node_config_source). A node without a value has
        V(auto).
      - With V(dropin), the desired configuration of a node holds only what the overrides declare. The kubelet lays it
        over the node's own configuration, and merges every map key by key, C(evictionHard) too.
    type: dict
  own:
    description:
      - Results of M(livenodes.kubelet.kubelet_preflight_info) with C(delivery=dropin) and C(disk=true) by node name,
        for nodes from 1.24 on whose delivery is not V(native).
      - The desired configuration of a node with V(checkpoint) is its own config file merged with the overrides, instead
        of its live configuration. It contains no defaults. Without the content of the file, the plan has a warning, and
        the desired configuration is the live one merged with the overrides.
      - The changes of a node with V(dropin) include what the restart takes up from its own config file, if that changed
        after the kubelet started. They are marked as C(own_file_changed), and O(allow_effect) limits their effect too.
    type: dict
  migrate:
    description:
      - With V(equal) and V(changed), the plan has only the nodes whose delivery is V(checkpoint) now and V(dropin) in
        O(deliveries). It needs O(own) of them.
      - With V(equal), it refuses every change of what a kubelet runs.
    type: str
    choices: [stay, equal, changed]
    default: stay
  target:
    description:
      - One complete configuration, as a mapping or as YAML text. It takes the place of the live configuration of every
        node, before the overrides. With it, a plan rolls nodes back to a ConfigMap.
      - Fields that belong to one machine, such as C(providerID), C(address), C(reservedMemory) and C(tlsCertFile), keep
        the live value of each node. The plan warns where O(target) has another one.
    type: raw
  back:
    description:
      - Whether to plan the return of each node to the C(goal) of its row in O(current), which
        M(livenodes.kubelet.kubelet_configz_facts) adds with its option C(goals). No ConfigMap is made for it. All other
        options but O(flags), O(allow_effect) and O(allow_effects) are ignored.
      - The effect of a change that is not known is V(disrupt).
    type: bool
    default: false
  allow_effect:
    description:
      - The strongest effect that a change may have. The plan refuses stronger changes.
      - Fields that must not change on a running node according to Kubernetes are always refused.
    type: str
    choices: [safe, disrupt, drain, reboot]
    default: disrupt
  allow_effects:
    description:
      - The strongest effect that the changes of single nodes may have, by node name. The others have O(allow_effect).
    type: dict
  allow_invalid:
    description:
      - Whether values that the kubelet's own validation certainly refuses cause only a warning. The kubelet then
        refuses the configuration itself. With native delivery, this costs a restart and a revert of the node. With
        the other deliveries, the check before the switch refuses it.
    type: bool
    default: false
  allow_hidden:
    description:
      - Whether C(enableServer) and C(enableDebuggingHandlers) may be V(false), with a warning. The kubelet then shows
        no user what it runs. The status of its Node and its heartbeat have to show that it worked, and on a node with a
        guard also C(healthz) there.
      - Roll such a node back, or reset it, before you plan another change for it.
    type: bool
    default: false
seealso:
  - module: livenodes.kubelet.kubelet_configz_facts
  - module: livenodes.kubelet.kubelet_configmap
"""

EXAMPLES = r"""
- name: Plan more pods for all nodes and fewer for one
  livenodes.kubelet.kubelet_config_plan:
    current: "{{ ansible_facts.kubelet_configz }}"
    config:
      maxPods: 150
    node_configs:
      n3:
        maxPods: 50
  delegate_to: localhost
  run_once: true
  register: edit_result

- name: Show it
  ansible.builtin.debug:
    msg: "{{ edit_result.plan.text }}"
  run_once: true
"""

RETURN = r"""
plan:
  description: The plan, also when it is refused.
  returned: always
  type: dict
  contains:
    variants:
      description: The desired configurations by their hash.
      type: dict
    nodes:
      description: >-
        One row for each node. C(variant) is its configuration, C(source) the ConfigMap that will hold it, C(delivery)
        how it gets there. C(action) is V(assign) or V(none). C(effect), C(changes) and C(problems) describe the change,
        and C(own) is the record of the node's own values to assign with it. C(whole) states whether the variant is the
        whole configuration that the node then runs. C(allocatable) has, where a change touches it, by resource what
        pods may request C(before) and C(after), and the C(capacity).
      type: dict
    refused:
      description: Whether any problem is a refusal.
      type: bool
    summary:
      description: >-
        Counts, and why nodes of the group get different variants. C(from_live) counts the nodes whose own config file
        was needed and not read.
      type: dict
    text:
      description: The plan for people, line by line.
      type: list
      elements: str
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.controller_module import Definition
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import edit

MODULE = Definition(
    {
        "current": {"type": "dict", "required": True},
        "config": {"type": "raw"},
        "node_configs": {"type": "dict"},
        "flags": {"type": "dict"},
        "deliveries": {"type": "dict"},
        "own": {"type": "dict"},
        "migrate": {"type": "str", "choices": ["stay", "equal", "changed"], "default": "stay"},
        "target": {"type": "raw"},
        "back": {"type": "bool", "default": False},
        "allow_effect": {"type": "str", "choices": ["safe", "disrupt", "drain", "reboot"], "default": "disrupt"},
        "allow_effects": {"type": "dict"},
        "allow_invalid": {"type": "bool", "default": False},
        "allow_hidden": {"type": "bool", "default": False},
        "name": {"type": "str", "default": "livenodes-kubelet"},
        "namespace": {"type": "str", "default": "kube-system"},
        "key": {"type": "str", "default": "kubelet", "no_log": False},
    },
    edit.edit,
)
main = MODULE.run

if __name__ == "__main__":
    main()
