# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import random

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import pacing

NODES = 1000
HOUR = 3600.0


@pytest.mark.parametrize(
    ("failed", "share", "seconds"),
    [
        (1, 0.0, 5),
        (1, 0.5, 10),
        (1, 1.0, 15),
        (2, 0.5, 20),
        (4, 0.5, 80),
        (5, 0.5, 120),
        (9, 0.0, 60),
        (9, 1.0, 180),
        (10**6, 0.5, 120),
    ],
)
def test_a_pause_doubles_up_to_the_longest_and_varies_by_half(failed: int, share: float, seconds: float) -> None:
    assert pacing.pause(failed, share, 10, 120) == seconds


def test_a_thousand_nodes_that_stay_unready_send_a_bounded_number_of_requests() -> None:
    """All begin in the same second, which is the worst case. At a steady pause of 10 s it were 100 a second."""
    dice = random.Random(0)
    moments: list[float] = []
    for _node in range(NODES):
        at, failed = 0.0, 0
        while at < HOUR:
            moments.append(at)
            failed += 1
            at += pacing.pause(failed, dice.random(), pacing.FIRST_SECONDS, pacing.LONGEST_SECONDS)
    rates = [sum(1 for at in moments if begin <= at < begin + 10) / 10 for begin in range(60, int(HOUR), 10)]
    assert max(rates) < 30
    assert max(rates[60:]) < 12
    assert len(moments) / NODES < 40


def test_chance_is_a_share() -> None:
    drawn = [pacing.chance() for _count in range(100)]
    assert 0 <= min(drawn) < 0.5 < max(drawn) < 1


def test_requests_in_a_row() -> None:
    requests = pacing.Requests()
    for count in (1, 2, 3):
        requests = requests.after(False, 100.0, 10, 120)
        assert requests.failed == count and 100 + 5 * 2 ** (count - 1) <= requests.due <= 100 + 15 * 2 ** (count - 1)
    assert requests.after(True, 200.0, 10, 120) == pacing.Requests(0, 200.0)
