# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import types
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import REFUSAL, WARNING
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import paths
from tests.support.kubelets.table_minors import BEYOND

from .. import kubelet_model as model

WHOLE, DURATION, STRING, QUANTITY = "a whole number", "a duration", "a string", "a quantity"


def _find(config: dict[str, Any], minor: int = 20) -> list[tuple[str, str]]:
    return [(problem.rule, problem.path) for problem in types.check(config, minor)]


@given(model.configs(most=40))
def test_values_of_the_right_type_are_fine(config: dict[str, Any]) -> None:
    assert _find({**model.HEADER, **config}) == []


class Tagged(str):
    """A string as ansible-core passes it."""


def _at(path: str, value: Any) -> dict[str, Any]:
    """Return the configuration that has nothing but a value at a path."""
    for key in reversed(paths.parse(path)):
        value = [*[{}] * key, value] if isinstance(key, int) else {key: value}
    return value


def _reserved(amount: Any) -> dict[str, Any]:
    return {"reservedMemory": [{"numaNode": 0, "limits": {"memory": amount}}]}


@pytest.mark.parametrize(
    ("path", "value", "found", "wanted", "remedy"),
    [
        ("maxPods", "50", 'the string "50"', WHOLE, "Write 50 without quotes. A Jinja template"),
        ("maxPods", Tagged(" 50"), 'the string " 50"', WHOLE, "Write 50 without quotes. A Jinja template"),
        ("oomScoreAdj", "-5", 'the string "-5"', WHOLE, "Write -5 without quotes."),
        ("oomScoreAdj", "5²", 'the string "5²"', WHOLE, "Write a whole number."),
        ("maxPods", 50.0, "the number 50.0", WHOLE, "Write 50 without a decimal point."),
        ("maxPods", True, "the boolean true", WHOLE, "Write a whole number."),
        ("enableServer", "false", 'the string "false"', "a boolean", "without quotes. A Jinja"),
        ("enableServer", 0, "the number 0", "a boolean", "Write true or false without quotes."),
        ("authentication.webhook.enabled", "yes", 'the string "yes"', "a boolean", "true or false"),
        ("featureGates.A", "true", 'the string "true"', "a boolean", "without quotes"),
        ("memoryThrottlingFactor", "1", 'the string "1"', "a number", "without quotes."),
        ("syncFrequency", 90, "the number 90", DURATION, 'in quotes, such as "90s" for seconds.'),
        ("syncFrequency", ["1s"], 'a list ["1s"]', DURATION, 'such as "1m30s".'),
        ("kubeReserved.cpu", 0.1, "the number 0.1", STRING, 'Put it in quotes: "0.1"'),
        ('evictionHard["memory.available"]', 5, "the number 5", STRING, 'in quotes: "5"'),
        ("clusterDNS[0]", 1, "the number 1", STRING, "in quotes"),
        ("clusterDNS[0]", ["a"], 'a list ["a"]', STRING, "Put it in quotes."),
        ("showHiddenMetricsForVersion", 1.19, "the number 1.19", STRING, '"1.19"'),
        ("clusterDNS", "10.0.0.1", 'the string "10.0.0.1"', "a list", "Write a list"),
        ("clusterDNS", 5, "the number 5", "a list", "Write a list"),
        ("staticPodURLHeader.X", "y", "the string", "a list", "list"),
        ("staticPodURLHeader.X[0]", 1, "the number", STRING, "Put it in quotes."),
        ("kubeReserved", "cpu=1", 'the string "cpu=1"', "a mapping", "lines below it"),
        (
            "authentication.webhook",
            True,
            "the boolean true",
            "a mapping",
            "Write its members below it: cacheTTL, enabled",
        ),
        ("reservedMemory[0]", "a", 'the string "a"', "a mapping", "Write each entry"),
        ("registerWithTaints[0]", "a=b:NoSchedule", 'the string "a=b:NoSchedule"', "a mapping", ""),
        ("registerWithTaints[0].value", True, "the boolean true", STRING, '"true"'),
        ("logging.vmodule[0]", "kubelet=4", 'the string "kubelet=4"', "a mapping", "Write each"),
        ("logging.vmodule[0].filePattern", 4, "the number 4", STRING, '"4"'),
        ("reservedMemory[0].limits.memory", True, "the boolean true", QUANTITY, 'such as "1Gi".'),
        ("reservedMemory[0].limits.memory", {"a": "ö"}, 'a mapping {"a": "ö"}', QUANTITY, 'such as "1Gi".'),
        ("registerWithTaints[1].timeAdded", 5, "the number 5", "a time", "RFC 3339"),
        ("logging.vmodule[0].verbosity", "4", 'the string "4"', WHOLE, "Write 4 without quotes."),
        ("logging.verbosity", "3", 'the string "3"', WHOLE, "Write 3 without quotes."),
        ("logging.flushFrequency", 1.5, "the number 1.5", DURATION, '"1.5s"'),
        ("logging.flushFrequency", True, "the boolean true", DURATION, '"1m30s"'),
        ("maxPods", "x" * 58, f'the string "{"x" * 58}"', WHOLE, ""),
        ("maxPods", "x" * 59, f'the string "{"x" * 56}...', WHOLE, ""),
    ],
)
def test_wrong_types_are_refused_with_the_correct_notation(
    path: str, value: Any, found: str, wanted: str, remedy: str
) -> None:
    [problem] = types.check(_at(path, value), 36)
    assert (problem.severity, problem.rule, problem.path) == (REFUSAL, "type", path)
    assert problem.message == f"{found} where the kubelet expects {wanted}; it could not load the configuration"
    assert remedy in problem.remedy


