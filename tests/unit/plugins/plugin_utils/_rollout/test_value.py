# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The value of a rollout, and the part of one batch."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils import host_table
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.order import order
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.value import (
    Options,
    begin,
    counted,
    done,
    of_host,
    of_plan,
    problem,
    result,
)
from tests.support.api.objects import place

NAMES = ("n1", "n2", "n3", "m1", "n4")
CONFIG = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "maxPods": 50}
ASSIGNS = {"action": "assign", "changes": [{}], "source": place("a")}
STAYS = {"action": "none", "source": place("b")}
SOURCE_B = {"source": place("b"), "delivery": "dropin", "node_uid": "u2", "migrates": True}
PLAN: dict[str, Any] = {
    "nodes": {
        "n1": {**ASSIGNS, "effect": "drain", "variant": "v", "own": {"o": 1}},
        "n2": {**ASSIGNS, "effect": "disrupt", **SOURCE_B},
        "n3": {**STAYS, "changes": [{}], "effect": "safe"},
        "m1": {**STAYS, "changes": [], "effect": None},
    },
    "variants": {"v": CONFIG},
}


def table(**deliveries: str) -> dict[str, Any]:
    hosts = {}
    for name in NAMES:
        hosts[f"host-{name}"] = {"kubelet_config_node_name": name, "kubelet_config_delivery": deliveries.get(name)}
    return host_table.node_table([*hosts], hosts)


ROWS = {
    name: {"ready": True, "control_plane": name == "m1", "delivery": "native", "uid": f"u{name[1:]}"} for name in NAMES
}
LOCAL = {**PLAN, "local": ["n4"], "text": ["n4: a -> its local config"]}


OLD = {"nodes": {"n1": {"variant": "old"}}}


