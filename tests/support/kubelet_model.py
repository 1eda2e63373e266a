# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a 1.20 kubelet makes of config sources: a model written from its source code, independent of the code under
test.

One object is one node. LKG stays empty: it graduates after ten minutes in one process, which no step of a test lasts.
"""

from __future__ import annotations

import dataclasses
import itertools

LOAD = "failed to load config, see Kubelet log for details"
VALIDATE = "failed to validate config, see Kubelet log for details"
DOWNLOAD = "failed to sync: failed to download config, see Kubelet log for details"

# What a source does when a kubelet starts with it.
ERRORS = {"good_a": "", "good_b": "", "unparsable": LOAD, "invalid": VALIDATE, "missing_key": LOAD}
STATES = ("nil", *ERRORS, "missing_configmap")


@dataclasses.dataclass
class Model:
    """A node: what stands on its disk as assigned, and what its status then says."""

    disk: str = "nil"
    error: str = ""

    def assign(self, state: str) -> bool:
        """Give the node another source; return whether its kubelet restarts."""
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
        """The source the status calls assigned."""
        return None if self.disk == "nil" else self.disk

    @property
    def active(self) -> str | None:
        """The source the status calls active; None for local."""
        return self.disk if ERRORS.get(self.disk) == "" else None


def circuit(states: tuple[str, ...] = STATES) -> list[tuple[str, str]]:
    """Return every ordered pair of states once, each beginning where the one before ended (an Eulerian circuit,
    Hierholzer).
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
