# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation


def test_the_names_that_clusters_keep_do_not_change() -> None:
    assert [f"kubelet-config.livenodes.io/{name}" for name in ("source", "status", "previous", "own", "cordoned")] == [
        annotation.SOURCE,
        annotation.STATUS,
        annotation.PREVIOUS,
        annotation.OWN,
        annotation.CORDONED,
    ]


def test_equal_states_are_equal_texts() -> None:
    one, other = {"time": "t", "active": {"name": "\u00e9"}}, {"active": {"name": "\u00e9"}, "time": "t"}
    assert annotation.text(one) == annotation.text(other) == '{"active":{"name":"\u00e9"},"time":"t"}'


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (annotation.ON_TRIAL, True),
        (f"{annotation.ON_TRIAL}; the container runtime is away: /run/c.sock does not exist", True),
        (annotation.CONFIRMED, False),
        (f"{annotation.CONFIRMED}; the container runtime is away: /run/c.sock does not exist", False),
        ("passed its trial", False),
        ("", False),
        (None, False),
    ],
)
def test_a_trial_that_waits_for_its_runtime_is_still_unconfirmed(reason: str | None, expected: bool) -> None:
    assert annotation.unconfirmed(reason) == expected
