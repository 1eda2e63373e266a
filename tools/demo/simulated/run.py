# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo on simulated kubelets, `make demo`: plan, rollout, a refused configuration, a deadly one, a follower, reset.

Exits 1 when a step does not end as expected, 130 when interrupted. Only the report is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import threading
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from tests.sim.nodes.node import SimNode
from tools.demo.simulated.fleet import GROUP, NAMESPACE, OWN_FILE, Fleet
from tools.demo.steps import COMMAND, FOLDER, HEADLINE, LIVE, SUCCESS, UNIT, active, changes, exit_status, show

ROOT = Path(__file__).resolve().parents[3]
WANTED = """kubelet_config:
  maxPods: 80
  kubeAPIQPS: 60
"""
# Real defaults are minutes: each is the time in which a defect may show.
QUICK = """kubelet_config_soak_seconds: 1
kubelet_config_trial_seconds: 1
kubelet_config_max_unavailable: 100%
kubelet_config_wait_timeout: 60
"""
BAD = WANTED.replace("60", "-1")
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
BY_HAND = '{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "maxPods": 90}'


def main() -> int:
    """Run the demo; return the exit status."""
    return exit_status(whole)


def whole() -> None:
    """Start the simulated cluster and run all steps. Raises DemoError."""
    report = ROOT / "build/demo-report.html"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    show("The kubelets, the API server and systemd of this demo are SIMULATED: programs that run as you.", HEADLINE)
    show("The collection is not, on the nodes either. `make demo LAB=real` shows real kubelets (Debian, root).")
    folder = tempfile.TemporaryDirectory(prefix=FOLDER, ignore_cleanup_errors=True)
    with folder as home, contextlib.ExitStack() as stack:
        fleet = Fleet(Path(home), report, stack)
        (fleet.inventory / "group_vars/all.yml").write_text(QUICK, encoding="utf-8")
        run(fleet)
    fleet.expect("the report", report.exists(), True)
    show()
    show(f"The report of the rollout of step 3, a page for your browser: {report}", HEADLINE)


def run(fleet: Fleet) -> None:
    """Run all steps. Raises DemoError."""
    fleet.headline("Before: live values of the group, read from each kubelet's /configz")
    before = fleet.live()

    fleet.headline("Declare two fields for the group. The plan shows what would change, and changes nothing")
    fleet.write(f"group_vars/{GROUP}.yml", WANTED)
    fleet.playbook("plan", "-e", f"kubelet_config_hosts={GROUP}")

    fleet.headline("Roll it out: a canary first, then the others, each in its own way")
    fleet.rollout("rollout", report=True)
    good = fleet.live()
    fleet.expect("the live values", {(row["MAXPODS"], row["KUBEAPIQPS"]) for row in good.values()}, {(80, 60)})

    fleet.headline("Declare a value that kubelets refuse. Without the option below, the plan refuses it already")
    fleet.write(f"group_vars/{GROUP}.yml", BAD)
    fleet.rollout("rollout", "-e", "kubelet_config_allow_invalid=true", fails=True)
    show("The canary refused it and has its former configuration again. The other nodes were not touched.")
    fleet.expect("the live values", fleet.live(), good)

    fleet.headline("A value that a kubelet accepts and then dies of reaches n2, while no operator looks")
    deadly(fleet, good)

    fleet.headline("A follower on n3: annotations of its Node alone change it, without a login and without Ansible")
    follow(fleet)

    fleet.headline("Reset: each node runs its own file again, and nothing of the collection is left on it")
    fleet.rollout("reset")
    fleet.expect("the live values", fleet.live(), before)
    fleet.expect("what runs", {row["RUNS"] for row in before.values()}, {OWN_FILE})


def follow(fleet: Fleet) -> None:
    """Install a follower, assign and confirm a configuration by hand, remove the follower. Raises DemoError."""
    hosts = ("-e", "kubelet_config_hosts=n3")
    fleet.playbook("follow", *hosts, "-e", "kubelet_config_follow_unprotected=true", only="changed")
    show("$ kubectl create -f by-hand.yml    # a ConfigMap with maxPods: 90 and the label of this collection", COMMAND)
    fleet.push("by-hand", BY_HAND)

    def answer() -> following.Answer:
        notes = fleet.node("n3")["metadata"]["annotations"]
        return following.answer(notes)[0] or following.Answer()

    reference = {"namespace": NAMESPACE, "name": "by-hand", "kubeletConfigKey": "kubelet"}
    fleet.annotate("n3", "source", {"configMap": reference, "delivery": "dropin"})
    seconds = fleet.until("the answer of the follower", lambda: answer().trial or answer().refused)
    fleet.expect("what the follower refuses", answer().refused, "")
    show(f"{seconds:.0f} s later the kubelet runs it, on trial. Unless it is confirmed, the guard reverts it.")
    fleet.until("the report of the guard", lambda: active(fleet.status("n3"), OWN_FILE) == "by-hand")
    fleet.expect("maxPods", fleet.live(["n3"])["n3"]["MAXPODS"], 90)
    fleet.annotate("n3", "follow", {"trial": answer().trial})
    fleet.until("the confirmation", lambda: fleet.status("n3").get("reason") == annotation.CONFIRMED)
    show(f"  reason: {annotation.CONFIRMED}")
    fleet.playbook("follow", *hosts, "-e", "kubelet_config_follow=absent", only="changed")


def deadly(fleet: Fleet, good: t.Mapping[str, t.Mapping[str, t.Any]]) -> None:
    """Assign a configuration that kills the kubelet of n2, watch the guard, show its reason. Raises DemoError."""
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
