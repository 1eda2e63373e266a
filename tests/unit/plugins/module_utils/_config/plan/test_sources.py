# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import delivery
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, merged_dropins
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import sources
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.layers import Declared
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.own_values import NO_RECORD, Files

from . import tables
from .tables import HEADER, OWN, of_n1

MEMORY = 'evictionHard["memory.available"]'
OWN_FILE = {**OWN, "failSwapOn": False, "rotateCertificates": True, "enforceNodeAllocatable": ["pods"]}


def _live(declared: dict[str, Any] | None = None, own: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what a kubelet runs, with its own file and a drop-in."""
    return {**merged_dropins.effective({**OWN_FILE, **(own or {})}, [declared or {}], 36), **HEADER}


def _plan(table: dict[str, Any], *layers: Any, **options: Any) -> dict[str, Any]:
    return tables.planned(
        table, None, {"n1": list(layers)}, deliveries={"n1": "dropin"}, allow_effect="reboot", **options
    )


def _applied(made: dict[str, Any], own: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the dump of the node after it runs its plan."""
    row = made["nodes"]["n1"]
    return of_n1(_live(tables.variant(made), own), **tables.assigned(row["own"], "dropin", row["source"]["name"]))


@pytest.mark.parametrize(
    ("declared", "changes"),
    [
        ({"maxPods": 70}, {"maxPods": (100, 70)}),
        ({"evictionHard": {"memory.available": "300Mi"}}, {MEMORY: ("100Mi", "300Mi")}),
        ({"evictionHard": {"memory.available": None}}, {MEMORY: ("100Mi", None)}),
        ({"clusterDNS": ["10.0.0.1"]}, {"clusterDNS": (["10.96.0.10"], ["10.0.0.1"])}),
        ({"clusterDNS": None}, {"clusterDNS": (["10.96.0.10"], None)}),
        ({"failSwapOn": None}, {"failSwapOn": (False, True)}),
        ({"rotateCertificates": None}, {"rotateCertificates": (True, None)}),
        ({"maxPods": None}, {"maxPods": (100, 110)}),
        ({"kubeAPIQPS": 0}, {"kubeAPIQPS": (50, 0)}),
        ({"enforceNodeAllocatable": []}, {"enforceNodeAllocatable": (["pods"], [])}),
        ({"maxPods": 100}, {}),
    ],
)
def test_what_a_kubelet_makes_of_a_drop_in(declared: dict[str, Any], changes: dict[str, Any]) -> None:
    """The table of the drop-in folder in facts that kubelets 1.33 and 1.36 have shown."""
    live = _live()
    made = _plan(of_n1(live), declared)
    row = made["nodes"]["n1"]
    assert tables.changes(made) == changes
    assert (row["action"], row["delivery"]) == ("assign", "dropin")
    assert tables.variant(made) == {**HEADER, **declared}
    # What the plan expects is what the model of the kubelet runs.
    expected = sources.outcome({row["live_variant"]: live}, made["variants"], row)
    assert compare.changes(_live(declared), expected, 36) == []


@pytest.mark.parametrize("files", [None, Files(HEADER, HEADER)])
def test_default_thresholds_that_a_checkpoint_merges_count(files: Files | None) -> None:
    """The rules, the forecast and what pods may request have to see them."""
    live = _live()
    declared = Declared([{"mergeDefaultEvictionSettings": True, "evictionHard": {"nodefs.available": "20%"}}])
    given = sources.Given(live, 36, declared, NO_RECORD, files)
    made = sources.of(delivery.of("checkpoint"), files, False)(given)
    assert made.expected["evictionHard"] == {**live["evictionHard"], "nodefs.available": "20%"}
    assert made.config["evictionHard"] == {"nodefs.available": "20%"}


def test_the_record_of_a_node_has_what_each_declared_path_had() -> None:
    """A threshold that an earlier drop-in removed is absent. A value that is not shown has its default."""
    live = _live({"evictionHard": {"nodefs.available": None}}, {"mergeDefaultEvictionSettings": True})
    live = {name: value for name, value in live.items() if name != "eventBurst"}
    layer = {"eventBurst": 7, "resolvConf": "/etc/resolv.conf", "evictionHard": {"nodefs.available": "9%"}}
    found = _plan(of_n1({**live, "resolvConf": ""}), layer)["nodes"]["n1"]["own"]["own"]
    assert found == {"eventBurst": [100], "resolvConf": [""], 'evictionHard["nodefs.available"]': [None]}


def test_nodes_that_differ_in_what_is_their_own_share_a_variant() -> None:
    table = tables.table(_live(), _live(own={"maxPods": 50, "providerID": "aws://n2"}), kubelet_version="v1.36.2")
    made = tables.planned(table, {"kubeAPIQPS": 7}, deliveries=dict.fromkeys(table["nodes"], "dropin"))
    assert (len(made["variants"]), made["refused"]) == (1, False)


def test_group_and_host_layers_are_one_drop_in() -> None:
    group = {"maxPods": 70, "evictionHard": {"memory.available": "1Gi"}}
    made = _plan(of_n1(_live()), group, {"evictionHard": {"pid.available": "5%"}})
    thresholds = {"memory.available": "1Gi", "pid.available": "5%"}
    assert tables.variant(made) == {**HEADER, "maxPods": 70, "evictionHard": thresholds}


def test_layers_that_no_drop_in_can_unite_are_refused() -> None:
    made = _plan(of_n1(_live()), {"evictionHard": None}, {"evictionHard": {"memory.available": "1Gi"}})
    assert tables.rules(made, "n1") == [("refusal", "layers", "")]
    assert made["nodes"]["n1"]["problems"][0]["remedy"] == "Set each key to remove to null, in one layer."


@pytest.mark.parametrize(
    ("declared", "rule", "path"),
    [
        ({"evictionHard": None}, "dropin-null", "evictionHard"),
        ({"maxPods": "7"}, "type", "maxPods"),
        ({"kind": "Other"}, "header", "kind"),
        ({"maxPodz": 7}, "unknown-field", "maxPodz"),
    ],
)
def test_what_must_not_stand_in_a_drop_in(declared: dict[str, Any], rule: str, path: str) -> None:
    made = _plan(of_n1(_live()), declared)
    assert made["refused"] and ("refusal", rule, path) in tables.rules(made, "n1")


def test_a_declared_value_is_assigned_even_if_it_is_live_and_then_nothing_is_left_to_do() -> None:
    made = _plan(of_n1(_live()), {"maxPods": 100})
    assert (made["nodes"]["n1"]["action"], made["nodes"]["n1"]["effect"]) == ("assign", "safe")
    again = _plan(_applied(made), {"maxPods": 100})
    assert (again["nodes"]["n1"]["action"], again["nodes"]["n1"]["changes"]) == ("none", [])
    assert _plan(of_n1(_live()))["nodes"]["n1"]["action"] == "none"


def test_what_is_no_longer_declared_goes_back_to_the_nodes_own_value() -> None:
    made = _plan(of_n1(_live()), {"maxPods": 70, "evictionHard": {"memory.available": "1Gi", "pid.available": "5%"}})
    after = _plan(_applied(made), {"evictionHard": {"pid.available": "5%"}})
    assert tables.changes(after) == {"maxPods": (70, 100), MEMORY: ("1Gi", "100Mi")}
    assert all(change["no_longer_declared"] for change in after["nodes"]["n1"]["changes"])
    assert tables.variant(after) == {**HEADER, "evictionHard": {"pid.available": "5%"}}
    # Only what is declared is recorded.
    assert after["nodes"]["n1"]["own"]["own"] == {'evictionHard["pid.available"]': [None]}
    # Nothing is declared at all: a drop-in without a field has no effect.
    empty = _plan(_applied(after))
    assert (empty["nodes"]["n1"]["action"], tables.variant(empty)) == ("assign", HEADER)


@pytest.mark.parametrize(
    ("first", "then", "changes"),
    [
        ({"kubeReserved": {"cpu": "100m"}}, {"kubeReserved": {}}, {"kubeReserved.cpu": ("100m", None)}),
        ({"evictionHard": {"memory.available": "1Gi"}}, {"evictionHard": {}}, {MEMORY: ("1Gi", "100Mi")}),
        ({"logging": {"format": "json"}}, {"logging": {}}, {"logging.format": ("json", "text")}),
    ],
)
def test_an_empty_map_keeps_nothing_of_a_former_drop_in(first: Any, then: Any, changes: Any) -> None:
    """A kubelet merges it by its keys, and it has none."""
    made = _plan(_applied(_plan(of_n1(_live()), first)), then)
    assert tables.changes(made) == changes
    live = _live(tables.variant(made))
    assert compare.normalise(live, 36, True, True) == compare.normalise(_live(), 36, True, True)


def test_an_object_goes_with_the_members_that_a_former_drop_in_set() -> None:
    """A kubelet refuses any `tracing` without its gate."""
    tracing = {"tracing": {"samplingRatePerMillion": 100}}
    made = _plan(of_n1(_live(), kubelet_version="v1.33.0"), tracing)
    table = _applied(made)
    table["nodes"]["n1"]["kubelet_version"] = "v1.33.0"
    after = _plan(table, {"featureGates": {"KubeletTracing": False}})
    assert (after["refused"], tables.rules(after, "n1")) == (False, [])
    changes = {"featureGates.KubeletTracing": (None, False), "tracing.samplingRatePerMillion": (100, None)}
    assert tables.changes(after) == changes


def test_an_own_value_that_is_not_known_is_said_to_come_back() -> None:
    made = _plan(of_n1(_live()), {"maxPods": 70})
    table = _applied(made, {"cgroupDriver": "systemd"})
    table["nodes"]["n1"]["own"]["own"]["maxPods"] = []
    after = _plan(table)
    assert (tables.changes(after), tables.rules(after, "n1")) == ({"maxPods": (70, None)}, [])
    assert after["nodes"]["n1"]["changes"][0]["known"] is False
    # It is left to the node's own file, not to the kubelet as this removal is.
    other = _plan(table, {"cgroupDriver": None})["nodes"]["n1"]
    record = tables.record(other["configmap"], cgroupDriver=["systemd"])
    assert other["own"] == {**record, "absent": ["cgroupDriver"]}
    assert any("~ maxPods: 70, reverts to the node's own value" in line for line in after["text"])


def test_without_overrides_nothing_is_planned() -> None:
    table = _applied(_plan(of_n1(_live()), {"maxPods": 70}))
    made = tables.planned(table, deliveries={"n1": "dropin"})
    assert (made["nodes"]["n1"]["action"], made["nodes"]["n1"]["changes"]) == ("none", [])


def test_a_rollback_declares_what_the_other_drop_in_declared() -> None:
    table = _applied(_plan(of_n1(_live()), {"maxPods": 70, "kubeAPIQPS": 7}))
    made = tables.planned(table, deliveries={"n1": "dropin"}, target={**HEADER, "maxPods": 60, "providerID": "x"})
    assert tables.variant(made) == {**HEADER, "maxPods": 60}
    assert tables.changes(made) == {"maxPods": (70, 60), "kubeAPIQPS": (7, 50)}


def test_an_empty_value_that_a_drop_in_folder_forgets_is_warned_of() -> None:
    made = _plan(of_n1({**_live(), "enforceNodeAllocatable": []}), {"maxPods": 7})
    assert ("warning", "dropin-empty", "enforceNodeAllocatable") in tables.rules(made, "n1")


def test_equal_changes_are_one_way_also_in_a_plan_that_was_copied() -> None:
    """Ansible copies each list. The forecast would fill in the defaults of every node again."""
    row = _plan(of_n1(_live()), {"maxPods": 70})["nodes"]["n1"]
    assert sources.way(row) == sources.way(json.loads(json.dumps(row)))
    assert sources.way(row) != sources.way({**row, "changes": []})
