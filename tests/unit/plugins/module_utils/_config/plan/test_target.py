# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import sources
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
def test_a_node_keeps_the_values_of_its_machine(
    goal: dict[str, Any], live: dict[str, Any], expected: dict[str, Any]
) -> None:
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
def test_each_value_that_a_node_does_not_get_is_a_warning(
    goal: dict[str, Any], live: dict[str, Any], paths: list[str]
) -> None:
    found = list(sources.kept(goal, live))
    assert [problem.path for problem in found] == paths
    assert {problem.severity for problem in found} <= {"warning"}


def test_a_drop_in_declares_nothing_of_one_machine() -> None:
    given = {"maxPods": 7, "providerID": "aws://x", "evictionHard": {"a": "1"}}
    assert sources.declared(given) == {"maxPods": 7, "evictionHard": {"a": "1"}}


def test_a_target_takes_the_place_of_the_live_configuration_except_for_the_machine() -> None:
    """Equal nodes still share a variant; the overrides are merged over the target."""
    live = [{**LIVE, "providerID": name, "podPidsLimit": 500} for name in ("a", "b", "b")]
    goal = {**LIVE, "providerID": "a", "maxPods": 70}
    made = tables.planned(tables.table(*live), None, {"n2": {"eventBurst": 7}}, target=goal)
    assert not made["refused"], made["text"]
    desired = {name: made["variants"][row["variant"]] for name, row in made["nodes"].items()}
    assert desired == {
        "n0": goal,
        "n1": {**goal, "providerID": "b"},
        "n2": {**goal, "providerID": "b", "eventBurst": 7},
    }
    assert [tables.rules(made, name) for name in made["nodes"]] == [
        [],
        [("warning", "machine-specific", "providerID")],
        [("warning", "machine-specific", "providerID")],
    ]
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
