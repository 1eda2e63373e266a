# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, complete_config
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan, plan_node
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import (
    annotation,
    annotation_reader,
    document,
    identity,
)

from .. import kubelet_model as model

LIVE = complete_config.restore(model.configz({}))
CHECKPOINTS = {"n0": "checkpoint"}


def _table(*configs: dict[str, Any], **row: Any) -> dict[str, Any]:
    nodes = {
        f"n{position}": {
            "variant": identity.variant(config),
            "kubelet_version": "v1.20.2",
            "source": None,
            "status": None,
            **row,
        }
        for position, config in enumerate(configs)
    }
    return {"variants": {identity.variant(config): config for config in configs}, "nodes": nodes}


def _rules(made: dict[str, Any], name: str = "n0") -> list[tuple[str, str, str]]:
    return [(problem["severity"], problem["rule"], problem["path"]) for problem in made["nodes"][name]["problems"]]


def _applied(table: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
    """Return the dumped table after kubelets activated the sources of the plan."""
    nodes, variants = {}, {}
    for name, row in table["nodes"].items():
        planned = made["nodes"][name]
        live, source, status = table["variants"][row["variant"]], row["source"], row["status"]
        if planned["action"] == "assign":
            live = complete_config.restore(model.configz(made["variants"][planned["variant"]]))
            source = {"namespace": "kube-system", "name": planned["configmap"], "kubeletConfigKey": "kubelet"}
            full = {"configMap": {**source, "uid": "u", "resourceVersion": "1"}}
            status = {"assigned": full, "active": full, "lastKnownGood": None}
        variants[identity.variant(live)] = live
        own = planned.get("own") or row.get("own")
        nodes[name] = {**row, "variant": identity.variant(live), "source": source, "status": status, "own": own}
    return {"variants": variants, "nodes": nodes}


@given(model.configs(), model.configs(), model.configs())
def test_an_applied_plan_leaves_nothing_to_do(live: dict[str, Any], layer: dict[str, Any], own: dict[str, Any]) -> None:
    table = _table(complete_config.restore(model.configz(live)), LIVE)
    made = plan.make_plan(table, layer, {"n1": own}, allow_effect="reboot")
    after = _applied(table, made)
    again = plan.make_plan(after, layer, {"n1": own}, allow_effect="reboot")
    assert [row["action"] for row in again["nodes"].values()] == ["none", "none"]
    assert [row["changes"] for row in again["nodes"].values()] == [[], []]
    assert again["summary"]["to_change"] == 0


def test_a_removal_is_applied_once_although_its_default_is_not_known() -> None:
    """The kubelet shows its default, which the layer removes again: the same variant, so no assignment and no drain."""
    layer = {"cgroupDriver": None}
    # From 1.35 on, the default of this field is not known.
    table = _table({**LIVE, "cgroupDriver": "systemd"}, kubelet_version="v1.36.1")
    made = plan.make_plan(table, layer, allow_effect="reboot")
    assert (made["nodes"]["n0"]["action"], made["nodes"]["n0"]["effect"]) == ("assign", "reboot")
    row = plan.make_plan(_applied(table, made), layer)["nodes"]["n0"]
    assert (row["action"], row["effect"], row["changes"], row["problems"]) == ("none", None, [], [])
    # A value that is set and not live still shows.
    wanted = {"cgroupDriver": None, "maxPods": 50}
    after = _applied(table, plan.make_plan(table, wanted, allow_effect="reboot"))
    variant = next(iter(after["variants"]))
    after["variants"][variant] = {**after["variants"][variant], "maxPods": 110}
    row = plan.make_plan(after, wanted)["nodes"]["n0"]
    assert (row["action"], row["effect"], [change["path"] for change in row["changes"]]) == (
        "none",
        "disrupt",
        ["maxPods"],
    )


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
    table = _table(before)
    table = _applied(table, plan.make_plan(table, {**layer, **kept}, allow_effect="reboot"))
    made = plan.make_plan(table, [kept], allow_effect="reboot")
    row = made["nodes"]["n0"]
    assert row["action"] == "assign"
    assert (path, True) in {(change["path"], change["no_longer_declared"]) for change in row["changes"]}
    assert any(path in line and line.endswith("(no longer declared)") for line in made["text"]), made["text"]
    table = _applied(table, made)
    assert len(table["variants"]) == 1
    after = next(iter(table["variants"].values()))
    assert compare.changes(after, {**before, **kept}, 20) == []
    again = plan.make_plan(table, [kept], allow_effect="reboot")["nodes"]["n0"]
    assert (again["action"], again["changes"], again["problems"]) == ("none", [], [])


def test_an_own_value_that_is_not_known_is_reported_and_nothing_changes() -> None:
    """The source is older than the records, so the value that a layer replaces may be that of an earlier layer."""
    old = {"source": _reference(), "status": _status("other")}
    table = _table({**LIVE, "maxPods": 50}, **old)
    table = _applied(table, plan.make_plan(table, {"maxPods": 60}))
    made = plan.make_plan(table, [{}])
    assert (made["nodes"]["n0"]["action"], made["nodes"]["n0"]["changes"]) == ("none", [])
    assert _rules(made) == [("warning", "no-longer-declared", "maxPods")]
    assert not made["refused"]


def test_a_plan_without_an_inventory_reverts_nothing() -> None:
    """Neither does the plan of a rollback, but its assignment keeps the record."""
    table = _table(LIVE)
    table = _applied(table, plan.make_plan(table, {"maxPods": 50}))
    assert plan.make_plan(table)["nodes"]["n0"]["action"] == "none"
    assert plan.make_plan(table, None, {})["nodes"]["n0"]["action"] == "assign"
    rollback = plan.make_plan(table, target={**LIVE, "maxPods": 70, "eventBurst": 7})
    assert [change["after"] for change in rollback["nodes"]["n0"]["changes"]] == [7, 70]
    assert rollback["nodes"]["n0"]["own"]["own"] == {"maxPods": [110], "eventBurst": [10]}
    again = plan.make_plan(_applied(table, rollback), {"maxPods": 50})
    assert [(change["path"], change["after"]) for change in again["nodes"]["n0"]["changes"]] == [
        ("eventBurst", 10),
        ("maxPods", 50),
    ]


def test_a_revert_is_a_change_with_the_effect_of_its_field() -> None:
    table = _table(LIVE)
    table = _applied(table, plan.make_plan(table, {"clusterDNS": ["10.0.0.1"]}, allow_effect="drain"))
    assert ("refusal", "effect", "clusterDNS") in _rules(plan.make_plan(table, [{}]))
    assert plan.make_plan(table, [{}], allow_effect="drain")["nodes"]["n0"]["effect"] == "drain"


def test_equal_nodes_with_other_values_of_their_own_revert_to_them() -> None:
    """They share the variant that the layers gave them."""
    table = _table(LIVE, {**LIVE, "maxPods": 200}, {**LIVE, "maxPods": 50})
    table = _applied(table, plan.make_plan(table, {"eventBurst": 7}, {"n0": {"maxPods": 50}, "n1": {"maxPods": 50}}))
    assert len({row["variant"] for row in table["nodes"].values()}) == 1
    made = plan.make_plan(table, {"eventBurst": 7})
    desired = {name: made["variants"][row["variant"]]["maxPods"] for name, row in made["nodes"].items()}
    assert desired == {"n0": 110, "n1": 200, "n2": 50}
    assert [row["action"] for row in made["nodes"].values()] == ["assign", "assign", "none"]


@pytest.mark.fault(case=66)
def test_a_removal_that_is_applied_asks_for_no_permission_again() -> None:
    """Another change is assigned, and the null is still declared: the kubelet has its default already."""
    layer: dict[str, Any] = {"cgroupDriver": None}
    # From 1.35 on, the default of this field is not known.
    table = _table({**LIVE, "cgroupDriver": "systemd"}, kubelet_version="v1.36.1")
    table = _applied(table, plan.make_plan(table, layer, allow_effect="reboot", deliveries=CHECKPOINTS))
    for number in (50, 60):
        made = plan.make_plan(table, {**layer, "maxPods": number}, deliveries=CHECKPOINTS)
        row = made["nodes"]["n0"]
        assert not made["refused"], made["text"]
        assert [change["path"] for change in row["changes"]] == ["maxPods"]
        assert "cgroupDriver" not in made["variants"][row["variant"]]
        table = _applied(table, made)
    # Where the kubelet runs another source, its value may be another one.
    table["nodes"]["n0"].update(source=_reference(), status=_status("other"))
    assert ("refusal", "effect", "cgroupDriver") in _rules(
        plan.make_plan(table, {**layer, "maxPods": 70}, deliveries=CHECKPOINTS)
    )


def test_eviction_keys_that_the_kubelet_merges_are_no_change() -> None:
    """With mergeDefaultEvictionSettings (1.33) it adds the defaults of evictionHard to the configured keys."""
    layer = {"mergeDefaultEvictionSettings": True, "evictionHard": {"memory.available": "1Gi"}}
    defaults = {"nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%"}
    live = {**LIVE, "mergeDefaultEvictionSettings": True}
    live["evictionHard"] = {"memory.available": "1Gi", "imagefs.inodesFree": "5%", **defaults}
    made = plan.make_plan(_table(live, kubelet_version="v1.33.1"), layer, deliveries=CHECKPOINTS)
    assert (made["nodes"]["n0"]["action"], made["nodes"]["n0"]["changes"]) == ("none", []), made["text"]
    # Other values are changes, and so is the loss of a key that has no default.
    live["evictionHard"] = {**live["evictionHard"], "nodefs.available": "20%", "pid.available": "5%"}
    made = plan.make_plan(_table(live, kubelet_version="v1.33.1"), layer, deliveries=CHECKPOINTS)
    assert [(change["path"], change["after"]) for change in made["nodes"]["n0"]["changes"]] == [
        ('evictionHard["nodefs.available"]', "10%"),
        ('evictionHard["pid.available"]', None),
    ]
    # The kubelet of 1.32 does not have the field.
    paths = {change.path for change in compare.changes(live, {**live, **layer}, 32)}
    assert 'evictionHard["imagefs.available"]' in paths


def test_no_layers_no_work_and_every_node_keeps_what_is_its_own() -> None:
    table = _table(LIVE, {**LIVE, "resolvConf": "/other", "enforceNodeAllocatable": []})
    assert plan.make_plan(table)["summary"]["to_change"] == 0
    made = plan.make_plan(table, "maxPods: 50")
    assert made["variants"][made["nodes"]["n0"]["variant"]] == {**LIVE, "maxPods": 50}
    assert made["variants"][made["nodes"]["n1"]["variant"]] == {
        **LIVE,
        "maxPods": 50,
        "resolvConf": "/other",
        "enforceNodeAllocatable": [],
    }
    assert {row["path"]: row["machine_specific"] for row in made["summary"]["differences"]} == {
        "enforceNodeAllocatable": False,
        "resolvConf": True,
    }


def test_the_row_of_a_change() -> None:
    made = plan.make_plan(_table(LIVE), {"maxPods": 50}, configmap_name="base", flags={"n0": ["--max-pods=61"]})
    row = made["nodes"]["n0"]
    text = document.render({**LIVE, "maxPods": 50})
    assert (row["action"], row["effect"], row["flags_known"]) == ("assign", "disrupt", True)
    assert row["configmap"] == identity.configmap_name("base", text)
    assert row["changes"] == [
        {
            "path": "maxPods",
            "before": 110,
            "after": 50,
            "known": True,
            "effect": "disrupt",
            "shadowed_by": "--max-pods=61",
            "machine_specific": False,
            "no_longer_declared": False,
            "reason": "lowering can fail admission of running pods at restart; changes reported capacity and "
            "scheduling",
        }
    ]
    assert _rules(made) == [("warning", "shadowed", "maxPods")]
    assert not made["refused"]
    json.dumps(made)


def test_layers_lie_on_each_other_in_order_and_null_removes() -> None:
    made = plan.make_plan(
        _table(LIVE, LIVE),
        ["maxPods: 50\nkubeReserved: {cpu: '1'}", {"maxPods": 60}],
        {"n1": ["maxPods: 70", {"kubeReserved": {"cpu": None}}]},
    )
    configs = [made["variants"][row["variant"]] for row in made["nodes"].values()]
    assert [(config["maxPods"], config["kubeReserved"]) for config in configs] == [(60, {"cpu": "1"}), (70, {})]


@pytest.mark.parametrize(
    ("layer", "allow", "refused"),
    [
        ({"clusterDNS": ["10.0.0.1"]}, "disrupt", True),
        ({"clusterDNS": ["10.0.0.1"]}, "drain", False),
        ({"syncFrequency": "90s"}, "safe", False),
        ({"maxPods": 5}, "safe", True),
        ({"podCIDR": "10.0.0.0/8"}, "reboot", True),
        ({"cgroupRoot": "/x"}, "reboot", False),
    ],
)
def test_effects_above_the_allowed_are_refused(layer: dict[str, Any], allow: str, refused: bool) -> None:
    made = plan.make_plan(_table(LIVE), layer, allow_effect=allow)
    assert made["refused"] is refused
    assert [rule for rule in _rules(made) if rule[1] == "effect"] == [
        ("refusal", "effect", next(iter(layer)))
    ] * refused


def test_allow_effect_is_checked() -> None:
    for wrong in ("forbidden", "all"):
        with pytest.raises(ValueError, match="use one of safe, disrupt, drain, reboot"):
            plan.make_plan(_table(LIVE), allow_effect=wrong)


def test_eviction_keys_that_are_not_repeated_are_named() -> None:
    made = plan.make_plan(_table(LIVE), {"evictionHard": {"memory.available": "200Mi"}})
    [problem] = made["nodes"]["n0"]["problems"]
    assert (problem["rule"], problem["path"]) == ("whole-map", "evictionHard")
    assert "imagefs.available (15%), nodefs.available (10%), nodefs.inodesFree (5%)" in problem["message"]
    assert _rules(plan.make_plan(_table(LIVE), {"evictionHard": {}})) == []


def test_machine_specific_values_for_all_nodes_are_doubted() -> None:
    doubt = ("warning", "machine-specific", "resolvConf")
    two = _table(LIVE, {**LIVE, "resolvConf": "/b"})
    assert doubt in _rules(plan.make_plan(two, {"resolvConf": "/b"}, allow_effect="drain"))
    assert doubt not in _rules(plan.make_plan(two, {"resolvConf": "/b"}, allow_effect="drain"), "n1")
    assert doubt not in _rules(
        plan.make_plan(two, {"resolvConf": "/b"}, {"n0": {"resolvConf": "/c"}}, allow_effect="drain")
    )
    assert doubt not in _rules(plan.make_plan(two, None, {"n0": {"resolvConf": "/c"}}, allow_effect="drain"))
    assert doubt not in _rules(plan.make_plan(_table(LIVE), {"resolvConf": "/b"}, allow_effect="drain"))


def test_paths_into_an_old_checkpoint_are_doubted() -> None:
    live = {**LIVE, "staticPodPath": "/var/lib/dyn/store/checkpoints/u-1/274/manifests"}
    assert ("warning", "checkpoint-path", "staticPodPath") in _rules(plan.make_plan(_table(live), {"maxPods": 5}))
    assert _rules(plan.make_plan(_table(live))) == []


def test_what_is_wrong_with_a_node_is_a_refusal_in_its_row() -> None:
    table = _table(LIVE)
    table["nodes"].update(
        {
            "gone": {"variant": None, "kubelet_version": "v1.20.2"},
            "odd": {"variant": identity.variant(LIVE), "kubelet_version": "?"},
        }
    )
    made = plan.make_plan(table, {"maxPods": {"a": 1}}, {"stranger": {}})
    found = [_rules(made, name)[0][:2] for name in ("n0", "gone", "odd", "stranger")]
    assert found == [
        ("refusal", "layers"),
        ("refusal", "no-live-config"),
        ("refusal", "no-version"),
        ("refusal", "unknown-node"),
    ]
    assert "maxPods is a mapping" in made["nodes"]["n0"]["problems"][0]["message"]
    assert made["refused"]
    assert made["summary"]["refusals"] == 4


def test_a_configuration_larger_than_a_configmap_is_refused() -> None:
    layer = {"kubeReserved": {f"k{number}": "x" * 600 for number in range(900)}}
    made = plan.make_plan(_table(LIVE), [layer, {"systemReserved": layer["kubeReserved"]}])
    assert _rules(made) == [("refusal", "layers", "")]
    assert "1 MiB" in made["nodes"]["n0"]["problems"][0]["message"]


@pytest.mark.parametrize(
    ("layer", "message"),
    [("a: 1\na: 2", "given twice"), (5, "single value"), ({1: 2}, "is not text"), ("", "is empty")],
)
def test_unreadable_layers_say_which(layer: Any, message: str) -> None:
    with pytest.raises(document.DocumentError, match=f"the configuration for all nodes.*{message}"):
        plan.make_plan(_table(LIVE), layer)
    with pytest.raises(document.DocumentError, match=f"node n0 \\(layer 2\\).*{message}"):
        plan.make_plan(_table(LIVE), None, {"n0": ["{}", layer]})


def _reference(name: str = "other") -> dict[str, Any]:
    return {"namespace": "kube-system", "name": name, "kubeletConfigKey": "kubelet"}


def _status(active: str | None, assigned: str | None = None, error: str | None = None) -> dict[str, Any]:
    def full(name: str | None) -> dict[str, Any] | None:
        return {"configMap": {**_reference(name), "uid": "u", "resourceVersion": "1"}} if name else None

    return {"assigned": full(assigned or active), "active": full(active), "error": error}


OWN = identity.configmap_name("livenodes-kubelet", document.render({**LIVE, "maxPods": 50}))


@pytest.mark.parametrize(
    ("layer", "source", "status", "action"),
    [
        ({}, None, None, "none"),
        ({}, None, {"error": "failed to sync: stale"}, "none"),
        ({}, _reference(), _status("other"), "none"),
        ({}, _reference(), _status("older", "other"), "assign"),
        ({}, _reference(), _status("other", error="failed to sync: x"), "assign"),
        ({}, _reference("pending"), _status("other"), "assign"),
        ({}, _reference(), None, "assign"),
        ({}, _reference(), {}, "assign"),
        ({"maxPods": 50}, _reference(), _status("other"), "assign"),
        ({"maxPods": 50}, _reference(OWN), _status(OWN), "none"),
        ({"maxPods": 50}, {"configMap": _reference(OWN)}, _status(OWN), "none"),
        ({"maxPods": 50}, _reference(OWN), _status(OWN, error="x"), "assign"),
        ({"maxPods": 50}, None, _status(OWN), "assign"),
        ({"maxPods": 50}, {**_reference(OWN), "namespace": "x"}, _status(OWN), "assign"),
    ],
)
def test_action(layer: dict[str, Any], source: Any, status: Any, action: str) -> None:
    row = plan.make_plan(_table(LIVE, source=source, status=status), layer)["nodes"]["n0"]
    assert row["action"] == action
    assert row["effect"] == ("disrupt" if layer else "safe" if action == "assign" else None)


@pytest.mark.parametrize(
    ("delivery", "place", "action"),
    [
        ("native", annotation_reader.SPEC, "assign"),
        ("checkpoint", annotation_reader.SPEC, "none"),
        ("checkpoint", annotation.SOURCE, "assign"),
        ("native", annotation.SOURCE, "assign"),
        ("native", annotation.PREVIOUS, "none"),
    ],
)
def test_a_malformed_source_is_assigned_again(delivery: str, place: str, action: str) -> None:
    """It names nothing, and no value differs."""
    table = _table(LIVE, source=None, status={})
    table["nodes"]["n0"].update(delivery=delivery, malformed={place: "it is."})
    assert plan.make_plan(table, {})["nodes"]["n0"]["action"] == action


def test_other_versions_get_their_own_verdict() -> None:
    table = _table(LIVE, LIVE)
    table["nodes"]["n1"]["kubelet_version"] = "v1.27.3+k8s"
    made = plan.make_plan(table, {"maxParallelImagePulls": 3})
    assert _rules(made) == [("refusal", "field-too-new", "maxParallelImagePulls")]
    assert _rules(made, "n1") == [
        ("refusal", "parallel-pulls-serialized", "maxParallelImagePulls"),
        ("warning", "no-own-file", ""),
    ]
    made = plan.make_plan(table, {"maxParallelImagePulls": 3, "serializeImagePulls": False})
    assert _rules(made, "n1") == [("warning", "no-own-file", "")]


def test_a_thousand_nodes_are_planned_with_the_work_of_their_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    table = _table(*[LIVE] * 1000)
    merges = []
    merge = plan_node.overlay.merge
    monkeypatch.setattr(plan_node.overlay, "merge", lambda *layers: merges.append(1) or merge(*layers))
    made = plan.make_plan(
        table,
        {"maxPods": 50},
        {f"n{number}": "maxPods: 60" for number in range(500)},
        {f"n{number}": [f"--node-ip={number}"] for number in range(1000)},
    )
    # One layer for the nodes without a layer of their own, two for those with one.
    assert len(merges) == 3
    assert made["summary"]["variants"] == 2
    assert len(made["text"]) < 20


def test_a_target_takes_the_place_of_the_live_configuration_except_for_the_machine() -> None:
    """Equal nodes still share a variant; the overrides are merged over the target."""
    live = [{**LIVE, "providerID": name, "podPidsLimit": 500} for name in ("a", "b", "b")]
    target = {**LIVE, "providerID": "a", "maxPods": 70}
    made = plan.make_plan(_table(*live), None, {"n2": {"eventBurst": 7}}, target=target)
    assert not made["refused"], made["text"]
    desired = {name: made["variants"][row["variant"]] for name, row in made["nodes"].items()}
    assert desired == {
        "n0": target,
        "n1": {**target, "providerID": "b"},
        "n2": {**target, "providerID": "b", "eventBurst": 7},
    }
    assert [_rules(made, name) for name in made["nodes"]] == [
        [],
        [("warning", "machine-specific", "providerID")],
        [("warning", "machine-specific", "providerID")],
    ]
    assert {change["path"] for change in made["nodes"]["n1"]["changes"]} == {"maxPods", "podPidsLimit"}
    as_text = plan.make_plan(_table(*live), target=document.render(target))
    assert as_text["nodes"]["n1"] == made["nodes"]["n1"]


def test_the_effects_of_a_target_are_weighed() -> None:
    made = plan.make_plan(_table(LIVE), target={**LIVE, "clusterDNS": ["10.96.0.99"]})
    assert made["refused"] and ("refusal", "effect", "clusterDNS") in _rules(made), made["text"]


@pytest.mark.parametrize("target", [[], 5, {"maxPods": 1}, "maxPods: 1", "a: [b"])
def test_a_target_that_is_no_configuration(target: Any) -> None:
    with pytest.raises(document.DocumentError, match="target"):
        plan.make_plan(_table(LIVE), target=target)


def test_a_plan_names_the_node_that_it_was_made_for() -> None:
    """Another Node of that name is not assigned what was planned for this one."""
    assert plan.make_plan(_table(LIVE, uid="u1"))["nodes"]["n0"]["node_uid"] == "u1"
    assert "node_uid" not in plan.make_plan(_table(LIVE))["nodes"]["n0"]
