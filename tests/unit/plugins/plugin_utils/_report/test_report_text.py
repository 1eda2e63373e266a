# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines and the bar that users read."""

from __future__ import annotations

import re

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import model, report_text
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.events import Event

_PLAN = Event("plan", detail={"nodes": {f"n{number}": {"action": "assign"} for number in range(1, 6)}})


@pytest.mark.parametrize("width", [20, 40, 79, 200])
def test_the_bar_fits(width: int) -> None:
    rollout = model.Rollout(0)
    rollout.apply(_PLAN, 1)
    rollout.apply(Event("batch", detail=["n1", "n2"]), 2)
    rollout.apply(Event("failed", "n1", "x"), 3)
    line = report_text.progress_bar(rollout, "Wait until\nthe kubelets are there", 3, 4, width)
    assert len(line) <= width and "\n" not in line
    if width == 200:
        assert re.match(
            r"\[#{5}-{23}\] 1 of 5 nodes \| 1 failed \| batch 1 \(2 nodes\) \| "
            r"Wait until the kubelets are there, since \d\d:\d\d:\d\d$",
            line,
        )


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([_PLAN], "planned in 3 s, nothing was changed: 5 to change"),
        ([_PLAN, Event("refused", message="no")], "refused after 3 s: 5 untouched"),
        ([_PLAN, Event("batch", detail=["n1"]), Event("verified", "n1")], "done after 3 s: 1 done, 4 untouched"),
        ([Event("refused", message="no")], "refused after 3 s: nothing was changed"),
    ],
)
def test_the_last_line(events: list[Event], words: str) -> None:
    rollout = model.Rollout(0)
    for event in events:
        rollout.apply(event, 1)
    rollout.end(3)
    assert report_text.last_line(rollout) == f"kubelet rollout: {words}"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"), (11400, "3 h 10 min")],
)
def test_durations(seconds: float, words: str) -> None:
    assert report_text.duration(seconds) == words
