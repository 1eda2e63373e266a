# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each node gets, by the goal of a rollout."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import goals
from tests.support.api.objects import place, reference


def test_a_plan_is_its_own_goal() -> None:
    plan = {"nodes": {"n1": {"action": "none"}}}
    assert goals.of_goal("plan", plan, {}) == plan
    assert [goals.entry_point(goal) for goal in goals.GOALS] == [*["switch"] * 3, "to_checkpoint", "to_native"]


LEFT = "runs its local config, and what else this collection left is removed"


def status(source: str = "", delivery: str = "native", **more: Any) -> dict[str, Any]:
    """Return what the plans read of a row of node_config_info."""
    place = {"namespace": "kube-system", "name": source} if source else None
    return {
        "delivery": delivery,
        "kubelet_version": "v1.23.17",
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
        (status(malformed={f"{PREFIX}source": "no JSON"}), True),
    ],
)
def test_a_reset_changes_the_nodes_with_something_to_remove(row: dict[str, Any], reset: bool) -> None:
    made = goals.of_goal("local", {}, {"n1": row})
    assert (made["local"], made["nodes"]) == (["n1"] if reset else [], {})
    words = "kube-system/a -> its local config" if row["active"] else LEFT
    assert made["text"] == [f"n1: {words}"] * reset


@pytest.mark.parametrize("goal", ["local", "previous", "checkpoint"])
def test_the_plan_tells_only_of_the_nodes_of_the_run(goal: str) -> None:
    """It is made from the status of the whole group, of which --limit leaves nodes out."""
    rows = {name: status("b", previous=place("a"), rollout="r") for name in ("n1", "n2")}
    rows |= {name: status("b", "dropin", previous=place("a"), rollout="r") for name in ("n3", "n4")}
    made = goals.of_goal(goal, {}, rows, names=["n2", "n4"])
    assert len(made["text"]) == 2 and not [line for line in made["text"] if "n1" in line or "n3" in line]


def test_a_migration_keeps_the_source_of_each_node() -> None:
    found = {"n1": status("a"), "n2": status("b", delivery="checkpoint"), "n3": status()}
    for delivery, name, source in (("checkpoint", "n1", "a"), ("native", "n2", "b")):
        made = goals.of_goal(delivery, {}, found)
        assert (list(made["nodes"]), made["local"]) == ([name], [])
        assert (made["nodes"][name]["source"], made["nodes"][name]["action"]) == (found[name]["source"], "assign")
        assert made["text"] == [f"{name}: kube-system/{source} by delivery {delivery}"]
    with pytest.raises(ValueError, match="'elsewhere' is not a goal of a rollout: use one of plan, "):
        goals.of_goal("elsewhere", {}, found)


WAITS = {"reason": "on trial; the container runtime is away: /run/c.sock"}
BOTH = ("checkpoint", "native")
MOVES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    # node: its row, and the deliveries to which a migration moves its source
    "native": (status("a"), ("checkpoint",)),
    "local": (status(), ()),
    "modern": (status(delivery="none", listening=False), ()),
    "moved": (status("a", "checkpoint"), ("native",)),
    "half moved": (status("a", "checkpoint", config_source=place()), BOTH),
    "not confirmed": (status("a", "checkpoint", reason="on trial"), BOTH),
    "not confirmed, runtime away": (status("a", "checkpoint", **WAITS), BOTH),
    "reverted": (status("a", "checkpoint", settled=False), BOTH),
    "moved, flag removed": (status("a", "checkpoint", listening=False), ("native",)),
    "unfinished reset": (status(delivery="checkpoint"), ()),
}


@pytest.mark.parametrize("delivery", BOTH)
def test_moving_sources(delivery: str) -> None:
    found = goals.moving({name: row for name, (row, _to) in MOVES.items()}, delivery)
    assert found == {name: row["source"] for name, (row, to) in MOVES.items() if delivery in to}


FIRST, LAST = "20260101T000000Z-00000000", "20260102T000000Z-00000000"
"""The names of two rollouts."""


def info(previous: Any, active: Any = None, rollout: str = LAST, **more: Any) -> dict[str, Any]:
    about = {"previous": previous, "rollout": rollout, "undone": False, "fell_back": False, "reason": ""}
    return {**about, "active": active, "source": active, "config_source": active, "settled": True, **more}


