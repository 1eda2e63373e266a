# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import types
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import REFUSAL

from .. import kubelet_model as model


def _find(config: dict[str, Any], minor: int = 20) -> list[tuple[str, str]]:
    return [(problem.rule, problem.path) for problem in types.check(config, minor)]


@given(model.configs(most=40))
def test_values_of_the_right_type_are_fine(config: dict[str, Any]) -> None:
    assert _find({**model.HEADER, **config}) == []


@pytest.mark.parametrize(
    ("config", "path", "remedy"),
    [
        ({"maxPods": "50"}, "maxPods", "Write 50 without quotes. A Jinja template"),
        ({"maxPods": 50.0}, "maxPods", "Write 50 without a decimal point."),
        ({"maxPods": True}, "maxPods", "whole number"),
        ({"maxPods": 2**31}, "maxPods", "from -2147483648 to 2147483647"),
        ({"podPidsLimit": 2**63}, "podPidsLimit", "to 9223372036854775807"),
        ({"enableServer": "false"}, "enableServer", "without quotes. A Jinja"),
        ({"enableServer": 0}, "enableServer", "Write true or false"),
        ({"syncFrequency": 90}, "syncFrequency", 'in quotes, such as "90s"'),
        ({"syncFrequency": "90"}, "syncFrequency", "units h, m, s"),
        ({"syncFrequency": ["1s"]}, "syncFrequency", "1m30s"),
        ({"kubeReserved": {"cpu": 0.1}}, "kubeReserved.cpu", 'in quotes: "0.1"'),
        ({"evictionHard": {"memory.available": 5}}, 'evictionHard["memory.available"]', 'in quotes: "5"'),
        ({"kubeReserved": "cpu=1"}, "kubeReserved", "lines below it"),
        ({"clusterDNS": "10.0.0.1"}, "clusterDNS", "Write a list"),
        ({"clusterDNS": [1]}, "clusterDNS[0]", "in quotes"),
        ({"authentication": {"webhook": True}}, "authentication.webhook", "cacheTTL, enabled"),
        ({"authentication": {"webhook": {"enabled": "yes"}}}, "authentication.webhook.enabled", "true or false"),
        ({"featureGates": {"A": "true"}}, "featureGates.A", "without quotes"),
        ({"showHiddenMetricsForVersion": 1.19}, "showHiddenMetricsForVersion", '"1.19"'),
        ({"staticPodURLHeader": {"X": "y"}}, "staticPodURLHeader.X", "list"),
    ],
)
def test_wrong_types_are_refused_with_the_correct_notation(config: dict[str, Any], path: str, remedy: str) -> None:
    [problem] = types.check(config, 20)
    assert (problem.severity, problem.rule, problem.path) == (REFUSAL, "type", path)
    assert remedy in problem.remedy


def test_secrets_are_not_repeated() -> None:
    [problem] = types.check({"staticPodURLHeader": {"Authorization": "hunter2"}}, 20)
    assert "hunter2" not in problem.message + problem.remedy
    [problem] = types.check({"staticPodURLHeader": {"Authorization": [12345]}}, 20)
    assert "12345" not in problem.message + problem.remedy


def test_nulls_stand_for_absence() -> None:
    assert _find({"maxPods": None, "kubeReserved": {"cpu": None}, "authentication": None}) == []


def test_unknown_fields_name_the_nearest_and_beyond_the_table_the_binary_decides() -> None:
    [problem] = types.check({"maxpods": 5}, 20)
    assert (problem.severity, problem.rule, problem.path, problem.remedy) == (
        REFUSAL,
        "unknown-field",
        "maxpods",
        "Did you mean maxPods?",
    )
    assert [problem.rule for problem in types.check({"brandNew": 5}, 36)] == ["unknown-field"]
    assert list(types.check({"brandNew": 5}, 37)) == []
    assert _find({"authentication": {"webhok": {}}}) == [("unknown-field", "authentication.webhok")]


def test_fields_of_other_versions() -> None:
    assert _find({"memorySwap": {"swapBehavior": "x"}}) == [("field-too-new", "memorySwap")]
    assert _find({"memorySwap": {"swapBehavior": "x"}}, 22) == []
    assert _find({"logging": {"sanitization": True}}, 30) == [("field-removed", "logging.sanitization")]
    assert "1.20" in next(types.check({"memorySwap": {}}, 20)).message


def test_newer_shapes() -> None:
    good = {
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-1Gi": 1}}],
        "memoryThrottlingFactor": 1,
        "tlsCurvePreferences": [29],
        "registerWithTaints": [{"key": "a"}],
        "logging": {"verbosity": 3, "options": {"json": {}}},
        "tracing": {"endpoint": "x"},
    }
    assert _find(good, 36) == []
    assert _find(
        {
            "reservedMemory": [{"numaNode": "0", "limit": {}}, 5],
            "memoryThrottlingFactor": "1",
            "tlsCurvePreferences": ["a"],
        },
        36,
    ) == [
        ("type", "reservedMemory[0].numaNode"),
        ("unknown-field", "reservedMemory[0].limit"),
        ("type", "reservedMemory[1]"),
        ("type", "memoryThrottlingFactor"),
        ("type", "tlsCurvePreferences[0]"),
    ]


@pytest.mark.parametrize(
    ("amount", "fine"),
    [
        ("1Gi", True),
        (1, True),
        ("1e3", True),
        (" 1Gi ", True),
        (1.5, True),
        ("1GB", False),
        ("", False),
        ("lots", False),
    ],
)
def test_quantities_that_do_not_decode(amount: Any, fine: bool) -> None:
    """The kubelet could not load the file: no start, and no word of its validation."""
    memory = {"reservedMemory": [{"numaNode": 0, "limits": {"memory": amount}}]}
    size = {"logging": {"options": {"json": {"infoBufferSize": amount}}}}
    assert _find(memory, 36) == ([] if fine else [("type", "reservedMemory[0].limits.memory")])
    assert _find(size, 36) == ([] if fine else [("type", "logging.options.json.infoBufferSize")])


def test_header_must_be_the_kubelets() -> None:
    assert _find({"kind": "Pod", "apiVersion": "v1"}) == [("header", "kind"), ("header", "apiVersion")]
