# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The follower's service: it watches its own Node, and starts a process of its own for each look at what has changed.

This process stays small, for it never ends: it has a TLS connection, and what it imports is no more than that needs.
Everything else is a step (see steps.py) in a child, which leaves no memory behind.
"""

from __future__ import annotations

import json
import os
import sys
import time

from ..system.connection import ApiError, ApiServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Mapping, Sequence

_QUIET_SECONDS = 900.0
"""After so many seconds without an event the watch begins again. A kubelet writes its Node every five minutes."""
WATCH_SECONDS = (1200.0, 2400.0)
"""How long a watch lasts, by chance: so that not all nodes begin the next one together."""
PAUSE_SECONDS = (1.0, 45.0), (40.0, 50.0)
"""How long to wait after a failure, by chance, and after each further one in a row: thousands of nodes lose a restarted
API server at the same moment. While it is away, all of them together knock as slowly as they come back.
"""
_EARLY_SECONDS = 10.0
"""A watch that ends so many seconds before its time was ended by an API server that stops, as all others there."""


class Watch:
    """A watch of the Node.

    `api`: the arguments of ApiServer. `place`: what to ask it for. `read`: the annotations that a look depends on.
    `answer`: that of the follower.
    """

    def __init__(self, api: Mapping[str, Any], name: str, place: str, read: Sequence[str], answer: str) -> None:
        self.api, self.name, self.place = ApiServer(**api), name, place
        self.read, self.answer = read, answer

    def nodes(self) -> Iterator[Mapping[str, Any]]:
        """Yield the Node as the API server has it in its cache, then after each change, until the watch ends.

        Raises ApiError, also if the watch ends early.
        """
        seconds = int(between(*WATCH_SECONDS))
        end = time.monotonic() + seconds
        for line in self.api.lines(f"{self.place}&timeoutSeconds={seconds}", _QUIET_SECONDS):
            try:
                event = json.loads(line)
                kind, node = event["type"], event["object"]
            except (ValueError, TypeError, KeyError) as error:
                raise ApiError(f"the watch of Node {self.name} sent what is no event: {error}") from error
            if kind == "ERROR":
                raise ApiError(f"the watch of Node {self.name} ended: {node.get('message')}")
            if kind in ("ADDED", "MODIFIED"):
                yield node
        if time.monotonic() < end - _EARLY_SECONDS:
            raise ApiError(f"the API server has ended the watch of Node {self.name} before its time")


def main(folder: str, _words: Sequence[str] = ()) -> int:
    """Watch the Node of the program in this folder, until another one is installed: systemd starts that one then."""
    done: Any = None
    sound: Any = None
    failures = 0
    ours = _program(folder)
    while _program(folder) == ours:
        try:
            watch = Watch(**apart("opened", folder))
            for node in watch.nodes():
                failures = 0
                if _program(folder) != ours:
                    return 0
                notes = node["metadata"].get("annotations") or {}
                now = (node["metadata"].get("uid"), *map(notes.get, watch.read))
                answer = notes.get(watch.answer) or ""
                if now == done and answer != sound and apart("is_answer", answer):
                    sound = answer
                if now != done or answer != sound:
                    apart("look", folder)
                    done = now
        except ApiError as error:
            sys.stderr.write(f"{error}\n")
            sys.stderr.flush()
            failures += 1
            time.sleep(pause(failures))
    return 0


def apart(step: str, *given: Any) -> Any:
    """Return what a step of steps.py returns in a child of this process. Raises ApiError, also if the child fails."""
    try:
        reading, writing = os.pipe()
        child = os.fork()
    except OSError as error:
        raise ApiError(f"the follower cannot start a process: {error}") from error
    if not child:
        _child(writing, step, given)
    os.close(writing)
    with open(reading, encoding="ascii") as stream:
        text = stream.read()
    os.waitpid(child, 0)
    try:
        result, fault = json.loads(text)
    except ValueError:
        raise ApiError(f"the follower's step {step} has ended without a result") from None
    if fault:
        raise ApiError(fault)
    return result


def _child(writing: int, step: str, given: Sequence[Any]) -> None:
    """Do a step, write its result and its error as JSON, and end this process."""
    try:
        found = _done(step, given)
        with open(writing, "w", encoding="ascii") as stream:
            json.dump(found, stream)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(0)


def _done(step: str, given: Sequence[Any]) -> tuple[Any, str]:
    """Return the result of a step, and why it failed."""
    from . import steps

    try:
        return getattr(steps, step)(*given), ""
    except ApiError as error:
        return None, str(error)


def _program(folder: str) -> str:
    """Return which program is installed, empty while that cannot be seen."""
    try:
        return os.readlink(os.path.join(folder, "current"))
    except OSError:
        return ""


def pause(failures: int) -> float:
    """Return the seconds to wait after so many failures in a row."""
    return between(*PAUSE_SECONDS[min(failures, len(PAUSE_SECONDS)) - 1])


def chance() -> float:
    """Return a number from 0 to 1. The module `random` would need half a megabyte."""
    return int.from_bytes(os.urandom(4), "big") / 2**32


def between(least: float, most: float) -> float:
    """Return a number between two others, by chance."""
    return least + chance() * (most - least)