UNDO = {
    "changed": info(reference("old"), reference("new")),
    "back": info(reference("old", "8"), reference("old"), undone=True),
    "not confirmed": info(reference("old"), reference("old"), undone=True, reason="on trial"),
    "on its way": info(reference("old"), reference("old"), settled=False),
    "refused it": info(reference("old"), reference("old"), settled=False, fell_back=True),
    "fell back further": info(reference("old"), reference("older"), settled=False, fell_back=True),
    "was reset by hand": info(reference("old")),
    "was local": info({}, reference("new")),
    "was local on the node": info({}, reference("new"), config_source=None),
    "refused its first": info({}, None, source=reference("new"), settled=False, fell_back=True),
    "half reset": info({}, reference("new"), source=None, config_source=None),
    "is local": info({}, undone=True),
    "never": info(None, rollout=""),
    "of another rollout": info(reference("old"), reference("new"), FIRST),
    "of no rollout": info(reference("old"), reference("new"), ""),
}


def test_rollback_plan() -> None:
    """The nodes of the newest rollout return to what they ran before it; what is back or was reverted stays."""
    found = goals.of_goal("previous", {}, UNDO)
    names = ["changed", "not confirmed", "on its way", "fell back further", "was reset by hand"]
    assert {name: row["source"] for name, row in found["nodes"].items()} == dict.fromkeys(names, place("old"))
    assert found["local"] == ["was local", "was local on the node", "half reset"]
    assert (found["undoes"], found["stuck"]) == (LAST, {})
    assert found["text"] == [
        "changed: kube-system/new -> kube-system/old",
        "not confirmed: kube-system/old -> kube-system/old",
        "on its way: kube-system/old -> kube-system/old",
        "refused it: not changed, it refused the rollout and runs kube-system/old as before",
        "fell back further: kube-system/older -> kube-system/old",
        "was reset by hand: its local config -> kube-system/old",
        "refused its first: not changed, it refused the rollout and runs its local config as before",
        "was local: kube-system/new -> its local config",
        "was local on the node: kube-system/new -> its local config",
        "half reset: kube-system/new -> its local config",
    ]
    undoing, older = goals.headline(found, UNDO, UNDO)
    assert f"Undoing the rollout {LAST} on 8 nodes (changed, not confirmed, " in undoing
    assert undoing.endswith("It did not change 3 other nodes.")
    assert older.endswith(f"{FIRST} on 1 node (of another rollout); unknown on 1 node (of no rollout)")
    (limited, _older), rest = goals.headline(found, UNDO, ["changed"]), goals.headline(found, UNDO, ["never"])[0]
    alone = goals.headline(found, {name: UNDO[name] for name in UNDO if UNDO[name].get("rollout") == LAST}, UNDO)
    assert "did not change" not in alone[0]
    assert " on 1 node (changed). " in limited and "it is left on 8 nodes (" in rest


def test_a_rollback_is_of_the_nodes_that_were_planned() -> None:
    """A Node that is created again is another machine, which the rollout has not changed."""
    rows = {"n1": info(reference("old"), reference("new"), uid="u1")}
    assert goals.of_goal("previous", {}, rows)["nodes"]["n1"]["node_uid"] == "u1"


@pytest.mark.parametrize(
    ("undo", "changing", "words"),
    [
        (FIRST, ["of another rollout"], "unknown on 1 node (of no rollout)"),
        ("unknown", ["of no rollout"], "the rollout unknown on 1 node (of no rollout)."),
    ],
)
def test_a_rollback_of_a_rollout_by_its_name(undo: str, changing: list[str], words: str) -> None:
    found = goals.of_goal("previous", {}, UNDO, undo)
    assert (list(found["nodes"]), found["local"]) == (changing, [])
    assert words in goals.headline(found, UNDO, UNDO)[-1]
    with pytest.raises(ValueError, match="no node of the group"):
        goals.of_goal("previous", {}, UNDO, "20200101T000000Z-00000000")


def test_a_rollback_that_has_nothing_to_do() -> None:
    rows = {name: UNDO[name] for name in ("back", "is local", "of another rollout")}
    done = goals.of_goal("previous", {}, rows)
    assert (done["nodes"], done["local"]) == ({}, []) and "is undone already" in goals.headline(done, rows, rows)[0]
    rows = {"never": UNDO["never"]}
    none = goals.of_goal("previous", {}, rows)
    assert (none["undoes"], none["nodes"]) == (None, {}) and "nothing to undo" in goals.headline(none, rows, rows)[0]
    assert goals.headline(goals.of_goal("plan", {"nodes": {}}, rows), rows, rows) == []