def made(
    plan: dict[str, Any] | None = None,
    goal: str = "plan",
    dry_run: bool = False,
    options: Options | None = None,
    columns: dict[str, Any] | None = None,
    cordons: tuple[str, ...] = (),
    rows: dict[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return a value. `rows`: nodes with another delivery. `cordons`: those with the cordon of a killed run."""
    plan, rows = plan or LOCAL, rows or {}
    found = {name: {**row, "delivery": rows.get(name, "native")} for name, row in ROWS.items()}
    for name in cordons:
        found[name]["cordon"] = {"holder": "x"}
    columns = columns or table()
    ordered = order(plan, goal, columns, found, 2, serial=2)
    return begin(ordered, plan, columns, found, "workers:masters", OLD, dry_run, options or Options(), 1000.0, **more)


def test_the_value_before_the_first_batch() -> None:
    value = made()
    assert (value["group"], value["names"], value["lease"], value["failed"]) == ("workers:masters", list(NAMES), {}, {})
    assert value["text"] == LOCAL["text"] and made(PLAN)["text"] == []
    assert [batch["names"] for batch in value["batches"]] == [["n1", "n2"], ["n3"], ["n4"]]
    assert value["began"] == 1000.0 and not value["on_nodes"]


def test_the_first_batch() -> None:
    found = of_host(made(options=Options("when_needed", "30", "300")), "host-n2")
    a = {**place("a"), "delivery": "auto"}
    b = {**place("b"), "delivery": "dropin", "node_uid": "u2", "migrates": True}
    assert found == {
        "hosts": {"host-n1": "n1", "host-n2": "n2"},
        "names": ["n1", "n2"],
        "steps": "switch",
        "sources": {"n1": {**a, "own": {"o": 1}}, "n2": b},
        "expected": {"n1": a, "n2": b},
        "texts": {},
        "drain": ["n1"],
        "reach": [],
        "soak": 300,
        "on_nodes": False,
        "before": {"n1": {"variant": "old"}},
        "uids": {"n1": "u1", "n2": "u2"},
        "transports": {},
        "lease": {},
        "group": "workers:masters",
        "name": "",
        "undoes": None,
        "started": False,
        "done": 2,
        "continues": True,
    }
    assert of_host(made(), "host-n1") == of_host(made(), "host-n2")
    assert (done(made(), "host-n2", begun=True), done(made(), "host-n2", begun=False)) == (2, 0)


def test_a_undo_plan_has_its_effects_and_its_rollout() -> None:
    """A node that is reset is drained for them, too. Part of the nodes are not the whole rollout."""
    effects = {"nodes": {"n1": {"effect": "safe"}, "n4": {"effect": "reboot"}}}
    plan, options = {**LOCAL, "undoes": "r"}, Options("when_needed")
    found = made(plan, "previous", options=options, back=effects)
    assert [batch["names"] for batch in found["batches"]] == [["n1", "n2"], ["n3"], ["n4"]]
    assert [batch["drain"] for batch in found["batches"]] == [[], [], ["n4"]]
    assert (of_host(found, "host-n4")["undoes"], found["whole"]) == ("r", True)
    assert not made({**plan, "local": ["n4", "n9"]}, "previous", options=options, back=effects)["whole"]


def test_later_batches() -> None:
    """What only differs is verified without an assignment; a reset has no source."""
    # Text as AWX and -e pass it.
    value = made(options=Options(soak_seconds="30.0", canary_soak_seconds=" 300 ", max_failed="0.0"))
    third = of_host(value, "host-n3")
    assert (third["sources"], list(third["expected"]), third["soak"], third["started"]) == ({}, ["n3"], 30, True)
    last = of_host(value, "host-n4")
    assert (last["steps"], last["sources"], last["expected"], last["done"]) == ("reset", {}, {}, 4)
    with pytest.raises(ValueError, match="host host-m1 is in no batch"):
        of_host(made(), "host-m1")


@pytest.mark.parametrize(
    ("options", "soaks"),
    [(Options(soak_seconds="30"), [30, 30]), (Options("never", 30, ""), [30, 30]), (Options("never", 30, 0), [0, 30])],
)
def test_the_soak_of_the_canary_is_that_of_all_unless_it_is_set(options: Options, soaks: list[int]) -> None:
    plan = {**PLAN, "nodes": {name: PLAN["nodes"][name] for name in ("n1", "m1")}}
    plan["nodes"]["m1"] = PLAN["nodes"]["n3"]
    assert [batch["soak"] for batch in made(plan, options=options)["batches"]] == soaks


@pytest.mark.parametrize(
    ("drain", "own", "host", "drained"),
    [
        ("never", {}, "host-n1", []),
        ("when_needed", {}, "host-n1", ["n1"]),
        ("always", {}, "host-n1", ["n1", "n2"]),
        # Each host may have its own.
        ("when_needed", {"n1": "never"}, "host-n1", []),
        ("when_needed", {"n2": "always"}, "host-n1", ["n1", "n2"]),
        ("when_needed", {"n1": "never", "n2": "when_needed"}, "host-n1", []),
        # A reset has no known effect.
        ("when_needed", {}, "host-n4", []),
        ("always", {}, "host-n4", ["n4"]),
    ],
)
def test_who_drains(drain: str, own: dict[str, str], host: str, drained: list[str]) -> None:
    columns = {**table(), "drains": own}
    assert of_host(made(options=Options(drain), columns=columns), host)["drain"] == drained


def test_whose_host_must_be_reached_before_its_node_drains() -> None:
    rows = {"n1": "checkpoint", "n2": "checkpoint"}
    found = of_host(made(options=Options("when_needed"), rows=rows), "host-n1")
    assert (found["drain"], found["reach"], found["on_nodes"]) == (["n1"], ["n1"], True)
    assert of_host(made(options=Options("always"), rows={"n2": "none"}), "host-n1")["reach"] == ["n2"]


@pytest.mark.parametrize("goal", ["checkpoint", "native"])
def test_a_migration_has_steps_on_nodes_in_both_directions(goal: str) -> None:
    plan = {"nodes": {"n1": {**ASSIGNS, "changes": [], "effect": None}}, "local": [], "text": []}
    found = of_host(made(plan, goal, dry_run=True, options=Options("always")), "host-n1")
    assert (found["steps"], found["on_nodes"], found["reach"]) == (f"to_{goal}", True, ["n1"])
    assert found["texts"] == {}, "its ConfigMap exists"


def test_the_delivery_of_the_inventory_wins() -> None:
    columns, rows = table(n1="native"), dict.fromkeys(NAMES, "checkpoint")
    for node, steps, delivery in (("n1", False, "native"), ("n2", True, "dropin")):
        plan = {**PLAN, "nodes": {node: PLAN["nodes"][node]}}
        found = of_host(made(plan, columns=columns, rows=rows), f"host-{node}")
        assert (found["on_nodes"], found["sources"][node]["delivery"]) == (steps, delivery)
    assert made(PLAN, columns=columns, rows=rows)["on_nodes"], "one node needs steps on it"


def test_in_check_mode_the_texts_that_push_would_write() -> None:
    assert json.loads(of_host(made(dry_run=True), "host-n1")["texts"]["n1"]) == CONFIG
    assert of_plan(PLAN, None, table())["texts"] == of_host(made(dry_run=True), "host-n1")["texts"]


@pytest.mark.parametrize(("most", "goes_on"), [(0, False), ("1", False), (2, True)])
def test_failures_are_counted_over_all_batches(most: Any, goes_on: bool) -> None:
    value = counted(counted(made(options=Options(max_failed=most)), {"n1": "late"}), {"n2": "gone"})
    assert value["failed"] == {"n1": "late", "n2": "gone"}
    assert of_host(value, "host-n3")["continues"] == goes_on


def test_the_hosts_of_a_play_without_a_rollout() -> None:
    found = of_plan(PLAN, None, table(n3="checkpoint"))
    assert list(found["sources"]) == ["n1", "n2"] and list(found["expected"]) == ["n1", "n2", "n3"]
    assert [found["expected"][name]["delivery"] for name in ("n1", "n2", "n3")] == ["auto", "dropin", "checkpoint"]
    assert found["hosts"] == {f"host-{name}": name for name in NAMES}
    assert (found["names"], found["soak"], found["lease"]) == (list(NAMES), None, {})
    given = {"n1": place("z")}
    assert (of_plan(PLAN, given, table())["sources"], of_plan({}, given, table())["expected"]) == (given, given)
    assert of_plan({}, None, table())["expected"] is None, "what is assigned now"


def test_the_result_stays_short() -> None:
    """All failures are counted, and only the first five are named."""
    many = {f"{number:03}-{'n' * 249}": "why " * 1000 for number in range(100)}
    value = {**made(), "group": "g" * 5000, "hosts": [f"h{number}" for number in range(120)], "failed": many}
    found = result(value, 110)
    counts = {name: found[name] for name in ("changed", "untouched", "unchanged", "failed")}
    assert counts == {"changed": 10, "untouched": 10, "unchanged": 1, "failed": 100}
    assert list(found["failures"]) == list(many)[:5] and len(str(found)) < 4096
    assert found["group"] == "g" * 247 + "..."
    assert result({**value, "group": "g" * 250}, 110)["group"] == "g" * 250
    assert result({**value, "group": "g" * 251}, 110)["group"] == "g" * 247 + "..."


@pytest.mark.parametrize(
    ("drain", "marked", "expected"),
    [
        ("never", (), []),
        ("never", ("n1", "m1"), ["n1", "m1"]),
        ("always", ("n1", "n3", "m1"), ["n3", "m1"]),
        ("when_needed", ("n1", "n2"), ["n2"]),
    ],
)
def test_whose_cordon_is_undone(drain: str, marked: tuple[str, ...], expected: list[str]) -> None:
    """All of a killed run but those that the first batch drains anyway; also of nodes that do not change."""
    assert made(options=Options(drain), cordons=marked)["marked"] == expected


def test_skipped_nodes_are_counted_in_the_result() -> None:
    value = made(skipped={"n9": "not Ready"})
    assert (value["skipped"], result(value, 1)["skipped"]) == ({"n9": "not Ready"}, 1)


@pytest.mark.parametrize(
    ("failed", "stuck", "words"),
    [
        ({}, {}, []),
        ({"n2": "why"}, {}, ["is complete, but 1 of 4 nodes failed: n2. The reasons are above"]),
        ({}, {"n3": "unknown"}, ["The rollback leaves nodes with what they run. n3: unknown. Declare the values"]),
        ({"n2": "why"}, {"n3": "unknown"}, ["1 of 4 nodes failed: n2", "run again. The rollback leaves nodes"]),
    ],
)
def test_what_is_left_to_do_at_the_end(failed: dict[str, str], stuck: dict[str, str], words: list[str]) -> None:
    found = problem({**made(), "failed": failed, "stuck": stuck})
    assert bool(found) == bool(words) and all(text in found for text in words), found


def test_a_lease_that_could_not_be_released_is_named() -> None:
    found = problem({**made(), "failed": {}, "stuck": {}}, "403 Forbidden.")
    assert "are done. But the Lease could not be deleted: 403 Forbidden. It expires by itself" in found
