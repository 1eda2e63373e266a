# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node as the guard sees it, without systemd and without a kubelet."""

from __future__ import annotations

import errno
import os
import subprocess
import typing as t
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.base import Settings, Started
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.guard import Guard
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.installed import Binary, binary_record
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.kept_files import Kept, KeptFiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.local import take
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Moment, Trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import values
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import files
from tests.support.node.stored import source
from tests.support.node.versions import OURS

SOURCE = {"namespace": "kube-system", "name": "c", "uid": "u1", "resourceVersion": "1", "kubeletConfigKey": "kubelet"}
OTHER = {**SOURCE, "uid": "u2"}
# No process of this machine has this id.
NO_PROCESS = "99999999"
LOCAL = "store/local/config"
NEW = "store/checkpoints/u1/1"
# Contents of a manager's state file.
NONE, STATIC = '{"policyName":"none"}', '{"policyName":"static"}'
# The options of a call of the module, and what an inspection has found before it.
CALL: dict[str, t.Any] = {
    **values.defaults(),
    "trial_seconds": 60,
    "confirm_seconds": 60,
    "was_healthy": True,
    "invocation": "i1",
    "kubelet_version": "v1.20.2",
    "state_files": None,
}


def installed_guard(folder: Path) -> str:
    """Return the path of a guard's service."""
    unit = folder / "livenodes-kubelet-guard.service"
    unit.write_text("[Service]\nExecStart=/usr/bin/python3 -I -B /c/guard/__main__.py watch\n")
    return str(unit)


def guard_answers(argv: t.Sequence[str], code: int = 0, errors: str = "") -> subprocess.CompletedProcess[str]:
    """Answer for systemd and for the program of an installed guard."""
    return subprocess.CompletedProcess(list(argv), code, "{}" if argv[-1] == "status" else "", errors)


def state_file(node: Node, folder: Path, text: str) -> Path:
    """Make the CPU manager's state file of a node whose kubelet has this root folder; return its path."""
    node.argv = ("/usr/bin/kubelet", f"--root-dir={folder}")
    path = folder / "cpu_manager_state"
    path.write_text(text)
    return path


def with_every_file(node: Node, folder: Path, **trial: t.Any) -> Node:
    """Put a second configuration on trial; return the node, with every file that a store can have."""
    node.switch()
    node.store.graduate(SOURCE, "v1.28.7")
    node.switch(OTHER, **trial)
    node.later()
    node.guard().records.queue({"reason": "on trial"}, "an Event", True, 1.0)
    KeptFiles(node.store.config_dir).write(Kept(str(folder), "b1", {"cpu_manager_state": "YQ=="}))
    binary_record(node.store.folder).write(Binary("/k", 1, 2, 3, "v1.28.7"))
    return node


class NoRoom(files.OS):
    """A file system without a free block, from `full` on.

    It has no free inode either, so that only renames and removals work. With `names`, files and links can still be
    created, without content. Without `renames`, not even these work.
    """

    full = False
    names = False
    renames = True

    def _check(self) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def create(self, path: str, mode: int) -> int:
        if not self.names:
            self._check()
        return super().create(path, mode)

    def write(self, handle: int, data: bytes) -> int:
        self._check()
        return super().write(handle, data)

    def symlink(self, target: str, path: str) -> None:
        if not self.names:
            self._check()
        super().symlink(target, path)

    def rename(self, path: str, target: str) -> None:
        if not self.renames:
            self._check()
        super().rename(path, target)


