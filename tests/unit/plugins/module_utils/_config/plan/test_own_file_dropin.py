# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drop-ins on nodes whose own config file is known: in place of a checkpoint, and where that file changed."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import host_facts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import own_values

from . import tables
from .tables import HEADER, OWN, PATH

NODEFS = 'evictionHard["nodefs.available"]'
MERGED = {"mergeDefaultEvictionSettings": True, "evictionHard": {"memory.available": "1Gi"}}
REMOVED = {"kubeAPIQPS": 9, "evictionHard": {"nodefs.available": None}}


def _migrated(live: dict[str, Any], facts: Any, *layers: dict[str, Any], **options: Any) -> dict[str, Any]:
    record = tables.record(kubeAPIQPS=[50])
    table = tables.of_n1(live, **{**tables.assigned(record), **options.pop("row", {})})
    options = {"migrate": "equal", "allow_effect": "reboot", **options}
    return tables.planned(table, None, {"n1": list(layers)}, deliveries={"n1": "dropin"}, own={"n1": facts}, **options)


def test_a_checkpoint_becomes_a_drop_in_if_nothing_changes() -> None:
    read = {**OWN, "kubeAPIQPS": 9}
    made = _migrated(tables.of_36(read), tables.facts_36(OWN, read), {"kubeAPIQPS": 9})
    row = made["nodes"]["n1"]
    assert (made["refused"], row["action"], row["delivery"]) == (False, "assign", "dropin")
    assert (row["migrates"], row["changes"], row["own"]["own"]) == (True, [], {"kubeAPIQPS": [50]})
    assert tables.variant(made) == {**HEADER, "kubeAPIQPS": 9}


@pytest.mark.parametrize(
    ("own", "layer", "path", "before", "after"),
    [
        # Not declared any more, changed in the own file, and a default that the checkpoint froze.
        (OWN, {}, "kubeAPIQPS", 9, 50),
        ({**OWN, "maxPods": 90}, {"kubeAPIQPS": 9}, "maxPods", 100, 90),
        (OWN, {"kubeAPIQPS": 10}, "kubeAPIQPS", 9, 10),
    ],
)
def test_what_a_migration_would_change_is_named_and_asked_for(
    own: dict[str, Any], layer: dict[str, Any], path: str, before: int, after: int
) -> None:
    read = {**OWN, "kubeAPIQPS": 9}
    given = tables.of_36(read), tables.facts_36(own, read), layer
    made = _migrated(*given)
    [problem] = made["nodes"]["n1"]["problems"]
    assert (made["refused"], problem["path"], problem["rule"]) == (True, path, "migration")
    assert f"has {before}, and without it the kubelet would run {after}" in problem["message"]
    asked = _migrated(*given, migrate="changed")
    assert (asked["refused"], asked["nodes"]["n1"]["action"]) == (False, "assign")


def test_other_drop_ins_stay_where_they_are() -> None:
    read = {**OWN, "kubeAPIQPS": 9}
    dropins = {"10-a": {"maxPods": 40}, "95-b": {"kubeAPIBurst": 11}}
    live = tables.of_36(read, *dropins.values())
    made = _migrated(live, tables.facts_36(OWN, read, **dropins), {"kubeAPIQPS": 9})
    assert (made["refused"], made["nodes"]["n1"]["changes"]) == (False, [])


def test_a_removal_that_the_checkpoint_made_is_no_change_of_a_migration_and_of_later_plans() -> None:
    layer = {"cgroupDriver": None, "kubeAPIQPS": 9}
    read = {**OWN, "kubeAPIQPS": 9}
    live = tables.of_36({**read, "cgroupDriver": "systemd"})
    made = _migrated(live, tables.facts_36({**OWN, "cgroupDriver": "systemd"}, read), layer)
    assert (made["refused"], tables.changes(made)) == (False, {})
    own = made["nodes"]["n1"]["own"]
    assert own["absent"] == ["cgroupDriver"]
    later = tables.of_n1(live, **tables.assigned({**own, "source": "c"}, "dropin"))
    made = tables.planned(later, {**layer, "kubeAPIQPS": 8})
    assert (made["refused"], tables.changes(made)) == (False, {"kubeAPIQPS": (9, 8)})


