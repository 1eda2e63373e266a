# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source that a node gets, and values that several overrides share."""

from __future__ import annotations

import copy
import functools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, fields, overlay
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import sources
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.layers import (
    changed_paths,
    lay_common,
    not_shared,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document

from .. import kubelet_model as model
from . import tables
from .tables import LIVE


@pytest.mark.parametrize(
    ("goal", "live", "expected"),
    [
        ({"maxPods": 70}, {"maxPods": 80}, {"maxPods": 70}),
        ({}, {"maxPods": 80}, {}),
        ({"providerID": "a", "maxPods": 70}, {"providerID": "b"}, {"providerID": "b", "maxPods": 70}),
        ({"address": "10.0.0.1"}, {"address": "0.0.0.0"}, {"address": "0.0.0.0"}),
        ({"tlsCertFile": "/pki/a.crt"}, {}, {}),
        ({}, {"reservedMemory": [{"numaNode": 0}]}, {"reservedMemory": [{"numaNode": 0}]}),
        ({"kubeReserved": {"cpu": "1"}}, {"kubeReserved": {"memory": "1Gi"}}, {"kubeReserved": {"cpu": "1"}}),
    ],
)
@pytest.mark.fault(case=59)
def test_a_node_keeps_the_values_of_its_machine(goal: Any, live: Any, expected: Any) -> None:
    assert sources.for_machine(goal, live) == expected


@given(model.configs(), model.configs())
def test_every_other_field_is_that_of_the_target(goal: dict[str, Any], live: dict[str, Any]) -> None:
    before = copy.deepcopy((goal, live))
    made = sources.for_machine(goal, live)
    for name in {*goal, *live, *made}:
        field = fields.ALL.get(name)
        holder = live if field is not None and field.machine else goal
        assert (name in made, made.get(name)) == (name in holder, holder.get(name)), name
    assert sources.for_machine(goal, made) == made
    assert (goal, live) == before


@pytest.mark.parametrize(
    ("goal", "live", "paths"),
    [
        ({"maxPods": 70, "providerID": "a"}, {"maxPods": 80, "providerID": "a"}, []),
        ({"providerID": "a", "address": "10.0.0.1"}, {"address": "10.0.0.2"}, ["address", "providerID"]),
        ({"providerID": None}, {"providerID": "b"}, []),
        ({}, {"providerID": "b"}, []),
        ({"reservedMemory": [{"limits": {"a": "1024Mi"}}]}, {"reservedMemory": [{"limits": {"a": "1Gi"}}]}, []),
    ],
)
def test_each_value_that_a_node_does_not_get_is_a_warning(goal: Any, live: Any, paths: list[str]) -> None:
    found = list(sources.kept(goal, live))
    assert [problem.path for problem in found] == paths
    assert {problem.severity for problem in found} <= {"warning"}


def test_a_target_takes_the_place_of_the_live_configuration_except_for_the_machine() -> None:
    """Equal nodes still share a variant; the overrides are merged over the target."""
    live = [{**LIVE, "providerID": name, "podPidsLimit": 500} for name in ("a", "b", "b")]
    goal = {**LIVE, "providerID": "a", "maxPods": 70}
    made = tables.planned(tables.table(*live), None, {"n2": {"eventBurst": 7}}, target=goal)
    assert not made["refused"], made["text"]
    desired = {name: made["variants"][row["variant"]] for name, row in made["nodes"].items()}
    other = {**goal, "providerID": "b"}
    assert desired == {"n0": goal, "n1": other, "n2": {**other, "eventBurst": 7}}
    warned = [("warning", "machine-specific", "providerID")]
    assert [tables.rules(made, name) for name in made["nodes"]] == [[], warned, warned]
    changes = made["nodes"]["n1"]["changes"]
    assert {change["path"] for change in changes} == {"maxPods", "podPidsLimit"}
    assert not any(change["no_longer_declared"] or "own_file_changed" in change for change in changes)
    as_text = tables.planned(tables.table(*live), target=document.render(goal))
    assert as_text["nodes"]["n1"] == made["nodes"]["n1"]


def test_the_effects_of_a_target_are_weighed() -> None:
    made = tables.planned(tables.table(LIVE), target={**LIVE, "clusterDNS": ["10.96.0.99"]})
    assert made["refused"] and ("refusal", "effect", "clusterDNS") in tables.rules(made), made["text"]


@pytest.mark.parametrize("goal", [[], 5, {"maxPods": 1}, "maxPods: 1", "a: [b"])
def test_a_target_that_is_no_configuration(goal: Any) -> None:
    with pytest.raises(document.DocumentError, match=r"^target[:,]"):
        tables.planned(tables.table(LIVE), target=goal)


BASE = {**model.HEADER, "maxPods": 110, "staticPodPath": "/etc/kubernetes/manifests", "kubeReserved": {"cpu": "1"}}
CPU, JSON = {"cpu": "2"}, {"json": {"splitStream": True}}
EVICTION = {"memory.available": "200Mi", "nodefs.available": "5%"}


@st.composite
def layers(draw: st.DrawFn) -> dict[str, Any]:
    """An override, with some fields removed by null."""
    layer = draw(model.configs(most=6))
    names = [row["name"] for row in model.ROWS if "." not in row["name"]]
    for key in draw(st.lists(st.sampled_from(names), max_size=2)):
        layer[key] = None
    return layer


NODES = st.lists(st.lists(layers(), max_size=2), max_size=3)


def _merged(base: dict[str, Any], overrides: list[dict[str, Any]]) -> dict[str, Any]:
    return functools.reduce(overlay.merge, overrides, base)


def _leaves(config: dict[str, Any]) -> dict[str, Any]:
    # No defaults are known of this minor, and every value it is given counts.
    return compare.normalise(config, 36)


@given(model.configs(), NODES)
def test_every_change_is_one_that_every_node_would_make(base: Any, nodes: Any) -> None:
    """So a node without overrides has nothing in common with others."""
    laid = _leaves(lay_common(base, nodes))
    results = [_leaves(_merged(base, node)) for node in nodes]
    for path in {*_leaves(base), *laid}:
        if not compare.same(_leaves(base).get(path), laid.get(path)):
            assert nodes
            assert all(compare.same(result.get(path), laid.get(path)) for result in results), path


@given(model.configs(), NODES)
def test_the_arguments_are_neither_modified_nor_shared(base: dict[str, Any], nodes: list[list[dict[str, Any]]]) -> None:
    before = copy.deepcopy((base, nodes))
    laid = lay_common(base, nodes)
    for value in laid.values():
        if isinstance(value, dict):
            value["x"] = 1
        elif isinstance(value, list):
            value.append("x")
    assert (base, nodes) == before


@pytest.mark.parametrize(
    ("nodes", "changed"),
    [
        ([[{"maxPods": 50}], [{"maxPods": 50}]], {"maxPods": 50}),
        ([[{"maxPods": 50}], [{"maxPods": 60}]], {}),
        ([[{"maxPods": 50}, {"maxPods": 60}], [{"maxPods": 60, "port": 1}]], {"maxPods": 60}),
        ([[{"maxPods": None}], [{"maxPods": None}]], {"maxPods": None}),
        ([[{"maxPods": None}], [{"maxPods": 50}]], {}),
        # Maps key by key, also where one node has removed what another keeps.
        ([[{"kubeReserved": {"cpu": "2", "memory": "1Gi"}}], [{"kubeReserved": CPU}]], {"kubeReserved": CPU}),
        ([[{"kubeReserved": {"cpu": None}}], [{"kubeReserved": {"cpu": None, "memory": "1Gi"}}]], {"kubeReserved": {}}),
        ([[{"systemReserved": CPU}], [{"systemReserved": {"memory": "1Gi"}}]], {}),
        ([[{"logging": JSON}], [{"logging": {"json": {"splitStream": True, "x": 1}}}]], {"logging": JSON}),
        # What a kubelet takes as a whole is common as a whole or not at all.
        ([[{"evictionHard": EVICTION}], [{"evictionHard": {**EVICTION, "nodefs.available": "6%"}}]], {}),
        ([[{"evictionHard": EVICTION}], [{"evictionHard": dict(EVICTION)}]], {"evictionHard": EVICTION}),
        ([[{"evictionHard": {}}]], {"evictionHard": {}}),
        # Machine-specific in the layer or in the base; an address of no machine is not machine-specific.
        ([[{"resolvConf": "/x", "maxPods": 50}]], {"maxPods": 50}),
        ([[{"staticPodPath": None}]], {}),
        ([[{"address": "10.0.0.7"}]], {}),
        ([[{"healthzBindAddress": "0.0.0.0"}]], {"healthzBindAddress": "0.0.0.0"}),
        ([[{"kind": None, "apiVersion": "v2"}]], {}),
    ],
)
def test_what_is_common(nodes: list[list[dict[str, Any]]], changed: dict[str, Any]) -> None:
    assert lay_common(BASE, nodes) == {key: value for key, value in {**BASE, **changed}.items() if value is not None}


@pytest.mark.parametrize(
    ("before", "after", "minor", "changed"),
    [
        ({"syncFrequency": "60s"}, {"syncFrequency": "1m0s"}, 24, []),
        ({"syncFrequency": "0s"}, {"syncFrequency": "1m"}, 20, []),
        ({}, {"maxPods": 110}, 20, []),
        ({"maxPods": 50}, {}, 20, ["maxPods"]),
        # The default of 1.24 is not in the table, but the field was set and is not set any more.
        ({"maxPods": 50}, {}, 24, ["maxPods"]),
        ({"x": 1}, {"x": True}, 24, ["x"]),
        ({"kubeReserved": {"a": "1"}}, {"kubeReserved": {"b": "1"}}, 20, ["kubeReserved.a", "kubeReserved.b"]),
        ({"kind": "a"}, {"kind": "b"}, 20, []),
    ],
)
def test_changed_paths(before: dict[str, Any], after: dict[str, Any], minor: int, changed: list[str]) -> None:
    assert changed_paths(before, after, minor) == changed


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({}, {}),
        ({"a": [{"maxPods": 50}]}, {}),
        ({"a": [{"maxPods": 50}], "b": [], "c": [{}]}, {"maxPods": ["b", "c"]}),
        ({"a": [{"maxPods": 51}]}, {"maxPods": ["a"]}),
        ({"a": [{"maxPods": None}]}, {"maxPods": ["a"]}),
        # What the nodes do not set is not written, whatever the others declare.
        ({"a": [{"maxPods": 50, "eventBurst": 7}]}, {}),
    ],
)
def test_who_does_not_share_the_common_values(others: dict[str, Any], expected: dict[str, list[str]]) -> None:
    own = [[{"maxPods": 50, "resolvConf": "/x"}]]
    assert not_shared(BASE, own, others, 20) == expected
