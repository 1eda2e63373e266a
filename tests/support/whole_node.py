# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole node in one process: the real store and the real guard on a disk in memory, with a simulated systemd and
kubelet, a clock of its own, and faults.

A configuration is a text whose `behavior` decides what a kubelet does with it:

* `good`: every kubelet runs it.
* `old`: binary 1 runs it, binary 2 refuses it, as after the removal of a feature gate.
* `bad`: every kubelet refuses it.
* `dies`: the kubelet ends DIES_SECONDS after each start.
* `deaf`: the kubelet runs, and its healthz does not answer.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import random
import subprocess
import typing as t
from pathlib import Path
from unittest import mock

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import guard as guard_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import new_binary, observe
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.base import Settings
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.guard import Guard
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.guard_files import Started
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Moment
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import checkpoint_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import binary
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.lock import LockError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.store_error import StoreError
from tests.support.disk import FILLING, Disk, PowerCut

# Settings of the kubelet's unit, as kubeadm ships it.
RESTART_SECONDS = 10.0
DIES_SECONDS = 30.0
TRIAL_SECONDS = 60.0
CONFIRM_SECONDS = 300.0
# A guard that only waits looks less often in the model: after so many looks without a change, up to so many seconds
# apart. Most looks of a long wait change nothing.
IDLE_LOOKS, IDLE_SECONDS = 5, 8.0
# Long enough for every deadline of a guard to pass, one after the other.
LONG = 3600.0
ENDPOINT = "unix:///run/containerd/containerd.sock"
# No process of this machine has this id.
NO_PROCESS = "99999999"
WORDS = {
    "bad": "failed to validate kubelet configuration, error: invalid configuration: maxPods must not be negative",
    "old": "failed to set feature gates from initial flags-based config: unrecognized feature gate: Old",
    "dies": "failed to listen: bind: address already in use",
    "runtime": "failed to run Kubelet: validate service connection: connection error: dial unix "
    "/run/containerd/containerd.sock: connect: connection refused",
}


def text(behavior: str, name: str) -> str:
    """Return a configuration of this behavior; `name` makes it distinct."""
    return json.dumps({"kind": "KubeletConfiguration", "behavior": behavior, "name": name})


class Kubelet:
    """The process that systemd runs: what it read, and when it began and ends."""

    def __init__(self, content: str, begun: float) -> None:
        self.content, self.begun = content, begun
        self.behavior = json.loads(content)["behavior"]


