# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_config_inputs
short_description: Check the variables of a run against the argument specs of the roles
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Checks the variables C(kubelet_config_*) of all hosts of the play, wherever they are set, and fails with one message
    that names every wrong one, its value and its hosts.
  - A value is wrong if its variable has another type, other choices or another range. A name is wrong if no role has a
    variable of this name, and one has nearly this name. The message contains it. This includes names that do not begin
    with C(kubelet_config), such as C(kubelet_confg).
  - Warns of other unknown names with this prefix, and of hosts whose groups both set C(kubelet_config), unless one of
    these groups contains the other.
  - The playbooks of this collection run it once in their first play, so they skip the validation of the roles, which
    would run once for each role and host.
  - Refuses hosts of one run that differ in a variable that belongs to the whole run, such as C(kubelet_config_auth),
    which names the cluster, and values that only roles hand to each other, such as C(kubelet_config_plan).
  - Refuses hosts that name the same node, and a text that is not a configuration.
  - Refuses a host C(localhost) of the inventory whose connection is not C(local).
  - Renders templates first. If that is not possible yet, the role checks the value later.
  - Does not check the fields in C(kubelet_config) and C(kubelet_config_host), which the plan checks, and no variable of
    a role outside O(roles).
  - Runs on the controller, without a connection to the hosts.
extends_documentation_fragment:
  - livenodes.kubelet.attributes.read_only
options:
  roles:
    description:
      - Roles of this collection whose variables are checked. The default is all of them.
    type: list
    elements: str
    choices: [assign, checkpoint, comply, drift, dump, edit, push, rollout, upgrade_check, verify]
  entry_point:
    description:
      - The entry point of O(roles) that the play includes. The default is all of them.
    type: str
  of_the_run:
    description:
      - Further variables to check, which all hosts of this run must have in common.
    type: list
    elements: str
    default: []
  stage:
    description:
      - The role of a stage that begins, in a play that lists the roles itself. The module then only returns RV(alone).
        It fails with one sentence if an earlier role of the stages is missing, if two hosts name the same node, or if
        a variable of the hosts is set where it has no effect.
    type: str
    choices: [dump, edit, push, assign, verify]
  hosts:
    description:
      - Only check which hosts the run takes, in a play for all hosts. The module fails with one sentence if
        C(kubelet_config_hosts) is empty, has no host of the inventory, or has none in C(--limit).
      - With V(named), it also fails if a run has neither C(kubelet_config_hosts) nor C(--limit).
    type: str
    choices: [any, named]
seealso:
  - module: livenodes.kubelet.kubelet_config_plan
"""

EXAMPLES = r"""
- name: Check the variables before a play of your own that uses two roles
  livenodes.kubelet.kubelet_config_inputs:
    roles: [dump, edit]
  run_once: true

- name: Check what the role edit takes from the role dump
  livenodes.kubelet.kubelet_config_inputs:
    stage: edit
  run_once: true
  register: checked
"""

RETURN = r"""
began:
  description: When the check began, in seconds since 1970. The window of a rollout counts from there.
  returned: without O(stage) and O(hosts)
  type: int
  sample: 1763900000
cluster:
  description: >-
    The address of the cluster that the run is about, and where it was found, without credentials. Empty for roles that
    use none, and if the first request is going to report why it is not known.
  returned: without O(stage) and O(hosts)
  type: str
  sample: https://10.0.0.1:6443 (context production of /home/ops/.kube/config)
alone:
  description: >-
    Whether each host must work alone, because the strategy of the play has no common steps, as V(free) and
    V(host_pinned).
  returned: with O(stage)
  type: bool
msg:
  description: Every wrong variable, with its value, its hosts and what it accepts.
  returned: failure
  type: str
  sample: >-
    1 variable is wrong. Nothing was changed. Correct the inventory or the -e options, then run again:
    kubelet_config_drain is "Never" on all hosts: use never, when_needed or always
"""
