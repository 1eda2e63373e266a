# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import complete_config
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan_node
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks

from .. import kubelet_model as model

LIVE = complete_config.restore(model.configz({}))


def test_nodes_that_are_alike_share_one_computation_and_others_do_not() -> None:
    layer, other = {"maxPods": 50}, {"maxPods": 60}
    planner = plan_node.Planner({"a": LIVE, "b": {**LIVE, "maxPods": 9}}, "disrupt", (layer,))
    one = planner.plan("a", 20, (layer,), ["kubelet", "--hostname-override=n1"])
    assert planner.plan("a", 20, (layer,), ["kubelet", "--hostname-override=n2"]) is one
    assert planner.plan("a", 20, (layer,), ["kubelet", "--max-pods=7"]) is not one
    assert planner.plan("b", 20, (layer,), None) is not one
    assert planner.plan("a", 21, (layer,), None) is not one
    assert planner.plan("a", 20, (other,), None).config["maxPods"] == 60


def test_what_the_running_kubelet_lives_with_is_no_problem() -> None:
    live = {**LIVE, "clusterDNS": ["no address"]}
    assert checks.problems(live, 20)
    planner = plan_node.Planner({"a": live}, "disrupt", ())
    assert planner.plan("a", 20, ({"maxPods": 50},), None).problem_rows(True) == []
    assert [row["path"] for row in planner.plan("a", 20, ({"clusterDNS": ["worse"]},), None).problem_rows(False)] == [
        "clusterDNS[0]"
    ]


@pytest.mark.parametrize(
    ("live", "layer", "argv", "allow_invalid", "severity"),
    [
        ({}, {"kubeAPIQPS": -1}, None, False, "refusal"),
        ({}, {"kubeAPIQPS": -1}, ["kubelet", "--max-pods=7"], False, "refusal"),
        ({}, {"kubeAPIQPS": -1}, None, True, "warning"),
        # The flag overrides the value, so the kubelet starts.
        ({}, {"kubeAPIQPS": -1}, ["kubelet", "--kube-api-qps=5"], False, "warning"),
        # The kubelet runs with such a value, so it does not check this rule.
        ({"kubeAPIQPS": -2}, {"kubeAPIQPS": -1}, None, False, "warning"),
        ({"eventBurst": -2}, {"kubeAPIQPS": -1}, None, False, "refusal"),
        # It would end the kubelet at every start: no option allows it.
        ({}, {"evictionHard": {"memory.available": "lots"}}, None, True, "refusal"),
        ({}, {"maxPods": "7"}, None, True, "refusal"),
    ],
)
def test_when_the_kubelet_certainly_refuses_a_value(
    live: dict[str, object], layer: dict[str, object], argv: list[str] | None, allow_invalid: bool, severity: str
) -> None:
    planner = plan_node.Planner({"a": {**LIVE, **live}}, "disrupt", (), allow_invalid)
    rows = planner.plan("a", 20, (layer,), argv).problem_rows(False)
    assert [(row["severity"], row["path"]) for row in rows if row["rule"] not in ("shadowed", "whole-map")] == [
        (severity, next(iter(layer)) if "evictionHard" not in layer else 'evictionHard["memory.available"]')
    ]


@pytest.mark.parametrize("minor", range(20, 37))
@pytest.mark.parametrize("removed", [None, ""], ids=["null", "zero"])
@pytest.mark.fault(case=66)
def test_a_removed_value_has_the_effect_of_its_field_at_every_version(removed: str | None, minor: int) -> None:
    """With the default, as far as it is known; the other changes of the plan do not hide it."""
    planner = plan_node.Planner({"a": {**LIVE, "cgroupDriver": "systemd"}}, "disrupt", ())
    made = planner.plan("a", minor, ({"cgroupDriver": removed, "containerLogMaxFiles": 6},), None)
    assert [(row["path"], row["before"], row["after"], row["effect"], row["known"]) for row in made.change_rows] == [
        ("cgroupDriver", "systemd", "cgroupfs" if minor < 35 else None, "reboot", minor < 35),
        ("containerLogMaxFiles", 5, 6, "disrupt", True),
    ]
    assert plan_node.effect(made.rows(True)) == "reboot"
    assert ("refusal", "cgroupDriver", "effect") in [
        (row["severity"], row["path"], row["rule"]) for row in made.problem_rows(True)
    ]
