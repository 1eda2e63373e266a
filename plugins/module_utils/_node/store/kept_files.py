# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet's state files as they were when a trial was armed: the file `store/kept-files`.

A feature gate or a policy option on trial may write a state file that the reverted kubelet cannot use. Such a kubelet
ends at each start, although its configuration is good. What happens to a file depends on its kind:

The copies are in this file and, as spare copies, beside the state files (statefiles.py): a restore is a rename.

* ``*_state`` in the kubelet's root folder (cpu_manager_state, memory_manager_state, dra_manager_state,
  pod_status_manager_state, allocated_pods_state, actuated_pods_state, and those of later versions). A kubelet that
  cannot use one ends: pkg/kubelet/cm/{cpumanager,memorymanager,dra}/state, pkg/kubelet/allocation/state. They also hold
  what pods that started during the trial got: CPUs, prepared claims, resizes. An older copy forgets that. So a copy is
  restored only after the reverted kubelet has ended twice, within minutes of the revert.
* ``device-plugins/kubelet_internal_checkpoint`` and other ``*checkpoint`` files are never changed, so there is no copy.
  A kubelet that cannot read it continues without it (pkg/kubelet/cm/devicemanager/manager.go, Start), and an older copy
  could assign one device to two containers.

On another boot all containers are new, so what differs from its copy is removed instead.
"""

from __future__ import annotations

import base64
import os
import stat
from typing import Any, Container, NamedTuple, Sequence

from ..._config.values.short_texts import flag
from ..records import json_file
from ..system import files
from . import installed, statefiles

_DEFAULT_ROOT = "/var/lib/kubelet"
# A node with hundreds of pods has state files of some 100 KiB. A larger one is not copied, and never changed.
LARGEST_FILE = 1 << 20
_LARGEST_TOTAL = 2 << 20
# A kubelet that cannot use a state file ends within seconds of its start, and systemd starts it again within ten.
_WINDOW_SECONDS = 180.0
MOST_FAILURES = 2

BEGIN, WAIT, OVER, RESTORE = "begin", "wait", "over", "restore"


class Reverted(NamedTuple):
    """The first start after the revert: boot id, seconds of CLOCK_MONOTONIC, and systemd's count of restarts then."""

    boot: str
    seconds: float
    restarts: int


class Begun(NamedTuple):
    """The first start after the revert of the trial of this name, in memory (/run): for a disk that is full."""

    trial: str
    boot: str
    seconds: float
    restarts: int


class Kept(NamedTuple):
    """The content of the file.

    `root`: the kubelet's root folder; `boot`: the boot id at arming; `data`: name below `root` -> content (base64;
    None: too large for a copy). `reverted`: None before the revert.
    """

    root: str
    boot: str
    data: dict[str, str | None]
    reverted: Reverted | None = None


def step(reverted: Reverted | None, boot: str, now: float, restarts: int) -> str:
    """Return what a start of the reverted kubelet means.

    BEGIN: the first one. WAIT: too early to judge. OVER: what ends it now is not a state file. RESTORE: it ended twice.
    """
    if reverted is None:
        return BEGIN
    if reverted.boot != boot or now - reverted.seconds > _WINDOW_SECONDS:
        return OVER
    # systemd counts from 0 again after a manual start.
    if restarts >= reverted.restarts:
        restarts -= reverted.restarts
    return RESTORE if restarts >= MOST_FAILURES else WAIT


class KeptFiles:
    """The file below a config folder. Reading never raises: an unreadable file counts as absent."""

    def __init__(self, config_dir: str, fs: files.OS = files.DISK) -> None:
        self.config_dir = config_dir
        self.path = os.path.join(config_dir, "store", "kept-files")
        self.fs = fs

    def save(self, boot: str, carry_over: bool, unknown: Container[str] = ()) -> bool:
        """Copy the state files before a switch; return whether a guard is installed, which alone restores them.

        With `carry_over`, a copy of a former trial stays: it belongs to what both trials revert to. `unknown`: names of
        files that do not belong to what this trial reverts to. They get a spare copy only, which a kubelet with the
        same policy can start with on a full disk. Raises files.FileError.
        """
        root = self._root()
        if root is None:
            return False
        there = _contents(root)
        kept = self.read() if carry_over else None
        if kept is None:
            kept = Kept(root, boot, {name: text for name, text in there.items() if name not in unknown})
        for name, text in {**there, **kept.data}.items():
            if text is not None:
                statefiles.prepare(os.path.join(kept.root, name), base64.b64decode(text))
        self.write(kept)
        return True

    def read(self) -> Kept | None:
        """Return the copies, None without."""
        try:
            value = json_file.load(self.path, self.fs)
            kept = json_file.fields({**value, "reverted": None}, Kept("", "", {}))
            if not all(_is_copy(name, text) for name, text in kept.data.items()):
                return None
            if not value.get("reverted"):
                return kept
            found = Reverted(*value["reverted"])._asdict()
            return kept._replace(reverted=json_file.fields(found, Reverted("", 0.0, 0)))
        except (files.FileError, ValueError, TypeError):
            return None

    def write(self, kept: Kept) -> None:
        """Replace the file. Raises files.FileError."""
        json_file.save(self.path, kept._asdict(), self.fs)

    def remove(self, spares: bool = True) -> None:
        """Remove the file, and by default the spare copies. Raises files.FileError."""
        kept = self.read()
        root = kept.root if kept else self._root()
        if root and spares:
            statefiles.discard(root)
        files.remove(self.path, self.fs)

    def _root(self) -> str | None:
        known = installed.settings(self.config_dir, self.fs)
        return root_folder(known["argv"]) if "argv" in known else None


def root_folder(argv: Sequence[str]) -> str:
    """Return the root folder of a kubelet with this command line."""
    return os.path.join("/", flag(argv, "root-dir") or _DEFAULT_ROOT)


def _is_copy(name: str, text: Any) -> bool:
    """Return whether this can be the name of a state file and its content. Raises ValueError if it is not base64."""
    if text is not None:
        base64.b64decode(text, validate=True)
    return name.endswith("_state") and "/" not in name


def restore(kept: Kept, boot: str) -> list[str]:
    """Restore the state files that differ from their copies, and remove those that did not exist; return their paths.

    No kubelet may run that would write them again. On another boot they are removed. Raises files.FileError.
    """
    changed = []
    now = _contents(kept.root)
    for name in sorted({*now, *kept.data}):
        before = kept.data.get(name)
        if (name in kept.data and before is None) or now.get(name) == before:
            continue
        path, data = os.path.join(kept.root, name), None
        if before is not None and boot == kept.boot:
            data = base64.b64decode(before)
        statefiles.put(path, data)
        changed.append(path)
    return changed


def _contents(root: str) -> dict[str, str | None]:
    """Return the state files below a root folder as `Kept.data`. Raises files.FileError."""
    try:
        names = sorted(name for name in os.listdir(root) if name.endswith("_state"))
    except OSError:
        return {}
    found: dict[str, Any] = {}
    left = _LARGEST_TOTAL
    for name in names:
        path = os.path.join(root, name)
        size = _size(path)
        if size is None:
            continue
        found[name] = None
        if size <= min(LARGEST_FILE, left):
            found[name] = base64.b64encode(files.read(path) or b"").decode()
            left -= size
    return found


def _size(path: str) -> int | None:
    """Return the size of a regular file, None for anything else."""
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    return seen.st_size if stat.S_ISREG(seen.st_mode) else None
