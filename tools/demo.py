# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make demo`: the main job on real kubelets, by both deliveries, for all to see.

Runs the playbooks exactly as a user does, prints each command before it runs, and looks at the kubelets with kubectl
after it. Exits 1 when a step ends other than it should, 130 when interrupted. A lab that it started itself is gone
afterwards, whatever happened.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.lab import processes  # noqa: E402  # found only after the line above
from tests.lab.console import LabError  # noqa: E402  # likewise
from tests.lab.lab import Lab  # noqa: E402  # likewise
from tests.lab.node import LabNode  # noqa: E402  # likewise

GROUP = "workers_a"
NODES = ("n1", "n3")
FIELDS = ("maxPods", "kubeAPIQPS", "evictionPressureTransitionPeriod")
SOAK = ("-e", "kubelet_config_soak_seconds=5")
WANTED = "kubelet_config:\n  maxPods: 80\n  evictionPressureTransitionPeriod: 2m\n"
EXCEPTION = "kubelet_config_host:\n  maxPods: 60\n"
BAD = WANTED + "  kubeAPIQPS: -1\n"
# The node that plays one of Kubernetes 1.24 or later, and a config that its kubelet finds valid and dies of.
MODERN = "n3"
STORE = "/var/lib/kubelet-config"
STATUS = "kubelet-config.livenodes.io/status"
UNIT = ("ActiveState", "SubState", "NRestarts")
DEADLY = WANTED + "  evictionHard:\n    memory.available: lots\n"
PAST_THE_PLAN = """\
- name: One config for one node, whatever a plan would say
  hosts: n3
  gather_facts: false
  roles:
    - role: livenodes.kubelet.checkpoint
      vars:
        kubelet_config_source: {{namespace: kube-system, name: deadly, uid: {uid}, resourceVersion: "{revision}", kubeletConfigKey: kubelet}}
        kubelet_config_data:
          kubelet: "{{{{ lookup('ansible.builtin.file', 'deadly.json') }}}}"
"""
# Tasks that had nothing to do are not shown, and results stand as YAML: easier to read, otherwise as it comes.
CONFIG = "[defaults]\ndisplay_skipped_hosts = false\ncallback_result_format = yaml\nlocalhost_warning = false\n"


class DemoError(Exception):
    """A step ended other than it should."""


