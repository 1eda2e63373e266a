# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A configuration that kills the kubelet of n2, and how the guard on the node returns to the last good one."""

from __future__ import annotations

import json
import os
import threading
import typing as t
from concurrent.futures import ThreadPoolExecutor

from tests.sim.nodes.node import SimNode
from tools.demo.simulated.fleet import Fleet
from tools.demo.steps import COMMAND, LIVE, SUCCESS, UNIT, changes, show

NODE = "n2"
LIMIT = 240
# A rollout assigns, verifies and confirms. This one goes away after the restart.
WITHOUT_PLAN = """\
- name: Assign a configuration without a plan, restart the kubelet, go away
  hosts: n2
  gather_facts: false
  tasks:
    - name: Assign
      livenodes.kubelet.kubelet_checkpoint:
        state: assigned
        delivery: checkpoint
        source: %(source)s
        data:
          kubelet: "{{ lookup('ansible.builtin.file', 'deadly.json') }}"
    - name: Restart the kubelet
      ansible.builtin.command: systemctl restart kubelet
      changed_when: true
"""


def run(fleet: Fleet, good: t.Mapping[str, t.Mapping[str, t.Any]]) -> None:
    """Assign it, watch the guard, show its reason. Raises DemoError."""
    node = fleet.nodes[NODE]
    fleet.until("the end of the trial", lambda: "lastKnownGood" in fleet.status(NODE))
    source = _push(fleet, good[NODE]["RUNS"])
    (fleet.home / "without-plan.yml").write_text(WITHOUT_PLAN % {"source": json.dumps(source)}, encoding="utf-8")
    show("$ grep evictionHard deadly.json", COMMAND)
    show('  "evictionHard": {"memory.available": "lots"}')
    over = threading.Event()
    with ThreadPoolExecutor(1) as beside:
        # It begins before the playbook ends: a guard may be faster than Ansible.
        watched = beside.submit(_watch, node, source["uid"], over)
        try:
            fleet.playbook("without-plan.yml")
        except BaseException:
            over.set()
            raise
        show(f"$ ssh {NODE} systemctl show kubelet    # meanwhile, observed only", COMMAND)
        for line in watched.result():
            show(line, LIVE)
    show("The guard on the node did this, without Ansible, ssh or the API server. Its report:", SUCCESS)
    fleet.until("the report of the guard", lambda: fleet.status(NODE).get("error"))
    show(f"  error: {fleet.status(NODE)['error']}")
    fleet.expect("the live values", fleet.live(), good)


def _watch(node: SimNode, uid: str, over: threading.Event) -> list[str]:
    """Return what was seen until the kubelet answers with the good configuration, or until `over`. Raises DemoError."""
    active = node.at("/var/lib/kubelet-config/active")

    def look() -> tuple[bool, str]:
        is_deadly = uid in os.readlink(active)
        live = "deadly" if is_deadly else "good"
        state, sub, restarts = map(node.show, UNIT)
        return is_deadly, f"{state} ({sub}), restarted {restarts} times by systemd; configuration: {live}"

    return list(changes(NODE, look, node.configz, LIMIT, over))


def _push(fleet: Fleet, good: str) -> dict[str, str]:
    """Create a ConfigMap of the good configuration with a deadly value; return the module's source."""
    config = {**json.loads(fleet.pushed(good)), "evictionHard": {"memory.available": "lots"}}
    text = json.dumps(config, indent=2)
    (fleet.home / "deadly.json").write_text(text, encoding="utf-8")
    made = fleet.push("deadly", text)
    return {
        "namespace": "kube-system",
        "name": "deadly",
        "uid": made["uid"],
        "resource_version": made["resourceVersion"],
        "kubelet_config_key": "kubelet",
    }
