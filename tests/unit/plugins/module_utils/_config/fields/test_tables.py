# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of each field and gate, by version, and what a binary answers about them."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import (
    binary_facts,
    fields,
    gates,
    gates_table,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.binary_facts import BinaryFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.field_row import EFFECTS, Field
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.gates import State
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import amounts, paths
from tests.support.kubelets.table_minors import BEYOND, EVERY

from .. import kubelet_model as model


def test_every_field_of_the_1_20_table_has_its_facts() -> None:
    for row in model.ROWS:
        field = fields.ALL[row["name"]]
        assert (field.default, field.unset) == (row["default"], row["unset"])
        assert field.zero_omitted == (row["zero_shown"] == "omitted")
        assert set(field.flags) == set(row.get("flags", ()))


def test_only_fields_that_1_20_has_exist_there() -> None:
    assert {path for path, field in fields.ALL.items() if field.exists_at(20)} == {row["name"] for row in model.ROWS}


def test_every_field_has_an_effect_a_reason_and_a_known_type() -> None:
    scalars = {"bool", "int32", "int64", "uint32", "float", "string", "duration", "quantity", "time", "object"}
    scalars |= {"duration or nanoseconds"}
    for field in fields.ALL.values():
        assert field.effect in EFFECTS
        assert field.reason
        assert field.type.replace("map[string]", "").replace("list[", "").rstrip("]") in scalars
        # The defaults are filled in by the path of a field, which is none for the members of a list.
        assert "[" not in field.path or field.default_at(fields.NEWEST_MINOR) is None
        if field.type == "duration" and field.default is not None:
            assert amounts.format_duration(amounts.parse_duration(field.default)) == field.default


def test_classes_become_effects() -> None:
    names = {
        "safe": ("syncFrequency", "maxParallelImagePulls", "registerWithTaints"),
        "disrupt": ("maxPods", "failCgroupV1"),
        "drain": ("clusterDNS", "topologyManagerPolicyOptions", "seccompDefault"),
        "reboot": ("cgroupDriver", "topologyManagerScope", "memoryManagerPolicy", "cpuManagerPolicyOptions"),
        "forbidden": ("podCIDR", "runOnce"),
    }
    for effect, paths_ in names.items():
        assert {fields.ALL[path].effect for path in paths_} == {effect}


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("maxPods", range(20, 37)),
        ("failCgroupV1", range(31, 37)),
        ("cgroupDriver", range(20, 35)),
        ("logging.sanitization", range(20, 24)),
    ],
)
def test_the_minors_whose_default_is_known(path: str, known: range) -> None:
    assert [minor for minor in range(18, 37) if fields.default_known(fields.ALL[path], minor)] == list(known)
    assert not fields.default_known(fields.ALL[path], BEYOND)


def test_every_flag_sets_a_field_that_names_it() -> None:
    assert len([flag for flag in fields.FLAGS.values() if flag.exists_at(20)]) == 94
    for name, flag in fields.FLAGS.items():
        field = fields.ALL[flag.field]
        assert name in field.flags
        assert all(field.exists_at(minor) for minor in EVERY if flag.exists_at(minor)), name


@pytest.mark.parametrize(
    ("path", "minor", "names"),
    [
        ("containerRuntimeEndpoint", 26, []),
        ("containerRuntimeEndpoint", 27, ["container-runtime-endpoint"]),
        ("containerRuntimeEndpoint", None, ["container-runtime-endpoint"]),
        ("kernelMemcgNotification", 24, ["experimental-kernel-memcg-notification", "kernel-memcg-notification"]),
        ("kernelMemcgNotification", 25, ["kernel-memcg-notification"]),
        ('evictionHard["memory.available"]', 36, ["eviction-hard"]),
        ("no.such", 36, []),
    ],
)
def test_flags_of_a_field(path: str, minor: int | None, names: list[str]) -> None:
    assert fields.flags_of(path, minor) == names


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("maxPods", "maxPods"),
        ('evictionHard["memory.available"]', "evictionHard"),
        ("featureGates.A", "featureGates"),
        ("clusterDNS[0]", "clusterDNS"),
        ("authentication.webhook.enabled", "authentication.webhook.enabled"),
        ("authentication.webhok", None),
        ("maxpods", None),
        ("logging.verbosity", "logging.verbosity"),
        ("logging.new", None),
        ("registerWithTaints[0].key", "registerWithTaints[].key"),
        ("logging.flushFrequency.x", None),
        ("reservedMemory[1].limits.memory", "reservedMemory[].limits"),
        ("maxPods.a", None),
        ("(top level)", None),
    ],
)
def test_owner(path: str, owner: str | None) -> None:
    field = fields.owner(path)
    assert (field.path if field else None) == owner


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("maxpods", "maxPods"),
        ("maxPod", "maxPods"),
        ("clusterDns", "clusterDNS"),
        ("evictionhard", "evictionHard"),
        ("authentication.webhok", "authentication.webhook"),
        ("authentication.webhook.cacheTtl", "authentication.webhook.cacheTTL"),
        ("cacheTTL", "authentication.webhook.cacheTTL"),
        ("zzz", None),
    ],
)
def test_nearest(wrong: str, right: str | None) -> None:
    assert fields.nearest(wrong) == right


