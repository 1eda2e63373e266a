# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Timestamps."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import timestamps
from tests.sim.api.direct import Clock


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T00:01:00.250000Z", 60.25),
        ("1970-01-01T01:01:00+01:00", 60.0),
        (None, None),
        ("", None),
        ("soon", None),
        (7, None),
    ],
)
def test_parse(text: t.Any, seconds: float | None) -> None:
    assert timestamps.parse(text) == seconds


def test_text() -> None:
    assert timestamps.text(60.25) == "1970-01-01T00:01:00.250000Z"
    assert timestamps.parse(timestamps.text(1_800_000_000.5)) == 1_800_000_000.5


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-3, "0 s"), (0.4, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "120 min"), (7200, "2 h"), (86400, "24 h")],
)
def test_span(seconds: float, words: str) -> None:
    assert timestamps.span(seconds) == words


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of this machine."""
    made = Clock()
    monkeypatch.setattr(timestamps, "time", made)
    return made


def test_the_clock_of_a_server(own: Clock) -> None:
    """Only the monotonic clock counts between two answers. The last answer counts, if it has a date."""
    clock = timestamps.ServerClock()
    assert clock.now() is None
    clock.note("Sun, 22 Nov 2026 15:00:00 GMT")
    own.now += 7
    began = timestamps.parse("2026-11-22T15:00:00Z") or 0.0
    assert clock.now() == began + 7.5
    for date in (None, "", "yesterday", "Sun, 99 Nov 2026 15:00:00 GMT", 7):
        clock.note(date)
    assert clock.now() == began + 7.5
    clock.note("Sun, 22 Nov 2026 14:00:00 GMT")
    assert clock.now() == began - 3600 + 0.5


@pytest.mark.parametrize("date", [None, "", "yesterday"])
def test_a_server_without_a_date(own: Clock, date: str | None) -> None:
    """It is assumed to have the date of this machine."""
    clock = timestamps.ServerClock()
    clock.note(date)
    own.now += 7
    assert clock.now() == own.time()
