# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a follower waits before it asks an API server again that it has lost."""

from __future__ import annotations

import random

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow import watching
from tests.benchmarks import bench_reconnect

NODES = 1000
SHARE = 5000 // NODES


@pytest.mark.parametrize("away", [0.0, 10.0, 45.0, 120.0])
def test_followers_come_back_one_after_the_other(away: float) -> None:
    """All are back a minute after the API server, and 5,000 do not send 200 requests in a second."""
    random.seed(1)
    found = bench_reconnect.measured(NODES, away)
    # A fifth of the nodes varies more: by three times the root of 200 / 5 more in a second.
    assert found.most * SHARE <= bench_reconnect.MOST * 1.5
    assert found.last <= bench_reconnect.SLOWEST


@pytest.mark.parametrize("failures", [1, 2, 3, 1000])
def test_failures_in_a_row_do_not_lengthen_the_pause_for_ever(failures: int) -> None:
    least, most = watching.PAUSE_SECONDS[0 if failures == 1 else 1]
    pauses = [watching.pause(failures) for _turn in range(1000)]
    assert least <= min(pauses) < least + (most - least) / 10
    assert most - (most - least) / 10 < max(pauses) <= most < bench_reconnect.SLOWEST
