# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import duration


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_round_trip_of_every_duration_go_can_hold(nanoseconds: int) -> None:
    text = duration.format(nanoseconds)
    assert duration.parse(text) == nanoseconds
    assert duration.format(duration.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1.5m", "1m30s"),
        ("5m", "5m0s"),
        ("4h", "4h0m0s"),
        ("0", "0s"),
        ("+5s", "5s"),
        ("-1.5h", "-1h30m0s"),
        (".5s", "500ms"),
        ("5.s", "5s"),
        ("1us", "1\u00b5s"),
        ("1\u03bcs", "1\u00b5s"),
        ("0.3333333333333333333h", "20m0s"),
        # Go drops the digits for which an int64 has no room.
        ("0.33333333333333333333h", "20m0s"),
        ("0.99999999999999999999s", "1s"),
        ("1h15m30.918273645s", "1h15m30.918273645s"),
        ("9007199254.740993ms", "2501h59m59.254740993s"),
        ("100ns", "100ns"),
        ("1m1ms", "1m0.001s"),
    ],
)
def test_forms(text: str, shown: str) -> None:
    assert duration.format(duration.parse(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3",
        "-",
        "s",
        ".",
        "-.",
        ".s",
        "+.s",
        "1d",
        "1 s",
        "1s ",
        "1S",
        "\u0661s",
        "3000000h",
        "9223372036854775.808ms",
        "1.5",
        "1,5s",
    ],
)
def test_what_go_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="time: "):
        duration.parse(text)


def test_a_bare_number_lacks_its_unit() -> None:
    with pytest.raises(ValueError, match='time: missing unit in duration "90"'):
        duration.parse("90")