@pytest.mark.parametrize("path", ["clusterDNS[0]", "reservedMemory[0]", "tlsCurvePreferences[0]"])
def test_a_null_in_a_list_is_refused_as_an_entry_without_a_value(path: str) -> None:
    [problem] = types.check(_at(path, None), 36)
    assert (problem.path, problem.rule) == (path, "type")
    assert "without a value" in problem.message and problem.remedy == "Write its value, or remove the entry."


@pytest.mark.parametrize(
    ("config", "message", "remedy"),
    [
        ({"maxPods": 2**31}, "2147483648 is too large for the field", "from -2147483648 to 2147483647"),
        ({"podPidsLimit": 2**63}, "9223372036854775808 is too large", "to 9223372036854775807"),
        ({"maxPods": -(2**31) - 1}, "-2147483649 is too small for the field", "from -2147483648 to 2147483647"),
        ({"syncFrequency": "90"}, 'time: missing unit in duration "90"', "units h, m, s"),
        ({"logging": {"verbosity": -1}}, "-1 is too small for the field", "from 0 to 4294967295"),
        ({"logging": {"verbosity": 2**32}}, "4294967296 is too large for the field", "from 0 to 4294967295"),
        ({"logging": {"vmodule": [{"verbosity": -1}]}}, "-1 is too small for the field", "from 0 to 4294967295"),
        ({"logging": {"flushFrequency": "60"}}, 'time: missing unit in duration "60"', "units h, m, s"),
        ({"registerWithTaints": [{"timeAdded": "now"}]}, 'parsing time "now"', "RFC 3339"),
    ],
)
def test_values_that_their_type_does_not_have(config: dict[str, Any], message: str, remedy: str) -> None:
    [problem] = types.check(config, 36)
    assert (problem.severity, problem.rule, paths.top(problem.path)) == (REFUSAL, "type", *config)
    assert message in problem.message and remedy in problem.remedy


def test_the_ends_of_the_range_fit_and_nulls_stand_for_absence() -> None:
    assert _find({"oomScoreAdj": -(2**31), "maxPods": 2**31 - 1, "podPidsLimit": -(2**63)}) == []
    assert _find({"maxPods": None, "kubeReserved": {"cpu": None}, "authentication": None}) == []


