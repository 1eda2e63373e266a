# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan for nodes with files of their own, and how what is no longer declared reverts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import own_values
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.layers import Declared

from .. import kubelet_model as model
from . import tables
from .tables import CHECKPOINTS, HEADER, LIVE, OWN, PATH, SOURCE

FACTS = tables.facts(OWN)
UNREAD = {"path": PATH, "content": None}
LOST = {"path": "/x", "content": None, "checkpoint": {"uid": "u", "resourceVersion": "7"}}


def _live(config: dict[str, Any], **flags: Any) -> dict[str, Any]:
    return {**compare.with_defaults(config, 28), **flags}


def _plan(live: dict[str, Any], facts: Any, *layers: dict[str, Any], **row: Any) -> dict[str, Any]:
    table = tables.of_n1(live, **{"kubelet_version": "v1.28.7", "delivery": "none", **row})
    return tables.planned(table, None, {"n1": list(layers)}, own={"n1": facts} if facts else {})


def test_a_follower_has_reported_the_own_file() -> None:
    made = _plan(_live(OWN), None, {"kubeAPIQPS": 9}, follower=json.dumps(tables.facts(OWN)))
    assert list(made["variants"].values()) == [{**OWN, "kubeAPIQPS": 9}]


def test_the_source_is_the_own_file_and_what_is_declared() -> None:
    """No defaults, and nothing that a flag or a drop-in sets."""
    live = _live(OWN, maxPods=61, kubeAPIBurst=7)
    made = _plan(live, tables.facts(OWN), {"kubeAPIQPS": 9})
    row = made["nodes"]["n1"]
    assert (tables.variant(made), row["whole"]) == ({**OWN, "kubeAPIQPS": 9}, False)
    assert tables.changes(made) == {"kubeAPIQPS": (50, 9)}
    assert row["own"] == tables.record(row["configmap"], kubeAPIQPS=[50])


@pytest.mark.parametrize("zero", ["0s", None])
@pytest.mark.parametrize(
    ("own", "runs"),
    [
        ({}, "5m0s"),
        # As kubeadm writes it.
        ({"nodeStatusReportFrequency": "0s", "nodeStatusUpdateFrequency": "0s"}, "5m0s"),
        ({"nodeStatusReportFrequency": "1m", "nodeStatusUpdateFrequency": "20s"}, "20s"),
    ],
)
def test_a_default_that_follows_a_neighbour_follows_that_of_the_file(own: Any, runs: str, zero: str | None) -> None:
    """The live configuration always has a nodeStatusUpdateFrequency, which the file need not set."""
    file = {**OWN, **own}
    live = _live(file)
    made = _plan(live, tables.facts(file), {"maxPods": 50, "nodeStatusReportFrequency": zero})
    before = compare.normalise(live, 28)["nodeStatusReportFrequency"]
    expected = {} if before == runs else {"nodeStatusReportFrequency": (before, runs)}
    assert tables.changes(made) == {"maxPods": (100, 50), **expected}
    words = [row["message"] for row in made["nodes"]["n1"]["problems"] if row["rule"] == "zero-is-unset"]
    assert words == ([] if zero is None else [f'the kubelet takes "0s" for unset, and runs "{runs}"'])


def test_the_first_minor_whose_source_is_the_own_file() -> None:
    for version, expected in (("v1.24.0", {**OWN, "kubeAPIQPS": 9}), ("v1.23.9", {**_live(OWN), "kubeAPIQPS": 9})):
        made = _plan(_live(OWN), FACTS, {"kubeAPIQPS": 9}, kubelet_version=version)
        assert tables.variant(made) == expected


@pytest.mark.parametrize("gate", ["KubeletCrashLoopBackOffMax", "KubeletEnsureSecretPulledImages"])
def test_a_checkpoint_that_turns_a_gate_off_has_no_default_of_its_field(gate: str) -> None:
    """The kubelet fills it in only while the gate of the same file is on."""
    live, facts = tables.of_n1(tables.of_36(OWN)), {"n1": tables.facts_36(OWN, OWN)}
    made = tables.planned(live, {"featureGates": {gate: False}}, deliveries={"n1": "checkpoint"}, own=facts)
    assert (made["refused"], tables.rules(made, "n1")) == (False, [])


def test_a_later_change_of_the_own_file_is_taken_up() -> None:
    read = {**OWN, "kubeAPIQPS": 9}
    own = {**OWN, "clusterDNS": ["10.0.0.1"], "containerLogMaxFiles": 7}
    record = tables.record(kubeAPIQPS=[50])
    made = _plan(_live(read), tables.facts(own, read), {"kubeAPIQPS": 9}, **tables.assigned(record))
    assert tables.changes(made) == {"clusterDNS": (["10.96.0.10"], ["10.0.0.1"]), "containerLogMaxFiles": (5, 7)}
    assert all(change["own_file_changed"] for change in made["nodes"]["n1"]["changes"])
    assert any("(the node's own file changed)" in line for line in made["text"])
    assert made["nodes"]["n1"]["action"] == "assign"


