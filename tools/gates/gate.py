# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a gate is, how declared.py declares one, and how long gates and tiers may take."""

from __future__ import annotations

import dataclasses
import os
import typing as t
from pathlib import PurePosixPath

from tools.environments import Tools

if t.TYPE_CHECKING:
    import nox

# Seconds that the whole short tier should take on two cores, the building of the labs included.
BUDGET = 2700
# Seconds after which a tier is ended, and fails.
MOST = {"short": 87 * 60, "long": 6 * 3600}
# Seconds that one gate may take, by the first word of its lane and by tier; the first run fills the environments.
LIMITS = {
    "quick": {"short": 1200, "long": 1800},
    "single": {"short": 1200, "long": 1800},
    "slow": {"short": 3000, "long": 18000},
    "beside": {"short": 3000, "long": 9000},
    "lab": {"short": 3600, "long": 9000},
}
Body = t.Callable[["nox.Session"], None]
Arguments = t.Callable[[bool], list[str]]


@dataclasses.dataclass(frozen=True)
class Gate:
    """One gate: its lane, the seconds it may take by tier, what it does, and whether it runs alone, after all lanes.

    `tests` returns the arguments of pytest, in the long tier or in the short one; none where it does not run pytest.
    """

    lane: str
    limits: t.Mapping[str, float]
    body: Body
    alone: bool = False
    tests: Arguments = lambda _long: []

    def runs(self, file: str, long: bool) -> bool:
        """Return whether it runs tests of a file, in the long tier or in the short one."""
        words, path = set(self.tests(long)), PurePosixPath(file)
        rooms = {file, *map(str, path.parents)}
        return not words.isdisjoint(rooms) and words.isdisjoint(f"--ignore={room}" for room in rooms)


GATES: dict[str, Gate] = {}
"""By name, in the order in which declared.py declares them."""


def gate(lane: str, *tiers: str, **more: t.Any) -> t.Callable[[Body], Body]:
    """Declare a gate of a lane and its tiers (short if none is named); `more`: other fields of Gate."""

    def declare(body: Body) -> Body:
        most = LIMITS[lane.partition("_")[0]]
        limits = {tier: most[tier] for tier in tiers or ("short",)}
        GATES[body.__name__] = Gate(lane, limits, body, **more)
        return body

    return declare


def tests(lane: str, tools: t.Callable[[nox.Session], Tools], *tiers: str) -> t.Callable[[Arguments], Arguments]:
    """Declare a gate that runs pytest in an environment, with the arguments that the function returns for a tier."""

    def declare(arguments: Arguments) -> Arguments:
        def body(session: nox.Session) -> None:
            tools(session).pytest(*arguments(is_long()))

        body.__name__, body.__doc__ = arguments.__name__, arguments.__doc__
        gate(lane, *tiers, tests=arguments)(body)
        return arguments

    return declare


def is_long() -> bool:
    """Return whether this process belongs to the long tier."""
    return os.environ.get("TIER") == "long"
