# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that order the nodes of a rollout, collect the failures of a batch and plan a rollback."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible.executor.playbook_executor import PlaybookExecutor
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play import Play
from ansible.vars.manager import VariableManager
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.filter import batch, rollout
from tests.support.objects import place, reference

NAMES = ("n1", "m1", "n2", "n3")


def plan(**actions: str) -> dict[str, Any]:
    """Return a plan in which each node is assigned (`assign`), only differs (`differs`) or needs no change (`none`)."""
    return {
        "nodes": {
            name: {"action": "assign" if what == "assign" else "none", "changes": [{}] if what == "differs" else []}
            for name, what in actions.items()
        }
    }


def table(*names: str) -> dict[str, Any]:
    """Return the node_table of hosts whose names differ from those of their nodes."""
    return batch.node_table(
        [f"host-{name}" for name in names], {f"host-{name}": {"kubelet_config_node_name": name} for name in names}
    )


def rows(*unready: str) -> dict[str, Any]:
    return {name: {"ready": name not in unready, "control_plane": name.startswith("m")} for name in NAMES}


ALL = plan(n1="assign", m1="assign", n2="differs", n3="none")


def test_workers_then_control_plane() -> None:
    """Only nodes that change are listed; control-plane nodes one at a time."""
    assert rollout.rollout_order(ALL, table(*NAMES), rows()) == {
        "stages": [
            {"hosts": ["host-n1", "host-n2"], "serial": [1, 1]},
            {"hosts": ["host-m1"], "serial": [1]},
            {"hosts": [], "serial": [1, 1]},
            {"hosts": [], "serial": [1]},
        ],
        "hosts": ["host-n1", "host-n2", "host-m1"],
        "rest": ["host-n3"],
        "batches": [{"host-n1": "n1"}, {"host-n2": "n2"}, {"host-m1": "m1"}],
    }
    assert rollout.rollout_order(ALL, table(*NAMES), rows(), control_plane="first")["hosts"] == [
        "host-m1",
        "host-n1",
        "host-n2",
    ]
    with pytest.raises(AnsibleFilterError, match="kubelet_config_control_plane is 'never'"):
        rollout.rollout_order(ALL, table(*NAMES), rows(), control_plane="never")


def test_only_the_hosts_of_the_play() -> None:
    """The plan may contain further nodes."""
    assert rollout.rollout_order(ALL, table("n2"), rows())["hosts"] == ["host-n2"]


def test_unready_nodes_come_first_only_on_request() -> None:
    assert rollout.rollout_order(ALL, table(*NAMES), rows("n2"))["hosts"] == ["host-n1", "host-n2", "host-m1"]
    assert rollout.rollout_order(ALL, table(*NAMES), rows("n2"), unready_first=True)["hosts"] == [
        "host-n2",
        "host-n1",
        "host-m1",
    ]


@pytest.mark.parametrize(("control_plane", "order"), [("last", ["n2", "n3", "m1"]), ("first", ["m1", "n2", "n3"])])
def test_resets_to_the_local_configuration(control_plane: str, order: list[str]) -> None:
    """They have two stages of their own, in which control-plane nodes are one at a time as well."""
    given = {**plan(n1="assign"), "local": ["m1", "n2", "n3", "elsewhere"]}
    found = rollout.rollout_order(given, table(*NAMES), rows(), serial=2, control_plane=control_plane)
    assert [stage["hosts"] for stage in found["stages"][2:]] == [
        [f"host-{name}" for name in order if name.startswith(kind)] for kind in (order[0][0], order[-1][0])
    ]
    assert found["hosts"] == [f"host-{name}" for name in ["n1", *order]]
    assert sorted(map(len, found["batches"])) == [1, 1, 2]
    assert found["rest"] == []


def status(source: str = "", delivery: str = "native", **more: Any) -> dict[str, Any]:
    """Return what the plans read of a row of node_config_info."""
    place = {"namespace": "kube-system", "name": source} if source else None
    return {
        "delivery": delivery,
        "source": place,
        "config_source": place if delivery == "native" else None,
        "active": place,
        "previous": None,
        "malformed": {},
        "listening": True,
        "settled": True,
        "reason": "",
        **more,
    }


@pytest.mark.parametrize(
    ("row", "reset"),
    [
        (status(), False),
        (status(delivery="none"), False),
        (status("a"), True),
        (status("a", delivery="checkpoint"), True),
        (status(delivery="checkpoint"), True),
        (status(previous={}), True),
        (status(malformed={"kubelet-config.livenodes.io/source": "no JSON"}), True),
    ],
)
def test_a_reset_changes_the_nodes_with_something_to_remove(row: dict[str, Any], reset: bool) -> None:
    made = rollout.reset_plan({"n1": row})
    assert (made["local"], made["nodes"]) == (["n1"] if reset else [], {})
    assert [line.endswith("-> its local config") for line in made["text"]] == [True] * reset


