# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All rules together, what they read of a configuration, and what real kubelets answered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.binary_facts import BinaryFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks, feature_gates, validation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import (
    IC,
    LAST_READ,
    REFUSAL,
    WARNING,
    EffectiveConfig,
    Problem,
    Rule,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.short_texts import minor_of
from tests.support.kubelets import asked_rules, binary_corpus
from tests.support.kubelets.kubelet_starts import ENDS, HIDES, STARTS
from tests.support.kubelets.table_minors import BEYOND

from .. import kubelet_model as model


def test_only_refusals_by_the_validation_can_be_softened() -> None:
    gate = {"featureGates": {"NoSuchGate": True}}
    found = checks.problems({"maxPods": "5", "eventBurst": -1, "runOnce": True, **gate}, 20)
    softened = {one.path: one.severity for one in map(checks.softened, found)}
    warnings = dict.fromkeys(("eventBurst", "featureGates.NoSuchGate"), WARNING)
    assert softened == {**warnings, "maxPods": REFUSAL, "runOnce": REFUSAL}


def test_a_plain_configuration_has_no_problem() -> None:
    trusting = {"authentication": {"x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"}}}
    assert checks.problems({**model.HEADER, **model.configz({}), **trusting}, 20) == []


def test_refusals_come_first_then_by_path_and_all_three_kinds_are_asked() -> None:
    found = checks.problems({"maxPods": "5", "eventBurst": -1, "runOnce": True, "nothing": 1}, 20)
    assert [(problem.severity, problem.path, problem.rule) for problem in found] == [
        ("refusal", "eventBurst", "not-negative"),
        ("refusal", "maxPods", "type"),
        ("refusal", "nothing", "unknown-field"),
        ("refusal", "runOnce", "run-once"),
    ]
    assert set(found[0].row()) == {"severity", "path", "message", "remedy", "rule", "value"}
    found = checks.problems({"eventBurst": -1, "runOnce": True}, 19)
    assert [f"{one.severity} {one.path}" for one in found] == ["refusal runOnce", "warning eventBurst"]


@given(model.configs(most=40))
def test_filling_in_defaults_changes_no_verdict(config: dict[str, object]) -> None:
    assert checks.problems(config, 20) == checks.problems(compare.with_defaults(config, 20), 20)


_JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "1s", "5%", "a", "-1", "1Gi", "x.y"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "webhook", "cpu", "mode"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(
    st.dictionaries(st.sampled_from([*fields.children(""), "nothing"]), _JUNK, max_size=8),
    st.sampled_from([12, 20, 23, 36, 40]),
)
def test_any_nonsense_gets_a_verdict_and_no_exception(config: dict[str, object], minor: int) -> None:
    wrong = {problem.path for problem in checks.problems(config, minor)}
    # What a kubelet knows that is newer than the tables is for its own binary to decide.
    assert "nothing" in wrong or config.get("nothing") is None or minor > fields.NEWEST_MINOR
    assert compare.changes(config, config, minor) == []


MEMORY = "memory.available"
SOFT = {"evictionSoft": {MEMORY: "1Gi"}}


@pytest.mark.parametrize(
    ("config", "remedy"),
    [
        # Quotes help.
        ({"clusterDomain": 5}, 'Put it in quotes: "5".'),
        # YAML has lost how these were written.
        ({"clusterDomain": 1.3}, 'Put it in quotes: "1.3", or "1.30" if it was written so.'),
        ({"clusterDomain": False}, 'Put it in quotes, as it was written, such as "false" or "off".'),
        # In quotes, the kubelet would refuse these too.
        ({"showHiddenMetricsForVersion": 1.3}, 'Write "1.35" (in quotes), or remove it.'),
        ({"topologyManagerPolicy": False}, "Use one of none, best-effort, restricted, single-numa-node."),
        ({"hairpinMode": False}, "Use one of them."),
        ({**SOFT, "evictionSoftGracePeriod": {MEMORY: 90}}, 'Write a Go duration with its unit, such as "1m30s".'),
        ({"evictionHard": {"memory.available": 0}}, 'To switch a threshold off, write "0%" or leave its key out.'),
    ],
)
def test_the_remedy_for_a_value_that_is_no_text_leads_to_a_good_one(config: dict[str, Any], remedy: str) -> None:
    [problem] = [one for one in checks.problems(config, 36) if one.rule == "type"]
    assert problem.remedy == remedy


