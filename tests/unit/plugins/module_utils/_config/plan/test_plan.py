# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan_node
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, document

from . import tables
from .tables import CHECKPOINTS, LIVE


def test_eviction_keys_that_the_kubelet_merges_are_no_change() -> None:
    """With mergeDefaultEvictionSettings (1.33) it adds the defaults of evictionHard to the configured keys."""
    layer = {"mergeDefaultEvictionSettings": True, "evictionHard": {"memory.available": "1Gi"}}
    defaults = {"nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%"}
    live = {**LIVE, "mergeDefaultEvictionSettings": True}

    def planned(layer: dict[str, Any]) -> dict[str, Any]:
        return tables.planned(tables.table(live, kubelet_version="v1.33.1"), layer, deliveries=CHECKPOINTS)

    live["evictionHard"] = {"memory.available": "1Gi", "imagefs.inodesFree": "5%", **defaults}
    made = planned(layer)
    assert (made["nodes"]["n0"]["action"], made["nodes"]["n0"]["changes"]) == ("none", []), made["text"]
    # Other values are changes, and so is the loss of a key that has no default.
    live["evictionHard"] = {**live["evictionHard"], "nodefs.available": "20%", "pid.available": "5%"}
    made = planned(layer)
    lost = {'evictionHard["nodefs.available"]': ("20%", "10%"), 'evictionHard["pid.available"]': ("5%", None)}
    assert tables.changes(made, "n0") == lost
    [problem] = [row for row in made["nodes"]["n0"]["problems"] if row["rule"] == "whole-map"]
    assert problem["message"].endswith("missing from the new one: pid.available (5%)")
    # It adds nothing to other maps.
    live["evictionSoft"], soft = {"memory.available": "2Gi", "nodefs.available": "20%"}, {"memory.available": "2Gi"}
    assert ("warning", "whole-map", "evictionSoft") in tables.rules(planned({"evictionSoft": soft}))
    # The kubelet of 1.32 does not have the field.
    paths = {change.path for change in compare.changes(live, {**live, **layer}, 32)}
    assert 'evictionHard["imagefs.available"]' in paths


def test_no_layers_no_work_and_every_node_keeps_what_is_its_own() -> None:
    other = {**LIVE, "resolvConf": "/other", "enforceNodeAllocatable": []}
    table = tables.table(LIVE, other)
    assert tables.planned(table)["summary"]["to_change"] == 0
    made = tables.planned(table, "maxPods: 50")
    assert (tables.variant(made, "n0"), tables.variant(made)) == ({**LIVE, "maxPods": 50}, {**other, "maxPods": 50})
    specific = {row["path"]: row["machine_specific"] for row in made["summary"]["differences"]}
    assert specific == {"enforceNodeAllocatable": False, "resolvConf": True}


def test_flags_as_a_text() -> None:
    """As of an INI inventory: the plan would show no flag that overrides the value."""
    rows = []
    for given in (["--v=2", "--max-pods=61"], "--v=2,--max-pods=61", "--v 2 --max-pods 61"):
        made = tables.planned(tables.table(LIVE), {"maxPods": 50}, flags={"n0": given})
        rows.append(made["nodes"]["n0"])
    assert rows[0] == rows[1] == rows[2] and "--max-pods=61" in str(rows[0])


def test_the_row_of_a_change() -> None:
    made = tables.planned(tables.table(LIVE), {"maxPods": 50}, configmap_name="base", flags={"n0": ["--max-pods=61"]})
    row = made["nodes"]["n0"]
    text = document.render({**LIVE, "maxPods": 50})
    assert (row["action"], row["effect"]) == ("assign", "disrupt")
    assert row["configmap"] == document.configmap_name("base", text)
    other = tables.planned(tables.table(LIVE), {"maxPods": 50}, configmap_name="base", key="other")["nodes"]["n0"]
    name = document.configmap_name("base", text, "other")
    assert other["source"] == {"namespace": "kube-system", "name": name, "kubeletConfigKey": "other"}
    change = {"path": "maxPods", "before": 110, "after": 50, "known": True, "effect": "disrupt"}
    marks = {"shadowed_by": "--max-pods=61", "machine_specific": False, "no_longer_declared": False}
    [found] = row["changes"]
    assert found.pop("reason").startswith("lowering can fail admission of running pods")
    assert found == {**change, **marks}
    assert (tables.rules(made), made["refused"]) == ([("warning", "shadowed", "maxPods")], False)
    json.dumps(made)


