# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of a rollout, and the hosts that it leaves out."""

from __future__ import annotations

import typing as t
from typing import Any

import pytest
from ansible.executor.playbook_executor import PlaybookExecutor
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play import Play
from ansible.vars.manager import VariableManager
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import following
from ansible_collections.livenodes.kubelet.plugins.plugin_utils import host_table
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import rows
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.order import order

NAMES = ("n1", "m1", "n2", "n3", "m2")


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
    return host_table.node_table(
        [f"host-{name}" for name in names], {f"host-{name}": {"kubelet_config_node_name": name} for name in names}
    )


def ready_rows(*unready: str) -> dict[str, Any]:
    return {name: {"ready": name not in unready, "control_plane": name.startswith("m")} for name in NAMES}


def workers(*names: str) -> dict[str, Any]:
    return {name: {"ready": True, "control_plane": False} for name in names}


ALL = plan(n1="assign", m1="assign", n2="differs", n3="none", m2="assign")


def ordered(plan_: dict[str, Any], *given_: Any, goal: str = "plan", most: Any = 1, **options: Any) -> dict[str, Any]:
    return order(plan_, goal, *given_, most, **options)


def test_workers_then_control_plane() -> None:
    """Only nodes that change are listed; control-plane nodes one at a time."""
    low, high = ["host-n1", "host-n2"], ["host-m1", "host-m2"]
    assert ordered(ALL, table(*NAMES), ready_rows()) == {
        "stages": [{"hosts": low, "serial": [1, 1]}, {"hosts": high, "serial": [1, 1]}],
        "hosts": [*low, *high],
        "rest": ["host-n3"],
        "batches": [{"steps": "switch", "nodes": {f"host-{name}": name}} for name in ("n1", "n2", "m1", "m2")],
    }
    first = ordered(ALL, table(*NAMES), ready_rows(), control_plane="first")
    assert first["hosts"] == [*high, *low]
    assert [stage["serial"] for stage in first["stages"]] == [[1, 1], [1, 1]]
    with pytest.raises(ValueError, match="kubelet_config_control_plane is 'never'"):
        ordered(ALL, table(*NAMES), ready_rows(), control_plane="never")
    # The plan may contain further nodes. A stage may have no hosts.
    found = ordered(ALL, table("n2"), ready_rows())
    assert found["stages"] == [{"hosts": ["host-n2"], "serial": [1]}, {"hosts": [], "serial": []}]


def test_unready_nodes_come_first_only_on_request() -> None:
    assert ordered(ALL, table(*NAMES), ready_rows("n2"))["hosts"] == ["host-n1", "host-n2", "host-m1", "host-m2"]
    found = ordered(ALL, table(*NAMES), ready_rows("n2"), unready_first=True)
    assert found["hosts"] == ["host-n2", "host-n1", "host-m1", "host-m2"]


@pytest.mark.parametrize(
    ("control_plane", "hosts", "sizes"),
    [
        ("last", ["n1", "n2", "n3", "m1", "m2"], [[1, 2], [1, 1]]),
        ("first", ["m1", "m2", "n1", "n2", "n3"], [[1, 1], [1, 2]]),
    ],
)
def test_resets_to_the_local_configuration(control_plane: str, hosts: list[str], sizes: list[list[int]]) -> None:
    """They follow the assignments of their stage, and no batch has both."""
    given_ = {**plan(n1="assign"), "local": ["m1", "m2", "n2", "n3", "elsewhere"]}
    found = ordered(given_, table(*NAMES), ready_rows(), serial=2, most=2, control_plane=control_plane)
    assert found["hosts"] == [f"host-{name}" for name in hosts]
    assert [stage["serial"] for stage in found["stages"]] == sizes
    assert {tuple(batch["nodes"].values()): batch["steps"] for batch in found["batches"]} == {
        ("n1",): "switch",
        ("n2", "n3"): "reset",
        ("m1",): "reset",
        ("m2",): "reset",
    }
    assert found["rest"] == []


@pytest.mark.parametrize(
    ("serial", "sizes"),
    [
        (None, [1, 4]),
        ("", [1, 4]),
        (2, [2, 2, 1]),
        ("2", [2, 2, 1]),
        ("10%", [1, 1, 1, 1, 1]),
        ("50%", [2, 2, 1]),
        ("100%", [5]),
        ([1, "75%"], [1, 3, 1]),
        ("1, 50%,100%", [1, 2, 2]),
    ],
)
def test_serial(serial: Any, sizes: list[int]) -> None:
    """A percentage counts the hosts of the play, five of which change."""
    names = [f"n{number}" for number in range(5)]
    found = ordered(plan(**dict.fromkeys(names, "assign")), table(*names), workers(*names), serial=serial, most="100%")
    assert found["stages"][0]["serial"] == sizes


