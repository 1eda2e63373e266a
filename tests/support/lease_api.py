# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The times of Leases. Goes with the import in tests/unit/roles/test_one_place.py."""

from __future__ import annotations

from tests.sim.api import store


def stamp(seconds: float) -> str:
    """Return a MicroTime."""
    return store.stamp(seconds, micro=True)
