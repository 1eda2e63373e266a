# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the labs of a machine share: its limit of inotify instances, and a folder of nspawn's. The last lab to be
removed restores both.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from .console import progress, warn
from .settings import PROJECT, is_lab, locked

LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
# A node's systemd, containerd and kubelet have 12 instances when idle and up to 20 while they start; other processes of
# the same user have some too.
PER_NODE = 20
OTHERS = 28
# The labs with their numbers of nodes, and the original limit. A reboot removes this file and resets the limit.
RECORD = Path(f"/run/{PROJECT}s.json")
# Created as a mount point by node.sh; kept while it holds other nspawn containers.
NSPAWN = Path("/run/systemd/nspawn")


def enter(folder: Path, nodes: int) -> None:
    """Raise the limit if it is too low for the `nodes` of the lab in `folder` and those of the other labs."""
    with locked(RECORD, wait=True):
        record = _read()
        record["labs"][str(folder)] = nodes
        limit, needed = int(LIMIT.read_text()), OTHERS + PER_NODE * sum(record["labs"].values())
        if limit < needed:
            # A limit that a lab has set is not the original one.
            former = record["former"] if limit == record.get("raised") else limit
            record.update(former=former, raised=needed)
        # Written before the limit is raised, so that the last lab to be removed knows the original limit.
        _write(record)
        if limit < needed:
            progress(f"raising fs.inotify.max_user_instances from {limit} to {needed} until the last lab is removed")
            try:
                LIMIT.write_text(f"{needed}\n")
            except OSError as error:
                warn(
                    f"fs.inotify.max_user_instances is {limit}, the nodes need {needed}, "
                    f"and it cannot be raised ({error}): kubelets may exit when they start"
                )


def leave(folder: Path) -> None:
    """Forget the lab in `folder`. If it was the last one, restore the limit and remove nspawn's folder.

    The limit is not restored if another program has changed it since.
    """
    with locked(RECORD, wait=True):
        record = _read()
        record["labs"].pop(str(folder), None)
        if record["labs"]:
            _write(record)
            return
        if int(LIMIT.read_text()) == record.get("raised"):
            LIMIT.write_text(f"{record['former']}\n")
        RECORD.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            NSPAWN.rmdir()


def _read() -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(RECORD.read_text())
    except (FileNotFoundError, ValueError):
        record = {"labs": {}}
    # A lab's folder may have been removed by hand.
    record["labs"] = {place: nodes for place, nodes in record["labs"].items() if is_lab(Path(place))}
    return record


def _write(record: dict[str, Any]) -> None:
    fresh = RECORD.with_suffix(".new")
    fresh.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n")
    fresh.rename(RECORD)