@pytest.mark.parametrize("place", [{}, {"dropin": {"link": "/d//90-livenodes-kubelet.conf"}}], ids=["no link", "link"])
def test_drop_ins_of_a_subfolder_come_after_ours(place: dict[str, Any]) -> None:
    """The kubelet walks through the folder by name."""
    names = ("/d/10-a.conf", "/d/80-b/10.conf", "/d/95-c.conf", "/d/99-d/10.conf")
    rows = [{"path": PATH, "content": OWN}, *({"path": name, "content": {"name": name}} for name in names)]
    found = own_values.files_of(host_facts.read({"kubelet": {"local_config": PATH}, "own": rows, **place}), {})
    earlier = 2 if place else 4
    assert [layer["name"] for layer in found.earlier] == [*names[:earlier]]
    assert [layer["name"] for layer in found.later] == [*names[earlier:]]


@pytest.mark.parametrize(
    ("own", "dropins", "flags", "layer", "changes"),
    [
        (MERGED, {}, {}, {"evictionHard": {"nodefs.available": None}}, {NODEFS: ("10%", None)}),
        ({"resolvConf": ""}, {}, {}, {"resolvConf": "/etc/resolv.conf"}, {"resolvConf": ("", "/etc/resolv.conf")}),
        # A kubelet with a drop-in folder forgets an empty list of its file.
        ({"enforceNodeAllocatable": []}, {}, {}, {}, {"enforceNodeAllocatable": ([], ["pods"])}),
        ({"enforceNodeAllocatable": []}, {"10-a": {"maxPods": 40}}, {}, {}, {}),
        # What a flag overrides is not moved by the drop-ins of others.
        ({}, {"10-a": {"maxPods": 40}}, {"maxPods": 61}, {}, {}),
    ],
)
def test_what_a_migration_changes(own: Any, dropins: Any, flags: Any, layer: Any, changes: Any) -> None:
    file = {**OWN, **own}
    live = {**tables.of_36(file, *dropins.values()), **flags}
    made = _migrated(live, tables.facts_36(file, file, **dropins), layer, migrate="changed")
    assert tables.changes(made) == changes


def test_an_empty_value_that_the_own_file_got_is_a_change_of_a_migration() -> None:
    """From 1.23 on, an empty resolvConf is not the default."""
    read = {**OWN, "resolvConf": "/x"}
    made = _migrated(tables.of_36(read), tables.facts_36({**OWN, "resolvConf": ""}, read), {}, migrate="changed")
    assert tables.changes(made) == {"resolvConf": ("/x", "")}


def test_the_record_of_a_migrated_node_has_what_its_file_and_the_drop_ins_of_others_set() -> None:
    file = {**OWN, **MERGED, "resolvConf": ""}
    dropins = {"10-a": {"maxPods": 40, "evictionHard": {"nodefs.available": None}}}
    layer = {"maxPods": 70, "resolvConf": "/x", "evictionHard": {"nodefs.available": "9%"}}
    read = {**file, **layer, "evictionHard": {"memory.available": "1Gi", "nodefs.available": "9%"}}
    live = tables.of_36(file, layer)
    made = _migrated(live, tables.facts_36(file, read, **dropins), layer)
    assert made["nodes"]["n1"]["own"]["own"] == {"maxPods": [40], "resolvConf": [""], NODEFS: [None]}


