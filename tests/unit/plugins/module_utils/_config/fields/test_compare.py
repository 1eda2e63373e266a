# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare

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


@given(model.configs(), model.configs())
def test_changes_are_found_in_both_directions(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert {change.path for change in compare.changes(one, other, 20)} == {
        change.path for change in compare.changes(other, one, 20)
    }


def test_maps_are_compared_key_by_key_and_keys_with_dots_stay_readable() -> None:
    before = {"evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"}, "featureGates": {"A": True}}
    after = {"evictionHard": {"memory.available": "200Mi"}, "featureGates": {"A": True, "B": False}}
    assert _paths(before, after) == {
        'evictionHard["memory.available"]': ("100Mi", "200Mi"),
        'evictionHard["nodefs.available"]': ("10%", None),
        "featureGates.B": (None, False),
    }


def test_defaults_count_only_where_they_are_known() -> None:
    assert _paths({"maxPods": 110}, {}) == {}
    assert _paths({"maxPods": 50}, {}) == {"maxPods": (50, 110)}
    [change] = compare.changes({}, {"maxParallelImagePulls": 3}, 37)
    assert not change.known


@pytest.mark.parametrize(
    ("path", "value", "minor", "after", "known"),
    [
        ("maxPods", 50, 20, 110, True),
        ("maxPods", 50, 19, None, False),
        ("maxPods", 50, 36, 110, True),
        ("maxPods", 50, 37, None, False),
        ("kubeAPIQPS", 7, 26, 5, True),
        ("kubeAPIQPS", 7, 27, 50, True),
        ("failCgroupV1", True, 34, False, True),
        ("failCgroupV1", False, 35, True, True),
        ("cgroupDriver", "systemd", 34, "cgroupfs", True),
        # The runtime decides it, or a gate does.
        ("cgroupDriver", "cgroupfs", 36, None, False),
        ("imagePullCredentialsVerificationPolicy", "AlwaysVerify", 36, None, False),
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


def test_the_thresholds_of_a_minor() -> None:
    keys = {path for path, _change in _paths({"evictionHard": {}}, {}, minor=30).items()}
    assert 'evictionHard["imagefs.inodesFree"]' in keys
    assert keys - set(_paths({"evictionHard": {}}, {}, minor=29)) == {'evictionHard["imagefs.inodesFree"]'}


def test_parallel_pulls_switch_off_serial_ones() -> None:
    for minor, serial in ((26, True), (27, False)):
        assert compare.with_defaults({"maxParallelImagePulls": 2}, minor)["serializeImagePulls"] is serial
    assert compare.with_defaults({"maxParallelImagePulls": 1}, 27)["serializeImagePulls"] is True


def test_a_source_of_few_fields_is_not_completed_after_1_20() -> None:
    assert "maxPods" in compare.normalise({}, 20)
    assert "maxPods" not in compare.normalise({}, 33)
    assert "maxPods" in compare.normalise({}, 33, True)


def test_a_field_without_default_that_is_left_out_is_removed_at_any_version() -> None:
    assert _paths({"kubeReserved": {"cpu": "1"}, "readOnlyPort": 10255}, {}, minor=30) == {
        "kubeReserved.cpu": ("1", None),
        "readOnlyPort": (10255, None),
    }


def test_a_key_removed_from_a_map_that_stays_is_a_change_at_any_version() -> None:
    assert _paths(
        {"evictionHard": {"memory.available": "1", "pid.available": "2"}},
        {"evictionHard": {"memory.available": "1"}},
        30,
    ) == {'evictionHard["pid.available"]': ("2", None)}


def test_the_explicit_empty_map_is_not_the_default() -> None:
    assert set(_paths({"evictionHard": {}}, {})) == {
        f'evictionHard["{key}"]'
        for key in ("imagefs.available", "memory.available", "nodefs.available", "nodefs.inodesFree")
    }
    assert _paths({"enforceNodeAllocatable": []}, {}) == {"enforceNodeAllocatable": ([], ["pods"])}


def test_equal_meanings_are_equal() -> None:
    assert _paths({"syncFrequency": "1m30s"}, {"syncFrequency": "90s"}) == {}
    assert _paths({"podPidsLimit": -1}, {"podPidsLimit": -5}) == {}
    assert _paths({}, {"readOnlyPort": 0, "clusterDNS": [], "kubeReserved": {}, "runOnce": False}) == {}
    assert _paths({"nodeStatusReportFrequency": "20s"}, {"nodeStatusUpdateFrequency": "20s"}) == {
        "nodeStatusUpdateFrequency": ("10s", "20s")
    }


def test_strings_stay_as_written_and_true_is_not_one() -> None:
    assert _paths({"kubeReserved": {"memory": "1Gi"}}, {"kubeReserved": {"memory": "1024Mi"}}) == {
        "kubeReserved.memory": ("1Gi", "1024Mi")
    }
    assert _paths({"x": True}, {"x": 1}) == {"x": (True, 1)}


def test_a_pointer_since_some_version_keeps_its_zero_from_then_on() -> None:
    assert _paths({}, {"resolvConf": ""}, minor=22) == {}
    assert _paths({}, {"resolvConf": ""}, minor=23) == {"resolvConf": ("/etc/resolv.conf", "")}


def test_unknown_fields_are_compared_as_they_are() -> None:
    assert _paths({"foo": {"a": 1}}, {"foo": {"a": 2, "b": {}}}) == {"foo.a": (1, 2), "foo.b": (None, {})}
