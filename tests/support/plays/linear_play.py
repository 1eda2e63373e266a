# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A model of Ansible's linear strategy: when each host runs each task. tests/unit/roles compares it with Ansible."""

from __future__ import annotations

import dataclasses
import heapq
import typing as t


@dataclasses.dataclass(frozen=True)
class Step:
    """A task: its seconds on each host, or those of its one call (`once`)."""

    name: str
    seconds: t.Sequence[float] | float
    once: bool = False

    def of(self, host: int) -> float:
        return self.seconds if isinstance(self.seconds, (int, float)) else self.seconds[host]


class Span(t.NamedTuple):
    """When a host began and ended a task, in seconds since the begin of the play."""

    begin: float
    end: float


def play(steps: t.Sequence[Step], hosts: int, forks: int, overhead: float = 0.0) -> dict[str, list[Span]]:
    """Return the spans of all hosts by task.

    Ansible gives a task to the hosts in their order, to each as soon as one of the forks is free, which takes the
    controller `overhead` seconds a host. The next task begins when all hosts have ended this one.
    """
    now = 0.0
    found: dict[str, list[Span]] = {}
    for step in steps:
        spans: list[Span] = []
        free = [now] * forks
        for host in range(1 if step.once else hosts):
            now = max(now + overhead, heapq.heappop(free))
            spans.append(Span(now, now + step.of(host)))
            heapq.heappush(free, spans[-1].end)
        found[step.name] = spans * hosts if step.once else spans
        now = max(span.end for span in spans)
    return found


def waits(spans: t.Mapping[str, t.Sequence[Span]], first: str, last: str) -> list[float]:
    """Return the seconds of each host from the begin of its first task to the end of its last one."""
    return [end.end - begin.begin for begin, end in zip(spans[first], spans[last], strict=True)]