@pytest.mark.parametrize(
    ("gate", "field", "rule"),
    [
        ("KubeletCrashLoopBackOffMax", "crashLoopBackOff.maxContainerRestartPeriod", "crash-loop-period"),
        ("KubeletEnsureSecretPulledImages", "imagePullCredentialsVerificationPolicy", "pull-policy"),
    ],
)
def test_a_drop_in_that_turns_a_gate_off_keeps_the_default_of_its_field(gate: str, field: str, rule: str) -> None:
    """The kubelet has filled it into its own file before, and refuses it then. Kubelet v1.36.2 was asked."""
    layer = {"featureGates": {gate: False}}
    read = {**OWN, **layer}
    live, facts = tables.of_36(read), tables.facts_36(OWN, read)
    made = _migrated(live, facts, layer, migrate="changed")
    assert ("refusal", rule, field) in tables.rules(made, "n1") and made["refused"]
    assert not _migrated(live, facts, {**layer, field.split(".")[0]: None})["refused"]
    assert not _migrated(tables.of_36(OWN), tables.facts_36(OWN, OWN), {})["refused"]


@pytest.mark.parametrize(
    "row", [{"delivery": "dropin"}, {"delivery": "none", "source": None, "status": None}], ids=["dropin", "none"]
)
def test_a_migration_changes_no_other_node(row: dict[str, Any]) -> None:
    made = _migrated(tables.of_36(OWN), tables.facts_36(OWN, OWN), {"kubeAPIQPS": 9}, row=row)
    assert made["nodes"]["n1"]["action"] == "none" and "migrates" not in made["nodes"]["n1"]


def test_a_node_whose_own_file_is_not_known_is_not_migrated() -> None:
    made = _migrated(tables.of_36(OWN), {"unreachable": True, "msg": "Refused."}, {})
    assert (made["refused"], made["summary"]["from_live"]) == (True, 0)
    assert tables.rules(made, "n1") == [("refusal", "no-own-file", "")]
    words = "the node's own config file is not known (Refused), so the plan cannot show what the migration changes"
    assert made["nodes"]["n1"]["problems"][0]["message"] == words


def test_a_node_that_cannot_be_migrated_does_not_hide_the_others() -> None:
    live = tables.of_36(OWN)
    table = tables.table(live, live, kubelet_version="v1.36.2", **tables.assigned(tables.record()))
    deliveries = dict.fromkeys(table["nodes"], "dropin")
    made = tables.planned(table, {}, deliveries=deliveries, own={"n1": tables.facts_36(OWN, OWN)}, migrate="equal")
    assert [row["action"] for row in made["nodes"].values()] == ["none", "assign"]


