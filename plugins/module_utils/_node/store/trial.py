# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The armed trial of a config: written before the switch, read by the guard, gone when the config graduated."""

from __future__ import annotations

import json
import os
import time
import typing as t

from ..system.store_error import StoreError
from . import meta

DEFAULT_SECONDS = 600
"""How long a config has to hold before it becomes last-known-good: the kubelet's own ten minutes
(pkg/kubelet/kubeletconfig/controller.go).
"""


class TrialError(StoreError, ValueError):
    """What stands in the trial file cannot be understood."""


class Moment(t.NamedTuple):
    """A point in time that a clock change cannot move: seconds since boot (including suspend), of which boot, and the
    wall clock.
    """

    boot_id: str
    monotonic: float
    wall: float

    @classmethod
    def now(cls, root: str = "/") -> Moment:
        """The present. Raises OSError without /proc."""
        with open(os.path.join(root, "proc/sys/kernel/random/boot_id"), encoding="ascii") as file:
            boot_id = file.read().strip()
        return cls(boot_id, time.clock_gettime(time.CLOCK_BOOTTIME), time.time())

    def seconds_until(self, later: Moment) -> float | None:
        """Return the seconds between two moments of one boot; None across boots, where no clock of a node can be trusted."""
        return later.monotonic - self.monotonic if self.boot_id == later.boot_id else None


class Trial(t.NamedTuple):
    """What the guard needs to judge an assigned config and to find the way back without anybody's help.

    `to` is the source on trial, `back` what to go back to (None: the local config). `deadline_seconds` count from
    `armed`, `attempts` is how many starts were made, `digests` holds the digests of both checkpoints (keys to, back) as
    they were. `invocation` is the InvocationID of kubelet.service before the switch, `kubelet_version` the kubelet's,
    `state_files` the manager state files saved. `failed` says why the config was taken back; empty as long as it was
    not. `extra` is the guard's own notebook.
    """

    to: meta.Source
    back: meta.Source | None
    armed: Moment
    deadline_seconds: float = DEFAULT_SECONDS
    attempts: int = 0
    digests: t.Mapping[str, str] = {}
    confirmed: bool = False
    invocation: str = ""
    kubelet_version: str = ""
    state_files: t.Sequence[t.Any] = ()
    failed: str = ""
    extra: t.Mapping[str, t.Any] = {}

    def but(self, **changes: t.Any) -> Trial:
        """Return the same trial with some fields changed."""
        return self._replace(**changes)

    def encode(self) -> bytes:
        """Return the content of the trial file: JSON."""
        return (json.dumps({**self._asdict(), "armed": self.armed._asdict()}, indent=2, sort_keys=True) + "\n").encode()


def decode(data: bytes) -> Trial:
    """Return the trial a file holds. Raises TrialError saying what is wrong with the content."""
    try:
        value = json.loads(data.decode())
    except ValueError as error:
        raise TrialError(f"is not JSON text: {error}") from None
    if not isinstance(value, dict):
        raise TrialError("holds no mapping")
    try:
        fields = {name: item for name, item in value.items() if name in Trial._fields}
        fields["armed"] = Moment(
            str(value["armed"]["boot_id"]), float(value["armed"]["monotonic"]), float(value["armed"]["wall"])
        )
        fields["to"] = meta.checked(value["to"])
        fields["back"] = meta.checked(value["back"]) if value["back"] is not None else None
        fields["deadline_seconds"] = float(value["deadline_seconds"])
        fields["attempts"] = int(value["attempts"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise TrialError(f"has no usable trial in it: {type(error).__name__}: {error}") from None
    if not isinstance(fields.get("confirmed", False), bool) or not isinstance(fields.get("failed", ""), str):
        raise TrialError("has no usable trial in it: confirmed or failed has the wrong type")
    return Trial(**fields)
