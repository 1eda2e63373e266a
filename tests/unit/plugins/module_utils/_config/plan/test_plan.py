# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import complete_config
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan, plan_node
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document, identity

from .. import kubelet_model as model

LIVE = complete_config.restore(model.configz({}))


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
        nodes[name] = {**row, "variant": identity.variant(live), "source": source, "status": status}
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


def test_other_versions_get_their_own_verdict() -> None:
    table = _table(LIVE, LIVE)
    table["nodes"]["n1"]["kubelet_version"] = "v1.27.3+k8s"
    made = plan.make_plan(table, {"maxParallelImagePulls": 3})
    assert _rules(made) == [("refusal", "field-too-new", "maxParallelImagePulls")]
    assert _rules(made, "n1") == [("refusal", "parallel-pulls-serialized", "maxParallelImagePulls")]
    made = plan.make_plan(table, {"maxParallelImagePulls": 3, "serializeImagePulls": False})
    assert _rules(made, "n1") == []


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
