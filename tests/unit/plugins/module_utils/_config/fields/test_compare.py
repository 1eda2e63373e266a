# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What two configurations differ in, and the form and the defaults in which they are compared."""

from __future__ import annotations

import typing as t
from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift import differing
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks, types
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import REFUSAL
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import paths
from tests.support.kubelets import odd_values
from tests.support.kubelets.table_minors import BEYOND

from .. import kubelet_model as model


def _paths(before: dict[str, Any], after: dict[str, Any], minor: int = 20) -> dict[str, tuple[Any, Any]]:
    return {change.path: (change.before, change.after) for change in compare.changes(before, after, minor)}


@given(model.configs())
def test_nothing_changes_between_a_configuration_and_itself(config: dict[str, Any]) -> None:
    assert compare.changes(config, config, 20) == compare.changes(config, config, 30) == []


@given(model.configs())
def test_defaults_are_filled_in_once(config: dict[str, Any]) -> None:
    once = compare.with_defaults(config, 20)
    assert compare.with_defaults(once, 20) == once
    assert compare.normalise(once, 20) == compare.normalise(config, 20)


def test_maps_are_compared_key_by_key_and_keys_with_dots_stay_readable() -> None:
    before = {"evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"}, "featureGates": {"A": True}}
    after = {"evictionHard": {"memory.available": "200Mi"}, "featureGates": {"A": True, "B": False}}
    assert _paths(before, after) == {
        'evictionHard["memory.available"]': ("100Mi", "200Mi"),
        'evictionHard["nodefs.available"]': ("10%", None),
        "featureGates.B": (None, False),
    }
    empty: dict[str, Any] = {**after, "evictionHard": {}}
    assert _paths(after, empty) == {'evictionHard["memory.available"]': ("200Mi", None)}
    assert _paths(empty, after) == {'evictionHard["memory.available"]': (None, "200Mi")}


@pytest.mark.parametrize(
    ("path", "value", "minor", "after", "known"),
    [
        ("maxPods", 50, 20, 110, True),
        ("maxPods", 50, 19, None, False),
        ("maxPods", 50, 36, 110, True),
        ("maxPods", 50, BEYOND, None, False),
        ("kubeAPIQPS", 7, 26, 5, True),
        ("kubeAPIQPS", 7, 27, 50, True),
        ("failCgroupV1", True, 34, False, True),
        ("failCgroupV1", False, 35, True, True),
        ("cgroupDriver", "systemd", 34, "cgroupfs", True),
        # The runtime decides it.
        ("cgroupDriver", "cgroupfs", 36, None, False),
        # A gate decides it.
        ("imagePullCredentialsVerificationPolicy", "AlwaysVerify", 34, None, False),
        ("imagePullCredentialsVerificationPolicy", "AlwaysVerify", 36, "NeverVerifyPreloadedImages", True),
        ("imagePullCredentialsVerificationPolicy", "AlwaysVerify", BEYOND, None, False),
        # Without a default the value is gone.
        ("readOnlyPort", 10255, 36, None, True),
        ("memoryManagerPolicy", "Static", 21, "None", True),
        ("seccompDefault", True, 36, False, True),
        ("singleProcessOOMKill", True, 33, None, True),
    ],
)
def test_a_live_value_that_is_removed_is_a_change(path: str, value: Any, minor: int, after: Any, known: bool) -> None:
    [change] = compare.changes({path: value}, {}, minor)
    assert (change.path, change.before, change.after, change.known) == (path, value, after, known)


def test_a_value_that_may_be_the_default_already_is_not_known_to_change() -> None:
    [change] = compare.changes({}, {"maxParallelImagePulls": 3}, BEYOND)
    assert not change.known


def test_parallel_pulls_switch_off_serial_ones() -> None:
    for minor, serial in ((26, True), (27, False)):
        assert compare.with_defaults({"maxParallelImagePulls": 2}, minor)["serializeImagePulls"] is serial
    assert compare.with_defaults({"maxParallelImagePulls": 1}, 27)["serializeImagePulls"] is True
    assert compare.with_defaults({"maxParallelImagePulls": 2, "serializeImagePulls": True}, 27)["serializeImagePulls"]


