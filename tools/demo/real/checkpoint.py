# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Second half of the demo, checkpoint delivery: the configuration is copied to a node, and a guard there reverts it."""

from __future__ import annotations

import contextlib
import json
import shlex
import signal
import subprocess
import threading
import time
import typing as t

from tests.lab import processes
from tests.lab.node import LabNode
from tools.demo.real.steps import GROUP, OWN_FILE, SOAK, WANTED, Demo
from tools.demo.steps import COMMAND, FAILURE, LIVE, SUCCESS, UNIT, changes, show

# The node that stands for one of Kubernetes 1.24 or later.
MODERN = "n3"
STORE = "/var/lib/kubelet-config"
# The kubelet accepts this value as valid and exits as soon as it uses it.
DEADLY = WANTED + "  evictionHard:\n    memory.available: lots\n"
WITHOUT_PLAN = """\
- name: Assign a configuration to one node without a plan
  hosts: n3
  gather_facts: false
  roles:
    - role: livenodes.kubelet.checkpoint
      vars:
        kubelet_config_source:
          namespace: kube-system
          name: deadly
          uid: {uid}
          resourceVersion: "{revision}"
          kubeletConfigKey: kubelet
        kubelet_config_data:
          kubelet: "{{{{ lookup('ansible.builtin.file', 'deadly.json') }}}}"
"""


@contextlib.contextmanager
def without_dynamic_config(demo: Demo) -> t.Iterator[LabNode]:
    """Make a node look like one of Kubernetes 1.24 or later; restore it afterwards, however the demo ends."""
    demo.headline(
        "Since Kubernetes 1.24, kubelets no longer read their configuration from the API server.\n"
        f"   {MODERN} now stands for such a node: its kubelet restarts without --dynamic-config-dir"
    )
    node = demo.lab.node(MODERN)
    try:
        node.set_dynamic(False)
        processes.wait_for(f"an answer of the kubelet of {MODERN}", lambda: demo.configz(MODERN) != {}, 60)
        # A kubelet that had the flag leaves this status behind forever.
        demo.lab.apiserver.api().call(
            "PATCH", f"/api/v1/nodes/{MODERN}/status", {"status": {"config": None}}, "application/merge-patch+json"
        )
        yield node
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        kill_ansible(demo)
        try:
            if node.run(f"ls -d {STORE}", check=False).strip() == STORE:
                demo.playbook("reset", "-e", f"kubelet_config_hosts={MODERN}")
        finally:
            demo.lab.kubectl("delete", "configmap", "-n", "kube-system", "deadly", "--ignore-not-found")
            node.set_dynamic(True)
            demo.lab.wait_listening()


def run(demo: Demo, node: LabNode) -> None:
    """Roll out, refuse a deadly value, let one through and watch the guard revert it, reset."""
    hosts = ("-e", f"kubelet_config_hosts={MODERN}")
    demo.write(f"group_vars/{GROUP}.yml", WANTED)
    show("The playbook is the same. It detects that this kubelet needs its configuration on the node, and copies it.")
    demo.playbook("rollout", *hosts, *SOAK, "-e", "kubelet_config_trial_seconds=5")
    processes.wait_for(f"the end of the trial of {MODERN}", lambda: "lastKnownGood" in demo.status(MODERN), 60)
    show("The trial of 5 s (600 s by default) has passed: this configuration is now the node's last-known-good.")
    good = demo.live((MODERN,))[MODERN]
    demo.expect(f"maxPods of {MODERN}", good["maxPods"], 60)

    demo.headline("Declare a value that the kubelet accepts as valid and that then ends it: the plan refuses it")
    demo.write(f"group_vars/{GROUP}.yml", DEADLY)
    demo.playbook("plan", *hosts, fails=True, only=f"({MODERN}): evictionHard")

    demo.headline(
        "What if such a value reaches the node? Assign it without a plan, and kill Ansible as soon as the kubelet\n"
        "   has restarted"
    )
    deadly = write_deadly(demo, good["active config"])
    kill_after_the_switch(demo, node)
    seconds = watch(demo, node, deadly)
    show(f"{seconds:.0f} s after Ansible was killed, the kubelet answers again, with the good configuration.", SUCCESS)
    show(
        "The guard on the node did this without Ansible, ssh or the API server. (systemd pauses 1 s before each\n"
        "restart here, and 10 s on a node made by kubeadm.) The guard has reported the reason on the Node:"
    )
    show_reason(demo)
    demo.expect_same_config(f"what {MODERN} runs with", demo.live((MODERN,))[MODERN], good)

    demo.headline(
        "Reset: everything the collection put on the node is removed, and the kubelet runs with the node's own file.\n"
        "   Then prune: ConfigMaps that no node uses are deleted"
    )
    demo.playbook("reset", *hosts)
    demo.playbook("prune")
    demo.expect(f"the config of {MODERN}", demo.live((MODERN,))[MODERN]["active config"], OWN_FILE)


