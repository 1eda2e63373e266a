# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import default_findings
from tests.support.upgrading import facts_of


def names(version: str, target: int) -> list[str]:
    return [one.name for one in default_findings.check(facts_of(version), target)]


BURSTS = ["eventBurst", "eventRecordQPS", "kubeAPIBurst", "kubeAPIQPS", "memoryThrottlingFactor"]


@pytest.mark.parametrize(
    ("version", "target", "expected"),
    [
        ("v1.20.2", 21, []),
        ("v1.26.0", 26, []),
        ("v1.26.0", 27, BURSTS),
        # The same duration in another form.
        ("v1.27.0", 28, []),
        ("v1.29.0", 30, ["evictionHard"]),
        ("v1.30.0", 36, []),
        # Newer than the tables.
        ("v1.26.0", 99, [*BURSTS[:2], "evictionHard", *BURSTS[2:]]),
        ("v1.99.0", 36, []),
        ("", 36, []),
    ],
)
def test_defaults_that_change(version: str, target: int, expected: list[str]) -> None:
    assert names(version, target) == expected


def test_the_values_before_and_after() -> None:
    found = {one.name: one.message for one in default_findings.check(facts_of("v1.26.0"), 30)}
    assert found["kubeAPIQPS"] == "the default changes: 5 -> 50"
    assert found["evictionHard"] == "the default changes: imagefs.inodesFree absent -> 5%"


@pytest.mark.parametrize(
    ("checkpoint", "own", "stays"),
    [
        ({"kubeAPIQPS": 5}, {}, ["kubeAPIQPS"]),
        # Declared: another value than the default.
        ({"kubeAPIQPS": 6}, {}, []),
        # The node's own file has it too.
        ({"kubeAPIQPS": 5}, {"kubeAPIQPS": 7}, []),
    ],
)
def test_what_a_checkpoint_pins(checkpoint: dict[str, int], own: dict[str, int], stays: list[str]) -> None:
    found = default_findings.check(facts_of("v1.26.0", config=checkpoint, own=own), 27)
    assert [one.name for one in found if one.severity == "stays"] == stays
    without = default_findings.check(facts_of("v1.26.0", config=checkpoint), 27)
    assert [one.name for one in without if one.severity == "stays" or one.name == "kubeAPIQPS"] == []
