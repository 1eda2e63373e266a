# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import binary_facts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.binary_facts import BinaryFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import EffectiveConfig
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import paths

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


def test_the_default_of_a_gate_is_that_of_the_binary() -> None:
    answer = FACTS._replace(gates={"NodeSwap": "b-"})
    assert EffectiveConfig({}, 36).gate("NodeSwap") is True
    assert EffectiveConfig({}, 36, answer).gate("NodeSwap") is False
    assert EffectiveConfig({"featureGates": {"NodeSwap": True}}, 36, answer).gate("NodeSwap") is True