@given(
    st.sets(st.integers(1, 40), max_size=12),
    st.sets(st.integers(41, 60), max_size=5),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
)
def test_batches_are_those_that_ansible_makes(numbers: set[int], local: set[int], serial: list[int]) -> None:
    names, others = [f"n{number}" for number in sorted(numbers)], [f"n{number}" for number in sorted(local)]
    given_ = {**plan(**dict.fromkeys(names, "assign")), "local": others}
    found = ordered(given_, table(*names, *others), workers(*names, *others), serial=serial, most=5)
    assert ansible_batches(found, found["hosts"]) == [list(one["nodes"]) for one in found["batches"]]


def ansible_batches(found: dict[str, Any], hosts: t.Sequence[str], *others: str) -> list[list[str]]:
    """Return the batches that Ansible makes of the first stage, in an inventory with these hosts and others."""
    inventory = InventoryManager(DataLoader(), parse=False)
    for group in ("dc1", *sorted(set(others))):
        inventory.add_group(group)
    for host in (*hosts, *others):
        inventory.add_host(host, "dc1")
    stage = found["stages"][0]
    play = Play.load({"hosts": stage["hosts"] or ["!all"], "serial": stage["serial"], "gather_facts": False})
    executor = PlaybookExecutor([], inventory, VariableManager(DataLoader(), inventory), DataLoader(), {})
    made = executor._get_serialized_batches(play)  # Ansible has no public function for this
    return [[host.name for host in one] for one in made]


PATTERNS = (
    *("worker 1", "dc1:w2", "dc1,w3", "größe-4", "!w5", "&w6", "~w7", "w[8]", "w*", "fd00::9", "10.0.0.1", "w10:22"),
    *("dc1", "all", "w\t1", "w.1", "w\\1", "@w", "(w", "w$", "{w}", "a b.c", "😀 1", "w…1 2"),
)


def test_hosts_whose_names_are_patterns() -> None:
    """Of a space, a colon or a comma, Ansible makes several patterns: other hosts, or none."""
    hosts = host_table.node_table(PATTERNS, {host: {} for host in PATTERNS})
    found = ordered(plan(**dict.fromkeys(PATTERNS, "assign")), hosts, workers(*PATTERNS), serial=[1, 2], most=2)
    assert found["hosts"] == list(PATTERNS)
    made = ansible_batches(found, PATTERNS, "w2", "w3", "worker", "1", "a bxc")
    assert made == [list(one["nodes"]) for one in found["batches"]]


@pytest.mark.parametrize(
    ("most", "serial", "lost", "expected"),
    [
        ("1", None, (), [1] * 8),
        ("2", None, ("n8",), [1] * 7),
        ("3", None, ("n8",), [1, 2, 2, 2]),
        # A percentage counts the Nodes that exist.
        ("50%", None, (), [1, 4, 3]),
        ("50%", None, ("gone1", "gone2"), [1, 4, 3]),
        ("1", None, ("gone1",), [1] * 8),
        ("2", "1,2", (), [1, 2, 2, 2, 1]),
        # The last batch is smaller than its serial.
        ("2", "2,9", ("n3", "n4", "n5", "n6", "n7", "n8"), "at least 8"),
        ("1", None, ("n8",), "raise kubelet_config_max_unavailable to at least 2\nn8: away"),
        ("1", "2", (), "set kubelet_config_serial to at most 1, or raise kubelet_config_max_unavailable to at least 2"),
        ("2", [1, 3], (), "the largest batch has 3 nodes, but at most 2 of the group"),
        ("2", "1,2", ("n8",), "(kubelet_config_max_unavailable), and 1 of the group are away. Nothing was changed"),
        ("25%", "50%", (), "the largest batch has 4 nodes, but at most 2 of the group"),
    ],
)
def test_what_the_budget_leaves(most: Any, serial: Any, lost: tuple[str, ...], expected: list[int] | str) -> None:
    """A node that is away uses up the budget if it exists. A batch above what is left is refused at once."""
    names = [f"n{number}" for number in range(1, 9)]
    present = [name for name in names if name not in lost]
    arguments: Any = (plan(**dict.fromkeys(present, "assign")), table(*present), workers(*names))
    options: Any = {"serial": serial, "most": most, "lost": dict.fromkeys(lost, "away")}
    if isinstance(expected, str):
        with pytest.raises(ValueError, match="Nothing was changed") as error:
            ordered(*arguments, **options)
        assert expected in str(error.value)
    else:
        assert ordered(*arguments, **options)["stages"][0]["serial"] == expected


@pytest.mark.parametrize("away", [["n2"], ["n2", "n3"]], ids=["used up", "exceeded"])
def test_without_a_change_the_budget_does_not_matter(away: list[str]) -> None:
    assert ordered(plan(), table("n1"), ready_rows(), lost=dict.fromkeys(away, "away"))["hosts"] == []