def test_children_are_members_only() -> None:
    assert fields.children("authentication") == ("anonymous", "webhook", "x509")
    assert "authentication.webhook" not in fields.children("")
    assert "reservedMemory[]" not in fields.children("")


@pytest.mark.parametrize(
    ("minor", "exists", "unset"), [(17, False, "zero"), (18, True, "zero"), (22, True, "nil"), (24, False, "nil")]
)
def test_a_field_has_the_minors_of_its_row(minor: int, exists: bool, unset: str) -> None:
    field = Field("x", "int32", since=18, until=23, unset="zero", nil_since=22)
    assert (field.exists_at(minor), field.unset_at(minor)) == (exists, unset)


def test_a_field_has_the_default_and_the_cost_of_the_minor() -> None:
    later = ((22, "drain", "b"), (24, "reboot", "c"))
    defaults: dict[str, t.Any] = {"default": 5, "later_defaults": ((22, 6),), "unknown_since": 25}
    field = Field("x", "int32", **defaults, effect="safe", reason="a", later=later)
    assert [field.default_at(minor) for minor in (21, 22, 24, 25)] == [5, 6, 6, None]
    assert [field.cost_at(minor) for minor in (21, 22, 24)] == [("safe", "a"), ("drain", "b"), ("reboot", "c")]


def test_a_history_is_read_word_by_word() -> None:
    gate = gates.lookup("CPUManager")
    assert gate is not None
    assert gate.states == (State(10, "b", True, False), State(26, "g", True, True))
    assert (gate.removed_in, gate.kubelet) == (33, True)
    beta, general = gate.states
    assert [gate.at(minor) for minor in (9, 10, 25, 26, 32, 33)] == [None, beta, beta, general, general, None]


def test_every_history_is_in_order_and_complete() -> None:
    for name, history in gates_table.GATES.items():
        gate = gates.lookup(name)
        assert gate is not None
        steps = [state.since for state in gate.states] + ([gate.removed_in] if gate.removed_in else [])
        assert gate.states and steps == sorted(set(steps)), name
        assert len(history.split()) == len(steps) + gate.kubelet, name


def test_the_fields_and_gates_that_the_tables_name_exist() -> None:
    for name, names in gates_table.FIELDS_OF.items():
        assert gates.lookup(name) is not None and set(names) <= set(fields.ALL)
    for minor in range(35, fields.NEWEST_MINOR + 1):
        rows = gates.needs(minor) or {}
        assert rows
        for name in {*rows, *(one for needed in rows.values() for one in needed)}:
            gate = gates.lookup(name)
            assert gate is not None and gate.at(minor) is not None, (minor, name)


@pytest.mark.parametrize("minor", range(20, fields.NEWEST_MINOR + 1))
def test_the_defaults_of_every_minor_fit_together(minor: int) -> None:
    """A kubelet starts without any gate given."""
    for name, needed in (gates.needs(minor) or {}).items():
        gate = gates.lookup(name)
        if gate and gate.enabled(minor, {}):
            assert all(gates.default(other, minor) for other in needed), name


@pytest.mark.parametrize(
    ("name", "minor", "given", "on"),
    [
        ("NodeSwap", 28, {}, False),
        ("NodeSwap", 30, {}, True),
        ("NodeSwap", 28, {"NodeSwap": True}, True),
        ("NodeSwap", 28, {"AllBeta": True}, True),
        ("NodeSwap", 28, {"AllBeta": True, "NodeSwap": False}, False),
        ("NodeSwap", 28, {"AllAlpha": True}, False),
        ("NodeSwap", 27, {"AllAlpha": True}, True),
        ("NodeSwap", 30, {"AllBeta": False}, False),
        # Locked.
        ("NodeSwap", 34, {"AllBeta": False}, True),
        # Unknown to this minor.
        ("NodeSwap", 21, {}, False),
        ("NodeSwap", 21, {"AllAlpha": True}, False),
    ],
)
def test_whether_a_gate_is_on(name: str, minor: int, given: dict[str, bool], on: bool) -> None:
    gate = gates.lookup(name)
    assert gate is not None and gate.enabled(minor, given) is on


