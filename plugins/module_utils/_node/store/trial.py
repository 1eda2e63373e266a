# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The armed trial of a config: written before the switch, read by the guard, removed when the config graduates.

And its progress, `store/progress`: what is remembered of a trial between two observations. The guard writes it. The
module writes the verdict of a revert into it, so that the guard restarts the kubelet if the controller does not. And
which kubelet was ordered to stop, in memory.
"""

from __future__ import annotations

import base64
import contextlib
import os
import time
import typing as t

from ..records import json_file
from ..records.json_file import MemoryFile, RecordFile
from ..system import files
from ..system.files import StoreError
from . import meta

MEMORY = "/run/livenodes-kubelet-guard"
"""The folder of what the guard remembers until the next boot."""
STOPPED = "stopped"
_DEFAULT_SECONDS = 600
"""How long a config must hold before it becomes last-known-good: ten minutes, as in the kubelet
(pkg/kubelet/kubeletconfig/controller.go).
"""

# The types of the fields that nothing else checks, where the type of the default is not the only one.
_TYPES: dict[str, t.Any] = {"deadline_seconds": float, "state_files": (list, tuple), "replaced": (dict, type(None))}
# The terms in `extra` that are numbers.
_SECONDS = ("confirm_seconds", "unhealthy_seconds", "boot_grace_seconds", "recovery_seconds")


class TrialError(StoreError, ValueError):
    """The content of the trial file is not understood."""


class Moment(t.NamedTuple):
    """A point in time that no clock change moves: the boot's id and seconds since that boot (CLOCK_MONOTONIC), in which
    a suspended machine is not: an hour asleep is not an hour of a healthy kubelet.

    `wall`: the wall clock, in seconds since the epoch, for information only.
    """

    boot_id: str
    monotonic: float
    wall: float

    @classmethod
    def now(cls) -> Moment:
        """Return the current moment. Raises OSError without /proc."""
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot_id = file.read().strip()
        return cls(boot_id, time.monotonic(), time.time())


class Trial(t.NamedTuple):
    """What the guard needs to judge an assigned config and to revert it without the controller.

    `to` is the source on trial, `revert_to` the source that a revert leads to (None: the local config). A reset is a
    trial of the local config.
    `deadline_seconds` count from `armed`. `digests` holds the digests of both checkpoints at arming, by these two
    names. `invocation` is the InvocationID of kubelet.service before the switch, `kubelet_version` the kubelet's
    version, `state_files` the saved manager state files. `failed` is why the config was reverted; empty while it is
    not. `extra` holds the terms that only the guard needs. `replaced` is the unfinished or failed trial of the source
    that was assigned at arming: it counts again if the switch never happens. `unknown`: fields of a newer version.
    """

    to: meta.Source | None
    revert_to: meta.Source | None
    armed: Moment
    deadline_seconds: float = _DEFAULT_SECONDS
    digests: t.Mapping[str, str] = {}
    confirmed: bool = False
    invocation: str = ""
    kubelet_version: str = ""
    state_files: t.Sequence[t.Any] = ()
    failed: str = ""
    extra: t.Mapping[str, t.Any] = {}
    replaced: t.Mapping[str, t.Any] | None = None
    unknown: t.Mapping[str, t.Any] = {}

    @property
    def name(self) -> str:
        """The name under which the guard remembers its progress."""
        return f"{self.armed.boot_id}/{self.armed.monotonic}"

    def encode(self) -> bytes:
        """Return the content of the trial file: JSON."""
        known = {name: value for name, value in self._asdict().items() if name != "unknown"}
        return json_file.encode({**self.unknown, **known, "armed": self.armed._asdict()})


def decode(data: bytes) -> Trial:
    """Return the trial a file holds. Raises TrialError that states what is wrong with the content."""
    try:
        value = json_file.decode(data)
    except ValueError as error:
        raise TrialError(f"is not JSON text: {error}") from None
    if not isinstance(value, dict):
        raise TrialError("does not hold a JSON object")
    if value.get("format", json_file.FORMAT) != json_file.FORMAT:
        raise TrialError("was written by a newer version of this collection: run the role checkpoint of that version")
    try:
        extra = json_file.unknown(value, Trial)
        fields = {name: item for name, item in value.items() if name not in extra}
        fields["unknown"] = extra
        fields["armed"] = json_file.fields(value["armed"], Moment("", 0.0, 0.0))
        for name in ("to", "revert_to"):
            if value[name] is not None:
                fields[name] = meta.checked(value[name])
        fields["deadline_seconds"] = json_file.number(value["deadline_seconds"])
        _check(fields)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise TrialError(f"does not hold a usable trial: {type(error).__name__}: {error}") from None
    return Trial(**fields)


def _check(fields: t.Mapping[str, t.Any]) -> None:
    """Raise TypeError, KeyError or ValueError for fields of another shape than the guard writes."""
    for name, default in Trial._field_defaults.items():
        if not isinstance(fields.get(name, default), _TYPES.get(name, type(default))):
            raise TypeError(f"{name} has another type")
    for name in _SECONDS:
        json_file.number(fields.get("extra", {}).get(name, 0))
    for entry in fields.get("state_files", ()):
        if not isinstance(entry["path"], str):
            raise TypeError("a state file has no path")
        if entry["data"] is not None:
            base64.b64decode(entry["data"], validate=True)


class Progress(t.NamedTuple):
    """What the guard remembers between two observations, across its own restart and the node's reboot.

    `verdict`: the reason of a revert that was decided and is not finished: it is finished by a start of the kubelet
    with the configuration that is active then. `due`: if the controller decided it, the time from which the guard
    restarts the kubelet, in seconds of CLOCK_MONOTONIC in `boot`; until then the controller does. `reported`: the stage
    of the trial that was last reported to the cluster.

    `failures`: ends of the kubelet that are evidence; `words`: what the last of these kubelets logged last; `refused`:
    whether these words show that it refused the configuration. `was_healthy`: whether the kubelet was ever healthy with
    the configuration. `reboots`: boots since the arming; `booted`: seconds at the first observation of this boot.
    `runtime`, `away`: why the container runtime did not answer, and when that was last observed. `excused`: the
    InvocationID of a kubelet whose end is not evidence, `killed`: of one that a signal ended, which systemd shows only
    until the next start.
    """

    name: str = ""
    boot: str = ""
    invocation: str = ""
    restarts: int = 0
    failures: int = 0
    healthy_since: float | None = None
    unhealthy_since: float | None = None
    was_healthy: bool = False
    verdict: str = ""
    due: float = 0.0
    reported: str = ""
    reboots: int = 0
    booted: float = 0.0
    runtime: str = ""
    away: float | None = None
    excused: str = ""
    killed: str = ""
    words: str = ""
    refused: bool = False


class ProgressFile:
    """The file. Reading never raises: an unreadable file counts as absent."""

    def __init__(self, config_dir: str, fs: files.OS = files.DISK) -> None:
        self.file = RecordFile(os.path.join(config_dir, "store", "progress"), Progress(), fs)
        self.path = self.file.path

    def read(self) -> Progress:
        """Return what is remembered, an empty Progress if nothing is."""
        return self.file.read() or Progress()

    def write(self, progress: Progress) -> None:
        """Write the progress. An empty one removes the file, also on a full disk. Raises files.FileError."""
        if progress == Progress():
            self.file.remove()
        else:
            self.file.write(progress)


class _Stopped(t.NamedTuple):
    """The InvocationID of the kubelet that was ordered to stop."""

    invocation: str


class OrderedStop:
    """Whether a kubelet that does not run was stopped by us: a file in memory (/run).

    `systemctl restart` stops a kubelet before its dependencies start. If one of them fails (`Requires=`), the kubelet
    stays inactive as if an operator had stopped it, also when the dependency is back. So each restart that is ordered
    notes which kubelet it stops. A later start has another InvocationID: a stop after it is an operator's.
    """

    def __init__(self, folder: str = MEMORY, fs: files.OS = files.DISK) -> None:
        self.file = MemoryFile(os.path.join(folder, STOPPED), _Stopped(""), fs)

    def note(self, invocation: str) -> None:
        """Note which kubelet is about to be stopped. Never raises."""
        with contextlib.suppress(files.FileError):
            self.file.write(_Stopped(invocation))

    def ours(self, invocation: str) -> bool:
        """Return whether the last kubelet, which has this InvocationID, was stopped by us."""
        return _Stopped(invocation) in (self.file.read(), self.file.held)
