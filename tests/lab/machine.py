# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the labs of a machine share: its limit of inotify instances, and a folder of nspawn's. The last lab to go down
gives both back as they were.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from .console import say, warn
from .settings import PROJECT, is_lab, locked

LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
# A node's systemd, containerd and kubelet have 12 instances when at rest and up to 20 while they start; others of the
# same user have some too.
PER_NODE = 20
OTHERS = 28
# Which labs there are, with their number of nodes, and what the limit was. Gone after a reboot, as what was set is.
RECORD = Path(f"/run/{PROJECT}s.json")
# Made for a mount point by node.sh; nspawn containers of others keep it.
NSPAWN = Path("/run/systemd/nspawn")


def enter(folder: Path, nodes: int) -> None:
    """Make room for the `nodes` of the lab in `folder`, beside those of other labs: raise the limit where it is too low."""
    with locked(RECORD, wait=True):
        record = _read()
        record["labs"][str(folder)] = nodes
        limit, needed = int(LIMIT.read_text()), OTHERS + PER_NODE * sum(record["labs"].values())
        if limit < needed:
            # What we set ourselves is not what was there before us.
            former = record["former"] if limit == record.get("raised") else limit
            record.update(former=former, raised=needed)
        # Before the limit is raised: whatever stops the lab, the last one to go down knows.
        _write(record)
        if limit < needed:
            say(f"raising fs.inotify.max_user_instances from {limit} to {needed} until the last lab goes down")
            try:
                LIMIT.write_text(f"{needed}\n")
            except OSError as error:
                warn(
                    f"fs.inotify.max_user_instances is {limit}, the nodes need {needed}, and it cannot be raised ({error}): kubelets may end at their start"
                )


def leave(folder: Path) -> None:
    """Forget the lab in `folder`. If no other is there, put the limit back, unless somebody else has changed it since,
    and remove nspawn's folder.
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
    # Somebody may have removed a lab's folder by hand.
    record["labs"] = {place: nodes for place, nodes in record["labs"].items() if is_lab(Path(place))}
    return record


def _write(record: dict[str, Any]) -> None:
    fresh = RECORD.with_suffix(".new")
    fresh.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n")
    fresh.rename(RECORD)