@pytest.mark.parametrize(
    ("goal", "why"),
    [
        (
            "checkpoint",
            "a drop-in cannot migrate. Reset the node, then run the rollout with kubelet_config_delivery: checkpoint",
        ),
        ("native", "kubelets from 1.24 on do not follow Node.spec.configSource"),
    ],
)
def test_nodes_that_cannot_migrate_are_named(goal: str, why: str) -> None:
    dropin, none = status("a", "dropin", kubelet_version="v1.36.2"), status(delivery="dropin")
    made = goals.of_goal(goal, {}, {"n1": dropin, "n2": none})
    assert (made["nodes"], made["text"]) == ({}, [f"1 node (n1): not changed, {why}"])


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("local", ["No node of this run has a configuration of this collection: there is nothing to reset."]),
        *(
            (goal, ["No node of this run has a source by another delivery: there is nothing to migrate."])
            for goal in BOTH
        ),
        # The headline of a rollback names it, and the plan shows itself.
        *(("previous", []), ("plan", [])),
    ],
)
def test_a_run_with_nothing_to_do_shows_a_sentence(goal: str, expected: list[str]) -> None:
    assert goals.shown({"text": []}, goal) == expected
    assert goals.shown({"text": ["n1: a -> its local config"]}, goal) == ["n1: a -> its local config"]


@pytest.mark.parametrize(("version", "moves"), [("v1.23.17", True), ("v1.24.0", False), ("unknown", True)])
def test_only_kubelets_that_follow_their_node_migrate_to_native(version: str, moves: bool) -> None:
    rows = {"n1": status("a", "checkpoint", kubelet_version=version)}
    assert list(goals.of_goal("native", {}, rows)["nodes"]) == ["n1"] * moves


def test_a_node_between_two_deliveries_is_refused() -> None:
    """Of both sources, one would override what it gets back. A return to its own file removes both."""
    between = {"delivery": "checkpoint", "listening": True}
    rows = {"n1": info(reference("old"), reference("new"), **between), "n2": info({}, reference("new"), **between)}
    made = goals.of_goal("previous", {}, rows)
    assert (made["nodes"], made["local"]) == ({}, ["n2"])
    with pytest.raises(ValueError, match=r"n1: a migration did not end, .* Run the playbook migrate again"):
        goals.refuse_without_way_back(made, rows, ["n1", "n2"])
    goals.refuse_without_way_back(made, rows, ["n2"])


def test_nodes_that_have_no_undo_plan_are_named() -> None:
    rows = {
        "migrated": info(None, reference("new"), "", delivery="dropin"),
        "malformed": info(None, reference("new"), "", delivery="dropin", malformed={annotation.PREVIOUS: "no JSON"}),
    }
    migrated, malformed = goals.of_goal("previous", {}, rows)["text"]
    assert "migrated: not changed, a migration to drop-ins leaves no previous configuration" in migrated
    assert "malformed: not changed, its previous configuration is unknown. Declare the values" in malformed


def test_a_rollback_without_any_undo_plan_is_refused() -> None:
    """If another node of the play can be rolled back, it is; a node without a source needs none."""
    rows = {
        "n1": info(None, reference("new"), delivery="dropin"),
        "n2": info(reference("old"), reference("old")),
        "n3": info(None),
    }
    made = goals.of_goal("previous", {}, rows)
    with pytest.raises(ValueError, match=r"nothing to roll back to\. n1: a migration to drop-ins .* reset\. No"):
        goals.refuse_without_way_back(made, rows, ["n1", "n3"])
    for names in (["n1", "n2"], ["n2"], ["n3"], []):
        goals.refuse_without_way_back(made, rows, names)
    goals.refuse_without_way_back(goals.of_goal("local", {}, {}), {}, ["n1"])


@pytest.mark.parametrize(
    ("planned", "row", "older"),
    [
        pytest.param("a", {"source": place("a")}, False, id="as planned"),
        pytest.param(None, {"source": None}, False, id="local"),
        pytest.param("a", {"source": place("b")}, True, id="assigned since"),
        pytest.param(None, {"source": place("b")}, True, id="assigned for the first time since"),
        pytest.param("a", {"source": None}, True, id="reset since"),
        pytest.param(None, {"source": place("a"), "reimaged": True}, False, id="another machine"),
    ],
)
def test_a_plan_from_before_another_run_is_refused(planned: str | None, row: dict[str, Any], older: bool) -> None:
    planned_from = {"source": place(planned) if planned else None}
    refused = pytest.raises(ValueError, match=r"^1 node \(n1\): the assigned .* Run it again\. Nothing was changed$")
    with refused if older else nullcontext():
        goals.refuse_older_plan({"n1": planned_from}, {"n1": row, "of no host": {"source": place("c")}})
