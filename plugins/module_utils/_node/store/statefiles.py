# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state files of the kubelet's CPU and memory managers, which are part of a switch that changes a manager's policy.

A kubelet dies at its start when `cpu_manager_state` was written under another policy
(pkg/kubelet/cm/cpumanager/state/state_checkpoint.go). So they are saved, and replaced before the first start on trial,
and restored before the first start after a revert: while no kubelet runs that would write them again.

A restore needs no free block and no free inode: a spare copy of each file, made before the switch, is renamed.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import re
from typing import Any, Container, Iterable, Mapping, NamedTuple, Sequence

from ..._config.values.short_texts import flag
from ..system import files


class _Manager(NamedTuple):
    """A manager of the kubelet that refuses the state file of another policy: its file, field and default."""

    file: str
    field: str
    default: str

    @property
    def name(self) -> str:
        """`cpu` or `memory`."""
        return self.file.partition("_")[0]

    def policy(self, config: Mapping[str, Any], argv: Sequence[str]) -> str:
        """Return the policy of a kubelet with this configuration and command line."""
        option = re.sub("([A-Z])", r"-\1", self.field).lower()
        return str(flag(argv, option) or config.get(self.field) or self.default)


MANAGERS = (
    _Manager("cpu_manager_state", "cpuManagerPolicy", "none"),
    _Manager("memory_manager_state", "memoryManagerPolicy", "None"),
)
_SPARE = ".livenodes-kubelet"
_REFUSED = (errno.EPERM, errno.EACCES, errno.EROFS, errno.EIO, errno.EXDEV, errno.EBUSY)


def take(paths: Iterable[str]) -> list[dict[str, Any]]:
    """Return state files as a trial stores them: path and content (base64; None: absent). Raises files.FileError."""
    result = []
    for path in paths:
        data = files.read(path)
        result.append({"path": path, "data": None if data is None else base64.b64encode(data).decode()})
    return result


def of_another(belonging: Iterable[Mapping[str, Any]], taken: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the state files of a trial that reverts to another source than what has written those that are there.

    `belonging`: what belongs to the source that it reverts to. `taken`: what is there, and gives way to another policy.
    """
    saved = {entry["path"]: {"path": entry["path"], "data": entry["data"]} for entry in (*taken, *belonging)}
    return [saved[path] for path in sorted(saved)]


def restore(kept: Iterable[Mapping[str, Any]]) -> None:
    """Restore the state files that are known. Raises files.FileError.

    One that did not exist, or is not known, stays if it fits (`fit`): on a full disk the kubelet could make no new one.
    """
    for entry in kept:
        if entry["data"] is not None:
            put(entry["path"], base64.b64decode(entry["data"]))


def spare(path: str, of_policy: str | None = None) -> str:
    """Return the path of a state file's spare copy. The kubelet reads no file of such a name.

    `of_policy`: the one that a copy from before several trials is for.
    """
    if of_policy and of_policy.isalpha():
        return f"{path}.{of_policy}{_SPARE}"
    return f"{path}{_SPARE}"


def prepare(path: str, data: bytes) -> None:
    """Make the spare copy of a state file, before the switch. Raises files.FileError.

    A former copy of another policy is kept: the switch may revert to what ran before several trials.
    """
    former = files.read(spare(path))
    if former == data:
        return
    if former and policy(former) != policy(data):
        files.move(spare(path), spare(path, policy(former)))
    files.write(spare(path), data)


def put(path: str, data: bytes | None) -> None:
    """Make this the content of a state file, None for no file: by a rename if its spare copy has it.

    Raises files.FileError.
    """
    if data is None:
        files.remove(path)
        return
    if files.read(path) == data:
        return
    copies = [copy for copy in (spare(path), spare(path, policy(data))) if files.read(copy) == data]
    if copies:
        files.move(copies[0], path)
    else:
        # An earlier restore has used the spare copy, or the trial was armed before there were any.
        files.write(path, data)


def check_removable(path: str) -> None:
    """Raise files.FileError for a file that cannot be removed: it is immutable, or its file system is read-only.

    A link to it can be made and removed under the same conditions as the file itself (Linux, fs/namei.c).
    """
    probe = f"{path}{_SPARE}-probe"
    try:
        files.remove(probe)
        os.link(path, probe, follow_symlinks=False)
        os.unlink(probe)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno in _REFUSED:
            raise files.FileError.of(path, "remove", error) from error


class Unfit(NamedTuple):
    """A state file that a kubelet does not start with, or that is absent; and the policy of that kubelet."""

    path: str
    policy: str
    exists: bool


def unfit(folder: str, config: Mapping[str, Any], argv: Sequence[str], given_up: Container[str] = ()) -> list[Unfit]:
    """Return the state files that do not fit a kubelet that is about to start. Raises files.FileError.

    `folder`: the kubelet's root folder; `config`, `argv`: what it starts with; `given_up`: paths of files that do not
    fit also if they name no policy.
    """
    found = []
    for manager in MANAGERS:
        path = os.path.join(folder, manager.file)
        wanted, data = manager.policy(config, argv), files.read(path)
        written_for = policy(data)
        fits = written_for == wanted or (written_for is None and path not in given_up)
        if data is None or not fits:
            found.append(Unfit(path, wanted, data is not None))
    return found


def fit(replaced: Iterable[Unfit], on_trial: bool = False) -> None:
    """Replace state files by a spare copy of the wanted policy: on a full disk a kubelet cannot make one. Without such
    a copy the file is removed, and the kubelet makes a new one.

    `on_trial`: what starts is on trial, so a copy from before several trials does not belong to it. Raises
    files.FileError.
    """
    for path, wanted, _exists in replaced:
        copies = [files.read(spare(path))]
        if not on_trial:
            copies.append(files.read(spare(path, wanted)))
        put(path, next((copy for copy in copies if policy(copy) == wanted), None))


def policy(data: bytes | None) -> str | None:
    """Return the policy that a state file is for; None if there is no file, or it names none."""
    try:
        found = json.loads(data or b"{}").get("policyName")
    except (ValueError, AttributeError, RecursionError):
        return None
    return found if isinstance(found, str) else None


def discard(folder: str) -> None:
    """Remove the spare copies of a folder's state files, as far as that is possible: nothing reads them."""
    with contextlib.suppress(OSError, files.FileError):
        for name in os.listdir(folder):
            if name.endswith(_SPARE):
                files.remove(os.path.join(folder, name))