def kill_ansible(demo: Demo) -> None:
    """Kill all processes on this machine that belong to the playbook of `kill_after_the_switch`."""
    processes.stop(demo.lab.settings, "demo", patience=0)


def write_deadly(demo: Demo, good: str) -> str:
    """Write the good configuration with a deadly value, and a playbook that assigns it; return the ConfigMap's uid."""
    stored = json.loads(demo.lab.kubectl("get", "configmap", "-n", "kube-system", good, "-o", "json"))
    config = json.loads(stored["data"]["kubelet"])
    config["evictionHard"] = {"memory.available": "lots"}
    file = demo.home / "deadly.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    show("$ kubectl create configmap deadly -n kube-system --from-file=kubelet=deadly.json", COMMAND)
    create = ("create", "configmap", "deadly", "-n", "kube-system", f"--from-file=kubelet={file}", "-o", "json")
    created = json.loads(demo.lab.kubectl(*create))
    uid: str = created["metadata"]["uid"]
    text = WITHOUT_PLAN.format(uid=uid, revision=created["metadata"]["resourceVersion"])
    (demo.home / "without-plan.yml").write_text(text, encoding="utf-8")
    show("$ cat without-plan.yml", COMMAND)
    show(text.rstrip())
    return uid


def kill_after_the_switch(demo: Demo, node: LabNode) -> None:
    """Run that playbook; kill it and all its workers as soon as the kubelet has restarted."""
    before = node.invocation_id()
    command = ["ansible-playbook", "-i", "inventory", "without-plan.yml"]
    show(f"$ {shlex.join(command)}", COMMAND)
    # Workers leave Ansible's process group; the lab's mark in their environment finds them all.
    environment = {**demo.environment, processes.VARIABLE: f"{demo.lab.settings.mark} demo"}
    with subprocess.Popen(
        command, cwd=demo.home, env=environment, stdin=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            processes.wait_for(
                "a restart of the kubelet",
                lambda: process.poll() is not None or node.invocation_id() != before,
                180,
            )
        finally:
            kill_ansible(demo)
    demo.expect("the end of Ansible", process.returncode, -signal.SIGKILL)
    show("$ kill -9 ...    # ansible-playbook, its workers, their ssh", FAILURE)


def watch(demo: Demo, node: LabNode, deadly: str) -> float:
    """Observe, without acting, until the kubelet answers with another configuration; return the seconds that took."""
    started = time.monotonic()
    show(f"$ ssh {MODERN} 'systemctl show kubelet; readlink {STORE}/active'    # observe only, repeatedly", COMMAND)

    def look() -> tuple[bool, str]:
        listed = node.run(f"systemctl show --property={','.join(UNIT)} kubelet").splitlines()
        unit = dict(line.split("=") for line in listed)
        seen = "{ActiveState} ({SubState}), restarted {NRestarts} times by systemd; config: ".format_map(unit)
        if deadly in node.run(f"readlink {STORE}/active"):
            return True, f"{seen}deadly"
        return False, f"{seen}good"

    for line in changes(MODERN, look, lambda: demo.configz(MODERN), 90, threading.Event()):
        show(line, LIVE)
    return time.monotonic() - started


def show_reason(demo: Demo) -> None:
    """Show the reason that the guard reported, in the Node's annotation and as an Event, and check both."""
    processes.wait_for(
        f"the report of the guard of {MODERN}", lambda: "refused" in demo.status(MODERN).get("error", ""), 30
    )
    path = "{.metadata.annotations.kubelet-config\\.livenodes\\.io/status}"
    show(f"$ kubectl get node {MODERN} -o jsonpath='{path}'", COMMAND)
    status = demo.status(MODERN)
    show(json.dumps(status, indent=2))
    demo.expect("what was assigned last", status["assigned"]["configMap"]["name"], "deadly")
    selector = f"--field-selector=involvedObject.name={MODERN},reason=KubeletConfigChanged,type=Warning"
    show(f"$ kubectl get events {selector}", COMMAND)
    processes.wait_for(
        "the Event", lambda: "refused the configuration" in demo.lab.kubectl("get", "events", selector), 30
    )
    show(demo.lab.kubectl("get", "events", selector).rstrip())
