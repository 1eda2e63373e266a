# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a seed is on a machine, and how it is removed: see ../switch/seeds.py."""

from __future__ import annotations

import contextlib
import os

from ..system import files
from ..system.command import Run

SERVICE = "livenodes-kubelet-seed.service"
SERVICE_PATH = f"/etc/systemd/system/{SERVICE}"
AT_BOOT = "multi-user.target"
"""What starts the service where no kubelet's unit does, so that it reports a wrong name of that unit."""


def folder(config_dir: str) -> str:
    """Return the folder of the seed beside a store."""
    return os.path.join(config_dir, "seed")


def content(config_dir: str) -> str:
    """Return the path of what differs between the seeds of two groups."""
    return os.path.join(folder(config_dir), "seed.json")


def wanted_by(unit: str) -> str:
    """Return the path of the link with which a unit, such as the kubelet's, starts the service."""
    return f"/etc/systemd/system/{unit}.wants/{SERVICE}"


def waits(config_dir: str) -> bool:
    """Return whether a machine has a seed that was not used yet."""
    return os.path.lexists(content(config_dir))


def remove(config_dir: str, unit: str, run: Run) -> None:
    """Remove the files of a seed, first what lets it begin again. Raises FileError."""
    files.remove(content(config_dir))
    for path in (wanted_by(AT_BOOT), wanted_by(unit), SERVICE_PATH):
        files.remove(path)
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(wanted_by(unit)))
    files.remove_folder(folder(config_dir))
    run(["systemctl", "daemon-reload"])
