# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.field_row import Field, Flag
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import default_findings
from tests.support.upgrading import CHECKPOINT, facts_of


def names(version: str, target: int, **facts: t.Any) -> list[str]:
    return [one.name for one in default_findings.check(facts_of(version, **facts), target)]


BURSTS = ["eventBurst", "eventRecordQPS", "kubeAPIBurst", "kubeAPIQPS", "memoryThrottlingFactor"]


@pytest.mark.parametrize(
    ("version", "target", "expected"),
    [
        ("v1.20.2", 21, []),
        ("v1.20.2", 27, BURSTS[:-1]),
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


def test_a_zero_counts_as_unset_where_the_field_is_no_pointer() -> None:
    given = dict.fromkeys(BURSTS, 0)
    assert names("v1.26.0", 27, config=given) == ["eventBurst", "kubeAPIBurst"]
    pinned = default_findings.check(facts_of("v1.26.0", config={"eventBurst": 10, "kubeAPIQPS": 5}, own=given), 27)
    assert [one.name for one in pinned if one.severity == "stays"] == ["eventBurst"]


def test_defaults_of_other_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """Later tables may have them: keys of a map that change or are gone, a map where there was none, another type."""
    later: t.Any = {"same": 1, "other": 3, "new": 4}
    table = {
        "keys": Field(
            "keys", "map[string]string", default={"same": 1, "other": 2, "gone": 5}, later_defaults=((30, later),)
        ),
        "map": Field("map", "map[string]string", later_defaults=((30, {"a": 1}),), unset="nil"),
        "type": Field("type", "any", default=5, later_defaults=((30, "five"),), unset="nil"),
    }
    monkeypatch.setattr(fields, "ALL", table)
    assert [one.message for one in default_findings.check(facts_of("v1.29.0"), 30)] == [
        "the default changes: gone 5 -> absent, new absent -> 4, other 2 -> 3",
        "the default changes: unset -> {'a': 1}",
        "the default changes: 5 -> five",
    ]


@pytest.mark.parametrize(
    ("flags", "config", "own", "severities"),
    [
        ((), {}, None, ["changes"]),
        ((), {"number": 0}, None, []),
        ((), {"number": 1}, {}, ["stays"]),
        ((), {"number": 1}, {"number": 0}, []),
        (("--number=1",), {}, None, ["changes"]),
        (("--number=1",), {"number": 1}, {}, ["stays"]),
    ],
)
def test_fields_and_flags_are_those_of_the_target(
    flags: tuple[str, ...],
    config: dict[str, int],
    own: dict[str, int] | None,
    severities: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A later table may have a field that became a pointer, and a flag that is gone, with a default that changes."""
    number = Field("number", "int32", default=1, later_defaults=((30, 2),), unset="zero", nil_since=30)
    monkeypatch.setattr(fields, "ALL", {"number": number})
    monkeypatch.setattr(fields, "FLAGS", {"number": Flag("number", True, "replace", until=29)})
    found = default_findings.check(facts_of("v1.29.0", *flags, config=config, own=own), 30)
    assert [one.severity for one in found] == severities


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


@pytest.mark.parametrize(
    ("flags", "facts"),
    [
        (["--kube-api-qps=5"], {"own": {}}),
        (["--kube-api-qps=5"], {"own": {}, "config": {"kubeAPIQPS": 5}}),
        ([], {"own": {}, "dropins": {"/d/1.conf": {"kubeAPIQPS": 5}}}),
        ([], {"own": {}, "config": {"kubeAPIQPS": 5}, "dropins": {"/d/1.conf": {"kubeAPIQPS": 5}}}),
        # The kubelet's own checkpoint, of which the next kubelet knows nothing.
        ([], {"own": {}, "config": {"kubeAPIQPS": 5}, "dynamic": "/d"}),
    ],
)
def test_what_more_than_a_checkpoint_sets_is_not_pinned_by_it(flags: list[str], facts: dict[str, t.Any]) -> None:
    found = default_findings.check(facts_of("v1.26.0", *flags, **facts), 27)
    assert [one for one in found if one.name == "kubeAPIQPS"] == []


def test_what_is_said_of_a_pinned_default() -> None:
    (one,) = (
        one
        for one in default_findings.check(facts_of("v1.26.0", config={"kubeAPIQPS": 5}, own={}), 27)
        if one.severity == "stays"
    )
    assert (one.message, one.where) == (
        "only the checkpoint sets it, to the old default; the new default is not used: 5 -> 50",
        CHECKPOINT,
    )
