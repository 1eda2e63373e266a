# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the lab lives, its names on this machine, and the file that records what it has created."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import ipaddress
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from .console import LabError

PROJECT = "livenodes-kubelet-lab"


@dataclasses.dataclass(frozen=True)
class Settings:
    """The lab's folder and names. `bridge` is also the prefix of every interface, machine and cgroup of the lab."""

    folder: Path
    bridge: str
    subnet: ipaddress.IPv4Network

    @classmethod
    def load(cls) -> Settings:
        """Read the settings from the environment; an existing lab keeps the names it was created with."""
        folder = Path(os.environ.get("LIVENODES_LAB_DIR", f"/var/lib/{PROJECT}")).absolute()
        known = State(folder).data
        bridge = known.get("bridge") or os.environ.get("LIVENODES_LAB_BRIDGE", "lnk-br0")
        subnet = known.get("subnet") or os.environ.get("LIVENODES_LAB_SUBNET", "10.211.0.0/24")
        try:
            network = ipaddress.IPv4Network(subnet)
        except ValueError as error:
            raise LabError(
                f"LIVENODES_LAB_SUBNET={subnet}: {error}; set a private network such as 10.211.0.0/24"
            ) from error
        if network.prefixlen > 24 or not bridge or len(bridge) > 9:
            raise LabError(
                f"the lab's subnet must be /24 or larger (is {subnet}) "
                f"and its bridge's name 1 to 9 characters long (is {bridge!r})"
            )
        return cls(folder, bridge, network)

    @property
    def gateway(self) -> str:
        """Return the bridge's own address, on which the API server listens."""
        return str(self.subnet[1])

    def address(self, index: int) -> str:
        """Return the address of node number `index`, counted from 1."""
        return str(self.subnet[10 + index])

    @property
    def mark(self) -> str:
        """Return the mark of this lab's interfaces and of its processes' environment."""
        return f"{PROJECT} {self.folder}"


class State:
    """`lab.json`: written before each part is created, so that the run after an interruption knows what may exist."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "lab.json"
        self._guard = threading.Lock()
        try:
            self.data = json.loads(self.path.read_text())
        except (FileNotFoundError, ValueError):
            self.data = {}

    def record(self, **values: object) -> None:
        """Merge values into the file, atomically."""
        with self._guard:
            self.data.update(values)
            fresh = self.path.with_suffix(".new")
            fresh.write_text(json.dumps(self.data, indent=2, sort_keys=True) + "\n")
            fresh.rename(self.path)


def claim(folder: Path) -> None:
    """Create the lab's folder, or check that it is one: `down` deletes it. Raises LabError for any other folder."""
    sign = folder / f".{PROJECT}"
    if folder.exists() and not sign.exists() and any(folder.iterdir()):
        raise LabError(f"{folder} is not the folder of a lab; set another folder in LIVENODES_LAB_DIR")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    sign.touch()


def is_lab(folder: Path) -> bool:
    return (folder / f".{PROJECT}").exists()


@contextlib.contextmanager
def locked(folder: Path, wait: bool = False) -> Iterator[None]:
    """Lock a folder (a lab's, or the cache's) for one command. A second command waits (`wait`) or raises LabError."""
    path = Path(f"/run/{PROJECT}-{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}.lock")
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            holder = os.read(descriptor, 20).decode().strip()
            os.close(descriptor)
            raise LabError(
                f"another command is working on {folder} (process {holder or 'unknown'}); wait for it or stop it"
            ) from error
        # The previous holder removes the file when it ends; this lock is then on a file that no other process can find.
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(descriptor).st_ino == os.stat(path).st_ino:
                break
        os.close(descriptor)
    os.truncate(descriptor, 0)
    os.write(descriptor, str(os.getpid()).encode())
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)
