#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_configz_facts
short_description: Dump the live configuration of many kubelets
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Reads the configuration that each kubelet really runs from its C(/configz), through the API server. Needs one LIST
    of nodes and one GET for each node.
  - The dump is lossless. It restores what C(/configz) omits (C(kind), C(apiVersion) and explicitly empty values such as
    C(enforceNodeAllocatable=[])). A kubelet that gets the dumped configuration therefore behaves as before.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.options.selection
  - livenodes.kubelet.attributes.read_only
options:
  facts:
    description:
      - Whether to return the table as a fact. Ansible sets the facts of a C(run_once) task on every host of the batch
        and copies the facts of a host for each of its tasks. With many nodes, V(false) and C(register) are faster.
    type: bool
    default: true
  configmap:
    description:
      - A ConfigMap whose configuration is returned too, for the option
        O(livenodes.kubelet.kubelet_config_plan#module:target).
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
      kubelet_config_key:
        description: Key of the configuration in the ConfigMap.
        type: str
        default: kubelet
        aliases: [kubeletConfigKey]
  goals:
    description:
      - The sources to return to by node name, each with C(namespace), C(name) and C(kubeletConfigKey), or empty for the
        node's own file. Takes the place of O(nodes).
      - The rows then have a C(goal) for O(livenodes.kubelet.kubelet_config_plan#module:back). A kubelet that cannot be
        read is not a failure. Its row has no C(variant), and the cause as C(unread).
    type: dict
seealso:
  - module: livenodes.kubelet.kubelet_config_plan
"""

EXAMPLES = r"""
- name: Dump all kubelets of the play
  livenodes.kubelet.kubelet_configz_facts:
    nodes: "{{ ansible_play_batch }}"
  delegate_to: localhost
  run_once: true

- name: Show how many pods each node accepts
  ansible.builtin.debug:
    msg: "{{ dump.variants[dump.nodes[inventory_hostname].variant].maxPods }}"
  vars:
    dump: "{{ ansible_facts.kubelet_configz }}"
"""

RETURN = r"""
ansible_facts:
  description: The fact.
  returned: success, with O(facts=true)
  type: dict
  contains:
    kubelet_configz:
      description: >-
        The table that the other stages use. It contains each configuration once; nodes refer to it by its hash.
      type: dict
      contains:
        variants:
          description: Complete KubeletConfiguration objects by their content hash.
          type: dict
        nodes:
          description: >-
            One row for each node with its RV(ansible_facts.kubelet_configz.nodes.variant), C(kubelet_version), the
            C(machine_specific) paths, the C(restored) fields, and its C(delivery), C(source) and C(status) in the
            format of M(livenodes.kubelet.node_config_info). It contains C(own), the record of the values that sources
            replaced, C(malformed), what its C(follower) has reported as JSON, the C(capacity) of the Node for cpu,
            memory and ephemeral-storage and huge pages, if it has any, and C(read), if O(read=node).
          type: dict
          contains:
            variant:
              description: Hash of the node's configuration in C(variants).
              type: str
      sample:
        variants:
          0d1f6a3c55: {kind: KubeletConfiguration, apiVersion: kubelet.config.k8s.io/v1beta1, maxPods: 110}
        nodes:
          n1:
            variant: 0d1f6a3c55
            kubelet_version: v1.20.2
            machine_specific: [resolvConf]
            restored: []
            source: null
            status: {}
kubelet_configz:
  description: The same table as RV(ansible_facts.kubelet_configz).
  returned: success, with O(facts=false)
  type: dict
configmap:
  description: The complete KubeletConfiguration in O(configmap).
  returned: success, with O(configmap)
  type: dict
  sample: {kind: KubeletConfiguration, apiVersion: kubelet.config.k8s.io/v1beta1, maxPods: 110}
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import (
    config_sources,
    node_requests,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import dump

MODULE = controller_module.define(
    {
        **node_requests.SELECTION,
        "facts": {"type": "bool", "default": True},
        "configmap": {"type": "dict", "options": config_sources.PLACE},
        "goals": {"type": "dict"},
    },
    dump.dump,
    mutually_exclusive=[("goals", "nodes"), ("goals", "label_selectors")],
)
main = MODULE.run

if __name__ == "__main__":
    main()
