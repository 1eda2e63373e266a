#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_config_source
short_description: Assign config sources to nodes, take them away, and wait for the kubelets
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Points nodes at the ConfigMaps their kubelets are to run with (Node.spec.configSource, or an annotation where the kubelet does not follow that),
    all nodes in one call, and reads back what the API server stored.
  - Refuses before anything is written when a node does not exist, when its kubelet could not follow, or when the ConfigMap could not be used.
  - Waits, with one LIST a poll for all nodes or a GET each where they are few of many, until the kubelets run what they were told, and says of every one
    that does not what stands in its way.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.source
  - livenodes.kubelet.attributes
  - livenodes.kubelet.attributes.actiongroup_cluster
attributes:
  check_mode:
    support: full
    details: By a dry run of the API server. Nothing is waited for.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  state:
    description:
      - V(present) assigns O(source) to O(nodes), or O(sources).
      - V(absent) takes the config source of O(nodes) away, so that kubelets with native delivery go back to their local config.
      - V(verified) changes nothing and waits until the nodes run O(source) or O(sources), or what is written down for them when neither is given.
    type: str
    choices: [present, absent, verified]
    default: present
  sources:
    description:
      - A config source for each node, by node name, each with C(namespace), C(name) and C(kubeletConfigKey). Further keys are ignored, so that a row
        of RV(livenodes.kubelet.kubelet_configmap#module:configmaps) can be given as it is.
    type: dict
  delivery:
    description:
      - How the config reaches the kubelets. A source in O(sources) may have a C(delivery) of its own.
      - V(native) writes Node.spec.configSource, which kubelets of 1.11 to 1.23 with C(--dynamic-config-dir) follow.
      - V(checkpoint) writes the annotation C(kubelet-config.livenodes.io/source) and returns RV(configmaps), which the role
        P(livenodes.kubelet.checkpoint#role) carries to the node. Until then no kubelet does anything.
      - V(auto) is V(checkpoint) for nodes that have this annotation or C(kubelet-config.livenodes.io/status), V(native) for others whose kubelet
        reports Node.status.config, and V(checkpoint) for the rest. With O(state=absent) it takes the source away wherever it stands.
    type: str
    choices: [auto, native, checkpoint]
    default: auto
  check_source:
    description:
      - Whether to refuse to assign a ConfigMap that does not exist, has no such key or holds no KubeletConfiguration.
    type: bool
    default: true
  wait:
    description:
      - Whether to wait, after O(state=present) and O(state=absent), until the kubelets have followed. Only those with native delivery follow by
        themselves.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait for all nodes together. A kubelet of 1.20 takes 11 to 30 s to take up a source and to restart.
    type: int
    default: 180
  wait_sleep:
    description:
      - Seconds between two polls; less in the first seconds, longer where listing the nodes takes long.
    type: int
    default: 2
  pods:
    description:
      - With O(state=verified), the pods of each node before it was changed, as RV(livenodes.kubelet.kubelet_rollout_gate#module:pods). Nodes that run what
        they should are then held against them, as M(livenodes.kubelet.node_soak) does with C(seconds=0), which this call saves.
      - Without it pods are not looked at.
    type: dict
  allow_pod_loss:
    description:
      - How many O(pods) each node may lose; V(true) for any number. Pods that restarted, and those that are not Ready again in time, count as lost.
    type: str
    default: '0'
  pods_timeout:
    description:
      - Seconds in which those of O(pods) that were Ready have to be Ready again, once the nodes run what they should.
    type: int
    default: 120
  lease:
    description:
      - The Lease of the rollout, as RV(livenodes.kubelet.kubelet_rollout_lease#module:lease) is. It is renewed while O(pods) are waited for; the module
        fails when the rollout has lost it. Without it, nothing is renewed.
    type: dict
seealso:
  - module: livenodes.kubelet.kubelet_configmap
  - module: livenodes.kubelet.node_config_info
"""

EXAMPLES = r"""
- name: Assign one ConfigMap to two nodes and wait
  livenodes.kubelet.node_config_source:
    nodes: [n1, n2]
    source:
      name: livenodes-kubelet-5m7f2b6t4c
    wait: true
  delegate_to: localhost
  run_once: true

- name: Assign to each node its own
  livenodes.kubelet.node_config_source:
    sources:
      n1: {namespace: kube-system, name: livenodes-kubelet-5m7f2b6t4c, kubeletConfigKey: kubelet}
      n2: {namespace: kube-system, name: livenodes-kubelet-9dk65kdhm7, kubeletConfigKey: kubelet}
  delegate_to: localhost
  run_once: true

- name: Back to the local config
  livenodes.kubelet.node_config_source:
    nodes: [n1, n2]
    state: absent
    wait: true
  delegate_to: localhost
  run_once: true
"""

RETURN = r"""
nodes:
  description:
    - One row for each node, by name, on failure as well.
    - C(changed), C(delivery), C(source) (what the node should run now) and C(previous) (what it ran, and can go back to) after an assignment. After a wait also
      C(ok), C(state), C(message), C(differences) and the parts of the status that M(livenodes.kubelet.node_config_info) returns.
  returned: always
  type: dict
  contains:
    state:
      description: >-
        V(assigned), V(reset), V(unchanged) or V(unknown) without a wait; V(active), V(local), V(pending), V(fell_back), V(sync_error), V(reassigned),
        V(not_listening), V(not_ready), V(differs), V(silent) or V(not_restarting) after one; with O(pods) also V(pods_lost) and V(pods_unready).
      type: str
    message:
      description: The same in words, with cause and remedy.
      type: str
    ok:
      description: Whether the node is where it should be.
      type: bool
    differences:
      description: Fields whose live value is not the one in the source, with the flags that can override them.
      type: list
      elements: dict
    pods:
      description: With O(pods), those that are C(lost), C(restarted) and C(unready), each with C(namespace), C(name) and C(reason).
      type: dict
  sample:
    n1:
      changed: true
      state: active
      ok: true
      previous: null
      source: {namespace: kube-system, name: livenodes-kubelet-5m7f2b6t4c, kubeletConfigKey: kubelet}
configmaps:
  description: The data of the ConfigMaps that nodes with delivery V(checkpoint) are to have, by C(namespace/name).
  returned: with O(state=present)
  type: dict
summary:
  description: Counts over all nodes.
  returned: always
  type: dict
  sample: {nodes: 2, changed: 2, failed: 0, unchanged: 0}
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import config_sources
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import assign_and_wait

MODULE = controller_module.define(
    {
        "state": {"type": "str", "choices": ["present", "absent", "verified"], "default": "present"},
        **config_sources.SELECTION,
        "check_source": {"type": "bool", "default": True},
        "wait": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 180},
        "wait_sleep": {"type": "int", "default": 2},
        "pods": {"type": "dict"},
        "allow_pod_loss": {"type": "str", "default": "0"},
        "pods_timeout": {"type": "int", "default": 120},
        "lease": {"type": "dict"},
    },
    assign_and_wait.config_source,
    patient=True,
    mutually_exclusive=[("source", "sources"), ("nodes", "sources")],
    required_one_of=[("nodes", "sources")],
    required_by={"source": ("nodes",)},
    required_if=[("state", "present", ("source", "sources"), True)],
)


def main() -> None:
    """Run the module."""
    MODULE.run()


if __name__ == "__main__":
    main()