@pytest.mark.parametrize("minor", [20, 36])
def test_a_minor_gets_no_default_of_a_field_that_it_does_not_have(minor: int) -> None:
    assert {path for path in compare.normalise({}, minor, True) if not fields.owner(path).exists_at(minor)} == set()


def test_a_value_in_the_place_of_an_object_stops_no_default_of_other_fields() -> None:
    wrong = {"authentication": "none"}
    assert compare.with_defaults(wrong, 33) == {**compare.with_defaults({}, 33), **wrong}


def test_a_key_of_a_map_that_is_set_is_known_also_where_no_default_is() -> None:
    maps = {"evictionHard": {"memory.available": "1"}, "featureGates": {"A": True}}
    before = {"evictionHard": {**maps["evictionHard"], "pid.available": "2"}, "featureGates": {"A": True, "B": True}}
    for minor in (30, BEYOND):
        assert compare.changes(before, maps, minor) == [
            compare.Change('evictionHard["pid.available"]', "2", None, True),
            compare.Change("featureGates.B", True, None, True),
        ]
    all_and_one = {**compare.with_defaults({}, 36)["evictionHard"], "pid.available": "2"}
    added = compare.Change('evictionHard["pid.available"]', None, "2", True)
    assert compare.changes({}, {"evictionHard": all_and_one}, 36) == [added]


@pytest.mark.parametrize(
    ("path", "config", "given", "minor", "known"),
    [
        # A whole configuration has all defaults. A source of few fields leaves the node's own values.
        ("maxPods", {}, [], 20, True),
        ("maxPods", {}, [], 33, False),
        ("maxPods", {"maxPods": 7}, ["maxPods"], 33, True),
        ("resolvConf", {}, [], 22, False),
        ("resolvConf", {}, [], 33, False),
        ("readOnlyPort", {}, [], 33, True),
        ("shutdownGracePeriod", {}, [], 33, True),
        # 1.20 does not have it, so that a configuration of 1.20 cannot set it.
        ("registerWithTaints", {}, [], 33, False),
        ("registerWithTaints", {"registerWithTaints": []}, [], 33, True),
        ("cpuManagerPolicyOptions.full-pcpus-only", {}, ["cpuManagerPolicyOptions"], 33, True),
        ("logging.new", {}, ["logging"], 33, False),
        ("tracing", {"tracing": {}}, ["tracing"], 33, True),
        # A map that is set has only its own keys.
        ('evictionHard["pid.available"]', {}, ["evictionHard"], 33, True),
        ('evictionHard["pid.available"]', {}, ["maxPods"], 33, False),
        ("featureGates.A", {"featureGates.A": False}, [], 33, True),
        ("maxPods", {}, ["maxPods"], 33, False),
        ("notAField", {}, ["notAField"], 33, False),
    ],
)
def test_whether_a_value_is_known(path: str, config: dict[str, Any], given: list[str], minor: int, known: bool) -> None:
    assert compare.is_known(path, config, set(given), minor) is known


MERGES = {"mergeDefaultEvictionSettings": True, "evictionHard": {"memory.available": "1Gi"}}


def test_what_the_kubelet_merges_into_the_thresholds_of_a_file() -> None:
    merged = {
        'evictionHard["imagefs.available"]': "15%",
        'evictionHard["imagefs.inodesFree"]': "5%",
        'evictionHard["memory.available"]': "1Gi",
        'evictionHard["nodefs.available"]': "10%",
        'evictionHard["nodefs.inodesFree"]': "5%",
        "mergeDefaultEvictionSettings": True,
    }
    own = {key: merged[key] for key in ('evictionHard["memory.available"]', "mergeDefaultEvictionSettings")}
    assert compare.normalise(MERGES, 33) == merged
    # A kubelet of 1.32 does not know the field. One with drop-ins merged the defaults before it read them.
    assert compare.normalise(MERGES, 32) == compare.normalise(MERGES, 33, runs=True) == own
    live = {**MERGES, "evictionHard": compare.with_thresholds(MERGES, 33)["evictionHard"]}
    assert compare.changes(live, MERGES, 33) == []
    assert {change.path for change in compare.changes(live, MERGES, 33, True)} == set(merged) - set(own)