class Node:
    """A node as the guard sees it: clock, systemd, healthz. A restart runs the prestart step, as the unit does.

    `disk`: the one of the store, which has room until a test fills it.
    """

    def __init__(self, folder: Path, fs: files.OS | None = None) -> None:
        self.disk = NoRoom()
        self.store = Store(str(folder / "config"), fs or self.disk)
        self.started = Started(str(folder / "run/started"))
        self.boot, self.seconds, self.epoch = "b1", 100.0, 1e9
        self.properties = {
            "ActiveState": "active",
            "SubState": "running",
            "Result": "success",
            "InvocationID": "i0",
            "NRestarts": "0",
            "MainPID": NO_PROCESS,
        }
        self.well = True
        self.commands: list[str] = []
        self.ran: list[str | None] = []
        self.starts = 0
        self.argv: tuple[str, ...] = ()
        self.unverified = ""
        self.texts: dict[str, str] = {}
        self.away = ""
        self.journal: dict[str, str] = {}
        self.folder = ""
        self.metrics = ""
        self.own = folder / "k.yaml"
        self.own.write_text("kind: KubeletConfiguration\n")
        self.store.remember_local({str(self.own): take(str(self.own))}, str(self.own))
        self.store.settle()

    @property
    def wall(self) -> float:
        """The wall clock; a test that sets it changes `epoch`."""
        return self.epoch + self.seconds

    @property
    def restarts(self) -> int:
        """How often the guard has restarted the kubelet."""
        return self.commands.count("systemctl restart")

    def now(self) -> Moment:
        return Moment(self.boot, self.seconds, self.wall)

    def guard(self) -> Guard:
        return Guard(
            self.store,
            Settings(argv=self.argv, config=str(self.own), folder=self.folder, lock_seconds=0.2, metrics=self.metrics),
            self.run,
            self.now,
            lambda _port, _address, _pid: "" if self.well else "no answer",
            verify=lambda: self.unverified,
            away=lambda _path: self.away,
            started=self.started,
        )

    def run(self, argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.commands.append(" ".join(argv[:2]))
        out = ""
        if argv[1] == "show":
            out = "".join(f"{name}={value}\n" for name, value in self.properties.items())
        elif "journalctl" in argv:
            out = self.journal.get(argv[-1].partition("=")[2], "")
        elif argv[1] == "restart":
            self.start()
        return subprocess.CompletedProcess(list(argv), 0, out, "")

    # What the module does

    def call(
        self, state: str, source: dict[str, str] | None = None, pretend: bool = False, **options: t.Any
    ) -> dict[str, t.Any]:
        """Call the module, without the restart that the role adds; return its result."""
        given = {**CALL, "state": state, "config_dir": self.store.config_dir, "local_config": str(self.own)}
        if source:
            given.update(source=values.option(source), data={"kubelet": "{}"})
        return OURS.apply({**given, **options}, pretend, self.store)

    def arm(self, source: dict[str, str], back: dict[str, str] | None = None, **trial: t.Any) -> None:
        """Arm the trial of a source, which reverts to `back`, as a module that is stopped before the switch."""
        self.store.stage(source, {"kubelet": self.texts.get(source["uid"], "{}")})
        terms = {"deadline_seconds": 60, "invocation": "i0", **trial}
        self.store.arm(Trial(source, back, self.now(), **terms))

    def assign(self, source: dict[str, str] | None = None, **trial: t.Any) -> None:
        """Put a source, by default SOURCE, on trial, which reverts to last-known-good unless `back` is given."""
        source = source or SOURCE
        self.arm(source, **{"back": self.store.last_known_good(), **trial})
        self.store.switch(source)

    def switch(self, source: dict[str, str] | None = None, **trial: t.Any) -> None:
        """Put a source, by default SOURCE, on trial, and start the kubelet with it."""
        self.assign(source, **trial)
        self.start()

    def trial(self) -> Trial:
        found = self.store.trial()
        assert found
        return found

    def confirm(self) -> None:
        """Record that the controller has verified the node."""
        self.store.record(self.trial()._replace(confirmed=True))

    # What time does

    def start(self, restarts: int = 0) -> None:
        self.starts += 1
        self.properties.update(
            InvocationID=f"i{self.starts}",
            NRestarts=str(restarts),
            ActiveState="activating",
            SubState="start-pre",
            MainPID="0",
        )
        self.guard().prestart()
        self.ran.append(self.store.running())
        self.properties.update(ActiveState="active", SubState="running", MainPID=NO_PROCESS)

    def reboot(self, seconds: float) -> None:
        """Boot again; so many seconds later the kubelet starts."""
        self.boot, self.seconds = "b2", seconds
        self.start()

    def later(self, seconds: float = 1, times: int = 1) -> float | None:
        """Let a new guard look after so many seconds, so many times; return when it wants to look again."""
        wait = None
        for _look in range(times):
            self.seconds += seconds
            wait = self.guard().tick()
        return wait

    # What the guard will report

    def status(self) -> dict[str, t.Any]:
        """Return the status that waits for its report, empty if none does."""
        report = self.guard().records.report()
        return dict(report.status) if report else {}

    def message(self) -> str:
        """Return the Event that waits for its report, empty if none does."""
        report = self.guard().records.report()
        return report.message if report else ""

    def error(self) -> str:
        return str(self.status().get("error", ""))

    def reason(self) -> str:
        return str(self.status().get("reason", ""))


def assign(node: Node, name: str, state: str = "assigned", **options: t.Any) -> dict[str, t.Any]:
    """Call the module for a source of this name, and return its result."""
    return node.call(state, source(name), **options)


def graduate(node: Node, name: str, **options: t.Any) -> None:
    """Assign a source of this name, and let its trial pass."""
    assign(node, name, **options)
    node.store.graduate(source(name), "v1.20.2")


def runs(node: Node) -> dict[str, str] | None:
    """Return what is assigned, which has to be active."""
    assert node.store.assigned() == node.store.active_source()
    return node.store.assigned()


def runs_local(node: Node) -> bool:
    """Return whether the local configuration is active."""
    return node.store.running() == node.store.target(None)