def test_layers_lie_on_each_other_in_order_and_null_removes() -> None:
    shared = ["maxPods: 50\nkubeReserved: {cpu: '1'}", {"maxPods": 60}]
    own = {"n1": ["maxPods: 70", {"kubeReserved": {"cpu": None}}]}
    made = tables.planned(tables.table(LIVE, LIVE), shared, own)
    configs = [made["variants"][row["variant"]] for row in made["nodes"].values()]
    assert [(config["maxPods"], config["kubeReserved"]) for config in configs] == [(60, {"cpu": "1"}), (70, {})]


def test_each_node_has_its_own_allowed_effect() -> None:
    """Also among nodes with one variant, which share all else."""
    two = tables.table(LIVE, LIVE)
    allowed = {"n0": "safe", "n1": "reboot"}
    made = tables.planned(two, {"resolvConf": "/b"}, allow_effect="drain", allow_effects=allowed)
    refused = [("refusal", "effect", "resolvConf") in tables.rules(made, name) for name in allowed]
    assert refused == [True, False], made["text"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"allow_effect": "forbidden"}, "use one of safe, disrupt, drain, reboot"),
        ({"allow_effect": "all"}, "use one of safe, disrupt, drain, reboot"),
        ({"allow_effects": {"n1": "none"}}, "allow_effect is 'none'"),
        ({"deliveries": {"n0": "none"}}, r"^deliveries: node n0 has the unknown delivery .*: use auto, native"),
        ({"config": "a: 1\na: 2"}, "the configuration for all nodes.*given twice"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tables.planned(tables.table(LIVE), **options)


def test_what_the_kubelet_refuses_is_a_warning_where_that_is_allowed() -> None:
    made = tables.planned(tables.table(LIVE), {"kubeAPIQPS": -1}, allow_invalid=True)
    assert (made["refused"], tables.rules(made)[0][0]) == (False, "warning")


def test_eviction_keys_that_are_not_repeated_are_named() -> None:
    made = tables.planned(tables.table(LIVE), {"evictionHard": {"memory.available": "200Mi"}})
    [problem] = made["nodes"]["n0"]["problems"]
    assert (problem["rule"], problem["path"]) == ("whole-map", "evictionHard")
    assert "imagefs.available (15%), nodefs.available (10%), nodefs.inodesFree (5%)" in problem["message"]
    assert tables.rules(tables.planned(tables.table(LIVE), {"evictionHard": {}})) == []


def test_machine_specific_values_for_all_nodes_are_doubted() -> None:
    doubt = ("warning", "machine-specific", "resolvConf")
    two, layer = tables.table(LIVE, {**LIVE, "resolvConf": "/b"}), {"resolvConf": "/b"}
    made = tables.planned(two, layer, allow_effect="drain")
    assert doubt in tables.rules(made) and doubt not in tables.rules(made, "n1")
    assert [change["machine_specific"] for change in made["nodes"]["n0"]["changes"]] == [True]
    own = {"n0": {"resolvConf": "/c"}}
    for given in ((two, layer, own), (two, None, own), (tables.table(LIVE), layer)):
        assert doubt not in tables.rules(tables.planned(*given, allow_effect="drain"))


def test_what_is_wrong_with_a_node_is_a_refusal_in_its_row() -> None:
    table = tables.table(LIVE)
    table["nodes"]["gone"] = {"variant": None, "kubelet_version": "v1.20.2"}
    table["nodes"]["odd"] = {"variant": document.variant(LIVE), "kubelet_version": "?"}
    made = tables.planned(table, {"maxPods": {"a": 1}}, {"stranger": {}})
    expected = {
        "n0": ("layers", "maxPods is a mapping"),
        "gone": ("no-live-config", "the live configuration of node gone is not known"),
        "odd": ("no-version", "the kubelet version is '?'"),
        "stranger": ("unknown-node", "node stranger has its own configuration but is not part of this plan"),
    }
    found = {name: made["nodes"][name]["problems"][0] for name in expected}
    for name, (rule, words) in expected.items():
        assert tables.rules(made, name)[0] == ("refusal", rule, "")
        assert words in found[name]["message"]
    about = {"live_variant": document.variant(LIVE), "kubelet_version": "?", "problems": [found["odd"]]}
    nothing = {"variant": None, "configmap": None, "action": "none", "effect": None, "changes": [], "own": None}
    assert made["nodes"]["odd"] == {**about, **nothing}
    assert (made["refused"], made["summary"]["refusals"]) == (True, 4)


def test_a_refused_node_keeps_its_live_configuration_and_its_record() -> None:
    """Also where its source failed and needs another assignment."""
    record = tables.record("other", maxPods=[200])
    row = {"source": tables.reference(), "status": tables.running("other", error="x"), "own": record}
    made = tables.planned(tables.table(LIVE, **row), {"maxPods": {"a": 1}})
    row = made["nodes"]["n0"]
    assert (made["refused"], row["action"], row["changes"], row["whole"]) == (True, "assign", [], True)
    assert (made["variants"], row["own"]["own"]) == ({row["live_variant"]: LIVE}, record["own"])


def test_a_configuration_larger_than_a_configmap_is_refused() -> None:
    layer = {"kubeReserved": {f"k{number}": "x" * 600 for number in range(900)}}
    made = tables.planned(tables.table(LIVE), [layer, {"systemReserved": layer["kubeReserved"]}])
    assert tables.rules(made) == [("refusal", "layers", "")]
    assert made["nodes"]["n0"]["problems"][0]["message"].startswith("the desired configuration: 1")


OWN = document.configmap_name("livenodes-kubelet", document.render({**LIVE, "maxPods": 50}))
BESIDE = document.configmap_name("livenodes-kubelet", document.render({**LIVE, "staticPodPath": "./manifests"}))


@pytest.mark.parametrize(
    ("layer", "source", "status", "action"),
    [
        ({}, None, None, "none"),
        ({}, None, {"error": "failed to sync: stale"}, "none"),
        ({}, tables.reference(), tables.running("other"), "none"),
        ({}, tables.reference(), tables.running("older", "other"), "assign"),
        ({}, tables.reference(), tables.running("other", error="failed to sync: x"), "assign"),
        ({}, tables.reference("pending"), tables.running("other"), "assign"),
        ({}, tables.reference(), None, "assign"),
        ({}, tables.reference(), {}, "assign"),
        ({}, {}, {}, "assign"),
        ({}, tables.reference(), tables.running("other", "older"), "assign"),
        ({}, tables.reference(), {**tables.running("other"), "reason": "on trial; waits for a runtime"}, "assign"),
        ({}, tables.reference(), {**tables.running("other"), "reason": "on trial, confirmed"}, "none"),
        ({"maxPods": 50}, tables.reference(), tables.running("other"), "assign"),
        ({"maxPods": 50}, tables.reference(OWN), tables.running(OWN), "none"),
        ({"maxPods": 50}, {"configMap": tables.reference(OWN)}, tables.running(OWN), "none"),
        ({"maxPods": 50}, tables.reference(OWN), tables.running(OWN, error="x"), "assign"),
        ({"maxPods": 50}, None, tables.running(OWN), "assign"),
        ({"maxPods": 50}, {**tables.reference(OWN), "namespace": "x"}, tables.running(OWN), "assign"),
    ],
)
def test_action(layer: dict[str, Any], source: Any, status: Any, action: str) -> None:
    row = tables.planned(tables.table(LIVE, source=source, status=status), layer)["nodes"]["n0"]
    assert row["action"] == action
    unchanged = {"assign": "safe", "none": None}
    assert row["effect"] == ("disrupt" if layer else unchanged[action])


@pytest.mark.parametrize(
    ("running", "live", "changes"),
    [
        (BESIDE, "/var/lib/kubelet/store/checkpoints/a/1/manifests", []),
        (BESIDE, "/etc/other", ["staticPodPath"]),
        # Another source lies in another folder.
        ("other", "/var/lib/kubelet/store/checkpoints/a/1/manifests", ["staticPodPath"]),
    ],
)
def test_a_path_beside_the_running_source_is_no_change(running: str, live: str, changes: list[str]) -> None:
    source, status = tables.reference(running), tables.running(running)
    table = tables.table({**LIVE, "staticPodPath": live}, source=source, status=status)
    row = tables.planned(table, {"staticPodPath": "./manifests"})["nodes"]["n0"]
    assert [change["path"] for change in row["changes"]] == changes
    assert row["action"] == ("none" if running == BESIDE else "assign")
    assert bool(row["effect"]) == bool(changes)


@pytest.mark.parametrize(
    ("delivery", "place", "action"),
    [
        (None, annotation.SOURCE, "assign"),
        ("native", annotation.SPEC, "assign"),
        ("checkpoint", annotation.SPEC, "none"),
        ("checkpoint", annotation.SOURCE, "assign"),
        ("native", annotation.SOURCE, "assign"),
        ("native", annotation.PREVIOUS, "none"),
    ],
)
def test_a_malformed_source_is_assigned_again(delivery: str | None, place: str, action: str) -> None:
    """It names nothing, and no value differs. The Node names again then what its kubelet should run."""
    table = tables.table(LIVE, status={}, delivery=delivery, malformed={place: "it is."})
    assert tables.planned(table, {})["nodes"]["n0"]["action"] == action


def test_other_versions_get_their_own_verdict() -> None:
    table = tables.table(LIVE, LIVE)
    table["nodes"]["n1"]["kubelet_version"] = "v1.27.3+k8s"
    made = tables.planned(table, {"maxParallelImagePulls": 3})
    assert tables.rules(made) == [("refusal", "field-too-new", "maxParallelImagePulls")]
    refused = ("refusal", "parallel-pulls-serialized", "maxParallelImagePulls")
    assert tables.rules(made, "n1") == [refused, ("warning", "no-own-file", "")]


def test_a_thousand_nodes_are_planned_with_the_work_of_their_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    table = tables.table(*[LIVE] * 1000)
    merges = []
    merge = plan_node.overlay.merge
    monkeypatch.setattr(plan_node.overlay, "merge", lambda *layers: merges.append(1) or merge(*layers))
    layers = {f"n{number}": "maxPods: 60" for number in range(500)}
    flags = {f"n{number}": [f"--node-ip={number}"] for number in range(1000)}
    made = tables.planned(table, {"maxPods": 50}, layers, flags)
    # One layer for the nodes without a layer of their own, two for those with one.
    assert len(merges) == 3
    assert made["summary"]["variants"] == 2
    assert len({id(row["problems"]) for row in made["nodes"].values()}) == 2
    assert len(made["text"]) < 20


@pytest.mark.parametrize(
    ("layer", "more", "allow_hidden", "severity"),
    [
        ({"address": "127.0.0.1"}, {}, True, "refusal"),
        ({"address": "127.0.0.1"}, {"read": "node"}, False, "warning"),
        ({"address": "127.0.0.300"}, {"read": "node"}, True, "refusal"),
        ({"enableServer": False}, {"read": "node"}, False, "refusal"),
        ({"enableServer": False}, {}, True, "warning"),
        ({"enableDebuggingHandlers": False}, {"read": "node"}, False, "refusal"),
        ({"enableDebuggingHandlers": False}, {"read": "node"}, True, "warning"),
    ],
)
def test_a_value_that_hides_a_kubelet_needs_another_proof(
    layer: dict[str, Any], more: dict[str, Any], allow_hidden: bool, severity: str
) -> None:
    """A host can ask its kubelet at a loopback address. Without /configz, the status can be accepted."""
    table = tables.table(LIVE)
    table["nodes"]["n0"].update(more)
    made = tables.planned(table, layer, allow_effect="reboot", allow_hidden=allow_hidden)
    [problem] = made["nodes"]["n0"]["problems"]
    assert (problem["severity"], problem["path"]) == (severity, next(iter(layer)))
    assert problem["remedy"]


def test_a_plan_names_the_node_that_it_was_made_for() -> None:
    """Another Node of that name is not assigned what was planned for this one."""
    assert tables.planned(tables.table(LIVE, uid="u1"))["nodes"]["n0"]["node_uid"] == "u1"
    assert "node_uid" not in tables.planned(tables.table(LIVE))["nodes"]["n0"]