def test_a_migration_keeps_the_source_of_each_node() -> None:
    found = {"n1": status("a"), "n2": status("b", delivery="checkpoint"), "n3": status()}
    for delivery, names in (("checkpoint", ["n1"]), ("native", ["n2"])):
        made = rollout.migration_plan(found, delivery)
        assert {name: row["source"] for name, row in made["nodes"].items()} == {
            name: found[name]["source"] for name in names
        }
        assert {row["action"] for row in made["nodes"].values()} == {"assign"} and made["local"] == []
    with pytest.raises(AnsibleFilterError, match="'elsewhere'"):
        rollout.migration_plan(found, "elsewhere")


@pytest.mark.parametrize(
    ("serial", "sizes"),
    [
        (None, [1, 3]),
        ("", [1, 3]),
        (2, [2]),
        ("2", [2]),
        ("10%", [1]),
        ("50%", [2]),
        ([1, "75%"], [1, 3]),
        ("1, 50%,100%", [1, 2, 4]),
    ],
)
def test_serial(serial: Any, sizes: list[int]) -> None:
    assert (
        rollout.rollout_order(ALL, table(*NAMES), rows(), serial=serial, max_unavailable="75%")["stages"][0]["serial"]
        == sizes
    )


@given(st.sets(st.integers(1, 40), max_size=12), st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_batches_are_those_that_ansible_makes(numbers: set[int], serial: list[int]) -> None:
    names = [f"n{number}" for number in sorted(numbers)]
    found = rollout.rollout_order(
        plan(**dict.fromkeys(names, "assign")),
        table(*names),
        {name: {"ready": True, "control_plane": False} for name in names},
        serial=serial,
    )
    inventory = InventoryManager(DataLoader(), [f"{','.join(found['hosts'])},"])
    play = Play.load(
        {"hosts": found["hosts"] or ["!all"], "serial": found["stages"][0]["serial"], "gather_facts": False}
    )
    executor = PlaybookExecutor([], inventory, VariableManager(DataLoader(), inventory), DataLoader(), {})
    made = executor._get_serialized_batches(play)  # Ansible has no public function for this
    assert [[host.name for host in batch] for batch in made] == [list(batch) for batch in found["batches"]]
    assert all(
        batch[f"host-{name}"] == name
        for batch in found["batches"]
        for name in (host.removeprefix("host-") for host in batch)
    )


@pytest.mark.parametrize("serial", [0, "0", "0%", "all", "-1", [1, "x"], {}])
def test_invalid_serial(serial: Any) -> None:
    with pytest.raises(AnsibleFilterError, match="kubelet_config_serial contains"):
        rollout.rollout_order(ALL, table(*NAMES), rows(), serial=serial)


@given(
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["assign", "differs", "none"])),
    st.sampled_from(["first", "last"]),
    st.booleans(),
)
def test_every_host_is_listed_once(actions: dict[str, str], control_plane: str, unready_first: bool) -> None:
    found = rollout.rollout_order(
        plan(**actions), table(*NAMES), rows("n1", "n3"), control_plane=control_plane, unready_first=unready_first
    )
    assert sorted([*found["hosts"], *found["rest"]]) == sorted(f"host-{name}" for name in NAMES)
    assert {host.removeprefix("host-") for host in found["hosts"]} == {
        name for name, what in actions.items() if what != "none"
    }


def test_rollout_batch() -> None:
    """Resets to the local configuration come after all other batches."""
    order = rollout.rollout_order({**ALL, "local": ["n3"]}, table(*NAMES), rows(), serial=2)
    assert order["batches"] == [{"host-n1": "n1", "host-n2": "n2"}, {"host-m1": "m1"}, {"host-n3": "n3"}]
    found = {host: rollout.rollout_batch(order, host) for batch in order["batches"] for host in batch}
    assert (
        found["host-n1"]
        == found["host-n2"]
        == {
            "nodes": order["batches"][0],
            "names": ["n1", "n2"],
            "started": False,
            "done": 2,
            "untouched": ["host-m1", "host-n3"],
        }
    )
    assert [
        (found[host]["started"], found[host]["done"], found[host]["untouched"]) for host in ("host-m1", "host-n3")
    ] == [(True, 3, ["host-n3"]), (True, 4, [])]
    with pytest.raises(AnsibleFilterError, match="host-n9 is in no batch"):
        rollout.rollout_batch(order, "host-n9")


BATCH = {f"host-{name}": name for name in NAMES}


def test_rollout_failures() -> None:
    """All reasons of a node are joined; a skipped call adds none."""
    hostvars: dict[str, dict[str, str]] = {host: {} for host in BATCH}
    assert rollout.rollout_failures(BATCH, list(BATCH), hostvars) == {}
    hostvars["host-n1"]["assign_failure"] = "cannot be reached"
    hostvars["host-n2"]["verify_failure"] = "not reverted"
    hostvars["host-n3"]["verify_failure"] = ""
    verified = {"nodes": {"n1": {"ok": False, "message": "silent"}, "n3": {"ok": True, "message": "runs"}}}
    soaked = {"nodes": {"m1": {"ok": False, "message": "a pod was lost"}, "n3": {"message": "no verdict in it"}}}
    assert rollout.rollout_failures(BATCH, list(BATCH), hostvars, verified, soaked, {"skipped": True}, None) == {
        "n1": "silent; cannot be reached",
        "m1": "a pod was lost",
        "n2": "not reverted",
    }


