# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that are not declared any more, and removals."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, complete_config

from .. import kubelet_model as model
from . import tables
from .tables import CHECKPOINTS, LIVE


@given(model.configs(), model.configs(), model.configs())
def test_an_applied_plan_leaves_nothing_to_do(live: dict[str, Any], layer: dict[str, Any], own: dict[str, Any]) -> None:
    table = tables.table(complete_config.restore(model.configz(live)), LIVE)
    made = tables.planned(table, layer, {"n1": own}, allow_effect="reboot")
    after = tables.applied(table, made)
    again = tables.planned(after, layer, {"n1": own}, allow_effect="reboot")
    assert [row["action"] for row in again["nodes"].values()] == ["none", "none"]
    assert [row["changes"] for row in again["nodes"].values()] == [[], []]
    assert again["summary"]["to_change"] == 0


def test_a_removal_is_applied_once_although_its_default_is_not_known() -> None:
    """The kubelet shows its default, which the layer removes again: the same variant, so no assignment and no drain."""
    layer = {"cgroupDriver": None}
    # From 1.35 on, the default of this field is not known.
    table = tables.table({**LIVE, "cgroupDriver": "systemd"}, kubelet_version="v1.36.1")
    made = tables.planned(table, layer, allow_effect="reboot")
    assert (made["nodes"]["n0"]["action"], made["nodes"]["n0"]["effect"]) == ("assign", "reboot")
    row = tables.planned(tables.applied(table, made), layer)["nodes"]["n0"]
    assert (row["action"], row["effect"], row["changes"], row["problems"]) == ("none", None, [], [])
    # A value that is set and not live still shows.
    wanted = {"cgroupDriver": None, "maxPods": 50, "kubeReserved": None}
    after = tables.applied(table, tables.planned(table, wanted, allow_effect="reboot"))
    variant = next(iter(after["variants"]))
    after["variants"][variant] = {**after["variants"][variant], "maxPods": 110, "kubeReserved": {"cpu": "1"}}
    for record in (after["nodes"]["n0"]["own"], None):
        after["nodes"]["n0"]["own"] = record
        row = tables.planned(after, wanted)["nodes"]["n0"]
        assert (row["action"], row["effect"]) == ("none", "disrupt")
        assert [change["path"] for change in row["changes"]] == ["kubeReserved.cpu", "maxPods"]


@pytest.mark.parametrize(
    ("live", "layer", "path"),
    [
        ({}, {"maxPods": 50}, "maxPods"),
        ({"maxPods": 200}, {"maxPods": 50}, "maxPods"),
        ({}, {"authentication": {"webhook": {"cacheTTL": "90s"}}}, "authentication.webhook.cacheTTL"),
        ({}, {"evictionHard": {"memory.available": "1Gi"}}, 'evictionHard["imagefs.available"]'),
        ({"featureGates": {"A": False}}, {"featureGates": {"A": True, "B": True}}, "featureGates.B"),
        ({"kubeReserved": {"cpu": "1"}}, {"kubeReserved": None}, "kubeReserved.cpu"),
        ({"providerID": "a"}, {"enableServer": False}, "enableServer"),
    ],
)
@pytest.mark.parametrize("kept", [{}, {"eventBurst": 7}])
@pytest.mark.fault(case=64)
def test_a_deleted_line_reverts_to_the_nodes_own_value(
    live: dict[str, Any], layer: dict[str, Any], path: str, kept: dict[str, Any]
) -> None:
    before = complete_config.restore(model.configz(live))
    table = tables.table(before)
    table = tables.applied(table, tables.planned(table, {**layer, **kept}, allow_effect="reboot"))
    made = tables.planned(table, [kept], allow_effect="reboot")
    row = made["nodes"]["n0"]
    assert row["action"] == "assign"
    assert (path, True) in {(change["path"], change["no_longer_declared"]) for change in row["changes"]}
    assert any(path in line and line.endswith("(no longer declared)") for line in made["text"]), made["text"]
    assert not any("own value" in line for line in made["text"])
    table = tables.applied(table, made)
    assert len(table["variants"]) == 1
    after = next(iter(table["variants"].values()))
    assert compare.changes(after, {**before, **kept}, 20) == []
    again = tables.planned(table, [kept], allow_effect="reboot")["nodes"]["n0"]
    assert (again["action"], again["changes"], again["problems"]) == ("none", [], [])


