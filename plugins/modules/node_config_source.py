#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: node_config_source
short_description: Assign config sources to nodes, remove them, and wait for the kubelets
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Assigns to nodes the ConfigMaps that their kubelets must run, all nodes in one call, and reads back what the API
    server stored. The source is written to Node.spec.configSource, or to an annotation if the kubelet does not follow
    that field.
  - Refuses to write anything if the kubelet of a node could not follow, or if a ConfigMap is not usable. A node that
    does not exist, or that the API server does not let the module write, fails alone. The others are assigned.
  - Waits until the kubelets run their source, and reports for each other node what prevents it. For more than 8 nodes
    it sends one watch each second or two. Fewer nodes, or all if the user may not watch nodes, are read again by one
    LIST.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - livenodes.kubelet.attributes.cluster
  - livenodes.kubelet.options.source
  - livenodes.kubelet.options.delivery
  - livenodes.kubelet.options.lease
  - livenodes.kubelet.attributes
attributes:
  check_mode:
    details: Uses a dry run of the API server, does not wait, and does not renew O(lease).
options:
  state:
    description:
      - V(present) assigns O(source) to O(nodes), or O(sources).
      - V(absent) removes the config source of O(nodes), with O(delivery=auto) from both places. Kubelets with native
        delivery then run their local configuration.
      - V(verified) changes nothing. It waits until the nodes run O(source) or O(sources), or by default the source that
        is assigned to them.
      - V(settled) orders the followers of nodes to confirm what they have on trial, or to revert it, as O(verdicts)
        states, and waits until they have confirmed.
      - V(followed) changes nothing. It waits until a follower reports on each of O(nodes).
    type: str
    choices: [present, absent, verified, settled, followed]
    default: present
  sources:
    description:
      - A config source by node name, each with C(namespace), C(name) and C(kubeletConfigKey). With C(node_uid), a Node
        that was deleted and created again since then is not written and fails with V(replaced). Further keys are
        ignored, so a row of RV(livenodes.kubelet.kubelet_configmap#module:configmaps) fits.
      - C(own), from RV(livenodes.kubelet.kubelet_config_plan#module:plan), is the record of the node's own values, for
        the annotation C(own). Without C(own), the annotation is not changed.
        O(state=absent) with O(delivery=auto) removes it.
      - C(seen), of a node in a result of O(state=verified) or M(livenodes.kubelet.node_soak), saves O(state=settled)
        the read of a Node that is the same as then.
    type: dict
  rollout:
    description:
      - Name of the rollout that assigns the sources, from the role P(livenodes.kubelet.rollout#role). The annotation
        C(previous) then names it beside what the node ran before it. A later call with the
        same name keeps that.
    type: str
  undo:
    description:
      - Whether the nodes return to what they ran before the rollout that this annotation names. It is then kept, with
        the mark C(undone), also with O(state=absent).
    type: bool
    default: false
  transport:
    description:
      - Who takes a source to a node that reads a checkpoint or a drop-in. A source in O(sources) may have its own
        C(transport), also with O(state=absent).
      - V(api) leaves it to the follower on the node, and fails for a node without one. V(ssh) leaves it to the role
        P(livenodes.kubelet.checkpoint#role). V(auto) is V(api) for the nodes on which a follower reports.
    type: str
    choices: [auto, api, ssh]
    default: auto
  trial_seconds:
    description:
      - For followers, the seconds that a confirmed configuration must run without failure before it becomes
        last-known-good.
    type: int
    default: 600
  confirm_seconds:
    description:
      - For followers, the seconds after which the guard reverts a configuration that is not confirmed. The default is
        O(trial_seconds).
    type: int
  verdicts:
    description:
      - With O(state=settled), by node name why its configuration is reverted; an empty text confirms it. With
        O(sources), a node that has another source now fails with V(reassigned), and nothing is ordered there.
    type: dict
  check_source:
    description:
      - Whether to refuse a ConfigMap that does not exist, has no such key or contains no KubeletConfiguration.
    type: bool
    default: true
  wait:
    description:
      - Whether to wait, after O(state=present) and O(state=absent), until the kubelets have followed. Only kubelets
        with native delivery do so automatically.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait for all nodes together. A kubelet of 1.20 takes 11 to 30 s to load a source and to restart.
    type: int
    default: 180
  wait_sleep:
    description:
      - Seconds between two polls. It is shorter in the first seconds, and longer if listing the nodes takes long.
    type: int
    default: 2
  before:
    description:
      - With O(state=verified), what the nodes ran before they got a drop-in, from RV(before) of the assignment. The
        module then names each field that has changed although no drop-in declares it. Such a change is a failure only
        with O(hosts), and only if nothing in there explains it.
    type: dict
  current:
    description:
      - With O(state=present), the dump of the same run, from
        RV(livenodes.kubelet.kubelet_configz_facts#module:kubelet_configz). What it has of a node is not read again for
        RV(before), unless the node has another source or another version of the kubelet since.
    type: dict
  hosts:
    description:
      - With O(state=verified), the results of M(livenodes.kubelet.kubelet_preflight_info) just before the switch, by
        node name. The module reads C(kubelet) and C(own).
      - With it, the module also compares what a checkpoint from 1.24 on has from the node's own file. It leaves out
        what a flag or a drop-in of the node overrides.
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

- name: Assign what kubelet_configmap has pushed
  livenodes.kubelet.node_config_source:
    nodes: [n1]
    source: "{{ pushed.source }}"
  delegate_to: localhost
  run_once: true

- name: Assign a different ConfigMap to each node
  livenodes.kubelet.node_config_source:
    sources:
      n1: {namespace: kube-system, name: livenodes-kubelet-5m7f2b6t4c, kubeletConfigKey: kubelet}
      n2: {namespace: kube-system, name: livenodes-kubelet-9dk65kdhm7, kubeletConfigKey: kubelet}
  delegate_to: localhost
  run_once: true

- name: Return to the local configuration
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
    - Every module of the stages returns C(ok), C(state), C(message), C(changed), C(delivery), C(source) and C(error).
    - After an assignment it also contains C(previous) (what the node ran before) and C(uid) of the Node.
    - After a wait it also contains C(differences) and the parts of the status that
      M(livenodes.kubelet.node_config_info) returns.
  returned: always
  type: dict
  contains:
    state:
      description: >-
        Without a wait, V(assigned), V(reset), V(unchanged), V(unknown), V(gone) or V(replaced). After a wait,
        V(active), V(local), V(pending), V(fell_back), V(sync_error), V(reassigned), V(not_listening), V(malformed),
        V(not_ready), V(differs), V(silent), V(not_restarting), V(refused), V(gone) or V(replaced). With
        O(state=settled), V(confirmed), V(reverting), V(unanswered), V(pending), V(reassigned), or V(refused) and
        V(fell_back) if it was reverted before. With O(state=followed), V(followed) or V(unanswered).
      type: str
    message:
      description: The state in words, with cause and remedy.
      type: str
    ok:
      description: Whether the node was assigned, or after a wait runs, what it should.
      type: bool
    changed:
      description: Whether the module has changed the node.
      type: bool
    delivery:
      description: The name of a delivery, or V(none).
      type: str
    source:
      description: What the node should run now; V(null) for its local configuration.
      type: dict
    transport:
      description: V(api) if the follower takes the source to the node, V(ssh) if not. Only for nodes with a follower.
      type: str
    error:
      description: The error that the API server, the kubelet or its guard reports; empty without one.
      type: str
    differences:
      description: Fields whose live value differs from the source, with the flags that can override them.
      type: list
      elements: dict
    beside:
      description: >-
        With O(before), the fields that have changed although no drop-in declares them. C(cause) is what explains the
        change, empty if nothing in O(hosts) does.
      type: list
      elements: dict
    seen:
      description: >-
        For O(sources) with O(state=settled): what confirms the node through its follower as long as its Node is the
        same. Only for nodes that have a configuration on trial.
      type: str
  sample:
    n1:
      changed: true
      state: active
      ok: true
      previous: null
      source: {namespace: kube-system, name: livenodes-kubelet-5m7f2b6t4c, kubeletConfigKey: kubelet}
stop:
  description: >-
    Whether nothing was written, since a node or ConfigMap is unfit. If it is V(false), a failure concerns only the
    nodes whose C(ok) is V(false).
  returned: with O(state=present) and O(state=absent)
  type: bool
configmaps:
  description: >-
    The data of the ConfigMaps to copy to nodes whose delivery is not V(native), by C(namespace/name).
  returned: with O(state=present)
  type: dict
granted:
  description: >-
    The Roles and RoleBindings that were created or changed, so that kubelets before 1.11 may read their ConfigMap.
  returned: with O(state=present), if any was
  type: list
  elements: str
before:
  description: >-
    What the nodes run that get another drop-in, as C(variants) and C(nodes), for O(before) of their verification.
  returned: with O(state=present), if a node gets a drop-in
  type: dict
check_mode:
  description: V(true) if the rows of RV(nodes) name what would be changed.
  returned: in check mode, if a node would be changed
  type: bool
summary:
  description: Counts over all nodes.
  returned: always
  type: dict
  sample: {nodes: 2, changed: 2, failed: 0, unchanged: 0}
"""

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import config_sources
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import settle
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import assign_step

STATES = ["present", "absent", "verified", "settled", "followed"]
MODULE = controller_module.define(
    {
        "state": {"type": "str", "choices": STATES, "default": "present"},
        **config_sources.SELECTION,
        "check_source": {"type": "bool", "default": True},
        "wait": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 180},
        "wait_sleep": {"type": "int", "default": 2},
        "before": {"type": "dict"},
        "current": {"type": "dict"},
        "hosts": {"type": "dict"},
        "lease": {"type": "dict"},
        "rollout": {"type": "str"},
        "undo": {"type": "bool", "default": False},
        **assign_step.TRANSPORT,
        "verdicts": {"type": "dict"},
    },
    settle.config_source,
    patient=True,
    mutually_exclusive=[("source", "sources"), ("nodes", "sources")],
    required_one_of=[("nodes", "sources")],
    required_by={"source": ("nodes",)},
    required_if=[("state", "present", ("source", "sources"), True)],
)
main = MODULE.run

if __name__ == "__main__":
    main()
