# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet's unit of a simulated node: a systemd that runs it, and what a kubelet does with its configuration.

A configuration is a text whose `behavior` decides what a kubelet does with it:

* `good`: every kubelet runs it.
* `old`: binary 1 runs it, binary 2 refuses it, as after the removal of a feature gate.
* `bad`: every kubelet refuses it.
* `dies`: the kubelet ends DIES_SECONDS after each start.
* `deaf`: the kubelet runs, and its healthz does not answer.

Its `cpuManagerPolicy` is real: a kubelet ends at its start when its state file has another one, and makes the file
where there is none (pkg/kubelet/cm/cpumanager/state/state_checkpoint.go, restoreState).
"""

from __future__ import annotations

import json
import random
import subprocess
import typing as t

from tests.support.node.disk import Disk

# Settings of the kubelet's unit, as kubeadm ships it.
RESTART_SECONDS = 10.0
DIES_SECONDS = 30.0
# No process of this machine has this id.
NO_PROCESS = "99999999"
POLICY = "cpuManagerPolicy"
ROOT_FOLDER = "/var/lib/kubelet"
STATE_FILE = f"{ROOT_FOLDER}/cpu_manager_state"
WORDS = {
    "bad": "failed to validate kubelet configuration, error: invalid configuration: maxPods must not be negative",
    "old": "failed to set feature gates from initial flags-based config: unrecognized feature gate: Old",
    "dies": "failed to listen: bind: address already in use",
    "runtime": "failed to run Kubelet: validate service connection: connection error: dial unix "
    "/run/containerd/containerd.sock: connect: connection refused",
    "no file": "failed to load kubelet config file: no such file or directory",
    "policy": "could not restore state from checkpoint: configured policy differs from state checkpoint policy, please "
    'drain this node and delete the CPU manager checkpoint file "cpu_manager_state" before restarting Kubelet',
    "full": "could not restore state from checkpoint: no space left on device, please drain this node and delete the "
    'CPU manager checkpoint file "cpu_manager_state" before restarting Kubelet',
}


def text(behavior: str, name: str, policy: str = "none") -> str:
    """Return a configuration of this behavior; `name` makes it distinct."""
    return json.dumps({"kind": "KubeletConfiguration", "behavior": behavior, "name": name, POLICY: policy})


def state(policy: str) -> bytes:
    """Return the content of the state file that a kubelet with this policy makes."""
    return json.dumps({"policyName": policy, "defaultCpuSet": "", "checksum": 1}).encode()


class Kubelet:
    """The process that systemd runs: what it read, and when it began and ends."""

    def __init__(self, content: str, begun: float) -> None:
        self.content, self.begun = content, begun
        self.behavior = json.loads(content)["behavior"]


class Node(t.Protocol):
    """What the unit needs of the node."""

    seconds: float
    version: int
    runtime: bool
    disk: Disk
    program: t.Any
    dice: random.Random

    def prestart(self) -> None:
        """Run the step of ours before a start."""

    def read(self) -> str:
        """Return what the kubelet reads, empty when there is no file."""


class SimulatedUnit:
    """One unit, without a process at first.

    `dependency`: whether what it requires can start. `unanswered`: how many looks at the unit are answered before one
    is not; None for all. `stopped`: whether an operator has stopped it since its last start. `disobeyed`: how often the
    guard ordered a restart then. `left`: the InvocationID of the last kubelet that no start followed because of its
    dependency, which systemd writes to the journal.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.kubelet: Kubelet | None = None
        self.invocation, self.restarts, self.result = "", 0, "success"
        self.state, self.killed = ("inactive", "dead"), False
        self.logs: dict[str, str] = {}
        self.next_start: float | None = None
        self.dependency, self.left = True, ""
        self.unanswered: int | None = None
        self.stopped, self.disobeyed = False, 0
        self.guard_restarts = self.refused_starts = self.failed_orders = 0

    def power_off(self) -> None:
        self.kubelet, self.next_start, self.restarts = None, None, 0
        self.state, self.stopped = ("inactive", "dead"), False
        # What it requires is a matter of the boot too.
        self.dependency = True

    def order(self, verb: str) -> bool:
        """Do what `systemctl` orders, start, stop or restart; return whether that succeeded.

        systemd stops a kubelet before it starts what that requires: if this fails, no other start follows.
        """
        if verb != "stop" and self.dependency:
            self.start()
            return True
        self.kubelet, self.next_start = None, None
        self.state, self.result, self.killed = ("inactive", "dead"), "success", False
        if verb != "stop":
            self.failed_orders += 1
            # Who orders a start wants a kubelet that runs.
            self.stopped, self.left = False, self.invocation
        return verb == "stop"

    def start_again(self) -> None:
        """Start the kubelet by `Restart=`. If what it requires fails, no other start follows either."""
        if self.dependency:
            self.start(self.restarts + 1)
        else:
            self.next_start, self.state, self.left = None, ("inactive", "dead"), self.invocation

    def start(self, restarts: int = 0) -> None:
        """Start the kubelet: the prestart step, then the process."""
        self.kubelet, self.next_start, self.stopped = None, None, False
        self.restarts = restarts
        self.invocation = f"i{self.node.dice.randrange(10**12)}"
        self.state = ("activating", "start-pre")
        self.node.prestart()
        content = self.node.read()
        self.state = ("active", "running")
        self.kubelet = Kubelet(content, self.node.seconds) if content else None
        wrong = self._wrong(content)
        if wrong:
            self.ended(WORDS[wrong])

    def ended(self, words: str, killed: bool = False) -> None:
        """End the process, which logs these words last."""
        self.kubelet, self.state, self.result = None, ("activating", "auto-restart"), "exit-code"
        self.killed = killed
        if words:
            self.logs[self.invocation] = f'E1122 13:38:14.192413     419 run.go:72] "command failed" err="{words}"\n'
        self.next_start = self.node.seconds + RESTART_SECONDS

    def events(self) -> t.Iterator[tuple[float, t.Callable[[], object]]]:
        """Yield what happens next by itself, and when."""
        if self.kubelet and self.kubelet.behavior == "dies":
            yield self.kubelet.begun + DIES_SECONDS, lambda: self.ended(WORDS["dies"])
        if self.next_start is not None:
            yield self.next_start, self.start_again

    def run(self, argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        words, out, code = list(argv), "", 0
        if words[1:2] == ["show"]:
            out = "" if self._unanswered() else self._shown()
            code = 0 if out else 1
        elif words[1:2] == ["restart"]:
            self.disobeyed += self.stopped
            code = 0 if self.order("restart") else 1
            self.guard_restarts += not code
        elif words[1:2] == ["--version"]:
            out = f"Kubernetes v1.{self.node.version}.0\n"
        elif words[-1] == "JOB_RESULT=dependency":
            out = "Dependency failed" if words[-2] == f"INVOCATION_ID={self.left}" else ""
        elif "journalctl" in words:
            out = self.logs.get(words[-1].partition("=")[2], "")
        return subprocess.CompletedProcess(words, code, out, "")

    def refuses(self, content: str) -> bool:
        behavior = json.loads(content)["behavior"]
        return behavior == "bad" or (behavior == "old" and self.node.version > 1)

    def policy(self) -> str:
        """Return the policy in the state file, empty without one."""
        try:
            return str(json.loads(self.node.disk.load(STATE_FILE))["policyName"])
        except OSError:
            return ""

    def _wrong(self, content: str) -> str:
        """Return why a kubelet ends at its start, as a key of WORDS; empty if it does not."""
        if not content:
            return "no file"
        config = json.loads(content)
        if self.refuses(content):
            # While the disk is read-only no guard can revert.
            self.refused_starts += not self.node.disk.failure(0, "rename")
            return str(config["behavior"])
        if not self.node.runtime:
            return "runtime"
        found = self.policy()
        if found:
            return "policy" if found != config[POLICY] else ""
        return "" if self._make_state_file(config[POLICY]) else "full"

    def _make_state_file(self, policy: str) -> bool:
        disk = self.node.disk
        if disk.failure(0, "create"):
            return False
        disk.put(STATE_FILE, state(policy))
        return True

    def _unanswered(self) -> bool:
        if self.unanswered is None:
            return False
        self.unanswered = self.unanswered - 1 if self.unanswered else None
        return self.unanswered is None

    def _shown(self) -> str:
        active, sub = self.state
        shown = {
            "ActiveState": active,
            "SubState": sub,
            "Result": self.result,
            "InvocationID": self.invocation,
            "NRestarts": str(self.restarts),
            "MainPID": NO_PROCESS if self.kubelet and active == "active" else "0",
            "ExecStart": f"{{ path={self.node.program} ; argv[]={self.node.program} ; }}",
            "ExecMainCode": "2" if self.killed else "1",
        }
        return "".join(f"{name}={value}\n" for name, value in shown.items())
