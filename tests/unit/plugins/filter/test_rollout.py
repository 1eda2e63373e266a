# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter `rollout`: one step of a rollout for each call."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.livenodes.kubelet.plugins.filter import rollout
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import node_row
from ansible_collections.livenodes.kubelet.plugins.plugin_utils import host_table
from tests.support.api.objects import place

ROLES = Path(__file__).resolve().parents[4] / "roles"
INFO = {"n1": {"ready": True, "control_plane": False, "delivery": "native", "previous": None}}
PLAN: dict[str, Any] = {
    "nodes": {"n1": {"action": "assign", "changes": [], "effect": None, "source": place("a")}},
    "variants": {},
}


def test_a_rollout_begins_and_has_a_result() -> None:
    table = host_table.node_table(["h1"], {"h1": {"kubelet_config_node_name": "n1"}})
    value = rollout.rollout(PLAN, "begin", table, INFO, "all", max_unavailable=1, serial="1")
    assert value["batches"][0]["names"] == ["n1"] and value["batches"][0]["sources"]["n1"]["name"] == "a"
    changed = {given: rollout.rollout(value, "result", *given)["changed"] for given in [(), ("h1",), ("h1", False)]}
    assert changed == {(): 1, ("h1",): 1, ("h1", False): 0}


def test_a_node_that_was_deleted_after_the_plan_is_skipped() -> None:
    """The others of its group are rolled out to, and the end of the rollout names it."""
    table = host_table.node_table(["n1", "n2"], {"n1": {}, "n2": {}})
    plan = {**PLAN, "nodes": dict.fromkeys(("n1", "n2"), PLAN["nodes"]["n1"])}
    gone = {"n2": {"message": "there is no such Node"}}
    value = rollout.rollout(plan, "begin", table, INFO, "all", max_unavailable=1, lost=gone)
    assert value["hosts"] == ["n1"] and value["rest"] == []
    assert value["skipped"] == {"n2": "there is no such Node"}


@pytest.mark.parametrize("action", ["assign", "unchanged"])
def test_a_node_that_was_created_again_after_the_plan_is_skipped(action: str) -> None:
    """The others of its group are rolled out to. The plan of another machine is not that of this one."""
    table = host_table.node_table(["n1", "n2"], {"n1": {}, "n2": {}})
    planned = PLAN["nodes"]["n1"]
    plan = {**PLAN, "nodes": {"n1": planned, "n2": {**planned, "action": action}}}
    before = {"nodes": {name: {"source": place("old"), "uid": f"of {name}"} for name in ("n1", "n2")}}
    info = {
        "n1": {**INFO["n1"], "source": place("old"), "uid": "of n1"},
        "n2": {**INFO["n1"], "source": None, "uid": "another"},
    }
    value = rollout.rollout(plan, "begin", table, info, "all", current=before, writes=True, max_unavailable=1)
    assert (value["hosts"], value["rest"], value["skipped"]) == (["n1"], [], {"n2": node_row.RECREATED})


@pytest.mark.parametrize(
    ("step", "given", "options", "why"),
    [
        ("begin", (INFO, "all"), {"max_unavailable": 1, "lost": {"n1": {"message": "dead"}}}, "the largest batch has"),
        ("begin", (INFO, "all", "previous"), {"max_unavailable": 1, "undo": "x"}, "last changed by the rollout x"),
        ("undo_plan", ("previous",), {"undo": "x"}, "last changed by the rollout x"),
        ("skipped", (), {}, "1 of 1 nodes cannot take part, so there is nothing to do"),
    ],
)
def test_a_refusal_is_no_error_of_the_template(
    step: str, given: tuple[Any, ...], options: dict[str, Any], why: str
) -> None:
    """A task reports it in the words of the operator."""
    first: Any = {"begin": PLAN, "undo_plan": INFO, "skipped": {"away": {"n1": {"message": "gone"}}, "nodes": {}}}
    table = host_table.node_table(["n1"], {"n1": {}})
    found = rollout.rollout(first[step], step, table["hosts"] if step == "skipped" else table, *given, **options)
    assert list(found) == ["refused"] and why in found["refused"]


def test_errors_are_those_of_ansible() -> None:
    with pytest.raises(AnsibleFilterError, match="host h1 is in no batch"):
        rollout.rollout({"batches": []}, "result", "h1")
    with pytest.raises(AnsibleFilterError, match="there is no step 'nothing', only begin, undo_plan, skipped"):
        rollout.rollout({}, "nothing")


def test_names_as_the_roles_use_them() -> None:
    times = {"confirm_seconds", "confirm_problem", "lease_seconds"}
    assert set(rollout.FilterModule().filters()) == {"rollout", *times}
    texts = [path.read_text() for path in ROLES.glob("*/tasks/*.yml")]
    used = {name for text in texts for name in re.findall(r"kubelet\.rollout\(\s*'(\w+)'", text)}
    assert used == set(rollout.STEPS)
