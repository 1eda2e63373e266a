#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_configmap
short_description: Push kubelet configurations as content-addressed ConfigMaps
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Ensures that each configuration exists as a ConfigMap whose name ends with the hash of its content, as
    C(kubectl create configmap --append-hash) names it. Identical content results in one object.
  - With O(state=pruned), removes ConfigMaps that no node uses.
  - With O(state=kubeadm), keeps kubeadm's own ConfigMap in sync. New nodes then join with the configuration of the
    other nodes, and C(kubeadm upgrade node) does not undo it.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.options.configmap
  - livenodes.kubelet.attributes
attributes:
  check_mode:
    details: Uses a dry run of the API server. With O(state=kubeadm), a difference is also reported as a warning.
options:
  state:
    description:
      - V(present) pushes O(config), O(variants) and O(src).
      - V(pruned) removes ConfigMaps that this collection created under O(name) and that no node of the cluster has in
        its spec, or reports as assigned, active or last-known-good. Other ConfigMaps are never removed. While a
        rollout is under way, nothing is removed, because it may have pushed ConfigMaps that it has not assigned yet.
        Therefore the module fails, or warns in check mode. It holds a Lease on all nodes meanwhile, so that no rollout
        begins. The Leases must be in C(kube-system), as those of the roles are.
      - V(kubeadm) merges the overrides that all O(node_configs) have in common into the configuration in
        C(kube-system/kubelet-config). Up to Kubernetes 1.22 it is C(kubelet-config-1.X), and in 1.23 either or both.
        C(kube-system/kubeadm-config) contains the version. The rest of the ConfigMap is not changed. O(name),
        O(namespace) and O(key) are ignored.
      - The cluster has one such ConfigMap for all its nodes. Therefore V(kubeadm) refuses values that not all nodes of
        the cluster share, and writes nothing. In check mode, this is a warning.
    type: str
    choices: [present, pruned, kubeadm]
    default: present
  config:
    description:
      - One configuration as a mapping of KubeletConfiguration fields. C(kind) and C(apiVersion) may be omitted.
      - For native delivery it must be complete, since the kubelet replaces everything. Merge your fields into what
        M(livenodes.kubelet.kubelet_configz_facts) has read of the node.
      - RV(source) refers to its ConfigMap, for the option O(livenodes.kubelet.node_config_source#module:source).
    type: dict
  variants:
    description:
      - Complete configurations by their hash, from RV(livenodes.kubelet.kubelet_config_plan#module:plan).
    type: dict
  src:
    description:
      - Files with one complete KubeletConfiguration each, in YAML or JSON. Their bytes are pushed unchanged.
    type: list
    elements: path
  immutable:
    description:
      - Whether to make the ConfigMaps immutable, so that an edit of one ConfigMap cannot change all nodes that use it.
      - The name does not depend on this option. API servers before 1.19 ignore it.
    type: bool
    default: true
  keep_days:
    description:
      - Days for which O(state=pruned) keeps a ConfigMap that this call creates, although no node uses it yet. Set it to
        push before a rollout that comes days later. At most V(3650).
      - A ConfigMap that exists is not changed, since kubelets that run it would restart.
    type: int
    default: 0
  access_only:
    description:
      - With O(state=pruned), keeps all ConfigMaps, and only revokes the access of nodes with a follower and of kubelets
        before 1.11 to those that they are not assigned any more. Without this option, both is done.
      - These nodes read a ConfigMap by a Role and a RoleBinding of its name with the suffix C(-reader), which
        M(livenodes.kubelet.node_config_source) creates. They keep on their disk what they have read.
    type: bool
    default: false
  node_configs:
    description:
      - With O(state=kubeadm), overrides by node name, as a mapping, YAML text, or a list of these that is applied in
        order.
      - Only overrides that all nodes have in common are used. Therefore name the nodes without overrides too (with
        V(null)), and omit exceptions of single nodes.
      - Maps are compared key by key, except those that a kubelet replaces as a whole. Machine-specific fields, such as
        C(resolvConf), are not changed.
    type: dict
  rollout:
    description:
      - With O(state=kubeadm), the name of the rollout that writes. The ConfigMap keeps it in an annotation, with what
        it replaces.
    type: str
  undo:
    description:
      - With O(state=kubeadm), the name of the rollout whose changes of the ConfigMap are undone, or V(all) for those of
        every rollout. A field that others have changed since stays. O(node_configs) is ignored then.
    type: str
  other_configs:
    description:
      - With O(state=kubeadm), overrides of the nodes that O(node_configs) omits, in the same form. They are not
        written. They show whether these nodes share the values to write. A node of the cluster in neither of the two
        options counts as a node without overrides. Names that are not nodes of the cluster are ignored.
    type: dict
seealso:
  - module: livenodes.kubelet.node_config_source
"""

EXAMPLES = r"""
- name: Push the variants of a plan
  livenodes.kubelet.kubelet_configmap:
    variants: "{{ edit_result.plan.variants }}"
  delegate_to: localhost
  run_once: true
  register: pushed

- name: Push what a kubelet runs, with one other value
  livenodes.kubelet.kubelet_configmap:
    config: "{{ dump.variants[dump.nodes.n1.variant] | combine({'maxPods': 80}) }}"
  vars:
    dump: "{{ ansible_facts.kubelet_configz }}"
  delegate_to: localhost
  run_once: true
  register: pushed

- name: Push a file
  livenodes.kubelet.kubelet_configmap:
    name: my-node-config
    src: [files/kubelet.yaml]
  delegate_to: localhost
  run_once: true

- name: Remove ConfigMaps that no node uses
  livenodes.kubelet.kubelet_configmap:
    state: pruned
  delegate_to: localhost
  run_once: true

- name: Make new nodes join with the configuration of the group
  livenodes.kubelet.kubelet_configmap:
    state: kubeadm
    node_configs:
      n1: {maxPods: 80}
      n2: {maxPods: 80}
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
configmaps:
  description:
    - One row for O(config) and each of O(variants), by its hash, and each of O(src), by its path, with the five fields
      of a config source reference.
    - With O(state=kubeadm), one row for each of kubeadm's ConfigMaps, by its name. It also contains C(changes), the
      list of changed paths, and C(refused), why only check mode accepts them, usually empty.
  returned: always
  type: dict
  sample:
    0d1f6a3c55:
      changed: true
      variant: 0d1f6a3c55
      namespace: kube-system
      name: livenodes-kubelet-5m7f2b6t4c
      uid: 147d55bf-dddc-42d0-be77-614fc2a1d38c
      resourceVersion: "274"
      kubeletConfigKey: kubelet
source:
  description: The reference to the ConfigMap of O(config).
  returned: with O(config)
  type: dict
  sample:
    namespace: kube-system
    name: livenodes-kubelet-5m7f2b6t4c
    uid: 147d55bf-dddc-42d0-be77-614fc2a1d38c
    resourceVersion: "274"
    kubeletConfigKey: kubelet
pruned:
  description: Names of the removed ConfigMaps.
  returned: O(state=pruned)
  type: list
  elements: str
revoked:
  description: >-
    The Roles and RoleBindings of followers, and of kubelets before 1.11, that were removed or lost a node.
  returned: O(state=pruned), if any was
  type: list
  elements: str
kept:
  description: Names of this collection's ConfigMaps that are still in use, or staged, see O(keep_days).
  returned: O(state=pruned)
  type: list
  elements: str
summary:
  description: >-
    Counts, C(configmaps) and C(created). With O(state=pruned) C(pruned) and C(kept), with O(state=kubeadm)
    C(configmaps) and C(updated).
  returned: always
  type: dict
  sample: {configmaps: 2, created: 1}
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import push

MODULE = controller_module.define(
    {
        "state": {"type": "str", "choices": ["present", "pruned", "kubeadm"], "default": "present"},
        "config": {"type": "dict"},
        "variants": {"type": "dict"},
        "src": {"type": "list", "elements": "path"},
        "name": {"type": "str", "default": "livenodes-kubelet"},
        "namespace": {"type": "str", "default": "kube-system"},
        "key": {"type": "str", "default": "kubelet", "no_log": False},
        "immutable": {"type": "bool", "default": True},
        "access_only": {"type": "bool", "default": False},
        "keep_days": {"type": "int", "default": 0},
        "node_configs": {"type": "dict"},
        "other_configs": {"type": "dict"},
        "rollout": {"type": "str"},
        "undo": {"type": "str"},
    },
    push.push,
    patient=True,
    required_if=[("state", "present", ("config", "variants", "src"), True), ("state", "kubeadm", ("node_configs",))],
)
main = MODULE.run

if __name__ == "__main__":
    main()