def _dropin(own: dict[str, Any], *layers: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Plan a node that runs OWN with the drop-in of a former source, and whose own file changed since its start."""
    live = options.pop("live", tables.of_36(OWN, {"kubeAPIQPS": 9}))
    facts = options.pop("facts", None) or tables.facts_36(own, own)
    facts["disk"].update(checkpoint=None, started=5.0, changed=options.pop("changed", 6.0))
    row = tables.assigned(tables.record(**options.pop("former", {"kubeAPIQPS": [50]})), "dropin")
    return tables.planned(tables.of_n1(live, **row), None, {"n1": list(layers)}, own={"n1": facts}, **options)


def _from_file(made: dict[str, Any]) -> set[str]:
    return {change["path"] for change in made["nodes"]["n1"]["changes"] if change.get("own_file_changed")}


CHANGED = {**OWN, "maxPods": 90, "registryPullQPS": 7}
FLAG = {"local_config": PATH, "shadowed": {"maxPods": {"flag": "--max-pods"}}}
OVERRIDDEN = {**tables.facts_36(CHANGED, CHANGED, **{"95-b": {"registryPullQPS": 5}}), "kubelet": FLAG}


def test_a_drop_in_shows_what_its_restart_takes_up_from_the_own_file() -> None:
    made = _dropin(CHANGED, {"kubeAPIQPS": 10})
    assert tables.changes(made) == {"kubeAPIQPS": (9, 10), "maxPods": (100, 90), "registryPullQPS": (5, 7)}
    assert _from_file(made) == {"maxPods", "registryPullQPS"}
    assert tables.variant(made) == {**HEADER, "kubeAPIQPS": 10}
    assert made["nodes"]["n1"]["own"]["own"] == {"kubeAPIQPS": [50]}
    assert [line for line in made["text"] if line.endswith("(the node's own file changed)")]


@pytest.mark.parametrize(
    ("options", "layers", "changes"),
    [
        # The own file is as old as the kubelet's process.
        ({"changed": 4.0}, [{"kubeAPIQPS": 10}], {"kubeAPIQPS": (9, 10)}),
        ({"changed": 5.0}, [{"kubeAPIQPS": 10}], {"kubeAPIQPS": (9, 10)}),
        # Declared, or no longer declared: not from the own file.
        ({}, [{"kubeAPIQPS": 9, "maxPods": 80, "registryPullQPS": 5}], {"maxPods": (100, 80)}),
        ({}, [{"registryPullQPS": 5}], {"kubeAPIQPS": (9, 50), "maxPods": (100, 90)}),
        # A flag, a later drop-in.
        ({"facts": OVERRIDDEN}, [{"kubeAPIQPS": 10}], {"kubeAPIQPS": (9, 10)}),
    ],
    ids=["older", "as old", "declared", "no longer declared", "overridden"],
)
def test_what_a_restart_does_not_take_up(options: Any, layers: list[Any], changes: Any) -> None:
    made = _dropin(CHANGED, *layers, **options)
    assert tables.changes(made) == changes
    assert _from_file(made) == {"maxPods"} & set(changes) - set(layers[0])


@pytest.mark.parametrize(
    ("live", "own", "layer", "changes"),
    [
        # What the kubelet finds itself, and what it sets itself where no file does.
        ({"cgroupDriver": "systemd"}, {"cgroupDriver": "cgroupfs"}, {}, {}),
        ({"reservedSystemCPUs": "0", "kubeReserved": {"cpu": "1"}}, {"kubeReserved": {"cpu": "2"}}, {}, {}),
        ({"kubeReserved": {"cpu": "1"}}, {"kubeReserved": {"cpu": "2"}}, {}, {"kubeReserved.cpu": ("1", "2")}),
        ({"tlsCertFile": "/pki/self.crt"}, {}, {}, {}),
        ({"tlsCertFile": "/a.crt"}, {"tlsCertFile": "/b.crt"}, {}, {"tlsCertFile": ("/a.crt", "/b.crt")}),
        ({"registerNode": True}, {"clusterDNS": None}, {}, {"clusterDNS": (["10.96.0.10"], None)}),
        ({}, {"resolvConf": ""}, {}, {"resolvConf": ("/etc/resolv.conf", "")}),
        # Of a map of thresholds, a layer declares the keys that it names.
        (
            {},
            {"evictionHard": {"memory.available": "1Gi", "nodefs.available": "9%"}},
            {"evictionHard": {"memory.available": "2Gi"}},
            {
                'evictionHard["imagefs.available"]': ("15%", None),
                'evictionHard["imagefs.inodesFree"]': ("5%", None),
                'evictionHard["memory.available"]': ("100Mi", "2Gi"),
                NODEFS: ("10%", "9%"),
                'evictionHard["nodefs.inodesFree"]': ("5%", None),
            },
        ),
    ],
)
def test_which_values_of_a_changed_own_file_a_restart_takes_up(live: Any, own: Any, layer: Any, changes: Any) -> None:
    runs = {**tables.of_36(OWN, {"kubeAPIQPS": 9}), **live}
    made = _dropin({**OWN, **own}, {"kubeAPIQPS": 10, **layer}, live=runs)
    assert tables.changes(made) == {"kubeAPIQPS": (9, 10), **changes}
    declared = {f'evictionHard["{key}"]' for key in layer.get("evictionHard", {})}
    assert _from_file(made) == set(changes) - declared


@pytest.mark.parametrize(
    ("former", "changed"), [({}, 6.0), ({NODEFS: ["12%"]}, 6.0), ({NODEFS: ["12%"]}, 4.0), ({NODEFS: []}, 6.0)]
)
def test_a_threshold_that_a_drop_in_removed_comes_back_from_the_own_file(former: Any, changed: float) -> None:
    """The kubelet merges defaults into that file only. Without a record, the file alone shows that."""
    live = tables.of_36({**OWN, **MERGED}, REMOVED)
    layer = {"kubeAPIQPS": 9, "evictionHard": {"memory.available": "1Gi"}}
    made = _dropin({**OWN, **MERGED}, layer, live=live, former=former, changed=changed)
    assert tables.changes(made) == {NODEFS: (None, "10%")}


def test_what_is_no_longer_declared_reverts_also_where_the_own_file_changed() -> None:
    """The kubelet may have set such a value itself, but the record has it as absent of its own."""
    live = tables.of_36(OWN, {"providerID": "x"})
    made = _dropin(CHANGED, {"kubeAPIQPS": 9}, former={"providerID": [None]}, live=live)
    [change] = [change for change in made["nodes"]["n1"]["changes"] if change["path"] == "providerID"]
    assert (change["before"], change["after"], change["no_longer_declared"]) == ("x", None, True)


@pytest.mark.parametrize(
    ("was", "own", "change"),
    [
        # The file changed, and the kubelet was restarted, while the field was declared.
        ({"kubeAPIQPS": [50]}, {"kubeAPIQPS": 45}, {"kubeAPIQPS": (9, 45)}),
        ({"kubeAPIQPS": [9]}, {"kubeAPIQPS": 45}, {"kubeAPIQPS": (9, 45)}),
        ({"kubeAPIQPS": [45]}, {}, {"kubeAPIQPS": (9, 50)}),
        ({"kubeAPIQPS": [50]}, {"kubeAPIQPS": 9}, {}),
        ({"resolvConf": ["/old"]}, {"resolvConf": ""}, {"resolvConf": ("/etc/resolv.conf", "")}),
        ({"registryBurst": [20]}, {}, {"registryBurst": (10, 33)}),
        # Not known, or not from the file alone: the record stays the best that is known.
        ({"kubeAPIQPS": []}, {"kubeAPIQPS": 45}, {"kubeAPIQPS": (9, None)}),
        ({"cgroupDriver": ["systemd"]}, {}, {"cgroupDriver": ("cgroupfs", "systemd")}),
        ({"kubeReserved.cpu": ["3"]}, {"kubeReserved": {"cpu": "4"}}, {"kubeReserved.cpu": ("1", "3")}),
        ({"maxPods": [61]}, {"maxPods": 90}, {"maxPods": (100, 61)}),
    ],
)
def test_what_is_no_longer_declared_reverts_to_the_file_as_it_is_now(was: Any, own: Any, change: Any) -> None:
    computed = {"cgroupDriver": "cgroupfs", "reservedSystemCPUs": "0", "kubeReserved": {"cpu": "1"}}
    live = tables.of_36({**OWN, "kubeAPIQPS": 9, **computed})
    facts = tables.facts_36({**OWN, **own}, OWN, **{"95-b": {"registryBurst": 33}})
    facts["kubelet"]["shadowed"] = {"maxPods": {"flag": "--max-pods"}}
    made = _dropin(OWN, {"eventBurst": 100}, facts=facts, changed=4.0, live=live, former=was)
    assert tables.changes(made) == change
    assert all(row["no_longer_declared"] for row in made["nodes"]["n1"]["changes"])


def test_a_value_whose_own_is_not_known_comes_back_also_where_the_own_file_changed() -> None:
    live = tables.of_36({**OWN, "cgroupDriver": "systemd"}, {"kubeAPIQPS": 9})
    made = _dropin({**OWN, "maxPods": 90}, {"kubeAPIQPS": 9}, live=live, former={"cgroupDriver": []})
    assert tables.changes(made) == {"cgroupDriver": ("systemd", None), "maxPods": (100, 90)}


def test_a_drop_in_of_others_that_removes_a_threshold_is_part_of_what_is_the_nodes_own() -> None:
    facts = tables.facts_36({**OWN, **MERGED}, OWN, **{"10-a": REMOVED})
    live = tables.of_36({**OWN, **MERGED}, {"evictionHard": {"nodefs.available": "20%"}, "kubeAPIQPS": 9})
    made = _dropin(OWN, {"eventBurst": 100}, facts=facts, changed=4.0, live=live, former={NODEFS: ["12%"]})
    assert tables.changes(made) == {NODEFS: ("20%", None)}


def test_the_record_of_a_threshold_that_a_flag_overrides_stays() -> None:
    facts = tables.facts_36({**OWN, **MERGED}, OWN)
    facts["kubelet"]["shadowed"] = {"evictionHard": {"flag": "--eviction-hard"}}
    live = tables.of_36({**OWN, **MERGED}, REMOVED)
    made = _dropin(OWN, {"kubeAPIQPS": 9}, facts=facts, changed=4.0, live=live, former={NODEFS: ["12%"]})
    assert tables.changes(made) == {NODEFS: (None, "12%")}


def test_nothing_is_taken_up_without_a_restart() -> None:
    name = _dropin(OWN, {"kubeAPIQPS": 9})["nodes"]["n1"]["configmap"]
    live = tables.of_36(OWN, {"kubeAPIQPS": 9})
    facts = tables.facts_36({**CHANGED, "maxPods": -3}, OWN)
    facts["disk"].update(checkpoint=None, started=5.0, changed=6.0)
    table = tables.of_n1(live, **tables.assigned(tables.record(name, kubeAPIQPS=[50]), "dropin", name))
    made = tables.planned(table, None, {"n1": [{"kubeAPIQPS": 9}]}, own={"n1": facts})
    assert made["nodes"]["n1"]["action"] == "none"
    assert (tables.changes(made), tables.rules(made, "n1")) == ({}, [])
    # With another source, the kubelet would end of what it then reads.
    made = tables.planned(table, None, {"n1": [{"kubeAPIQPS": 10}]}, own={"n1": facts})
    assert made["refused"] and [problem["path"] for problem in made["nodes"]["n1"]["problems"]] == ["maxPods"]


def test_an_effect_that_the_own_file_brings_is_asked_for() -> None:
    own = {**OWN, "enableControllerAttachDetach": False}
    made = _dropin(own, {"kubeAPIQPS": 10})
    assert made["refused"] and made["nodes"]["n1"]["effect"] == "drain"
    [problem] = made["nodes"]["n1"]["problems"]
    assert problem["remedy"].startswith("Declare the live value")
    assert not _dropin(own, {"kubeAPIQPS": 10}, allow_effect="drain")["refused"]


def test_a_drop_in_on_a_node_whose_own_file_is_not_known() -> None:
    made = _dropin(OWN, {"kubeAPIQPS": 10}, facts={"unreachable": True, "msg": "Refused.", "disk": {}})
    [problem] = made["nodes"]["n1"]["problems"]
    assert (problem["rule"], problem["severity"]) == ("no-own-file", "warning")
    assert "what its restart takes up from it" in problem["message"]
    assert made["summary"]["from_live"] == 0


def test_what_a_drop_in_holds_that_the_node_does_not_name_is_not_the_own_value_of_the_node() -> None:
    """Its Node was deleted and created again, so no annotation names what the machine still has."""
    ours = {**HEADER, "maxPods": 80, "kubeAPIQPS": 9}
    facts = tables.facts_36(OWN, OWN)
    facts["dropin"]["linked"], facts["disk"]["dropins"] = True, {facts["dropin"]["link"]: ours}
    table = tables.of_n1(tables.of_36(OWN, ours))
    made = tables.planned(table, {"maxPods": 80}, own={"n1": facts}, deliveries={"n1": "dropin"})
    row = made["nodes"]["n1"]
    assert (row["action"], tables.changes(made)) == ("assign", {"kubeAPIQPS": (9, 50)})
    assert row["own"]["own"] == {"maxPods": [100]}
    # Nothing is assigned, so nothing changes.
    made = tables.planned(table, {}, own={"n1": facts}, deliveries={"n1": "dropin"})
    assert (made["nodes"]["n1"]["action"], tables.changes(made)) == ("none", {})