def test_what_is_no_longer_declared_reverts_to_the_own_file() -> None:
    read = {**OWN, "maxPods": 70, "kubeAPIQPS": 9}
    record = tables.record(maxPods=[100], kubeAPIQPS=[50])
    made = _plan(_live(read), tables.facts(OWN, read), {"kubeAPIQPS": 9}, **tables.assigned(record))
    assert tables.changes(made) == {"maxPods": (70, 100)}
    (change,) = made["nodes"]["n1"]["changes"]
    assert change["no_longer_declared"] and "own_file_changed" not in change
    assert made["nodes"]["n1"]["own"]["own"] == {"kubeAPIQPS": [50]}


def test_a_snapshot_of_an_earlier_release_that_means_the_same_stays() -> None:
    """It holds all defaults, and the next change replaces it."""
    snapshot = _live({**OWN, "kubeAPIQPS": 9})
    record = tables.record(kubeAPIQPS=[50])
    made = _plan(snapshot, tables.facts(OWN, snapshot), {"kubeAPIQPS": 9}, **tables.assigned(record))
    assert (made["nodes"]["n1"]["action"], tables.changes(made)) == ("none", {})


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"unreachable": True, "msg": "Refused."}, "(Refused), so its source holds its live configuration"),
        (None, "kubelet_preflight_info has not read it"),
        ({"msg": "no route to host X."}, "(no route to host X), so"),
        (tables.facts(None), f"({PATH} cannot be read)"),
        ({**FACTS, "own": [{**UNREAD, "unreadable": "why."}]}, f"({PATH} cannot be read: why), so"),
        (tables.facts_36(OWN, OWN, unreadable=None), "(its drop-in /d/unreadable.conf cannot be read)"),
        ({**FACTS, "disk": LOST}, "(/x, which the kubelet reads, cannot be read)"),
        ({**FACTS, "disk": {**LOST, "unreadable": "why"}}, "(/x, which the kubelet reads, cannot be read: why)"),
        ({"own": [5]}, "what its host returned is malformed at own"),
        (tables.facts({**OWN, "staticPodURLHeader": {"a": ["********"]}}), "staticPodURLHeader is secret"),
    ],
)
def test_a_node_whose_own_file_is_not_known(facts: Any, message: str) -> None:
    made = _plan(_live(OWN), facts, {"kubeAPIQPS": 9})
    assert tables.rules(made, "n1") == [("warning", "no-own-file", "")]
    assert message in made["nodes"]["n1"]["problems"][0]["message"]
    assert made["nodes"]["n1"]["whole"]


def test_the_own_file_of_a_node_that_keeps_its_local_config_does_not_matter() -> None:
    """A source that stays is built on the live configuration as long as the file cannot be read."""
    assert _plan(_live(OWN), None)["nodes"]["n1"]["problems"] == []
    made = _plan(_live(OWN), None, **tables.assigned(tables.record()))
    assert made["nodes"]["n1"]["action"] == "none"
    assert tables.rules(made, "n1") == [("warning", "no-own-file", "")]


def test_a_removal_that_the_checkpoint_made_asks_for_no_permission_again() -> None:
    """From 1.35 on, the default of this field is not known: the kubelet runs what it found itself."""
    layer = {"cgroupDriver": None, "maxPods": 60}
    own, live = {**OWN, "cgroupDriver": "systemd"}, {**_live(OWN), "cgroupDriver": "systemd"}
    first = _plan(live, tables.facts(own), layer, kubelet_version="v1.36.2", delivery="checkpoint", source=SOURCE)
    assert [problem["path"] for problem in first["nodes"]["n1"]["problems"]] == ["cgroupDriver"]
    record = first["nodes"]["n1"]["own"]
    assert (record["own"]["cgroupDriver"], record["absent"]) == (["systemd"], ["cgroupDriver"])
    read = {**OWN, "maxPods": 60}
    again = {**tables.assigned(record), "kubelet_version": "v1.36.2"}
    for facts in (tables.facts(own, read), tables.facts(OWN, read)):
        made = _plan({**live, "maxPods": 60}, facts, {**layer, "maxPods": 70}, **again)
        assert (made["refused"], tables.changes(made)) == (False, {"maxPods": (60, 70)})


def test_a_secret_is_that_which_the_kubelet_runs() -> None:
    hidden = {**OWN, "staticPodURLHeader": {"a": ["********"]}}
    made = _plan(_live({**OWN, "staticPodURLHeader": {"a": ["x"]}}), tables.facts(hidden), {"kubeAPIQPS": 9})
    assert tables.variant(made)["staticPodURLHeader"] == {"a": ["x"]}
    assert made["nodes"]["n1"]["problems"] == []
    assert tables.changes(made) == {"kubeAPIQPS": (50, 9)}


