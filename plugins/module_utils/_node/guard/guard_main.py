# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's program: `prestart`, `watch`, `tick`, `tell`, `prove`, `status`. See guard.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from ..store.store import DEFAULT_KEY, Store
from ..system import command, health
from ..system.lock import LockError
from ..system.store_error import StoreError
from . import observe, status_annotation
from .decide import Progress
from .guard import FAST_SECONDS, Guard, Settings

SERVICE = "livenodes-kubelet-guard.service"
LONGEST_PAUSE = 60.0


def main(folder: str, words: list[str]) -> int:
    """Run one of the program's commands; `folder` is the guard's own, which lies in the config folder and holds
    `settings.json`.
    """
    with open(os.path.join(folder, "settings.json"), encoding="utf-8") as stream:
        known = json.load(stream)
    settings = Settings(known["unit"], tuple(known["argv"]), known.get("config", ""), known.get("key", DEFAULT_KEY))
    guard = Guard(Store(os.path.dirname(folder)), settings)
    what = words[0] if words else ""
    if what == "prestart":
        return prestart(guard)
    if what == "watch":
        return watch(guard, folder)
    if what == "tick":
        sys.stdout.write(f"{guard.tick()}\n")
        return 0
    if what == "tell":
        return tell(guard)
    if what == "prove":
        return prove(guard)
    if what == "status":
        return status(guard)
    sys.stderr.write(f"usage: {folder} prestart | watch | tick | tell | prove | status\n")
    return 2


def prestart(guard: Guard) -> int:
    """Before a start of the kubelet. Never keeps it from starting, whatever is wrong with the guard."""
    try:
        if guard.prestart():
            command.execute(["systemctl", "start", "--no-block", SERVICE])
    except (StoreError, LockError, OSError) as error:
        sys.stderr.write(f"{error}\n")
    return 0


def watch(guard: Guard, folder: str) -> int:
    """Watch a trial to its end, and tell the cluster. Returns when there is nothing left to do."""
    pause, next_telling = 5.0, 0.0
    while True:
        try:
            wait = guard.tick()
        except (StoreError, LockError, OSError) as error:
            sys.stderr.write(f"{error}\n")
            wait = LONGEST_PAUSE / 6
        if guard.records.report() is not None:
            if guard.tellable() and time.monotonic() >= next_telling:
                told = (
                    subprocess.run(
                        [sys.executable, "-I", folder, "tell"], check=False, stdin=subprocess.DEVNULL
                    ).returncode
                    == 0
                )
                pause = 5.0 if told else min(pause * 1.5, LONGEST_PAUSE)
                next_telling = time.monotonic() + (FAST_SECONDS if told else pause)
                continue
            wait = pause if wait is None else min(wait, pause)
        if wait is None:
            return 0
        time.sleep(wait)


def tell(guard: Guard) -> int:
    """Tell the API server what is yet to be told, as the kubelet."""
    from . import status_reporter as telling

    words, _started = _kubelet(guard)

    def since() -> float | None:
        # A kubelet that is about to be restarted is not the one to tell of.
        return None if guard.records.progress().verdict else _kubelet(guard)[1]

    failure = telling.tell(
        guard.records, lambda: telling.api_of(words), since, health.flag(words, "hostname-override") or ""
    )
    if failure:
        sys.stderr.write(f"not told yet: {failure}\n")
    return 1 if failure else 0


def prove(guard: Guard) -> int:
    """Ask the API server, as the kubelet, whether the Node is a proof of the kubelet that runs; the last line of
    standard error says why not.
    """
    from . import status_reporter as telling

    words, started = _kubelet(guard)
    wrong = telling.unproven(lambda: telling.api_of(words), health.flag(words, "hostname-override") or "", started)
    if wrong:
        sys.stderr.write(" ".join(wrong.split()) + "\n")
    return 1 if wrong else 0


def _kubelet(guard: Guard) -> tuple[list[str], float | None]:
    """Return the command line of the kubelet, and when the one that runs was started (seconds since the epoch)."""
    seen = observe.kubelet(guard.settings.unit)
    words = observe.argv(seen.pid) if seen and seen.pid else []
    return words or list(guard.settings.argv), seen.since() if seen else None


def status(guard: Guard) -> int:
    """Print the node's config status as JSON, in the shape of the annotation, and what the guard remembers of a trial."""
    pending = guard.records.report()
    progress = guard.records.progress()
    shown = status_annotation.status(
        guard.store.assigned(),
        guard.store.active_source(),
        guard.store.last_known_good(),
        guard.store.error(),
        "",
        time.time(),
    )
    started = _kubelet(guard)[1]
    if started is not None:
        shown["started"] = status_annotation.stamp(started)
    sys.stdout.write(
        json.dumps(
            {**shown, "told": pending is None, "progress": progress._asdict() if progress != Progress() else None},
            indent=2,
        )
        + "\n"
    )
    return 0