@pytest.mark.parametrize(
    ("number", "warned"),
    [(60, "60ns"), (999_999, "999.999\u00b5s"), (0, ""), (10**6, ""), (5 * 10**9, ""), ("60ns", "")],
)
def test_a_number_that_was_meant_in_another_unit(number: Any, warned: str) -> None:
    found = list(types.check({"logging": {"flushFrequency": number}}, 36))
    assert [(problem.severity, problem.rule, problem.path) for problem in found] == (
        [(WARNING, "nanoseconds", "logging.flushFrequency")] if warned else []
    )
    assert all(problem.message.endswith(f"as nanoseconds: {warned}") for problem in found)


def test_secrets_are_not_repeated() -> None:
    for value in ("hunter2", [12345]):
        [problem] = types.check({"staticPodURLHeader": {"Authorization": value}}, 20)
        assert not any(secret in problem.message + problem.remedy for secret in ("hunter2", "12345"))


def test_unknown_fields_name_the_nearest_and_beyond_the_table_what_would_prove_them() -> None:
    [problem] = types.check({"maxpods": 5}, 20)
    assert (problem.severity, problem.rule, problem.path) == (REFUSAL, "unknown-field", "maxpods")
    assert problem.remedy == "Did you mean maxPods?"
    assert [problem.rule for problem in types.check({"brandNew": 5}, 36)] == ["unknown-field"]
    [problem] = types.check({"maxPodz": 5}, BEYOND)
    assert (problem.severity, problem.path) == (REFUSAL, "maxPodz")
    assert problem.message.endswith(f"the binary of this 1.{BEYOND} was not asked")
    assert problem.remedy.startswith("Did you mean maxPods? If 1.") and "live configuration" in problem.remedy
    assert _find({"authentication": {"webhok": {}}}) == [("unknown-field", "authentication.webhok")]
    [problem] = types.check({"zzz": 5}, 20)
    assert problem.remedy.startswith("Check the name")


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"logging": {"brandNew": 1}}, "logging.brandNew"),
        ({"logging": {"options": {"brandNew": 1}}}, "logging.options.brandNew"),
        ({"tracing": {"endPoint": "a"}}, "tracing.endPoint"),
        ({"registerWithTaints": [{"key": "a"}, {"keys": "b"}]}, "registerWithTaints[1].keys"),
        ({"logging": {"vmodule": [{"pattern": "a"}]}}, "logging.vmodule[0].pattern"),
    ],
)
def test_all_members_of_objects_are_known_also_in_lists(config: dict[str, Any], path: str) -> None:
    assert _find(config, 36) == [("unknown-field", path)]
    assert _find(config, BEYOND) == [("unknown-field", path)]


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


@pytest.mark.parametrize(
    ("amount", "fine"),
    [
        *(("1Gi", True), (1, True), ("1e3", True), (" 1Gi ", True), (1.5, True)),
        *(("X1Gi", False), ("1GB", False), ("", False), ("lots", False)),
        # A tab is two characters where the kubelet reads it.
        ("\t1Gi", False),
    ],
)
def test_quantities_that_do_not_decode(amount: Any, fine: bool) -> None:
    """The kubelet could not load the file: no start, and no word of its validation."""
    size = {"logging": {"options": {"json": {"infoBufferSize": amount}}}}
    assert _find(_reserved(amount), 36) == ([] if fine else [("type", "reservedMemory[0].limits.memory")])
    assert _find(size, 36) == ([] if fine else [("type", "logging.options.json.infoBufferSize")])


def test_header_must_be_the_kubelets() -> None:
    assert _find({"kind": "Pod", "apiVersion": "v1"}) == [("header", "kind"), ("header", "apiVersion")]
    [problem] = types.check({"kind": "Pod"}, 20)
    assert problem.message == 'kind is "Pod", which a kubelet cannot load'