class WholeNode:
    """One node. Times are seconds of CLOCK_BOOTTIME; `seed` decides what a power cut leaves."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.config_dir = str(folder / "kubelet-config")
        self.own = folder / "config.yaml"
        self.own.write_text(text("good", "own"))
        self.program = folder / "kubelet"
        self.disk = Disk()
        for depth in range(1, len(Path(self.config_dir).parts) - 1):
            self.disk.mkdir("/" + "/".join(Path(self.config_dir).parts[1 : depth + 1]), 0o755)
        self.disk = self.disk.copy()
        # The folder /run.
        self.memory = Disk()
        self.boot, self.seconds = 1, 100.0
        self.version = 0
        self.install(1)
        self.runtime = self.api = True
        self.kubelet: Kubelet | None = None
        self.invocation, self.restarts, self.result = "", 0, "success"
        self.state, self.killed = ("inactive", "dead"), False
        self.logs: dict[str, str] = {}
        self.errors: list[str] = []
        # Whether the end of the guard is that of the whole node.
        self.power_cut = False
        self.next_start: float | None = None
        self.watching, self.next_look = False, 0.0
        self.idle, self.before = 0, (0, "")
        self.guard_restarts = self.refused_starts = 0
        self.armed_guard = self._guard()
        # Without our drop-in the kubelet reads its own file.
        self.dropin = False
        self.start()

    def standing_in(self) -> contextlib.ExitStack:
        """Return the patches with which this node stands in for the machine: its clock, its kubelet's binary."""
        stack = contextlib.ExitStack()
        stack.enter_context(mock.patch.object(binary, "check", self.check))
        stack.enter_context(mock.patch.object(Moment, "now", self._now))
        # A guard is installed, and starts; `call` wakes it.
        stack.enter_context(mock.patch.object(checkpoint_module, "GUARD", str(self.program.parent)))
        stack.enter_context(mock.patch.object(checkpoint_module, "_start_guard", lambda *_trial: ""))
        for module in (new_binary, observe):
            stack.enter_context(mock.patch.object(module, "open", self._open, create=True))
        return stack

    # What happens to the node

    def install(self, version: int) -> None:
        """Replace the kubelet's binary."""
        if version != self.version:
            self.version = version
            self.program.unlink(missing_ok=True)
            self.program.write_text(f"kubelet {version}" + " " * version)

    def advance(self, seconds: float) -> None:
        """Let time pass: systemd starts the kubelet again, the guard's service looks."""
        end = self.seconds + seconds
        while True:
            moment, act = min(self._events(), key=lambda event: event[0])
            if moment > end:
                self.seconds = end
                return
            self.seconds = max(self.seconds, moment)
            self._survive(act)

    def kill_kubelet(self) -> None:
        """End the kubelet's process, as the kernel does when memory is short."""
        if self.kubelet:
            self._ended("", killed=True)

    def crash(self, after: int, power_cut: bool, seconds: float) -> None:
        """Let time pass; the guard, with `power_cut` the node, ends after so many changes of the disk."""
        self.disk.cut_after, self.power_cut = len(self.disk.calls) + after, power_cut
        self.advance(seconds)
        self.disk.cut_after = None

    def reboot(self, power_cut: bool) -> None:
        """Boot the node again, after a shutdown or a power cut."""
        if power_cut:
            failure = self.disk.failure
            self.disk = self.disk.one_after_power_cut(self.dice)
            self.disk.failure = failure
        self.disk.cut_after = None
        self.memory = Disk()
        self.boot += 1
        self.seconds, self.restarts = 10.0, 0
        self.kubelet, self.next_start = None, None
        self.armed_guard = self._guard()
        # The conditions of the guard's service.
        found = any(self._exists(f"{self.config_dir}/store/{name}") for name in ("trial", "report", "progress"))
        self.watching, self.next_look = found, self.seconds
        self._survive(self.start)

    def fill(self, number: int) -> None:
        """Make the disk fail: ENOSPC for what needs a block, EROFS for every change, 0 for none."""
        self.disk.failure = lambda _index, name: number if number == errno.EROFS or (number and name in FILLING) else 0

    # What the controller does

    def assign(self, source: dict[str, str], content: str, cut: int | None = None, power: bool = False) -> bool:
        """Switch to a source and restart the kubelet, as the role does; return whether that was done.

        `cut`: the controller (with `power`: the node) ends after so many changes of the disk.
        """
        if not self.call("assigned", source, {"kubelet": content}, cut, power):
            return False
        self.dropin = True
        self.start()
        return True

    def call(
        self,
        state: str,
        source: dict[str, str] | None = None,
        data: dict[str, str] | None = None,
        cut: int | None = None,
        power: bool = False,
    ) -> bool:
        """Call the module kubelet_checkpoint; return whether it succeeded."""
        options = {
            "state": state,
            "config_dir": self.config_dir,
            "source": source
            and {
                "namespace": source["namespace"],
                "name": source["name"],
                "uid": source["uid"],
                "resource_version": source["resourceVersion"],
                "kubelet_config_key": source["kubeletConfigKey"],
            },
            "data": data,
            "local_config": str(self.own) if state == "assigned" else None,
            "local_files": None,
            "trial_seconds": TRIAL_SECONDS,
            "confirm_seconds": CONFIRM_SECONDS,
            "was_healthy": self.healthy(),
            "invocation": self.invocation,
            "kubelet_version": f"v1.{self.version}.0",
            "state_files": [],
            "reason": "the controller rolled it back",
            "unconfirmed_only": True,
            "remove": False,
            "collect": True,
            "lock_timeout": 1,
        }
        self.disk.cut_after = None if cut is None else len(self.disk.calls) + cut
        try:
            checkpoint_module.apply(options, False, Store(self.config_dir, self.disk))
        except PowerCut:
            if power:
                self.reboot(power_cut=True)
            return False
        except (StoreError, LockError, OSError):
            return False
        finally:
            self.disk.cut_after = None
            # The module starts the guard before the switch, and nothing else does before the next start.
            self._wake()
        return True

    # systemd

    def start(self, restarts: int = 0) -> None:
        """Start the kubelet's unit: the prestart step, then the process."""
        self.kubelet, self.next_start = None, None
        self.restarts = restarts
        self.invocation = f"i{self.dice.randrange(10**12)}"
        self.state = ("activating", "start-pre")
        if self.dropin:
            try:
                if self._guard().prestart():
                    self._wake()
            except (StoreError, LockError, OSError):
                pass
            except PowerCut:
                # The unit ignores how its prestart step ends.
                self._killed()
        content = self._read()
        self.state = ("active", "running")
        self.kubelet = Kubelet(content, self.seconds) if content else None
        if not content:
            self._ended("failed to load kubelet config file: no such file or directory")
        elif self.refuses(content):
            # While the disk is read-only no guard can revert.
            self.refused_starts += not self.disk.failure(0, "rename")
            self._ended(WORDS[json.loads(content)["behavior"]])
        elif not self.runtime:
            self._ended(WORDS["runtime"])

    def run(self, argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a command of the guard."""
        words, out = list(argv), ""
        if words[1:2] == ["show"]:
            active, sub = self.state
            shown = {
                "ActiveState": active,
                "SubState": sub,
                "Result": self.result,
                "InvocationID": self.invocation,
                "NRestarts": str(self.restarts),
                "MainPID": NO_PROCESS if self.kubelet and active == "active" else "0",
                "ExecStart": f"{{ path={self.program} ; argv[]={self.program} ; }}",
                "ExecMainCode": "2" if self.killed else "1",
            }
            out = "".join(f"{name}={value}\n" for name, value in shown.items())
        elif words[1:2] == ["restart"]:
            self.guard_restarts += 1
            self.start()
        elif words[1:2] == ["--version"]:
            out = f"Kubernetes v1.{self.version}.0\n"
        elif "journalctl" in words:
            out = self.logs.get(words[-1].partition("=")[2], "")
        return subprocess.CompletedProcess(words, 0, out, "")

    # What can be seen

    def refuses(self, content: str) -> bool:
        """Whether the installed binary refuses a configuration."""
        behavior = json.loads(content)["behavior"]
        return behavior == "bad" or (behavior == "old" and self.version > 1)

    def healthy(self) -> bool:
        """Whether the kubelet's healthz answers."""
        return self.kubelet is not None and self.kubelet.behavior != "deaf"

    def check(self, content: str, *_rest: t.Any, **_options: t.Any) -> binary.Verdict:
        """Answer like the kubelet's binary that is asked about a configuration."""
        if self.refuses(content):
            return binary.Verdict(binary.INVALID, [WORDS[json.loads(content)["behavior"]]], [])
        return binary.Verdict(binary.VALID, [], [])

    # Helpers

    def _now(self, *_root: str) -> Moment:
        return Moment(f"boot{self.boot}", self.seconds, 1e9 + self.seconds)

    def _guard(self) -> Guard:
        return Guard(
            Store(self.config_dir, self.disk),
            Settings(
                argv=(str(self.program), f"--container-runtime-endpoint={ENDPOINT}"),
                config=str(self.own),
                lock_seconds=0.2,
            ),
            self.run,
            self._now,
            lambda *_where: "" if self.healthy() else "no answer",
            verify=lambda: "" if self.api else "no API server answers",
            away=lambda path: "" if self.runtime else f"{path} refuses connections",
            started=Started("/run/guard/started", self.memory),
        )

    def _events(self) -> t.Iterator[tuple[float, t.Callable[[], object]]]:
        yield float("inf"), lambda: None
        if self.kubelet and self.kubelet.behavior == "dies":
            yield self.kubelet.begun + DIES_SECONDS, lambda: self._ended(WORDS["dies"])
        if self.next_start is not None:
            yield self.next_start, lambda: self.start(self.restarts + 1)
        if self.watching:
            yield self.next_look, self._look

    def _ended(self, words: str, killed: bool = False) -> None:
        self.kubelet, self.state, self.result = None, ("activating", "auto-restart"), "exit-code"
        self.killed = killed
        if words:
            self.logs[self.invocation] = f'E1122 13:38:14.192413     419 run.go:72] "command failed" err="{words}"\n'
        self.next_start = self.seconds + RESTART_SECONDS

    def _look(self) -> None:
        """One turn of the guard's service, as guard_main.watch does it."""
        guard = self.armed_guard
        try:
            wait = guard.tick()
        except (StoreError, LockError, OSError) as error:
            self.errors.append(f"{self.seconds:.0f} {error}")
            wait = 10.0
        except PowerCut:
            self._killed()
            # systemd starts the service again.
            wait = 1.0
        report = guard.records.report()
        if report is not None:
            if self.api and guard.reportable():
                try:
                    guard.records.sent(report, None)
                except (StoreError, OSError):
                    wait = 5.0 if wait is None else wait
            else:
                wait = min(5.0 if wait is None else wait, guard_module.LONGEST_SECONDS)
        self.watching = wait is not None
        now = self.disk.changes, self.invocation
        self.idle, self.before = self.idle + 1 if now == self.before else 0, now
        least = min(self.idle - IDLE_LOOKS, IDLE_SECONDS)
        self.next_look = self.seconds + max(wait or 0.0, least, 0.001)

    def _killed(self) -> None:
        """Continue after the guard was killed; pass on the end of the whole node."""
        self.disk.cut_after = None
        if self.power_cut:
            raise PowerCut

    def _wake(self) -> None:
        if not self.watching:
            self.watching, self.next_look = True, self.seconds

    def _survive(self, act: t.Callable[[], object]) -> None:
        try:
            act()
        except PowerCut:
            self.reboot(power_cut=True)

    def _open(self, path: str, *arguments: t.Any, **options: t.Any) -> t.IO[str]:
        """Open a file for reading, on this node's disk if it is below the config folder."""
        if not path.startswith(self.config_dir):
            return open(path, *arguments, **options)
        return io.StringIO(self.disk.look(path).decode())

    def _read(self) -> str:
        """Return what the kubelet reads, empty when there is no file."""
        if not self.dropin:
            return self.own.read_text()
        try:
            return self.disk.look(f"{self.config_dir}/active/kubelet").decode()
        except OSError:
            return ""

    def _exists(self, path: str) -> bool:
        try:
            self.disk.lstat(path)
        except OSError:
            return False
        return True