def colours() -> bool:
    """Whether a person looks at a terminal that shows colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show(text: str = "", code: str = "") -> None:
    """Print a line, in a colour (an ANSI code) where there is a terminal."""
    print(f"\033[{code}m{text}\033[0m" if code and colours() else text, flush=True)


class Demo:
    """The steps, on a lab that is up, in a folder of their own."""

    def __init__(self, lab: Lab, home: Path) -> None:
        self.lab = lab
        self.home = home
        self.step_number = 0
        self.inventory = home / "inventory"
        for folder in ("group_vars", "host_vars"):
            (self.inventory / folder).mkdir(parents=True)
        shutil.copy(lab.inventory, self.inventory / "lab.yml")
        (home / "ansible.cfg").write_text(CONFIG, encoding="utf-8")
        # Nothing of the caller's own Ansible or cluster may play a part.
        kept = ("ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_HOME")
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name in kept or not name.startswith(("ANSIBLE_", "K8S_AUTH_", "KUBECONFIG"))
        }
        self.environment["K8S_AUTH_KUBECONFIG"] = str(lab.kubeconfig)

    def headline(self, text: str) -> None:
        """Begin a step."""
        self.step_number += 1
        show()
        show(f"{self.step_number}. {text}", "1;36")

    def write(self, name: str, text: str) -> None:
        """Write a variables file of the inventory and show it."""
        (self.inventory / name).write_text(text, encoding="utf-8")
        show(f"$ cat inventory/{name}", "1")
        show(text.rstrip())

    def playbook(self, name: str, *arguments: str, fails: bool = False, only: str = "") -> None:
        """Run a playbook of the collection, and show all that it says or the first line with `only`; raises DemoError
        unless it ends as it should.
        """
        command = ["ansible-playbook", "-i", "inventory", f"livenodes.kubelet.{name}", *arguments]
        show(f"$ {shlex.join(command)}{f' 2>/dev/null | grep -m 1 {shlex.quote(only)}' if only else ''}", "1")
        started = time.monotonic()
        done = subprocess.run(
            command,
            check=False,
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            text=True,
            stdout=subprocess.PIPE if only else None,
            stderr=subprocess.DEVNULL if only else None,
        )
        status = done.returncode
        for line in (done.stdout or "").splitlines():
            if only in line:
                show(line.strip())
                break
        show(f"(exit {status} after {time.monotonic() - started:.0f} s)")
        if (status != 0) != fails:
            raise DemoError(f"the playbook {name} should have {'failed' if fails else 'succeeded'} and exited {status}")

    def configz(self, name: str) -> dict[str, t.Any]:
        """Return what a kubelet runs with; an empty mapping when it does not answer."""
        return t.cast(
            "dict[str, t.Any]",
            json.loads(
                self.lab.kubectl("get", "--raw", f"/api/v1/nodes/{name}/proxy/configz", check=False) or "{}"
            ).get("kubeletconfig", {}),
        )

    def status(self, name: str) -> dict[str, t.Any]:
        """Return what a Node says of its config: in an annotation, or in status.config where its kubelet has that."""
        node = json.loads(self.lab.kubectl("get", "node", name, "-o", "json"))
        told = node["metadata"].get("annotations", {}).get(STATUS)
        return t.cast("dict[str, t.Any]", json.loads(told) if told else node["status"].get("config") or {})

    def live(self, names: t.Sequence[str] = NODES) -> dict[str, dict[str, t.Any]]:
        """Ask kubelets what they run with, show it as a table, and return the rows by node."""
        table = {}
        for name in names:
            show(
                f"$ kubectl get --raw /api/v1/nodes/{name}/proxy/configz; kubectl get node {name} -o json; ssh {name} systemctl show kubelet",
                "1",
            )
            configz, status = self.configz(name), self.status(name)
            active = (status.get("active") or {}).get("configMap", {}).get("name", "the file on the node")
            run = self.lab.node(name).invocation_id()[:8]
            table[name] = {
                **{field: configz[field] for field in FIELDS},
                "active config": active,
                "invocation": run,
                "error": status.get("error", ""),
            }
        head = ["node", *table[names[0]]]
        rows = [head, *([name, *map(str, row.values())] for name, row in table.items())]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        for row in rows:
            show("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip(), "1;33")
        return table

    def expect(self, what: str, found: object, wanted: object) -> None:
        """Raise DemoError unless a value is what it should be."""
        if found != wanted:
            raise DemoError(f"{what} should be {wanted!r} and is {found!r}")

    def run(self) -> None:
        """Show it all."""
        self.by_the_api()
        with self.without_dynamic_config() as node:
            self.on_the_node(node)

    def by_the_api(self) -> None:
        """Native delivery: nobody logs in to a node."""
        hosts = ("-e", f"kubelet_config_hosts={GROUP}")
        self.headline(f"What the kubelets of the group {GROUP} run with now: the file on each node")
        before = self.live()

        self.headline(
            "Say what the group should have, and what one of its nodes should have instead; look at the plan (changes nothing)"
        )
        self.write(f"group_vars/{GROUP}.yml", WANTED)
        self.write("host_vars/n3.yml", EXCEPTION)
        self.playbook("plan", *hosts)

        self.headline("Roll it out, one node after the other, and stay with each for 5 s (30 by default)")
        self.playbook("rollout", *hosts, *SOAK)
        good = self.live()
        self.expect("maxPods by node", {name: row["maxPods"] for name, row in good.items()}, {"n1": 80, "n3": 60})

        self.headline("Do it again: nothing to do, no kubelet restarts")
        self.playbook("rollout", *hosts, *SOAK)
        self.expect("the live state", self.live(), good)

        self.headline(
            "A bad config: the kubelet of the first node refuses it; the rollout brings it back, says why, stops, and leaves the other node alone"
        )
        self.write(f"group_vars/{GROUP}.yml", BAD)
        self.playbook("rollout", *hosts, *SOAK, fails=True)
        bad = self.live()
        self.expect(
            "what n1 runs with", *({key: row["n1"][key] for key in (*FIELDS, "active config")} for row in (bad, good))
        )
        self.expect("n3, which is after n1,", bad["n3"], good["n3"])
        show(
            "The kubelet of n1 went back to the file on the node, since the good config of step 3 had not held for the 10 minutes that make it "
            "last-known-good; the rollout gave it the good one again."
        )

        self.headline("Reset: every kubelet goes back to the file on its node")
        self.playbook("reset", *hosts)
        after = self.live()
        for name in NODES:
            self.expect(
                f"what {name} runs with",
                *({key: row[name][key] for key in (*FIELDS, "active config")} for row in (after, before)),
            )

    @contextlib.contextmanager
    def without_dynamic_config(self) -> t.Iterator[LabNode]:
        """A node as of Kubernetes 1.24 or later: its kubelet does not listen to its Node, and never did. As it was
        again in every ending.
        """
        self.headline(
            f"From Kubernetes 1.24 on no kubelet listens to its Node. {MODERN} plays such a node: its kubelet runs without --dynamic-config-dir now"
        )
        node = self.lab.node(MODERN)
        try:
            node.set_dynamic(False)
            processes.wait_for(f"an answer of the kubelet of {MODERN}", lambda: self.configz(MODERN) != {}, 60)
            # Left behind for ever by a kubelet that had the flag.
            self.lab.apiserver.api().call(
                "PATCH", f"/api/v1/nodes/{MODERN}/status", {"status": {"config": None}}, "application/merge-patch+json"
            )
            yield node
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            self.kill_ansible()
            try:
                if node.run(f"ls -d {STORE}", check=False).strip() == STORE:
                    self.playbook("reset", "-e", f"kubelet_config_hosts={MODERN}")
            finally:
                self.lab.kubectl("delete", "configmap", "-n", "kube-system", "deadly", "--ignore-not-found")
                node.set_dynamic(True)
                self.lab.wait_listening()

    def kill_ansible(self) -> None:
        """Kill everything that a playbook of `kill_after_the_switch` runs on this machine."""
        processes.stop(self.lab.settings, "demo", patience=0)

    def on_the_node(self, node: LabNode) -> None:
        """Checkpoint delivery: the config is carried to the node, and a guard there brings it back."""
        hosts = ("-e", f"kubelet_config_hosts={MODERN}")
        self.write(f"group_vars/{GROUP}.yml", WANTED)
        show("The same playbook. It finds that nobody listens there, and carries the config to the node over ssh.")
        self.playbook("rollout", *hosts, *SOAK, "-e", "kubelet_config_trial_seconds=5")
        processes.wait_for(f"the end of the trial of {MODERN}", lambda: "lastKnownGood" in self.status(MODERN), 60)
        show("It has held for the 5 seconds of its trial (600 by default), so it is the last-known-good of this node.")
        good = self.live((MODERN,))[MODERN]
        self.expect(f"maxPods of {MODERN}", good["maxPods"], 60)

        self.headline(
            "A value that the kubelet finds valid, and dies of as soon as it runs: the plan knows it and refuses"
        )
        self.write(f"group_vars/{GROUP}.yml", DEADLY)
        self.playbook("plan", *hosts, fails=True, only=f"({MODERN}): evictionHard")

        self.headline(
            "What if one gets through? Put it on the node past the plan, and kill Ansible as soon as the kubelet has been restarted"
        )
        deadly = self.write_deadly(good["active config"])
        self.kill_after_the_switch(node)
        seconds = self.watch(node, deadly)
        show(f"The kubelet answers again {seconds:.0f} s after Ansible was killed, with the good config.", "1;32")
        show(
            "No Ansible, no ssh and no API server had a part in that: it was the guard on the node. (A node made by kubeadm pauses 10 s before each "
            "restart, this one 1 s.) It has told the Node why:"
        )
        self.explain()
        back = self.live((MODERN,))[MODERN]
        self.expect(
            f"what {MODERN} runs with", *({key: row[key] for key in (*FIELDS, "active config")} for row in (back, good))
        )

        self.headline(
            "Reset: all that was put on the node goes, its kubelet runs its own file again; then remove the ConfigMaps that no node uses"
        )
        self.playbook("reset", *hosts)
        self.playbook("prune")
        self.expect(f"the config of {MODERN}", self.live((MODERN,))[MODERN]["active config"], "the file on the node")

    def write_deadly(self, good: str) -> str:
        """Write the good config with one bad value, and a playbook that carries it to the node; return the uid of its
        ConfigMap.
        """
        config = json.loads(
            json.loads(self.lab.kubectl("get", "configmap", "-n", "kube-system", good, "-o", "json"))["data"]["kubelet"]
        )
        config["evictionHard"] = {"memory.available": "lots"}
        (self.home / "deadly.json").write_text(json.dumps(config), encoding="utf-8")
        show("$ kubectl create configmap deadly -n kube-system --from-file=kubelet=deadly.json", "1")
        made = json.loads(
            self.lab.kubectl(
                "create",
                "configmap",
                "deadly",
                "-n",
                "kube-system",
                f"--from-file=kubelet={self.home}/deadly.json",
                "-o",
                "json",
            )
        )
        uid: str = made["metadata"]["uid"]
        text = PAST_THE_PLAN.format(uid=uid, revision=made["metadata"]["resourceVersion"])
        (self.home / "past-the-plan.yml").write_text(text, encoding="utf-8")
        show("$ cat past-the-plan.yml", "1")
        show(text.rstrip())
        return uid

    def kill_after_the_switch(self, node: LabNode) -> None:
        """Run that playbook, and kill it, workers and all, when the kubelet has been started anew."""
        before = node.invocation_id()
        command = ["ansible-playbook", "-i", "inventory", "past-the-plan.yml"]
        show(f"$ {shlex.join(command)}", "1")
        # Workers leave Ansible's process group; the lab's mark finds them all.
        environment = {**self.environment, processes.VARIABLE: f"{self.lab.settings.mark} demo"}
        with subprocess.Popen(
            command, cwd=self.home, env=environment, stdin=subprocess.DEVNULL, start_new_session=True
        ) as process:
            try:
                processes.wait_for(
                    "a restart of the kubelet",
                    lambda: process.poll() is not None or node.invocation_id() != before,
                    180,
                )
            finally:
                self.kill_ansible()
        self.expect("the end of Ansible", process.returncode, -signal.SIGKILL)
        show("$ kill -9 ...    # ansible-playbook, its workers, their ssh", "1;31")

    def watch(self, node: LabNode, deadly: str) -> float:
        """Do nothing but look until the kubelet answers with another config than the deadly one; return the seconds
        that took.
        """
        started, said = time.monotonic(), ""
        show(
            f"$ ssh {MODERN} 'systemctl show kubelet; readlink {STORE}/active'    # nothing else, again and again", "1"
        )
        while True:
            unit = dict(
                line.split("=") for line in node.run(f"systemctl show --property={','.join(UNIT)} kubelet").splitlines()
            )
            active = node.run(f"readlink {STORE}/active")
            seconds = time.monotonic() - started
            back = deadly not in active and self.configz(MODERN) != {}
            seen = "{} ({}), restarted {} times by systemd; config: {}{}".format(
                *(unit[name] for name in UNIT),
                "deadly" if deadly in active else "the good one",
                "; it answers" if back else "",
            )
            if seen != said:
                show(f"  +{seconds:4.1f} s  {seen}", "1;33")
                said = seen
            if back:
                return seconds
            if seconds > 90:
                raise DemoError(f"the kubelet of {MODERN} should answer with the good config by now: {seen}")
            time.sleep(0.2)

    def explain(self) -> None:
        """Show the Node's annotation and the Event, and hold them against what happened."""
        processes.wait_for(
            f"word from the guard of {MODERN}", lambda: "ended" in self.status(MODERN).get("error", ""), 30
        )
        show(
            f"$ kubectl get node {MODERN} -o jsonpath='{{.metadata.annotations.kubelet-config\\.livenodes\\.io/status}}'",
            "1",
        )
        status = self.status(MODERN)
        show(json.dumps(status, indent=2))
        self.expect("what was assigned last", status["assigned"]["configMap"]["name"], "deadly")
        selector = f"--field-selector=involvedObject.name={MODERN},reason=KubeletConfigChanged,type=Warning"
        show(f"$ kubectl get events {selector}", "1")
        processes.wait_for("the Event", lambda: "ended 2 times" in self.lab.kubectl("get", "events", selector), 30)
        show(self.lab.kubectl("get", "events", selector).rstrip())


