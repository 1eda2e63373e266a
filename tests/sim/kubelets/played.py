# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubelets that a test plays by hand."""

from __future__ import annotations

import typing as t

from tests.sim.api.handlers import Answer
from tests.sim.api.refusal import Refusal, unreachable
from tests.sim.kubelets import pages

TEXT = {"Content-Type": "text/plain"}


class PlayedKubelets:
    """The part of a cluster that answers for its kubelets.

    `live` is what each kubelet runs, `births` when it was started, `sick` the answers of healthz instead of ok. An
    exception in place of any of them is raised. `births` are by a clock of which those of the nodes are `ahead` by so
    many seconds. The kubelets in `silent` serve no counter of their relists.
    """

    def play(self, clock: t.Callable[[], float], names: t.Iterable[str]) -> None:
        """Begin: none answers for its configuration yet."""
        self._clock = clock
        self.live: dict[str, t.Any] = {}
        self.births: dict[str, t.Any] = dict.fromkeys(names, 1000.0)
        self.sick: dict[str, t.Any] = {}
        self.ahead: dict[str, float] = {}
        self.silent: set[str] = set()

    def proxied(self, name: str, path: str) -> Answer:
        """Answer for a kubelet. Raises Refusal."""
        if path == "/configz":
            if name not in self.live:
                raise unreachable("connection refused")
            return Answer(200, {"kubeletconfig": _raised(self.live[name])})
        if path == "/healthz":
            return Answer(200, _raised(self.sick.get(name, "ok")).encode(), TEXT)
        if path == "/metrics":
            return Answer(200, self._metrics(name, _raised(self.births[name])).encode(), TEXT)
        if path.startswith("/stats/summary"):
            return Answer(200, {})
        raise Refusal(404, "404 page not found")

    def _metrics(self, name: str, birth: float) -> str:
        """Return what a kubelet serves: the first relist is a second after its start, and no jump changes their sum."""
        relisted = "" if name in self.silent else pages.relists(max(0.0, self._clock() - birth - 1.0))
        return pages.started(birth + self.ahead.get(name, 0.0)) + relisted


def _raised(found: t.Any) -> t.Any:
    if isinstance(found, Exception):
        raise found
    return found
