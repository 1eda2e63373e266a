# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make demo`: the main job on real kubelets, for all to see.

Runs the playbooks exactly as a user does, prints each command before it runs, and looks at the kubelets with kubectl after it.
Exits 1 when a step ends other than it should, 130 when interrupted. A lab that it started itself is gone afterwards, whatever happened.
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

from tests.lab.console import LabError  # noqa: E402  # found only after the line above
from tests.lab.lab import Lab  # noqa: E402  # likewise

GROUP = "workers_a"
NODES = ("n1", "n3")
FIELDS = ("maxPods", "kubeAPIQPS", "evictionPressureTransitionPeriod")
WANTED = "kubelet_config:\n  maxPods: 80\n  evictionPressureTransitionPeriod: 2m\n"
EXCEPTION = "kubelet_config_host:\n  maxPods: 60\n"
BAD = WANTED + "  kubeAPIQPS: -1\n"
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
        self.environment = {name: value for name, value in os.environ.items()
                            if name in kept or not name.startswith(("ANSIBLE_", "K8S_AUTH_", "KUBECONFIG"))}
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

    def playbook(self, name: str, *arguments: str, fails: bool = False) -> None:
        """Run a playbook of the collection; raises DemoError unless it ends as it should."""
        command = ["ansible-playbook", "-i", "inventory", f"livenodes.kubelet.{name}", *arguments]
        show(f"$ {shlex.join(command)}", "1")
        started = time.monotonic()
        status = subprocess.run(command, check=False, cwd=self.home, env=self.environment, stdin=subprocess.DEVNULL).returncode
        show(f"(exit {status} after {time.monotonic() - started:.0f} s)")
        if (status != 0) != fails:
            raise DemoError(f"the playbook {name} should have {'failed' if fails else 'succeeded'} and exited {status}")

    def live(self) -> dict[str, dict[str, t.Any]]:
        """Ask every kubelet of the group what it runs with, show it as a table, and return the rows by node."""
        table = {}
        for name in NODES:
            show(f"$ kubectl get --raw /api/v1/nodes/{name}/proxy/configz; kubectl get node {name} -o json; ssh {name} systemctl show kubelet", "1")
            configz = json.loads(self.lab.kubectl("get", "--raw", f"/api/v1/nodes/{name}/proxy/configz"))["kubeletconfig"]
            status = json.loads(self.lab.kubectl("get", "node", name, "-o", "json"))["status"].get("config") or {}
            active = (status.get("active") or {}).get("configMap", {}).get("name", "the file on the node")
            run = self.lab.node(name).invocation_id()[:8]
            table[name] = {**{field: configz[field] for field in FIELDS}, "active config": active, "invocation": run, "error": status.get("error", "")}
        head = ["node", *table[NODES[0]]]
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
        hosts = ("-e", f"kubelet_config_hosts={GROUP}")
        self.headline(f"What the kubelets of the group {GROUP} run with now: the file on each node")
        before = self.live()

        self.headline("Say what the group should have, and what one of its nodes should have instead; look at the plan (changes nothing)")
        self.write(f"group_vars/{GROUP}.yml", WANTED)
        self.write("host_vars/n3.yml", EXCEPTION)
        self.playbook("plan", *hosts)

        self.headline("Roll it out, one node after the other")
        self.playbook("rollout", *hosts)
        good = self.live()
        self.expect("maxPods by node", {name: row["maxPods"] for name, row in good.items()}, {"n1": 80, "n3": 60})

        self.headline("Do it again: nothing to do, no kubelet restarts")
        self.playbook("rollout", *hosts)
        self.expect("the live state", self.live(), good)

        self.headline("A bad config: the kubelet of the first node refuses it and goes back; the rollout stops, says why, and leaves the other node alone")
        self.write(f"group_vars/{GROUP}.yml", BAD)
        self.playbook("rollout", *hosts, fails=True)
        bad = self.live()
        self.expect("the error of n1", bad["n1"]["error"], "failed to validate config, see Kubelet log for details")
        self.expect("kubeAPIQPS of n1", bad["n1"]["kubeAPIQPS"], before["n1"]["kubeAPIQPS"])
        self.expect("n3, which is after n1,", bad["n3"], good["n3"])
        show("n1 is back on the file on the node: the good config of step 3 had not yet held for the 10 minutes that make it last-known-good.")

        self.headline("Reset: every kubelet goes back to the file on its node; then remove the ConfigMaps that no node uses")
        self.playbook("reset", *hosts)
        self.playbook("prune")
        after = self.live()
        for name in NODES:
            self.expect(f"what {name} runs with", *({key: row[name][key] for key in (*FIELDS, "active config")} for row in (after, before)))


def farewell(own: bool, lab: Lab) -> None:
    """Say how to go on."""
    show()
    show("To go on by hand, bring the lab up again with `make lab-up`, and then:" if own else "The lab was up before and stays up. To go on by hand:", "1;36")
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
    """Stop as for Ctrl-C; when the terminal is gone nobody reads on, and printing must not get in the way of cleaning up."""
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
        show("Made for this demo and removed after it. The first time its parts are built, in about 8 minutes." if own else "One is up and is used.")
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