def test_the_explicit_empty_map_is_not_the_default() -> None:
    keys = ("imagefs.available", "memory.available", "nodefs.available", "nodefs.inodesFree")
    assert set(_paths({"evictionHard": {}}, {})) == {f'evictionHard["{key}"]' for key in keys}
    assert _paths({"enforceNodeAllocatable": []}, {}) == {"enforceNodeAllocatable": ([], ["pods"])}
    shown = {"evictionHard": {}, "foo": {}}
    assert compare.normalise({**shown, "kubeReserved": {}, "authentication": {}}, 33) == shown


def test_equal_meanings_are_equal() -> None:
    assert _paths({}, {"readOnlyPort": 0, "clusterDNS": [], "kubeReserved": {}, "runOnce": False}) == {}
    found = _paths({"nodeStatusReportFrequency": "20s"}, {"nodeStatusUpdateFrequency": "20s"})
    assert found == {"nodeStatusUpdateFrequency": ("10s", "20s")}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": 1}, {"b": 1}, False),
        ({"a": 1}, {"a": 1, "b": 1}, False),
        ({}, [], False),
        ([], "", False),
        ([1, 2], [1], False),
    ],
)
def test_same(one: Any, other: Any, same: bool) -> None:
    assert [compare.same(*pair) for pair in ((one, other), (other, one))] == [same, same]


def test_unknown_fields_are_compared_as_they_are() -> None:
    assert _paths({"foo": {"a": 1}}, {"foo": {"a": 2, "b": {}}}) == {"foo.a": (1, 2), "foo.b": (None, {})}


MINORS = range(fields.OLDEST_MINOR, fields.NEWEST_MINOR + 1)
EAST, UTC = "2024-01-01T01:00:00.5+02:00", "2023-12-31T23:00:00Z"
LIMITS = {"memory": "1024Mi", "hugepages-1Gi": 1.5, "x": "100n"}
SHOWN_LIMITS = {"memory": "1Gi", "hugepages-1Gi": "1500m", "x": "1m"}


@pytest.mark.parametrize(
    ("path", "written", "shown"),
    [
        # As kubelet 1.36.2 decodes and shows them.
        ("logging.flushFrequency", "1m", "1m0s"),
        ("logging.flushFrequency", "300us", "300\u00b5s"),
        ("logging.options.json.infoBufferSize", "2048Mi", "2Gi"),
        ("logging.options.text.infoBufferSize", 1000, "1k"),
        ("logging.options.json.infoBufferSize", "100n", "100n"),
        ("crashLoopBackOff.maxContainerRestartPeriod", "90s", "1m30s"),
        ("podPidsLimit", -5, -1),
        ("podPidsLimit", 100, 100),
        ("registerWithTaints", [{"key": "a", "value": ""}], [{"key": "a", "effect": ""}]),
        ("registerWithTaints", [{"key": "a", "value": "x"}], [{"key": "a", "value": "x", "effect": ""}]),
        ("registerWithTaints", [{"key": None, "timeAdded": None}], [{"key": "", "effect": ""}]),
        ("registerWithTaints", [{"key": "a", "timeAdded": EAST}], [{"key": "a", "effect": "", "timeAdded": UTC}]),
        ("registerWithTaints", [{"key": "a", "timeAdded": "0001-01-01T00:00:00Z"}], [{"key": "a", "effect": ""}]),
        ("logging.vmodule", [{"filePattern": "a"}], [{"filePattern": "a", "verbosity": 0}]),
        ("reservedMemory", [{"limits": LIMITS}], [{"numaNode": 0, "limits": SHOWN_LIMITS}]),
        ("reservedMemory", [{"numaNode": 1}], [{"numaNode": 1, "limits": {}}]),
        ("shutdownGracePeriodByPodPriority", [{}], [{"priority": 0, "shutdownGracePeriodSeconds": 0}]),
        # The kubelet does not look into these texts.
        ("kubeReserved", {"memory": "2048Mi"}, {"memory": "2048Mi"}),
        ("evictionSoftGracePeriod", {"memory.available": "90s"}, {"memory.available": "90s"}),
        ("containerLogMaxSize", "2048Mi", "2048Mi"),
        ("clusterDomain", "90s", "90s"),
        # What is of a wrong type stays as it is.
        ("syncFrequency", 5, 5),
        ("registerWithTaints", ["a"], ["a"]),
        ("registerWithTaints", [{"new": 1, "timeAdded": "x"}], [{"new": 1, "key": "", "effect": "", "timeAdded": "x"}]),
        ("logging.options.json.infoBufferSize", True, True),
        ("logging.options.json.infoBufferSize", "lots", "lots"),
        ("clusterDNS", "a", "a"),
    ],
)
def test_the_form_of_the_kubelet(path: str, written: t.Any, shown: t.Any) -> None:
    found = compare.canonical(written, fields.ALL[path], 36)
    assert compare.same(found, shown)
    assert compare.same(compare.canonical(found, fields.ALL[path], 36), shown)


