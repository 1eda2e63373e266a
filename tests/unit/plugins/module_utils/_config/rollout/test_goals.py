# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each node gets, by the goal of a rollout."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rollout import goals
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.support.objects import place, reference


def test_a_plan_is_its_own_goal() -> None:
    plan = {"nodes": {"n1": {"action": "none"}}}
    assert goals.of_goal("plan", plan, {}) == plan
    assert [goals.entry_point(goal) for goal in goals.GOALS] == [
        "switch",
        "switch",
        "switch",
        "to_checkpoint",
        "to_native",
    ]


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


@pytest.mark.parametrize(("goal", "row"), [("previous", {"previous": {}}), ("local", {})])
def test_a_first_kubelet_that_reports_the_uid_alone(goal: str, row: dict[str, Any]) -> None:
    made = goals.of_goal(goal, {}, {"n1": status("a", active={"uid": "u9", "kubeletConfigKey": "kubelet"}, **row)})
    assert made["text"] == ["n1: the ConfigMap with uid u9 -> its local config"]


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
    made = goals.of_goal("local", {}, {"n1": row})
    assert (made["local"], made["nodes"]) == (["n1"] if reset else [], {})
    active = "kube-system/a" if row["active"] else "its local config"
    assert made["text"] == [f"n1: {active} -> its local config"] * reset


def test_a_migration_keeps_the_source_of_each_node() -> None:
    found = {"n1": status("a"), "n2": status("b", delivery="checkpoint"), "n3": status()}
    for delivery, names in (("checkpoint", ["n1"]), ("native", ["n2"])):
        made = goals.of_goal(delivery, {}, found)
        assert {name: row["source"] for name, row in made["nodes"].items()} == {
            name: found[name]["source"] for name in names
        }
        assert {row["action"] for row in made["nodes"].values()} == {"assign"} and made["local"] == []
        assert made["text"] == [
            f"{name}: kube-system/{found[name]['source']['name']} by delivery {delivery}" for name in names
        ]
    with pytest.raises(ValueError, match="'elsewhere' is no goal of a rollout: use one of plan, "):
        goals.of_goal("elsewhere", {}, found)


def row(delivery: str, **more: Any) -> dict[str, Any]:
    return {
        "delivery": delivery,
        "listening": True,
        "source": place(),
        "config_source": None,
        "settled": True,
        "reason": "",
        **more,
    }


ROWS = {
    "native": row("native", config_source=place()),
    "local": row("native", source=None),
    "modern": row("none", listening=False, source=None),
    "moved": row("checkpoint"),
    "half moved": row("checkpoint", config_source=place()),
    "not confirmed": row("checkpoint", reason="on trial"),
    "not confirmed, runtime away": row("checkpoint", reason="on trial; the container runtime is away: /run/c.sock"),
    "reverted": row("checkpoint", settled=False),
    "moved, flag removed": row("checkpoint", listening=False),
    "unfinished reset": row("checkpoint", source=None),
}


def test_moving_sources() -> None:
    assert list(goals.moving(ROWS, "checkpoint")) == [
        "native",
        "half moved",
        "not confirmed",
        "not confirmed, runtime away",
        "reverted",
    ]
    assert list(goals.moving(ROWS, "native")) == [
        "moved",
        "half moved",
        "not confirmed",
        "not confirmed, runtime away",
        "reverted",
        "moved, flag removed",
    ]
    assert goals.moving(ROWS, "native")["moved"] == place()


def info(previous: Any, active: Any = None, **more: Any) -> dict[str, Any]:
    return {"previous": previous, "active": active, "source": active, "config_source": active, "settled": True, **more}


def test_rollback_plan() -> None:
    """Each node returns to its own previous source, and is listed once."""
    found = goals.of_goal(
        "previous",
        {},
        {
            "changed": info(reference("old"), reference("new")),
            "reverted already": info(reference("old", "8"), reference("old")),
            "fell back": info(reference("old"), reference("old"), settled=False),
            "was reset": info(reference("old")),
            "was local": info({}, reference("new")),
            "was local on the node": info({}, reference("new"), config_source=None),
            "is local": info({}),
            "never": info(None),
            "migrated": info(None, reference("new"), delivery="dropin"),
            "malformed": info(None, reference("new"), delivery="dropin", malformed={annotation.PREVIOUS: "no JSON"}),
        },
    )
    assert {name: row["source"] for name, row in found["nodes"].items()} == {
        "changed": place("old"),
        "fell back": place("old"),
        "was reset": place("old"),
    }
    assert found["local"] == ["was local", "was local on the node"]
    assert list(found["stuck"]) == ["migrated", "malformed"]
    assert found["text"][:6] == [
        "changed: kube-system/new -> kube-system/old",
        "fell back: kube-system/old -> kube-system/old",
        "was reset: its local config -> kube-system/old",
        "was local: kube-system/new -> its local config",
        "was local on the node: kube-system/new -> its local config",
        "never: not changed, its previous configuration is unknown",
    ]
    migrated, malformed = found["text"][6:]
    assert "migrated: not changed, a migration to drop-ins leaves no previous configuration" in migrated
    assert "malformed: not changed, its previous configuration is unknown. Declare the values" in malformed


def test_a_rollback_without_any_way_back_is_refused() -> None:
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
