# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many examples a property test tries that needs more or fewer than others."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100
"""Examples of a test without a number of its own, in the usual profile."""


def examples(number: int) -> int:
    """Return `number` for the usual profile, and its share for the one that is loaded, at least 1."""
    return max(1, number * settings().max_examples // USUAL)
