# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole node in one process: the real store and the real guard on a disk in memory, with a simulated systemd and
kubelet (simulated_unit.py), a clock of its own, and faults.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import json
import os
import random
import types
import typing as t
from pathlib import Path
from unittest import mock

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import values
from tests.support.node.disk import FILLING, Disk, PowerCut
from tests.support.node.simulated_unit import POLICY, ROOT_FOLDER, STATE_FILE, WORDS, Kubelet, SimulatedUnit, text
from tests.support.node.versions import OURS, Code

TRIAL_SECONDS = 60.0
CONFIRM_SECONDS = 300.0
# A guard that only waits looks less often in the model: after so many looks without a change, up to so many seconds
# apart. Most looks of a long wait change nothing.
IDLE_LOOKS, IDLE_SECONDS = 5, 8.0
# Long enough for every deadline of a guard to pass, one after the other.
LONG = 3600.0
ENDPOINT = "unix:///run/containerd/containerd.sock"
SERVICE = "/etc/systemd/system/livenodes-kubelet-guard.service"
# The guard's files in memory.
MEMORY = "/run/livenodes-kubelet-guard"


class WholeNode:
    """One node, with the guard of one version and the module of another.

    `seconds`: CLOCK_MONOTONIC; `slept`: seconds in which the machine slept since the boot, which it does not count.
    `seed` decides what a power cut leaves.
    """

    def __init__(self, folder: Path, seed: int, guard: Code = OURS, module: Code = OURS) -> None:
        self.guard, self.module = guard, module
        self.dice = random.Random(seed)
        self.config_dir = str(folder / "kubelet-config")
        # The lock of the store is a real file.
        os.mkdir(self.config_dir)
        self.own = folder / "config.yaml"
        self.own.write_text(text("good", "own"))
        self.program = folder / "kubelet"
        self.boot, self.seconds, self.slept = 1, 100.0, 0.0
        # By how many seconds the wall clock was set.
        self.set_by = 0.0
        self.version = 0
        self.install(1)
        self.runtime = self.api = True
        self.disk = self.memory = Disk()
        self._prepare_disk()
        self._mount_memory()
        self.unit = SimulatedUnit(self)
        self.errors: list[str] = []
        # What the last call of the module returned.
        self.result: dict[str, t.Any] = {}
        # Whether the end of the guard is that of the whole node.
        self.power_cut = False
        self.watching, self.next_look = False, 0.0
        self.idle, self.before = 0, (0, "")
        # Without our drop-in the kubelet reads its own file.
        self.dropin = False

    @contextlib.contextmanager
    def standing_in(self) -> t.Iterator[None]:
        """Let this node stand in for the machine: its clock, its disk, its kubelet's binary."""
        with contextlib.ExitStack() as stack:
            for code in dict.fromkeys((self.guard, self.module)):
                self._stand_in(stack, code)
            self.armed_guard = self._guard()
            self.unit.order("start")
            yield

    def _stand_in(self, stack: contextlib.ExitStack, code: Code) -> None:
        def replace(where: t.Any, name: str, by: t.Any) -> None:
            stack.enter_context(mock.patch.object(where, name, by, create=True))

        replace(code.binary, "check", functools.partial(self._check, code))
        replace(code.Moment, "now", functools.partial(self._now, code))
        replace(code.pacing, "chance", self.dice.random)
        # A guard is installed, and starts.
        replace(code.checkpoint_module, "start_guard", lambda *_trial: self._wake())
        for name in [name for name in vars(code.files.OS) if not name.startswith("_")]:
            replace(code.files.DISK, name, functools.partial(self._on_disk, name))
        for module in (code.kept_files, code.statefiles, code.checkpoint_module):
            replace(module, "os", self._os())
        for module in (code.new_binary, code.observe):
            replace(module, "open", self._open)

    def _os(self) -> types.SimpleNamespace:
        """Return what the product uses of `os` beside its own class of that name."""
        path = {**vars(os.path), "exists": self._exists, "lexists": self._exists}
        return types.SimpleNamespace(
            path=types.SimpleNamespace(**path),
            listdir=functools.partial(self._on_disk, "listdir"),
            lstat=functools.partial(self._on_disk, "lstat"),
            link=_no_link,
        )

    def _on_disk(self, call: str, *given: t.Any) -> t.Any:
        # A power cut gives the node another disk.
        return getattr(self.disk, call)(*given)

    def _prepare_disk(self) -> None:
        for place in (f"{self.config_dir}/guard", ROOT_FOLDER, os.path.dirname(SERVICE)):
            for depth in range(2, len(Path(place).parts) + 1):
                folder = "/" + "/".join(Path(place).parts[1:depth])
                if not self._exists(folder):
                    self.disk.mkdir(folder, 0o755)
        self.disk.put(SERVICE, b"")
        self.disk = self.disk.copy()
        self.install_guard()

    def _mount_memory(self) -> None:
        self.memory = Disk()
        self.memory.mkdir("/run", 0o755)
        self.disk.root.live["run"] = self.memory.root.live["run"]

    # What happens to the node

    def install(self, version: int) -> None:
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
        if self.unit.kubelet:
            self.unit.ended("", killed=True)

    def crash(self, after: int, power_cut: bool, seconds: float) -> None:
        """Let time pass; the guard, with `power_cut` the node, ends after so many changes of the disk."""
        self.disk.cut_after, self.power_cut = len(self.disk.calls) + after, power_cut
        self.advance(seconds)
        self.disk.cut_after = None

    def tear(self, name: str, half: bool) -> bool:
        """Empty a file below the config folder, or leave half of it; return whether there is one."""
        path = f"{self.config_dir}/{name}"
        if not self._exists(path):
            return False
        data = self.disk.load(path)
        self.disk.put(path, data[: len(data) // 2] if half else b"")
        return True

    def reboot(self, power_cut: bool) -> None:
        """Boot the node again, after a shutdown or a power cut."""
        if power_cut:
            failure = self.disk.failure
            self.disk = self.disk.one_after_power_cut(self.dice)
            self.disk.failure = failure
        self.disk.cut_after = None
        self._mount_memory()
        self.boot += 1
        self.seconds, self.slept = 10.0, 0.0
        self.unit.power_off()
        self.armed_guard = self._guard()
        # The conditions of the guard's service.
        found = any(self._exists(f"{self.config_dir}/store/{name}") for name in ("trial", "report", "progress"))
        self.watching, self.next_look = found, self.seconds
        self._survive(lambda: self.unit.order("start"))

    def fill(self, number: int) -> None:
        """Make the disk fail: ENOSPC for what needs a block, EROFS for every change, 0 for none."""
        self.disk.failure = lambda _index, name: number if number == errno.EROFS or (number and name in FILLING) else 0

    # What the controller does

    def install_guard(self) -> None:
        """Write the guard's settings, as each rollout does."""
        settings = {"argv": [str(self.program), f"--container-runtime-endpoint={ENDPOINT}"], "config": str(self.own)}
        self.disk.put(f"{self.config_dir}/guard/settings.json", json.dumps({**settings, "key": "kubelet"}).encode())

    def assign(self, source: dict[str, str], content: str, cut: int | None = None, power: bool = False) -> bool:
        """Switch to a source and restart the kubelet, as the role does; return whether that was done.

        `cut`: the controller (with `power`: the node) ends after so many changes of the disk.
        """
        if not self.disk.failure(0, "create"):
            self.install_guard()
        if not self.call("assigned", source, {"kubelet": content}, cut, power):
            return False
        self.dropin = True
        return self.restart()

    def restart(self) -> bool:
        """Restart the kubelet as the controller does (unit.Unit.restart); return whether that succeeded.

        From now on the kubelet has to run, also if an operator has stopped it before.
        """
        self.unit.stopped = False
        self.module.module("unit.unit").OrderedStop(MEMORY, self.memory).note(self.unit.invocation)
        return self.unit.order("restart")

    def call(
        self,
        state: str,
        source: dict[str, str] | None = None,
        data: dict[str, str] | None = None,
        cut: int | None = None,
        power: bool = False,
        **more: t.Any,
    ) -> bool:
        """Call the module kubelet_checkpoint; return whether it succeeded. `more`: other options than the role has."""
        options = {
            "state": state,
            "config_dir": self.config_dir,
            "source": values.option(source),
            "data": data,
            "local_config": str(self.own) if state == "assigned" else None,
            "local_files": None,
            "trial_seconds": TRIAL_SECONDS,
            "confirm_seconds": CONFIRM_SECONDS,
            "was_healthy": self.healthy(),
            "invocation": self.unit.invocation,
            "kubelet_version": f"v1.{self.version}.0",
            "state_files": self._state_files(state, data),
            "reason": "the controller rolled it back",
            "unconfirmed_only": True,
            "remove": False,
            "collect": True,
            "lock_timeout": 1,
            **more,
        }
        self.disk.cut_after = None if cut is None else len(self.disk.calls) + cut
        try:
            self.result = self.module.apply(options, False, self.store())
        except PowerCut:
            if power:
                self.reboot(power_cut=True)
            return False
        except self.module.errors:
            return False
        finally:
            self.disk.cut_after = None
        return True

    def _state_files(self, state: str, data: t.Mapping[str, str] | None) -> list[str]:
        """Return the state files that the preflight lets a switch take along: those of another policy."""
        wanted = data["kubelet"] if data else self.own.read_text() if state == "reset" else ""
        found = self.unit.policy()
        return [STATE_FILE] if wanted and found not in ("", json.loads(wanted)[POLICY]) else []

    # The kubelet's unit

    def prestart(self) -> None:
        """Run the prestart step. The unit ignores how it ends."""
        if not self.dropin:
            return
        try:
            if self._guard().prestart():
                self._wake()
        except self.guard.errors:
            pass
        except PowerCut:
            self._killed()

    def read(self) -> str:
        """Return what the kubelet reads, empty when there is no file."""
        if not self.dropin:
            return self.own.read_text()
        try:
            return self.disk.look(f"{self.config_dir}/active/kubelet").decode()
        except OSError:
            return ""

    # What can be seen

    @property
    def kubelet(self) -> Kubelet | None:
        return self.unit.kubelet

    def healthy(self) -> bool:
        return self.kubelet is not None and self.kubelet.behavior != "deaf"

    def store(self) -> t.Any:
        return self.module.Store(self.config_dir, self.disk)

    # Helpers

    def _check(self, code: Code, content: str, *_rest: t.Any, **_options: t.Any) -> t.Any:
        """Answer like the kubelet's binary that is asked about a configuration."""
        if self.unit.refuses(content):
            return code.binary.Verdict(code.binary.INVALID, [WORDS[json.loads(content)["behavior"]]], [])
        return code.binary.Verdict(code.binary.VALID, [], [])

    def _now(self, code: Code, *_root: str) -> t.Any:
        awake, asleep = self.seconds, self.slept
        return code.Moment(f"boot{self.boot}", awake, 1e9 + awake + asleep + self.set_by)

    def _guard(self) -> t.Any:
        code = self.guard
        store = code.Store(self.config_dir, self.disk)
        with contextlib.redirect_stderr(io.StringIO()):
            settings = code.guard_main.settings_of(store)
        return code.Guard(
            store,
            settings._replace(lock_seconds=0.2),
            self.unit.run,
            functools.partial(self._now, code),
            lambda *_where: "" if self.healthy() else "no answer",
            verify=lambda: "" if self.api else "no API server answers",
            away=lambda path: "" if self.runtime else f"{path} refuses connections",
            started=code.Started(f"{MEMORY}/started", self.memory),
        )

    def _events(self) -> t.Iterator[tuple[float, t.Callable[[], object]]]:
        yield float("inf"), lambda: None
        yield from self.unit.events()
        if self.watching:
            yield self.next_look, self._look

    def _look(self) -> None:
        """One turn of the guard's service, as guard_main.watch does it."""
        guard = self.armed_guard
        try:
            wait = guard.tick()
        except self.guard.errors as error:
            self.errors.append(f"{self.seconds:.0f} {error}")
            wait = 10.0
        except PowerCut:
            self._killed()
            # systemd starts the service again.
            self.armed_guard, wait = self._guard(), 1.0
        report = guard.records.report()
        if report is not None:
            if self.api and guard.reportable():
                try:
                    guard.records.sent(report, None)
                except self.guard.errors:
                    wait = 5.0 if wait is None else wait
            else:
                wait = min(5.0 if wait is None else wait, self.guard.guard_main.LONGEST_PAUSE)
        self.watching = wait is not None
        now = self.disk.changes, self.unit.invocation
        self.idle, self.before = self.idle + 1 if now == self.before else 0, now
        least = min(self.idle - IDLE_LOOKS, IDLE_SECONDS)
        self.next_look = self.seconds + max(wait or 0.0, least, 0.001)

    def _killed(self) -> None:
        """Continue after the guard was killed; pass on the end of the whole node."""
        self.disk.cut_after = None
        if self.power_cut:
            raise PowerCut

    def _wake(self) -> str:
        """Start the guard's service; return why it does not start."""
        if not self.watching:
            self.armed_guard = self._guard()
            self.watching, self.next_look = True, self.seconds
        return ""

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

    def _exists(self, path: str) -> bool:
        try:
            self.disk.lstat(path)
        except OSError:
            return False
        return True


def _no_link(*_paths: str, **_options: bool) -> t.NoReturn:
    """Fail as on a file system without hard links: whether a file can be removed is unknown there."""
    raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