def farewell(own: bool, lab: Lab) -> None:
    """Say how to go on."""
    show()
    show(
        "To go on by hand, bring the lab up again with `make lab-up`, and then:"
        if own
        else "The lab was up before and stays up. To go on by hand:",
        "1;36",
    )
    programs = Path(shutil.which("ansible-playbook") or "ansible-playbook").parent
    show(f"""\
  export PATH={programs}:$PATH ANSIBLE_COLLECTIONS_PATH={os.environ.get("ANSIBLE_COLLECTIONS_PATH", "")}
  export K8S_AUTH_KUBECONFIG={lab.kubeconfig}
  ansible-playbook -i {lab.inventory} livenodes.kubelet.plan -e kubelet_config_hosts={GROUP} -e '{{"kubelet_config": {{"maxPods": 80}}}}'
  {lab.cache.kubectl} --kubeconfig {lab.kubeconfig} get nodes""")


def is_up() -> bool:
    """Whether somebody else has a lab up here, whole or not."""
    try:
        Lab.attach()
    except LabError:
        return False
    return True


def end(*_signal: object) -> None:
    """Stop as for Ctrl-C; when the terminal is gone nobody reads on, and printing must not get in the way of cleaning
    up.
    """
    if _signal and _signal[0] == signal.SIGHUP:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    raise KeyboardInterrupt


def main() -> int:
    """Bring the lab up where there is none, run the demo, take down what was brought up."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    own = not is_up()
    started = time.monotonic()
    try:
        show("A lab of real kubelets: etcd, kube-apiserver 1.20.2 and three systemd nodes on this machine.", "1;36")
        show(
            "Made for this demo and removed after it. The first time its parts are built, in about 8 minutes."
            if own
            else "One is up and is used."
        )
        lab = Lab.up(nodes=3)
        with tempfile.TemporaryDirectory(prefix="livenodes-demo-") as home:
            demo = Demo(lab, Path(home))
            if not own:
                show("Its nodes may have been played with, so they begin with a reset.")
                demo.playbook("reset", "-e", f"kubelet_config_hosts={GROUP}")
            demo.run()
        farewell(own, lab)
        show(f"Done in {time.monotonic() - started:.0f} s.", "1;32")
        return 0
    except (DemoError, LabError) as error:
        show(f"demo: {error}", "1;31")
        return 1
    except KeyboardInterrupt:
        show("demo: interrupted", "1;31")
        return 130
    finally:
        if own:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            with contextlib.suppress(LabError):
                Lab.down()


if __name__ == "__main__":
    sys.exit(main())
