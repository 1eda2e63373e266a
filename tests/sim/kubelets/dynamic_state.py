# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a 1.20 kubelet handles a source and a configuration, without a clock, a socket or an API server
(pkg/kubelet/kubeletconfig).
"""

from __future__ import annotations

import dataclasses
import typing as t

from tests.sim.kubelets.configs import Config, Outcome, shown
from tests.sim.kubelets.words import DOWNLOAD

Reference = dict[str, str]


@dataclasses.dataclass
class State:
    """The state of one node's kubelet."""

    local: Config
    """/configz of the configuration on its disk."""
    assigned: Reference | None = None
    active: Reference | None = None
    good: Reference | None = None
    error: str = ""
    override: str = ""
    configz: Config = dataclasses.field(default_factory=dict)
    starts: int = 0
    deadly: bool = False
    """Whether it ends at each start, before it looks at the API server."""
    saved: dict[str, Config] = dataclasses.field(default_factory=dict)
    """The configurations of its sources, by uid and resourceVersion."""

    def __post_init__(self) -> None:
        self.configz = self.configz or self.local

    def reset(self) -> bool:
        """Follow the removal of its source; return whether the kubelet restarts."""
        self.good = None
        if self.assigned is None:
            # The error of an earlier sync stays.
            return False
        self.assigned = None
        self._start(Outcome())
        return True

    def missing(self) -> None:
        """Record that the ConfigMap could not be fetched."""
        self.override = DOWNLOAD

    def follow(self, reference: Reference, found: Outcome) -> bool:
        """Follow a fetched source; return whether the kubelet restarts. `found`: what it makes of its text."""
        self.override = ""
        if reference == self.assigned:
            return False
        self.assigned = reference
        self._start(found)
        return True

    def graduate(self) -> bool:
        """End the trial; return whether that changed the last-known-good."""
        if self.assigned is None or self.error or self.good == self.assigned:
            return False
        self.good = self.assigned
        return True

    def empty(self) -> None:
        """Empty the files of the store, the remedy for a kubelet that dies of its configuration."""
        self.assigned = self.good = None
        self._start(Outcome())

    def _start(self, found: Outcome) -> None:
        self.starts += 1
        self.error, self.override, self.deadly = found.error, "", found.deadly
        if found.config is not None and self.assigned:
            self.saved[_identity(self.assigned)] = shown(found.config, self.local)
        self.active = self.assigned if not found.error else self.good
        self.configz = self.saved[_identity(self.active)] if self.active else self.local

    def status(self) -> dict[str, t.Any]:
        """Return its `status.config` as a merge patch; a part that is local is null."""
        parts = {"assigned": self.assigned, "active": self.active, "lastKnownGood": self.good}
        return {
            **{name: {"configMap": part} if part else None for name, part in parts.items()},
            "error": self.override or self.error or None,
        }


def _identity(reference: Reference) -> str:
    return f"{reference['uid']}/{reference['resourceVersion']}/{reference['kubeletConfigKey']}"