def test_a_node_without_a_config_file() -> None:
    facts = {"kubelet": {"local_config": None}, "own": [], "disk": {"path": None, "content": None, "checkpoint": None}}
    made = _plan(_live({}), facts, {"kubeAPIQPS": 9})
    assert tables.variant(made) == {**HEADER, "kubeAPIQPS": 9}


@pytest.mark.parametrize(
    ("version", "delivery", "requested", "needed"),
    [
        ("v1.23.1", "none", "auto", False),
        ("v1.24.0", "none", "auto", True),
        ("v1.36.2", "checkpoint", "auto", True),
        ("v1.36.2", "native", "auto", False),
        ("v1.36.2", "native", "dropin", True),
        ("v1.36.2", "none", "native", False),
        (None, "none", "auto", False),
    ],
)
def test_which_nodes_are_read(version: str | None, delivery: str, requested: str, needed: bool) -> None:
    source = SOURCE if delivery == "checkpoint" else None
    row = {"kubelet_version": version, "delivery": delivery, "source": source}
    current = {"nodes": {"n0": {"kubelet_version": "v1.36.2"}, "n1": row}}
    assert own_values.files_needed(current, {"n1": requested}) == ["n0", *(["n1"] if needed else [])]
    assert own_values.files_needed({}, {"n1": requested}) == []


@pytest.mark.parametrize(
    ("own", "layers", "found"),
    [
        (OWN, [{"kubeAPIQPS": 9}], []),
        ({**OWN, "clusterDomain": "a.b"}, [{"kubeAPIQPS": 9}], [("clusterDomain", None, "a.b")]),
        ({**OWN, "maxPods": 90}, [{"kubeAPIQPS": 9}], [("maxPods", 100, 90)]),
        ({**OWN, "maxPods": 90}, [{"kubeAPIQPS": 9, "maxPods": 7}], []),
        # What is no longer declared.
        (OWN, [], [("kubeAPIQPS", 9, 50)]),
    ],
)
def test_what_the_own_file_has_got_since(own: Any, layers: list[Any], found: list[Any]) -> None:
    changes = own_values.later(own_values.Files(own, {**OWN, "kubeAPIQPS": 9}), Declared(layers), 28)
    assert [(change.path, change.before, change.after) for change in changes] == found


@given(model.configs(), model.configs(), model.configs())
def test_an_applied_plan_leaves_nothing_to_do(live: dict[str, Any], layer: dict[str, Any], own: dict[str, Any]) -> None:
    table = tables.table(fields.restore(model.configz(live)), LIVE)
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
def test_a_deleted_line_reverts_to_the_nodes_own_value(live: Any, layer: Any, path: str, kept: Any) -> None:
    before = fields.restore(model.configz(live))
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
    old = {"source": tables.reference(), "status": tables.running("other")}
    table = tables.table({**LIVE, "maxPods": 50}, **old)
    table = tables.applied(table, tables.planned(table, {"maxPods": 60}))
    made = tables.planned(table, [{}])
    assert (made["refused"], made["nodes"]["n0"]["action"], made["nodes"]["n0"]["changes"]) == (False, "none", [])
    assert tables.rules(made) == [("warning", "no-longer-declared", "maxPods")]


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
    assert tables.changes(again, "n0") == {"eventBurst": (7, 10), "maxPods": (70, 50)}


def test_a_revert_is_a_change_with_the_effect_of_its_field() -> None:
    table = tables.table(LIVE)
    table = tables.applied(table, tables.planned(table, {"clusterDNS": ["10.0.0.1"]}, allow_effect="drain"))
    refused = tables.planned(table, [{}])
    assert tables.rules(refused) == [("refusal", "effect", "clusterDNS")]
    assert refused["nodes"]["n0"]["problems"][0]["remedy"].startswith("Declare the live value, which keeps it")
    assert tables.planned(table, [{}], allow_effect="drain")["nodes"]["n0"]["effect"] == "drain"


def test_equal_nodes_with_other_values_of_their_own_revert_to_them() -> None:
    """They share the variant that the layers gave them."""
    table = tables.table(LIVE, {**LIVE, "maxPods": 200}, {**LIVE, "maxPods": 50})
    layers = {"n0": {"maxPods": 50}, "n1": {"maxPods": 50}}
    table = tables.applied(table, tables.planned(table, {"eventBurst": 7}, layers))
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
    table["nodes"]["n0"].update(source=tables.reference(), status=tables.running("other"))
    made = tables.planned(table, {**layer, "maxPods": 70}, deliveries=CHECKPOINTS)
    assert ("refusal", "effect", "cgroupDriver") in tables.rules(made)