def test_the_remedy_for_a_soft_threshold_holds_for_every_delivery() -> None:
    """A drop-in merges these maps; elsewhere they are replaced as a whole."""
    [problem] = [one for one in checks.problems(SOFT, 36) if one.path]
    assert "Unless the node gets a drop-in, repeat the other keys of the map." in problem.remedy


def test_a_row_is_a_plain_mapping() -> None:
    row = {"severity": WARNING, "path": "a", "message": "m", "remedy": "r", "rule": "x"}
    assert Problem(**row).row() == row
    assert Problem(**row, value="-1").row() == {**row, "value": "-1"}


@pytest.mark.parametrize(
    ("since", "until", "minor", "holds", "certain"),
    [
        (0, None, 19, True, False),
        (0, None, 20, True, True),
        (0, None, LAST_READ, True, True),
        (0, None, LAST_READ + 1, True, False),
        (27, 33, 26, False, False),
        (27, 33, 27, True, True),
        (27, 33, 33, True, True),
        (27, 33, 34, False, False),
        (19, 19, 19, True, False),
    ],
)
def test_the_versions_of_a_rule(since: int, until: int | None, minor: int, holds: bool, certain: bool) -> None:
    rule = Rule("one", since, until, lambda _config: iter(()))
    assert (rule.holds_at(minor), rule.is_certain(EffectiveConfig({}, minor))) == (holds, certain)


def test_values_of_another_type_are_invisible() -> None:
    values = {
        "maxPods": True,
        "cgroupDriver": 1,
        "runOnce": "yes",
        "clusterDNS": [1, "10.0.0.10"],
        "clusterDomain": "x",
    }
    config = EffectiveConfig({**values, "authentication": {"anonymous": {"enabled": True}}, "syncFrequency": "1s"}, 33)
    assert (config.number("maxPods"), config.text("cgroupDriver"), config.truth("runOnce")) == (None, "", None)
    assert (config.texts("clusterDNS"), config.texts("clusterDomain")) == (["10.0.0.10"], [])
    assert (config.pairs("clusterDNS"), config.nanoseconds("cgroupDriver")) == ({}, None)
    # Values of their own type are seen.
    assert (config.text("clusterDomain"), config.truth("authentication.anonymous.enabled")) == ("x", True)
    assert config.nanoseconds("syncFrequency") == 10**9
    assert EffectiveConfig({"kubeReserved": {"cpu": "1", "memory": 5}}, 33).pairs("kubeReserved") == {"cpu": "1"}


@pytest.mark.parametrize(
    ("path", "zero", "minor", "seen"),
    [
        ("maxPods", 0, 36, 110),
        ("maxPods", 0, BEYOND, None),
        ("maxPods", 0, 19, None),
        ("maxPods", 7, BEYOND, 7),
        ("readOnlyPort", 0, BEYOND, 0),
        # A zero is a value since 1.23.
        ("resolvConf", "", BEYOND, ""),
        ("resolvConf", "", 19, None),
        ("notAField", 0, BEYOND, 0),
    ],
)
def test_a_zero_that_means_an_unknown_default_is_unknown(path: str, zero: object, minor: int, seen: object) -> None:
    assert EffectiveConfig({path: zero}, minor).value(path) == seen


@pytest.mark.parametrize(
    ("gates", "minor", "answer", "on"),
    [
        ({}, 20, {}, False),
        ({}, 21, {}, True),
        ({"GracefulNodeShutdown": False}, 21, {}, False),
        ({"GracefulNodeShutdown": True}, 20, {}, True),
        ({}, 36, {"GracefulNodeShutdown": "b-"}, False),
        ({"GracefulNodeShutdown": True}, 36, {"GracefulNodeShutdown": "b-"}, True),
        # The groups set what the configuration does not name; in 1.20 it is alpha.
        ({"AllBeta": False}, 36, {"GracefulNodeShutdown": "b+"}, False),
        ({"AllBeta": False, "GracefulNodeShutdown": True}, 36, {}, True),
        ({"AllAlpha": False, "AllBeta": True}, 20, {}, False),
        ({"AllAlpha": True}, 20, {}, True),
    ],
)
def test_a_gate_has_the_default_of_the_minor_or_of_the_binary(
    gates: dict[str, bool], minor: int, answer: dict[str, str], on: bool
) -> None:
    binary = BinaryFacts("v1.36.2", [], answer, {})
    assert EffectiveConfig({"featureGates": gates}, minor, binary).gate("GracefulNodeShutdown") is on


