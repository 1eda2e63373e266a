# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import complete_config
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan, plan_text
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import identity

from .. import kubelet_model as model


def _plan(configs: list[dict[str, Any]], *args: Any, version: str = "v1.20.2", **options: Any) -> dict[str, Any]:
    lives = [complete_config.restore(model.configz(config)) for config in configs]
    nodes = {
        f"n{position}": {
            "variant": identity.variant(live),
            "kubelet_version": version,
            "source": None,
            "status": None,
        }
        for position, live in enumerate(lives)
    }
    return plan.make_plan(
        {"variants": {identity.variant(live): live for live in lives}, "nodes": nodes}, *args, **options
    )


def test_people_read_one_block_for_nodes_with_the_same_to_do_and_why_variants_differ() -> None:
    made = _plan([{"resolvConf": f"/r{position}"} for position in range(7)], {"maxPods": 50})
    assert made["text"][:2] == [
        "7 nodes (n0, n1, n2, n3, n4 and 2 more): assign 7 variants, effect disrupt",
        "  ~ maxPods: 110 -> 50   [disrupt] lowering can fail admission of running pods at restart; changes "
        "reported capacity and scheduling",
    ]
    assert made["text"][2] == "variants differ in:"
    assert made["text"][3].startswith("  resolvConf (belongs to one machine): /r0 (")
    assert made["text"][3].endswith(" and 2 more")
    assert made["text"][-1] == "plan: 7 nodes, 7 to change, 0 unchanged, 7 variants, 0 refusals, 0 warnings"


def test_nodes_newer_than_the_tables_are_named_once() -> None:
    layer = {"maxPods": 50, "brandNew": 5, "another": {"new": True}, "featureGates": {"Newest": True}}
    made = _plan([{}, {"kubeAPIQPS": 7}], layer, version="v1.38.0", allow_effect="reboot")
    assert not made["refused"]
    assert [line for line in made["text"] if "newer" in line] == [
        "2 nodes (n0, n1): the kubelet is newer than 1.36, the last version whose fields, defaults, flags and feature "
        "gates are known here. Its own binary decides about them before the switch"
    ]
    assert {row["path"] for node in made["nodes"].values() for row in node["problems"]} == set()
    same = _plan([{}, {"kubeAPIQPS": 7}], layer, version="v1.36.2", allow_effect="reboot")
    assert same["refused"] and not any("newer" in line for line in same["text"])


def test_added_removed_shadowed_and_refused_are_distinguished() -> None:
    text = "\n".join(
        _plan(
            [{"kubeReserved": {"cpu": "1"}}],
            {"kubeReserved": None, "featureGates": {"A": True}, "maxPods": 50},
            flags={"n0": ["--max-pods=61"]},
        )["text"]
    )
    assert "\n  - kubeReserved.cpu: 1   [disrupt]" in text
    assert "\n  + featureGates.A: true   [reboot]" in text
    assert "   (no effect: --max-pods=61)\n" in text
    assert "\n  REFUSED: featureGates.A: the effect of the change is reboot, above the allowed disrupt" in text
    assert text.endswith("; REFUSED, nothing may be written")


def test_secrets_stay_out_of_what_is_shown_and_in_what_is_pushed() -> None:
    made = _plan(
        [{}, {"staticPodURLHeader": {"Authorization": ["older"]}}],
        {},
        {"n0": {"staticPodURLHeader": {"Authorization": ["hunter2"]}}},
    )
    shown = str([made["nodes"], made["summary"], made["text"]])
    assert "hunter2" not in shown
    assert "older" not in shown
    assert made["variants"][made["nodes"]["n0"]["variant"]]["staticPodURLHeader"] == {"Authorization": ["hunter2"]}


def test_variants_that_mean_the_same_do_not_differ() -> None:
    assert (
        plan_text.differences({"a": {"syncFrequency": "90s"}, "b": {"syncFrequency": "1m30s", "readOnlyPort": 0}}) == []
    )
    assert plan_text.differences({"a": {"maxPods": 1}}) == []
    assert plan_text.differences({"a": {"maxPods": 1}, "b": {}}) == [
        {"path": "maxPods", "machine_specific": False, "values": {"a": 1, "b": None}}
    ]


def test_variants_of_two_deliveries_are_not_compared() -> None:
    """One holds a whole configuration, the other what is declared: nearly every field would differ."""
    lives = [complete_config.restore(model.configz(config)) for config in ({}, {"kubeAPIQPS": 7})]
    variants = {identity.variant(live): live for live in lives}
    row = {"source": None, "status": None}
    nodes = {
        "n1": {**row, "variant": identity.variant(lives[0]), "kubelet_version": "v1.20.2", "delivery": "native"},
        "n2": {**row, "variant": identity.variant(lives[1]), "kubelet_version": "v1.20.2", "delivery": "native"},
        "n3": {**row, "variant": identity.variant(lives[0]), "kubelet_version": "v1.36.2"},
    }
    made = plan.make_plan({"variants": variants, "nodes": nodes}, {"maxPods": 50}, deliveries={"n3": "dropin"})
    assert len({node["variant"] for node in made["nodes"].values()}) == 3
    assert [row["path"] for row in made["summary"]["differences"]] == ["kubeAPIQPS"]
