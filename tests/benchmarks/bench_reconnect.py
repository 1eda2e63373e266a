# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure how followers come back to an API server that restarts: all of them lose their watch at the same moment.

    PYTHONPATH=<folder with ansible_collections>:. python -m tests.benchmarks.bench_reconnect [--nodes 5000]

Each follower is the loop of the real one, with a clock and an API server of its own. Followers do not wait for each
other, so their requests are added up afterwards. What fails the benchmark is a second with more than MOST requests,
also of refused ones, or a follower that is back more than SLOWEST seconds after the API server.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import random
import sys
import typing as t
from unittest import mock

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow import watching
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.connection import ApiError
from tests.sim.api.direct import Clock

MOST, SLOWEST = 200, 60.0
AWAY = (0.0, 2.0, 10.0, 30.0, 45.0, 60.0, 120.0, 600.0)
"""Seconds for which the API server is away."""
EVENT = json.dumps({"type": "ADDED", "object": {"metadata": {"uid": "uid-n1"}}}).encode()
OPENED = {"api": {}, "name": "n1", "place": "", "read": (), "answer": ""}
"""What the step `opened` returns."""


class Back(Exception):
    """The follower has its watch again."""


class ApiServer:
    """What one follower sees: it ends the watches, is away for some seconds, and then stays."""

    def __init__(self, clock: Clock, away: float) -> None:
        self._clock, self._end = clock, clock.now + away
        self._lost = False
        self.asked: list[float] = []
        """When the follower has sent a request, in seconds after the loss."""
        self._began = clock.now

    def lines(self, _path: str, _quiet: float) -> t.Iterator[bytes]:
        """Yield the lines of the first watch, which ends as an API server ends it that stops; then refuse."""
        if not self._lost:
            self._lost = True
            yield EVENT
            return
        self.asked.append(self._clock.now - self._began)
        if self._clock.now < self._end:
            raise ApiError("connection refused")
        raise Back


def reconnect(away: float) -> list[float]:
    """Return when one follower has asked an API server that is away for some seconds. It is back with the last one."""
    clock = Clock()
    server = ApiServer(clock, away)
    with (
        mock.patch.object(watching, "time", clock),
        mock.patch.object(watching.sys, "stderr"),
        mock.patch.object(watching, "chance", random.random),
        mock.patch.object(watching, "apart", return_value=OPENED),
        mock.patch.object(watching, "ApiServer", return_value=server),
        contextlib.suppress(Back),
    ):
        watching.main("")
    return server.asked


class Measured(t.NamedTuple):
    """The most requests in a second, and when the last follower was back, in seconds after the API server."""

    most: int
    last: float


def measured(nodes: int, away: float) -> Measured:
    asked = [reconnect(away) for _node in range(nodes)]
    seconds = collections.Counter(int(moment) for moments in asked for moment in moments)
    return Measured(max(seconds.values()), max(moments[-1] for moments in asked) - away)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=5000)
    nodes = parser.parse_args().nodes
    random.seed(1)
    failed = False
    for away in AWAY:
        found = measured(nodes, away)
        failed |= found.most > MOST or found.last > SLOWEST
        print(f"{nodes} followers, {away:5.0f} s away: {found.most:4} requests a second at most, the last one back "
              f"after {found.last:4.1f} s", flush=True)  # fmt: skip
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
