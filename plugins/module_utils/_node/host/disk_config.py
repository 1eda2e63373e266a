# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kubelet would read from the node's disk now, and whether that changed since its start or its staging."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

from ..._config.fields import difftext
from ..guard import observe
from ..store import checkpoints, meta
from ..store.store_reader import wrong
from ..system import command, files, health
from ..system.files import StoreError
from ..unit import dropin_folder
from . import dropin_look


def look(
    argv: Sequence[str],
    dropins: Sequence[str],
    name: str = "kubelet.service",
    root: str = "/",
    run: command.Run = command.execute,
) -> dict[str, Any]:
    """Return the config file that a kubelet with this command line reads: content (secrets masked), checkpoint and age.

    With --dynamic-config-dir this is the assigned checkpoint in that folder, while one is assigned.
    """
    folder = health.flag(argv, "dynamic-config-dir")
    dynamic = _dynamic(folder, root) if folder else ""
    # A kubelet also writes the file `assigned` for its local config, long after its start.
    ways = [f"{folder}/store/meta/assigned", dynamic] if dynamic else [health.flag(argv, "config") or ""]
    path = os.path.realpath(files.below(root, ways[-1])) if ways[-1] else ""
    shown = "/" + os.path.relpath(path, os.path.realpath(root)) if path else None
    found, unreadable = _read(path) if path else (None, "the command line names no config file")
    # A switch by drop-in renames what our link leads to, and no other drop-in.
    places = [files.below(root, file) for file in dropins if dropin_folder.is_link(file)]
    ours = [os.readlink(place) for place in places if os.path.islink(place)]
    seen = observe.kubelet(name, run)
    return {
        "path": shown,
        "content": found,
        "unreadable": unreadable,
        "checkpoint": _checkpoint(path),
        "changed": _changed([*ways, shown or "", *ours], root),
        "started": seen.since() if seen else None,
        "dropins": {dropin: _read(files.below(root, dropin))[0] for dropin in dropins},
    }


def _dynamic(folder: str, root: str) -> str:
    """Return the path of the checkpoint that is assigned in a --dynamic-config-dir.

    Empty for the local config, or when it cannot be determined.
    """
    try:
        with open(files.below(root, f"{folder}/store/meta/assigned"), "rb") as stream:
            source = meta.decode(stream.read())
    except (OSError, StoreError):
        return ""
    if source is None:
        return ""
    return f"{folder}/store/checkpoints/{source['uid']}/{source['resourceVersion']}/{source['kubeletConfigKey']}"


def _read(path: str) -> tuple[Mapping[str, Any] | None, str | None]:
    """Return the content of a file, secrets masked, or why it cannot be read."""
    content, wrong = dropin_look.read(path)
    return None if content is None else difftext.masked(content), wrong or None


def _checkpoint(path: str) -> dict[str, Any] | None:
    """Return the checkpoint a file belongs to, None when it belongs to none.

    Checkpoints of the kubelet itself have no digests, so damage to them cannot be detected.
    """
    parts = path.split("/")
    if parts[-5:-3] != ["store", "checkpoints"]:
        return None
    folder, damage = os.path.dirname(path), ""
    if os.path.exists(folder + checkpoints.SUMS):
        known = checkpoints.Checkpoints(os.path.dirname(os.path.dirname(folder)), files.DISK)
        damage = wrong(lambda: known.whole(folder))
    return {"uid": parts[-3], "resourceVersion": parts[-2], "damage": damage or None}


def _changed(ways: Sequence[str], root: str) -> float | None:
    """Return when the files, or the links in their paths, last changed, in seconds since the epoch.

    A switch replaces links. This is the change time (ctime): a copy may set the modification time to an older one.
    """
    moments = []
    for way in ways:
        for place in (way, os.path.dirname(way)) if way else ():
            try:
                found = os.lstat(files.below(root, place))
            except OSError:
                continue
            if place == way or os.path.islink(files.below(root, place)):
                moments.append(found.st_ctime)
    return max(moments) if moments else None
