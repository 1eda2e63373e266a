# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift import differing
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks, types
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import REFUSAL
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import paths
from tests.support import odd_values

MINORS = range(fields.OLDEST_MINOR, fields.NEWEST_MINOR + 1)


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
        ("registerWithTaints", [{"key": "a", "value": ""}], [{"key": "a", "effect": ""}]),
        ("registerWithTaints", [{"key": None, "timeAdded": None}], [{"key": "", "effect": ""}]),
        (
            "registerWithTaints",
            [{"key": "a", "timeAdded": "2024-01-01T01:00:00.5+02:00"}],
            [{"key": "a", "effect": "", "timeAdded": "2023-12-31T23:00:00Z"}],
        ),
        ("registerWithTaints", [{"key": "a", "timeAdded": "0001-01-01T00:00:00Z"}], [{"key": "a", "effect": ""}]),
        ("logging.vmodule", [{"filePattern": "a"}], [{"filePattern": "a", "verbosity": 0}]),
        (
            "reservedMemory",
            [{"limits": {"memory": "1024Mi", "hugepages-1Gi": 1.5, "x": "100n"}}],
            [{"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-1Gi": "1500m", "x": "1m"}}],
        ),
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
def test_a_number_of_nanoseconds_is_a_duration_where_the_kubelet_takes_both(
    written: t.Any, minor: int, form: t.Any
) -> None:
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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z"),
        ("2024-01-01T00:00:00,123-01:30", "2024-01-01T01:30:00Z"),
    ],
)
def test_times(text: str, shown: str) -> None:
    assert compare.moment(text) == shown


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
