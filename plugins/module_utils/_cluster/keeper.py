# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout's Lease, kept while something else takes long."""

from __future__ import annotations

import time
import typing as t

from . import lease
from .session import Session


class Keeper:
    """Renews a lease (without a name: there is none, as in check mode) whenever a third of its duration is over, the
    first time at once.

    One that was renewed a moment ago is `fresh`: its turn comes after a third of the duration.
    """

    def __init__(self, session: Session, held: dict[str, t.Any] | None, fresh: bool = False) -> None:
        self.session = session
        self.lease = held if held and held.get("name") else None
        self.every = float(self.lease["duration"]) / 3 if self.lease else 0.0
        self._due = time.monotonic() + (self.every if fresh else 0.0)

    def keep(self) -> None:
        """Renew it if it is time. Raises ClusterError when it is not ours any more, ApiError when it could not be asked for."""
        if self.lease and time.monotonic() >= self._due:
            lease.renew(self.session, self.lease)
            self._due = time.monotonic() + self.every

    def nap(self, seconds: float) -> float:
        """Return how long one may sleep at most so that the lease is renewed in time."""
        left = self._due - time.monotonic()
        return min(seconds, left) if self.lease and left > 0 else seconds