@pytest.mark.parametrize(
    ("written", "minor", "form"),
    [(5 * 10**9, 27, 5 * 10**9), (5 * 10**9, 28, "5s"), (60, 36, "60ns"), ("1m", 28, "1m0s")],
)
def test_a_number_of_nanoseconds_is_a_duration_where_both_are_taken(written: t.Any, minor: int, form: t.Any) -> None:
    assert compare.canonical(written, fields.ALL["logging.flushFrequency"], minor) == form


@pytest.mark.parametrize(
    ("path", "zero"),
    [
        ("syncFrequency", ["0", "0s", "-0h", None]),
        ("logging.flushFrequency", [0, "0s", "0", None]),
        ("logging.options.json.infoBufferSize", [0, "0", "0Mi", "-0", None]),
        ("maxPods", [0, None]),
        ("clusterDomain", ["", None]),
        ("clusterDNS", [[], None]),
        ("kubeReserved", [{}, None]),
    ],
)
def test_zeros(path: str, zero: list[t.Any]) -> None:
    assert [compare.is_zero(value, fields.ALL[path]) for value in zero] == [True] * len(zero)
    assert not any(compare.is_zero(value, fields.ALL[path]) for value in (1, "1s", "1", ["a"], {"a": "b"}))


def test_times() -> None:
    assert compare.moment("2024-02-29T23:59:59Z") == "2024-02-29T23:59:59Z"
    assert compare.moment("2024-01-01T00:00:00,123-01:30") == "2024-01-01T01:30:00Z"


@pytest.mark.parametrize(
    "text", ["", "now", "2024-02-30T00:00:00Z", "2024-01-01", "2024-01-01T00:00:00", "0001-01-01T00:00:00+01:00"]
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="parsing time"):
        compare.moment(text)


def test_the_odd_values_reach_every_leaf() -> None:
    reached = {path for minor in MINORS for path, _value in odd_values.leaves(minor)}
    assert reached == {path for path, field in fields.ALL.items() if field.type != "object"}


@pytest.mark.parametrize("minor", MINORS)
def test_every_odd_value_is_of_its_type_and_keeps_its_form(minor: int) -> None:
    for path, value in odd_values.leaves(minor):
        config = odd_values.config_of(path, value)
        assert [problem for problem in types.check(config, minor) if problem.rule != "nanoseconds"] == [], config
        once = compare.normalise(config, minor)
        again = odd_values.joined(once)
        assert compare.normalise(again, minor) == once, config
        assert differing.between(config, again, minor) == [], config


@pytest.mark.parametrize("minor", MINORS)
def test_every_turn_means_what_is_live_and_no_rule_refuses_it(minor: int) -> None:
    live = {"kind": "KubeletConfiguration", **compare.with_defaults({}, minor)}
    turns = [odd_values.respelt(live, minor, turn) for turn in range(odd_values.TURNS)]
    for config in turns:
        assert [problem for problem in checks.problems(config, minor) if problem.severity == REFUSAL] == []
        added = {paths.top(path) for path in odd_values.ADDED} | {"featureGates"}
        found = compare.changes(live, config, minor)
        assert [change for change in found if paths.top(change.path) not in added] == []
        assert compare.changes(turns[0], config, minor) == []
    for path in ("syncFrequency", "shutdownGracePeriod", "cpuCFSQuotaPeriod"):
        assert len({config[path] for config in turns}) >= odd_values.TURNS - 1