@pytest.mark.parametrize(
    ("path", "before", "after", "count"),
    [
        ("authentication.x509.clientCAFile", None, "/ca.crt", 1),
        ("authentication.x509.clientCAFile", "/ca.crt", None, 0),
        ("cgroupDriver", "cgroupfs", "systemd", 1),
        ("serverTLSBootstrap", False, True, 1),
        ("serverTLSBootstrap", True, False, 0),
        ("memorySwap.swapBehavior", "", "LimitedSwap", 1),
        ("memorySwap.swapBehavior", "", "NoSwap", 0),
        ("failSwapOn", False, True, 1),
        ("failSwapOn", True, False, 0),
        ("maxPods", 1, 2, 0),
        ("resolvConf", "/a", "/b", 1),
        ("resolvConf", "/a", "", 0),
        ("protectKernelDefaults", None, True, 1),
    ],
)
def test_only_changes_that_the_host_must_bear(path: str, before: object, after: object, count: int) -> None:
    found = list(checks.warnings([compare.Change(path, before, after, True)]))
    assert [(problem.severity, problem.path, problem.rule) for problem in found] == [("warning", path, "host")] * count


def test_paths_into_a_checkpoint() -> None:
    inside = "/var/lib/kubelet-dynamic/store/checkpoints/147d55bf-dddc/274/ca.crt"
    [problem] = checks.checkpoint_paths(
        [("authentication.x509.clientCAFile", inside), ("resolvConf", "/etc/resolv.conf"), ("providerID", inside)]
    )
    assert (problem.path, problem.rule) == ("authentication.x509.clientCAFile", "checkpoint-path")
    assert inside in problem.message


MINOR = 36


def refusals(config: dict[str, Any]) -> set[str]:
    found = [problem for problem in checks.problems(config, MINOR) if problem.severity == REFUSAL]
    assert all(problem.path and problem.message and problem.remedy for problem in found)
    return {problem.rule for problem in found}


@pytest.mark.parametrize(("config", "rule"), [*ENDS, *HIDES])
def test_what_ends_or_hides_a_kubelet_is_refused(config: dict[str, Any], rule: str) -> None:
    assert refusals(config) == {rule}


@pytest.mark.parametrize("config", STARTS)
def test_what_starts_is_not_refused(config: dict[str, Any]) -> None:
    assert refusals(config) == set()


OTHER_WORDS = (
    # These words of ours name no cause: the kubelet's name the wrong part of the pattern.
    "invalid image pattern in",
)


@pytest.mark.parametrize("version", binary_corpus.WHOLE)
def test_a_rule_has_the_words_of_a_real_kubelet(version: str) -> None:
    for config, verdict, messages in binary_corpus.recorded_values(version):
        for words in words_of(config, minor_of(version) or 0) if verdict == "invalid" else ():
            assert words in "".join(messages) or any(one in words for one in OTHER_WORDS), messages


def words_of(config: dict[str, Any], minor: int) -> list[str]:
    """Return the words that a kubelet should use. A refused gate is all that it names. Of types, the words are ours."""
    found = [one for one in checks.problems(config, minor) if one.severity == REFUSAL]
    of_gates = [one for one in found if one.rule in feature_gates.NAMES]
    of_values = [one for one in found if one.rule in validation.NAMES]
    return [one.message.removeprefix(IC) for one in of_gates or of_values]


OF_BINARIES: dict[str, asked_rules.Answers] = {
    version: [(config, verdict) for config, verdict, _messages in binary_corpus.recorded_values(version)]
    for version in binary_corpus.WHOLE
}
RECORDED = {**OF_BINARIES, **asked_rules.recorded()}


@pytest.mark.parametrize("version", sorted({"v1.28.7", "v1.36.2", *RECORDED}))
def test_the_rules_agree_with_what_a_real_kubelet_answered(version: str) -> None:
    answers = RECORDED[version]
    assert {verdict for _config, verdict in answers} >= {"valid", "invalid"}
    assert asked_rules.wrong(answers, int(version.split(".")[1])) == []
