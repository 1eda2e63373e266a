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
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.local import take
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Moment, Trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import files

SOURCE = {"namespace": "kube-system", "name": "c", "uid": "u1", "resourceVersion": "1", "kubeletConfigKey": "kubelet"}
OTHER = {**SOURCE, "uid": "u2"}
# No process of this machine has this id.
NO_PROCESS = "99999999"
LOCAL = "store/local/config"
NEW = "store/checkpoints/u1/1"
# Contents of a manager's state file.
NONE, STATIC = '{"policyName":"none"}', '{"policyName":"static"}'


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


class NoRoom(files.OS):
    """A file system without a free block, from `full` on.

    It has no free inode either, so that only renames and removals work. With `names`, files and links can still be
    created, without content. Without `renames`, not even these work.
    """

    full = False
    renames = True

    def __init__(self, names: bool = False) -> None:
        self.names = names

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
    """A node as the guard sees it: clock, systemd, healthz. A restart runs the prestart step, as the unit does."""

    def __init__(self, folder: Path, fs: files.OS = files.DISK) -> None:
        self.store = Store(str(folder / "config"), fs)
        self.started = Started(str(folder / "run/started"))
        self.fs = fs
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

    def guard(self) -> Guard:
        return Guard(
            self.store,
            Settings(argv=self.argv, config=str(self.own), folder=self.folder, lock_seconds=0.2, metrics=self.metrics),
            self.run,
            lambda: Moment(self.boot, self.seconds, self.wall),
            lambda _port, _address, _pid: "" if self.well else "no answer",
            verify=lambda: self.unverified,
            away=lambda _path: self.away,
            started=self.started,
        )

    def run(self, argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.commands.append(" ".join(argv[:2]))
        if argv[1] == "show":
            return subprocess.CompletedProcess(
                list(argv), 0, "".join(f"{name}={value}\n" for name, value in self.properties.items()), ""
            )
        if "journalctl" in argv:
            invocation = argv[-1].partition("=")[2]
            return subprocess.CompletedProcess(list(argv), 0, self.journal.get(invocation, ""), "")
        if argv[1] == "restart":
            self.start()
        return subprocess.CompletedProcess(list(argv), 0, "", "")

    def assign(self, source: dict[str, str] | None = None, **trial: t.Any) -> None:
        source = source or SOURCE
        self.store.stage(source, {"kubelet": self.texts.get(source["uid"], "{}")})
        back = trial.pop("back", self.store.last_known_good())
        self.store.arm(
            Trial(
                source,
                back,
                Moment(self.boot, self.seconds, self.wall),
                **{"deadline_seconds": 60, "invocation": "i0", **trial},
            )
        )
        self.store.switch(source)

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

    def later(self, seconds: float = 1) -> float | None:
        self.seconds += seconds
        return self.guard().tick()

    def error(self) -> str:
        report = self.guard().records.report()
        return str(report.status.get("error", "")) if report else ""
