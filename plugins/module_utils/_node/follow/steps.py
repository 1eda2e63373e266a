# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a follower does in a process of its own, because it needs more memory than waiting: see watching.apart."""

from __future__ import annotations

import os
import sys
from typing import Any
from urllib.parse import quote

from ..._config.values import annotation, following
from ..store import installed
from ..system import command
from ..system.connection import ApiError

_LOOK_SECONDS = 900.0
"""How long one look may take: the inspection, a switch, and the restart of a kubelet."""
READ = (annotation.SOURCE, following.FOLLOW)
"""The annotations that a look depends on."""


def opened(folder: str) -> dict[str, Any]:
    """Return what watching.Watch needs, for the program in this folder. Raises ApiError.

    Revision 0 means any: the watch begins with the present state, so none is ever too old (410). Without a revision, or
    with bookmarks, it needs an etcd that reports its progress, from 3.4.31 or 3.5.13 on (storage/cacher of Kubernetes
    1.32).
    """
    from ..guard import guard_main

    api = guard_main.api(guard_main.guard_of(folder))
    name = api.node_name()
    return {
        "api": {
            "path": api.path,
            "server": api.server,
            "cluster": api.cluster,
            "timeout": api.timeout,
            "proxy": api.proxy(),
            "identities": api.identities(),
        },
        "name": name,
        "place": f"/api/v1/nodes?fieldSelector={quote(f'metadata.name={name}')}&watch=true&resourceVersion=0",
        "read": READ,
        "answer": following.FOLLOWER,
    }


def look(folder: str) -> None:
    """Look once. Raises ApiError if that must be repeated."""
    program = installed.program(sys.executable, os.path.dirname(folder))
    done = command.execute([*program, "look"], _LOOK_SECONDS)
    if done.returncode:
        raise ApiError(done.stderr.strip() or f"the look at the Node ended with exit status {done.returncode}")
    sys.stderr.write(done.stderr)


def is_answer(text: str) -> bool:
    """Return whether this is an answer of a follower. One that was damaged is written again."""
    return following.answer({following.FOLLOWER: text})[0] is not None