def test_an_invalid_budget_is_named() -> None:
    with pytest.raises(ValueError, match=r"^kubelet_config_max_unavailable contains '1,1': use numbers above 0"):
        ordered(ALL, table(*NAMES), ready_rows(), serial=None, most="1,1")


@pytest.mark.parametrize("serial", [0, "0", "0%", "all", "-1", [1, "x"], {}])
def test_invalid_serial(serial: Any) -> None:
    with pytest.raises(ValueError, match="kubelet_config_serial contains"):
        ordered(ALL, table(*NAMES), ready_rows(), serial=serial)


@given(
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["assign", "differs", "none"])),
    st.sampled_from(["first", "last"]),
    st.booleans(),
)
def test_every_host_is_listed_once(actions: dict[str, str], control_plane: str, unready_first: bool) -> None:
    options = {"control_plane": control_plane, "unready_first": unready_first}
    found = ordered(plan(**actions), table(*NAMES), ready_rows("n1", "n3"), **options)
    assert sorted([*found["hosts"], *found["rest"]]) == sorted(f"host-{name}" for name in NAMES)
    assert set(found["hosts"]) == {f"host-{name}" for name, what in actions.items() if what != "none"}


HOSTS = {f"n{number}": f"h{number}" for number in range(1, 5)}


def info(*away: str, gone: int = 0) -> dict[str, t.Any]:
    """Return a result of node_config_info; the first `gone` nodes do not exist."""
    return {
        "nodes": {name: {} for name in list(HOSTS)[gone:]},
        "away": {name: {"message": f"away since {name}"} for name in away},
    }


@pytest.mark.parametrize(
    ("found", "limit", "expected"),
    [
        (info(), "0", []),
        (info("n1"), "1", ["n1"]),
        (info("n1"), 1, ["n1"]),
        (info("n1", "n2"), None, ["n1", "n2"]),
        (info("n1", "n2"), "", ["n1", "n2"]),
        (info("n1", "n2"), "50%", ["n1", "n2"]),
        # Not a node of the play.
        (info("n1", "other"), "1", ["n1"]),
        (info("n1"), "0", "1 of 4 nodes cannot take part, and at most 0 may be skipped"),
        (info("n1"), "0%", "and at most 0 may be skipped"),
        (info("n1", "n2"), "1", "n1: away since n1\nn2: away since n2"),
        # A percentage counts the Nodes that exist.
        (info("n1", "n2", gone=2), "50%", "at most 1 may be skipped"),
        (info(*HOSTS), None, "4 of 4 nodes cannot take part, so there is nothing to do"),
        (info("n1"), "few", "kubelet_config_max_skipped is 'few'"),
    ],
)
def test_how_many_may_be_skipped(found: t.Any, limit: t.Any, expected: list[str] | str) -> None:
    """More than the limit are refused, and each of them is named."""
    if isinstance(expected, str):
        with pytest.raises(ValueError) as error:
            rows.of_play(found, HOSTS, limit)
        assert expected in str(error.value)
    else:
        assert list(rows.of_play(found, HOSTS, limit)) == expected


FOLLOWED = {"format": following.FORMAT, "transport": "api"}


@pytest.mark.parametrize(
    ("follower", "transport", "delivery", "goal", "why"),
    [
        (None, "api", "dropin", "plan", "no follower reports on it"),
        (None, "api", "checkpoint", "local", "no follower reports on it"),
        ({**FOLLOWED, "format": 9}, "auto", "checkpoint", "previous", "update the follower"),
        ({**FOLLOWED, "format": 9}, "ssh", "checkpoint", "plan", ""),
        (FOLLOWED, "api", "checkpoint", "plan", ""),
        (None, "auto", "checkpoint", "plan", ""),
        # It is changed by the API server alone, and a migration logs in.
        (None, "api", "native", "plan", ""),
        (None, "api", "checkpoint", "native", ""),
    ],
)
def test_a_node_that_its_transport_does_not_reach(
    follower: Any, transport: str, delivery: str, goal: str, why: str
) -> None:
    """The batches before that of the node would be changed, and then the rollout would stop there."""
    found = ready_rows()
    found["n2"].update(delivery=delivery, follower=follower)
    changed = {"nodes": {}, "local": ["n2"]} if goal == "local" else plan(n1="assign", n2="assign")
    hosts = host_table.node_table(NAMES, {name: {"kubelet_config_transport": transport} for name in NAMES})
    if not why:
        assert "n2" in ordered(changed, hosts, found, goal=goal)["hosts"]
        return
    with pytest.raises(ValueError, match=f"^n2: .*{why}.*Nothing was changed$"):
        ordered(changed, hosts, found, goal=goal)
    # One that does not change needs none.
    assert ordered(plan(n1="assign"), hosts, found, goal=goal)["hosts"] == ["n1"]
