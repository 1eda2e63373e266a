# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a 1.20 kubelet handles config sources: a model written from its source code, independent of the code under test.

One object is one node. Last-known-good stays empty: a source graduates after ten minutes in one process, and no step of
a test lasts that long.
"""

from __future__ import annotations

import dataclasses
import itertools

from tests.sim.kubelets.words import DOWNLOAD, LOAD, VALIDATE

# The effect of a source when a kubelet starts with it.
ERRORS = {"good_a": "", "good_b": "", "unparsable": LOAD, "invalid": VALIDATE, "missing_key": LOAD}
STATES = ("nil", *ERRORS, "missing_configmap")


@dataclasses.dataclass
class Model:
    """A node: the assigned source on its disk, and the resulting status."""

    disk: str = "nil"
    error: str = ""

    def assign(self, state: str) -> bool:
        """Assign another source; return whether the kubelet restarts."""
        if state == "missing_configmap":
            self.error = DOWNLOAD
            return False
        if state == "nil" and self.disk == "nil":
            # The reset path does not clear the error of an earlier sync.
            return False
        restarts = state != self.disk
        self.disk = state
        self.error = "" if state == "nil" else ERRORS[state]
        return restarts

    @property
    def assigned(self) -> str | None:
        """Return the source that the status shows as assigned."""
        return None if self.disk == "nil" else self.disk

    @property
    def active(self) -> str | None:
        """Return the source that the status shows as active; None for local."""
        return self.disk if ERRORS.get(self.disk) == "" else None


def circuit(states: tuple[str, ...] = STATES) -> list[tuple[str, str]]:
    """Return every ordered pair of states once, each starting where the previous one ended.

    This is an Eulerian circuit, found by Hierholzer's algorithm.
    """
    left = {one: [other for other in states if other != one] for one in states}
    stack, path = [states[0]], []
    while stack:
        if left[stack[-1]]:
            stack.append(left[stack[-1]].pop())
        else:
            path.append(stack.pop())
    path.reverse()
    return list(itertools.pairwise(path))