def test_the_reasons_of_a_node_name_it_once_and_have_one_mark_between_them() -> None:
    hostvars: dict[str, dict[str, str]] = {host: {} for host in BATCH}
    hostvars["host-n1"]["assign_failure"] = "Node n1: the value is refused. Nothing was changed."
    hostvars["host-n1"]["verify_failure"] = "Node host-n1 cannot be reached."
    verified = {"nodes": {"n1": {"ok": False, "message": "n1: waiting for its guard"}}}
    assert rollout.rollout_failures(BATCH, list(BATCH), hostvars, verified) == {
        "n1": "waiting for its guard; the value is refused. Nothing was changed; cannot be reached"
    }


FLAG = {"flag": "--max-pods=61", "file": "/etc/default/kubelet", "line": 1}
DIFFERS = {
    "ok": False,
    "state": "differs",
    "delivery": "checkpoint",
    "message": "maxPods is 61, not 50",
    "differences": [{"path": "maxPods"}],
}


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        (
            {"shadowed": {"maxPods": FLAG}},
            "maxPods is 61, not 50; maxPods: the flag --max-pods=61 (/etc/default/kubelet, line 1) overrides every "
            "configuration. Remove the flag there and restart the kubelet, or omit the field from kubelet_config",
        ),
        (
            {"shadowed": {"evictionHard": FLAG}, "config_dir_files": ["/etc/kubelet.d/10-ours.conf"]},
            "maxPods is 61, not 50; the drop-in /etc/kubelet.d/10-ours.conf in --config-dir may override maxPods",
        ),
        (
            {"config_dir_files": ["/d/1.conf", "/d/2.conf"]},
            "maxPods is 61, not 50; the drop-ins /d/1.conf, /d/2.conf in --config-dir may override maxPods",
        ),
        ({"shadowed": {}, "config_dir_files": []}, "maxPods is 61, not 50"),
        ({}, "maxPods is 61, not 50"),
    ],
)
def test_what_the_node_shows_names_the_cause_of_a_difference(facts: dict[str, Any], cause: str) -> None:
    hostvars: dict[str, dict[str, Any]] = {host: {} for host in BATCH}
    verified = {"nodes": {"n1": DIFFERS}}
    assert rollout.rollout_failures(BATCH, list(BATCH), hostvars, verified) == {"n1": "maxPods is 61, not 50"}
    hostvars["host-n1"]["checkpoint_assigned"] = (
        {"preflight": {"kubelet": facts}} if facts else {"state": "unreachable"}
    )
    assert rollout.rollout_failures(BATCH, list(BATCH), hostvars, verified) == {"n1": cause}


def test_hosts_lost_during_the_batch() -> None:
    assert rollout.rollout_failures(BATCH, list(BATCH)[1:], {host: {} for host in BATCH}) == {"n1": rollout.LOST}


def test_native_delivery_ignores_host_variables() -> None:
    """Host variables are slow to read and may hold results of an earlier rollout of the same run."""
    verified = {"nodes": {name: {"ok": name != "n1", "message": "silent", "delivery": "native"} for name in NAMES}}
    assert rollout.rollout_failures(BATCH, list(BATCH), {}, verified) == {"n1": "silent"}


def info(previous: Any, active: Any = None, **more: Any) -> dict[str, Any]:
    return {"previous": previous, "active": active, "source": active, "config_source": active, "settled": True, **more}


def test_rollback_plan() -> None:
    """Each node returns to its own previous source, and is listed once."""
    found = rollout.rollback_plan(
        {
            "changed": info(reference("old"), reference("new")),
            "reverted already": info(reference("old", "8"), reference("old")),
            "fell back": info(reference("old"), reference("old"), settled=False),
            "was local": info({}, reference("new")),
            "is local": info({}),
            "never": info(None, reference("new")),
        }
    )
    assert {name: row["source"] for name, row in found["nodes"].items()} == {
        "changed": place("old"),
        "fell back": place("old"),
    }
    assert (found["local"], found["unknown"]) == (["was local"], ["never"])
    assert found["text"] == [
        "changed: kube-system/new -> kube-system/old",
        "fell back: kube-system/old -> kube-system/old",
        "was local: kube-system/new -> its local config",
        "never: not changed, its previous configuration is unknown",
    ]
    assert batch.plan_sources(found, "assign") == {
        name: {**place("old"), "delivery": "auto"} for name in ("changed", "fell back")
    }


def test_names_as_playbooks_use_them() -> None:
    assert rollout.FilterModule().filters() == {
        "rollout_order": rollout.rollout_order,
        "rollout_batch": rollout.rollout_batch,
        "rollout_failures": rollout.rollout_failures,
        "rollback_plan": rollout.rollback_plan,
        "reset_plan": rollout.reset_plan,
        "migration_plan": rollout.migration_plan,
    }