def test_an_own_value_that_is_not_known_is_reported_and_nothing_changes() -> None:
    """The source is older than the records, so the value that a layer replaces may be that of an earlier layer."""
    old = {"source": tables.reference(), "status": tables.status("other")}
    table = tables.table({**LIVE, "maxPods": 50}, **old)
    table = tables.applied(table, tables.planned(table, {"maxPods": 60}))
    made = tables.planned(table, [{}])
    assert (made["nodes"]["n0"]["action"], made["nodes"]["n0"]["changes"]) == ("none", [])
    assert tables.rules(made) == [("warning", "no-longer-declared", "maxPods")]
    assert not made["refused"]


def test_a_plan_without_an_inventory_reverts_nothing() -> None:
    """Neither does the plan of a rollback, but its assignment keeps the record."""
    table = tables.table(LIVE)
    table = tables.applied(table, tables.planned(table, {"maxPods": 50}))
    assert tables.planned(table)["nodes"]["n0"]["action"] == "none"
    assert tables.planned(table, None, {})["nodes"]["n0"]["action"] == "assign"
    rollback = tables.planned(table, target={**LIVE, "maxPods": 70, "eventBurst": 7})
    assert [change["after"] for change in rollback["nodes"]["n0"]["changes"]] == [7, 70]
    assert rollback["nodes"]["n0"]["own"]["own"] == {"maxPods": [110], "eventBurst": [10]}
    again = tables.planned(tables.applied(table, rollback), {"maxPods": 50})
    assert [(change["path"], change["after"]) for change in again["nodes"]["n0"]["changes"]] == [
        ("eventBurst", 10),
        ("maxPods", 50),
    ]


def test_a_revert_is_a_change_with_the_effect_of_its_field() -> None:
    table = tables.table(LIVE)
    table = tables.applied(table, tables.planned(table, {"clusterDNS": ["10.0.0.1"]}, allow_effect="drain"))
    refused = tables.planned(table, [{}])
    assert tables.rules(refused) == [("refusal", "effect", "clusterDNS")]
    assert refused["nodes"]["n0"]["problems"][0]["remedy"] == (
        "Declare the live value, which keeps it in place of the node's own, or accept it with allow_effect=drain "
        "(in roles: kubelet_config_allow_effect)."
    )
    assert tables.planned(table, [{}], allow_effect="drain")["nodes"]["n0"]["effect"] == "drain"


def test_equal_nodes_with_other_values_of_their_own_revert_to_them() -> None:
    """They share the variant that the layers gave them."""
    table = tables.table(LIVE, {**LIVE, "maxPods": 200}, {**LIVE, "maxPods": 50})
    table = tables.applied(
        table, tables.planned(table, {"eventBurst": 7}, {"n0": {"maxPods": 50}, "n1": {"maxPods": 50}})
    )
    assert len({row["variant"] for row in table["nodes"].values()}) == 1
    made = tables.planned(table, {"eventBurst": 7})
    desired = {name: made["variants"][row["variant"]]["maxPods"] for name, row in made["nodes"].items()}
    assert desired == {"n0": 110, "n1": 200, "n2": 50}
    assert [row["action"] for row in made["nodes"].values()] == ["assign", "assign", "none"]


@pytest.mark.fault(case=66)
def test_a_removal_that_is_applied_asks_for_no_permission_again() -> None:
    """Another change is assigned, and the null is still declared: the kubelet has its default already."""
    layer: dict[str, Any] = {"cgroupDriver": None}
    # From 1.35 on, the default of this field is not known.
    table = tables.table({**LIVE, "cgroupDriver": "systemd"}, kubelet_version="v1.36.1")
    table = tables.applied(table, tables.planned(table, layer, allow_effect="reboot", deliveries=CHECKPOINTS))
    for number in (50, 60):
        made = tables.planned(table, {**layer, "maxPods": number}, deliveries=CHECKPOINTS)
        row = made["nodes"]["n0"]
        assert not made["refused"], made["text"]
        assert [change["path"] for change in row["changes"]] == ["maxPods"]
        assert "cgroupDriver" not in made["variants"][row["variant"]]
        table = tables.applied(table, made)
    # Where the kubelet runs another source, its value may be another one.
    table["nodes"]["n0"].update(source=tables.reference(), status=tables.status("other"))
    assert ("refusal", "effect", "cgroupDriver") in tables.rules(
        tables.planned(table, {**layer, "maxPods": 70}, deliveries=CHECKPOINTS)
    )
