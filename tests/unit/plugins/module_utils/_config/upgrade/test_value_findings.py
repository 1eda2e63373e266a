# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields, gates
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.gates_table import GATES
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import value_findings
from tests.support.upgrading import ENV, OWN, facts_of

LOCKED = sorted(
    (name, state.since, state.default)
    for name in GATES
    for state in (gates.lookup(name).states if gates.lookup(name) else ())  # type: ignore[union-attr]
    if state.locked and 20 < state.since <= fields.NEWEST_MINOR
)
REMOVED = sorted((name, gate.removed_in) for name in GATES if (gate := gates.lookup(name)) and gate.removed_in)


def names(target: int, severity: str, version: str = "v1.20.2", **facts: t.Any) -> list[str]:
    found = value_findings.check(facts_of(version, **facts), target)
    return sorted({one.name for one in found if one.severity == severity})


def test_every_locked_gate_stops_a_kubelet_from_its_minor_on() -> None:
    assert len(LOCKED) > 100
    for name, since, default in LOCKED:
        for value, target in ((not default, since), (default, since), (not default, since - 1)):
            stops = name in names(target, "stops", config={"featureGates": {name: value}})
            gate = gates.lookup(name)
            known = gate is not None and gate.at(target) is not None
            assert stops == (not known or (value != default and target == since)) or _needed(name), (name, target)


def test_every_removed_gate_stops_a_kubelet_from_its_minor_on() -> None:
    assert len(REMOVED) > 100
    for name, removed in REMOVED:
        if removed > 20:
            gate = gates.lookup(name)
            assert gate is not None
            given = {"featureGates": {name: gate.states[-1].default}}
            assert names(removed, "stops", config=given) == [name]


def _needed(name: str) -> bool:
    """Whether other gates need this one, so that it stops a kubelet in another way."""
    return any(name in needed or name == one for minor in (35, 36) for one, needed in gates.needs(minor).items())


def test_a_locked_gate_says_since_when() -> None:
    (found,) = value_findings.check(facts_of("v1.28.0", config={"featureGates": {"AppArmor": False}}), 31)
    assert (found.where, found.message) == (
        OWN,
        "cannot set feature gate AppArmor to false, feature is locked to true",
    )
    assert found.remedy == "Remove it, or set it to true. Locked since 1.31."


def test_a_right_value_of_a_flag_does_not_hide_a_wrong_one_of_the_file() -> None:
    flag = "--feature-gates=AppArmor=true"
    found = list(value_findings.check(facts_of("v1.28.0", flag, config={"featureGates": {"AppArmor": False}}), 31))
    assert [one.name for one in found] == ["AppArmor"]


@pytest.mark.parametrize(
    ("config", "minor", "target", "stops", "changes"),
    [
        # Refused by the validation of the target alone, of both, of the running kubelet alone.
        ({"memorySwap": {"swapBehavior": "UnlimitedSwap"}, "featureGates": {"NodeSwap": True}}, 28, 30, 1, 0),
        ({"kubeAPIQPS": -1}, 28, 30, 1, 0),
        ({"memorySwap": {"swapBehavior": "NoSwap"}, "featureGates": {"NodeSwap": True}}, 28, 30, 0, 0),
        # A wrong type.
        ({"maxPods": "many"}, 28, 30, 1, 0),
        # Kubelets ignore unknown fields.
        ({"noSuchField": 1}, 28, 30, 0, 0),
        # Passes the validation and ends the kubelet.
        ({"evictionHard": {"memory.available": "120%"}}, 28, 30, 1, 0),
    ],
)
def test_values(config: dict[str, t.Any], minor: int, target: int, stops: int, changes: int) -> None:
    version = f"v1.{minor}.0"
    assert len(names(target, "stops", version, config=config)) == stops
    assert len(names(target, "changes", version, config=config)) == changes


def test_every_removed_field_is_named_from_its_minor_on() -> None:
    gone = [field for field in fields.ALL.values() if field.until and field.until >= 20]
    assert "logging.sanitization" in [field.path for field in gone]
    given = {"logging": {"sanitization": True}}
    assert names(23, "changes", config=given) == []
    assert names(24, "changes", config=given) == ["logging.sanitization"]
    # The flag stops a 1.24: it sets the field no more.
    facts = facts_of("v1.23.0", "--experimental-logging-sanitization", config=given)
    (found,) = (one for one in value_findings.check(facts, 24) if one.kind == "field")
    assert found.where == OWN
    assert found.message == "1.23 was the last version with this field; a later kubelet ignores it"


def test_the_place_of_a_value_in_a_list_or_map() -> None:
    facts = facts_of("v1.28.0", config={"evictionHard": {"memory.available": "120%"}})
    (found,) = (one for one in value_findings.check(facts, 30) if one.severity == "stops")
    assert found.where == OWN


def test_a_field_that_is_missing_has_no_place() -> None:
    (found,) = value_findings.check(facts_of("v1.28.0", config={"memoryManagerPolicy": "Static"}), 30)
    assert (found.name, found.where) == ("reservedMemory", "")


def test_a_flag_that_the_target_lacks_neither_sets_a_value_nor_is_its_place() -> None:
    facts = facts_of("v1.30.0", "--iptables-drop-bit=98", config={"iptablesDropBit": 99})
    (found,) = value_findings.check(facts, 31)
    assert (found.name, found.where) == ("iptablesDropBit", OWN) and "99" in found.message
    before = {one.where for one in value_findings.check(facts, 30)}
    assert before == {f"{OWN}; flag --iptables-drop-bit in {ENV}, line 1"}


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("NoSuchGate", OWN),
        # Names that are no path, or one that no file has.
        ("No.Such.Gate", OWN),
        ("no such gate", ""),
    ],
)
def test_a_gate_that_no_version_knows(name: str, where: str) -> None:
    (found,) = value_findings.check(facts_of("v1.28.0", config={"featureGates": {name: True}}), 31)
    assert (found.severity, found.name, found.where) == ("stops", name, where)
    assert found.message == f"unrecognized feature gate: {name}"


def test_a_target_beyond_the_tables_may_refuse_a_gate() -> None:
    """Only its binary shows which gates it knows."""
    given = {"featureGates": {"AppArmor": True, "NoSuchGate": True}}
    (found,) = value_findings.check(facts_of("v1.32.0", config=given), fields.NEWEST_MINOR + 1)
    assert (found.severity, found.name) == ("changes", "AppArmor")
