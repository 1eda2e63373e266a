# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cgroup per node in every hierarchy of this machine: nodes never see or count each other's processes."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from .console import LabError
from .settings import Settings


def managed() -> bool:
    """Return whether systemd runs this machine and therefore owns the cgroup tree."""
    return Path("/run/systemd/private").exists() and Path("/proc/1/comm").read_text().strip() == "systemd"


def hierarchies() -> list[Path]:
    """Return the mount points of the cgroup hierarchies."""
    found = []
    for line in Path("/proc/self/mounts").read_text().splitlines():
        target, kind = line.split()[1:3]
        if kind in ("cgroup", "cgroup2") and Path(target).is_dir():
            found.append(Path(target))
    return found


def make(settings: Settings, node: str) -> list[Path]:
    """Create the node's cgroups and return them."""
    made = []
    for hierarchy in hierarchies():
        folder = hierarchy
        for part in (_name(settings), node):
            parent, folder = folder, folder / part
            folder.mkdir(exist_ok=True)
            # A new cpuset (version 1) is empty and accepts no process.
            for knob in ("cpuset.cpus", "cpuset.mems"):
                if (parent / knob).exists() and (folder / knob).exists() and not (folder / knob).read_text().strip():
                    (folder / knob).write_text((parent / knob).read_text())
        made.append(folder)
    return made


def remove(settings: Settings, node: str | None = None) -> None:
    """Remove the cgroups of a node, or of the whole lab, and kill the processes in them. Raises LabError."""
    for hierarchy in hierarchies():
        top = hierarchy / _name(settings)
        if node:
            top = top / node
        deadline = time.monotonic() + 10
        while top.is_dir():
            _kill(top)
            try:
                for folder in sorted(
                    (path for path in top.rglob("*") if path.is_dir()), key=lambda path: len(path.parts), reverse=True
                ):
                    folder.rmdir()
                top.rmdir()
            except FileNotFoundError:
                continue
            except OSError as error:
                # The kernel releases a cgroup shortly after its last process has ended.
                if time.monotonic() > deadline:
                    raise LabError(
                        f"cgroup {error.filename} stays busy; see its cgroup.procs for what runs there"
                    ) from error
                time.sleep(0.05)


def _kill(top: Path) -> None:
    for members in top.rglob("cgroup.procs"):
        with contextlib.suppress(OSError):
            for word in members.read_text().split():
                descriptor = os.pidfd_open(int(word))
                # The descriptor pins the process; if the pid is still listed, it is the process that was listed.
                if word in members.read_text().split():
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                os.close(descriptor)


def _name(settings: Settings) -> str:
    return f"livenodes-{settings.bridge}"