@pytest.mark.parametrize(
    ("name", "minor", "on"),
    [
        ("TopologyManager", 17, False),
        ("TopologyManager", 18, True),
        ("GracefulNodeShutdown", 20, False),
        ("GracefulNodeShutdown", 21, True),
        # Gone: on or off as at the end.
        ("DynamicKubeletConfig", 26, False),
        ("DownwardAPIHugePages", 29, True),
    ],
)
def test_the_default_of_a_gate(name: str, minor: int, on: bool) -> None:
    assert gates.default(name, minor) is on


def test_a_gate_of_no_table_has_no_default() -> None:
    with pytest.raises(KeyError, match="NoSuchGate"):
        gates.default("NoSuchGate", 30)


def test_the_gates_that_others_need() -> None:
    """Beyond the table it is not known."""
    assert (gates.needs(36) or {})["ProcMountType"] == ("UserNamespacesSupport",)
    assert gates.needs(19) == {}
    assert gates.needs(fields.NEWEST_MINOR)
    assert gates.needs(fields.NEWEST_MINOR + 1) is None


@pytest.mark.parametrize(
    ("wrong", "minor", "near"),
    [("Nodeswap", 28, "NodeSwap"), ("NodeSwaps", 28, "NodeSwap"), ("NodeSwaps", 20, None), ("Zzz", 28, None)],
)
def test_the_nearest_gate_of_a_minor(wrong: str, minor: int, near: str | None) -> None:
    assert gates.nearest(wrong, minor) == near


GATES = {"Asked": "a-=", "Listed": "b+", "Locked": "g+!", "Gone": "x", "Silent": "d="}
FACTS = BinaryFacts("v1.36.2", ["config", "max-pods"], GATES, {"maxPods": True, "tracing": False})


@pytest.mark.parametrize(
    ("name", "lacks", "locked", "default", "asked"),
    [
        ("Asked", False, None, False, True),
        ("Listed", False, None, True, False),
        ("Locked", False, True, True, True),
        ("Gone", True, None, None, True),
        ("Silent", False, None, None, True),
        ("Other", False, None, None, False),
    ],
)
def test_gates(name: str, lacks: bool, locked: bool | None, default: bool | None, asked: bool) -> None:
    assert (FACTS.lacks_gate(name), FACTS.locked(name), FACTS.default(name)) == (lacks, locked, default)
    assert FACTS.was_asked(f"featureGates.{name}") is asked


@pytest.mark.parametrize(
    ("stage", "default", "locked", "word"),
    [("a", False, None, "a-"), ("g", True, True, "g+!"), ("d", None, False, "d="), ("b", True, False, "b+=")],
)
def test_words(stage: str, default: bool | None, locked: bool | None, word: str) -> None:
    assert binary_facts.word(stage, default, locked) == word


@pytest.mark.parametrize(
    ("path", "has"),
    [("maxPods", True), ("tracing", False), ("tracing.endpoint", False), ("podCIDR", None), ("maxPods.inner", None)],
)
def test_fields(path: str, has: bool | None) -> None:
    assert FACTS.has(paths.parse(path)) is has
    assert FACTS.was_asked(path) is (path in FACTS.fields)


def test_flags_that_it_does_not_have() -> None:
    assert FACTS.without(["max-pods", "docker", "config"]) == ["docker"]
    assert FACTS._replace(flags=[]).without(["docker"]) == [], "a binary that could not be started"


@pytest.mark.parametrize(
    ("config", "names"),
    [
        (None, []),
        ({"kind": "K", "apiVersion": "a", "maxPods": 1}, ["maxPods"]),
        ({"featureGates": {"A": True, "B": "yes"}}, ["featureGates.A"]),
        ({"evictionHard": {"memory.available": "1Mi"}}, ["evictionHard"]),
        ({"memorySwap": {"swapBehavior": "", "swop": 1}}, ["memorySwap", "memorySwap.swapBehavior", "memorySwap.swop"]),
        ({"newField": {"inner": 1}}, ["newField"]),
        (
            {"reservedMemory": [{"numaNode": 0, "foo": 1}, 5]},
            ["reservedMemory", "reservedMemory[].foo", "reservedMemory[].numaNode"],
        ),
    ],
)
def test_what_is_asked_of_a_configuration(config: t.Any, names: list[str]) -> None:
    assert binary_facts.asked_of(config) == names


def test_facts_of_a_module() -> None:
    assert binary_facts.read(FACTS._asdict()) == FACTS and binary_facts.read(None) is None
    assert FACTS.minor == 36 and FACTS._replace(version="what?").minor is None
