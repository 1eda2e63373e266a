# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task reports."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verdict
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.events import (
    FAILED,
    MODULES,
    NOT_REVERTED,
    PAUSED,
    REFUSED,
    REMEDIES,
    Event,
    begins,
    read,
)
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import goals


def given(result: dict[str, t.Any], **arguments: t.Any) -> dict[str, t.Any]:
    """A result as Ansible hands it to callbacks."""
    return {**result, "invocation": {"module_args": arguments}}


def steps(found: list[Event]) -> list[tuple[str, str]]:
    """Kinds and nodes, without the deliveries."""
    return [(event.kind, event.node) for event in found if event.kind != "delivery"]


def test_rows_of_a_bulk_call_speak_for_their_nodes() -> None:
    rows = {
        "n1": {"changed": True, "delivery": "native", "state": "assigned"},
        "n2": {"changed": True, "delivery": "checkpoint", "state": "assigned"},
        "n3": {"changed": False, "delivery": "native", "state": "unchanged"},
    }
    assert steps(read("node_config_source", given({"nodes": rows}, state="present"), "")) == [("switched", "n1")]


def test_a_follower_switches_its_node_and_confirms_it() -> None:
    """Such a node is done like any other, though no task runs on its host."""
    rows = {"n1": {"changed": True, "delivery": "dropin", "state": "assigned", "transport": "api"}}
    assert steps(read("node_config_source", given({"nodes": rows}, state="present"), "")) == []
    verified = {
        "n1": {"ok": True, "state": "active", "follower": {"transport": "api"}},
        "n2": {"ok": False, "state": "differs", "message": "maxPods", "follower": {"transport": "api"}},
        "n3": {"ok": False, "state": "refused", "message": "no", "follower": {"transport": "api"}},
        "n4": {"ok": True, "state": "active", "follower": {"transport": "ssh"}},
    }
    assert steps(read("node_config_source", given({"nodes": verified}, state="verified"), "")) == [
        ("switched", "n1"),
        ("verified", "n1"),
        ("switched", "n2"),
        ("failed", "n2"),
        ("failed", "n3"),
        ("verified", "n4"),
    ]
    settled = {
        "n1": {"ok": True, "delivery": "dropin", "state": "confirmed"},
        "n2": {"ok": True, "delivery": "dropin", "state": "reverting"},
        "n3": {"ok": False, "delivery": "dropin", "state": "unanswered", "message": "not confirmed"},
    }
    found = read("node_config_source", given({"nodes": settled}, state="settled"), "")
    assert steps(found) == [("confirmed", "n1"), ("failed", "n3")]


def test_a_playbook_begins_with_the_check_of_its_variables() -> None:
    assert steps(read("kubelet_config_inputs", {"began": 17.0, "cluster": ""}, "")) == [("begun", "")]
    assert steps(read("kubelet_config_inputs", {"alone": False}, "")) == []


def test_a_revert_names_the_reverted_nodes() -> None:
    rows = {
        "n1": {"ok": True, "state": "reverted", "message": "running its previous configuration again"},
        "n2": {"ok": False, "state": "not_reverted", "message": "not yet"},
        "n3": {"ok": False, "state": "reassigned", "message": "another controller assigned it"},
        "n4": {"ok": True, "state": "refused", "message": "still running its previous configuration"},
    }
    assert read("node_config_revert", {"nodes": rows}, "") == [
        Event("reverted", "n1", "running its previous configuration again"),
        Event(NOT_REVERTED, "n2", "not yet"),
        Event(NOT_REVERTED, "n3", "another controller assigned it"),
        Event("kept", "n4", "still running its previous configuration"),
    ]
    away = {"n1": {"changed": True, "delivery": "native", "state": "assigned"}}
    assert steps(read("node_config_source", given({"nodes": away}, state="absent"), "")) == [("switched", "n1")]


def test_the_plan_of_a_rollback_has_the_target_of_each_node() -> None:
    before = {"kubeletConfigKey": "kubelet", "namespace": "kube-system", "name": "a"}
    now = {**before, "name": "b"}
    row = {"source": now, "config_source": None, "active": now, "settled": True}
    plan = goals.of_goal(
        "previous",
        {},
        {
            "n1": {**row, "previous": before},
            "n2": {**row, "previous": {}},
            "n3": {**row, "previous": None},
            "n4": {**row, "previous": now},
        },
    )
    value = {"text": plan["text"], "batches": [{"names": [*plan["nodes"]]}, {"names": [*plan["local"]]}]}
    result = {"ansible_facts": {"__kubelet_config_rollout": value}}
    found = read("", result, "")
    assert begins(result) and not begins({"ansible_facts": {"__kubelet_config_rollout": {"text": []}}})
    assert [(name, row["action"], row.get("text")) for name, row in found[0].detail["nodes"].items()] == [
        ("n1", "assign", "kube-system/b -> kube-system/a"),
        ("n2", "assign", "kube-system/b -> its local config"),
        ("n3", "none", None),
    ]
    assert "unknown" in found[0].detail["nodes"]["n3"]["problems"][0]["message"]
    assert read("", {"ansible_facts": {"__kubelet_config_rollout": None}}, "") == []


STORED = "the API server stored the local config: its gate is off"


def test_an_assignment_that_failed_names_its_nodes() -> None:
    rows = {
        "n1": {"ok": False, "changed": False, "delivery": "native", "state": "unchanged", "message": STORED},
        "n2": {"ok": True, "changed": True, "delivery": "native", "state": "assigned", "message": "assigned a"},
    }
    result = given({"nodes": rows, "msg": f"assigning: 1 node failed.\nn1: {STORED}"}, state="present")
    found = read("node_config_source", result, "", "failed")
    assert steps(found) == [(FAILED, "n1"), ("kept", "n1"), ("switched", "n2")]
    assert next(event.message for event in found if event.kind == FAILED) == STORED


def test_a_verdict_is_a_step_or_a_failure() -> None:
    rows = {
        "n1": {"ok": True, "state": "active"},
        "n2": {"ok": False, "state": "differs", "message": "a flag wins"},
        "n3": {"ok": False, "state": "fell_back", "message": "refused"},
    }
    found = read("node_config_source", given({"nodes": rows}, state="verified"), "")
    assert steps(found) == [("verified", "n1"), (FAILED, "n2"), (FAILED, "n3"), ("reverted", "n3")]
    assert (found[1].state, found[1].message) == ("differs", "a flag wins")
    assert steps(read("node_soak", {"nodes": rows}, "")) == [
        ("soaked", "n1"),
        (FAILED, "n2"),
        (FAILED, "n3"),
        ("reverted", "n3"),
    ]
    without = steps(read("node_soak", given({"nodes": rows}, seconds=0), ""))
    assert without == [(FAILED, "n2"), (FAILED, "n3"), ("reverted", "n3")], "it only looks at the pods"
    local = {"n1": {"ok": True, "state": "local"}}
    assert steps(read("node_config_source", given({"nodes": local}, state="verified"), "")) == [("reverted", "n1")]


@pytest.mark.parametrize(
    ("module", "result", "trouble", "wanted"),
    [
        ("kubelet_checkpoint", given({"changed": True}, state="staged"), "", ["staged"]),
        ("kubelet_checkpoint", given({"changed": False, "restart_needed": False}, state="assigned"), "", []),
        ("kubelet_checkpoint", given({"changed": True, "restart_needed": False}, state="assigned"), "", []),
        ("kubelet_checkpoint", given({"restart_needed": True}, state="assigned"), "", ["staged", "switched"]),
        ("kubelet_checkpoint", given({"changed": True}, state="confirmed"), "", ["confirmed"]),
        ("kubelet_checkpoint", given({"changed": True}, state="rolled_back"), "", ["reverted"]),
        ("kubelet_checkpoint", given({"changed": False}, state="rolled_back"), "", []),
        ("kubelet_checkpoint", given({"msg": "disk full"}, state="assigned"), "failed", [FAILED]),
        ("kubelet_checkpoint", given({"seconds": 4.2}, state="restarted"), "", ["restarted"]),
        ("kubelet_checkpoint", given({"msg": "it did not come up"}, state="restarted"), "", [FAILED]),
        ("kubelet_checkpoint", given({"msg": "it did not come up"}, state="restarted"), "failed", [FAILED]),
        ("kubelet_checkpoint", given({"changed": True}, state="updated"), "", []),
        ("kubelet_preflight_info", {"msg": "no unit"}, "failed", [FAILED]),
        ("kubelet_checkpoint", {"msg": "timed out"}, "unreachable", [FAILED]),
    ],
)
def test_results_of_a_host(module: str, result: dict[str, t.Any], trouble: str, wanted: list[str]) -> None:
    assert steps(read(module, result, "n1", trouble)) == [(kind, "n1") for kind in wanted]


@pytest.mark.parametrize(("state", "kind"), [("restarted", "restarted"), ("confirmed", "confirmed"), ("reset", None)])
def test_what_follows_a_switch_names_no_delivery(state: str, kind: str | None) -> None:
    """Its option has the default, also where the switch had another one."""
    found = read("kubelet_checkpoint", given({"seconds": 1.0}, state=state, delivery="checkpoint"), "n1")
    assert [event.kind for event in found] == list(filter(None, [kind]))


def test_a_connection_lost_on_the_node_is_unreachable_however_ansible_reports_it() -> None:
    expected = [Event(FAILED, "n1", "no route", "unreachable")]
    assert read("kubelet_checkpoint", {"msg": "no route"}, "n1", "unreachable") == expected
    assert read("kubelet_checkpoint", {"msg": "no route", "state": "unreachable"}, "n1", "failed") == expected


def test_a_drain_names_the_nodes_that_failed() -> None:
    rows = {
        "n1": {"ok": True, "changed": True, "message": "1 pod evicted"},
        "n2": {"ok": False, "changed": True, "message": "a PodDisruptionBudget forbids it"},
    }
    result = given({"nodes": rows, "msg": "draining failed: n2: a PodDisruptionBudget forbids it"}, state="drained")
    assert steps(read("node_drain", result, "", "failed")) == [("drained", "n1"), (FAILED, "n2")]
    assert steps(read("node_drain", given({"nodes": {"n1": rows["n1"]}}, state="restored"), "")) == [("restored", "n1")]


def test_the_gate_opens_a_batch_pauses_or_refuses() -> None:
    assert read("kubelet_rollout_gate", given({"paused": None}, nodes=["n1", "n2"]), "")[0].detail == ["n1", "n2"]
    paused = read(
        "kubelet_rollout_gate", given({"paused": {"since": "now"}, "msg": "paused"}, nodes=["n1"]), "", "failed"
    )
    assert [(event.kind, event.detail) for event in paused] == [(PAUSED, {"since": "now"})]
    assert steps(
        read("kubelet_rollout_gate", given({"paused": None, "msg": "2 of 2 are down"}, nodes=["n1"]), "", "failed")
    ) == [(REFUSED, "")]


def test_a_failure_of_the_whole_call_belongs_to_no_node() -> None:
    result = given({"nodes": {"n1": {"changed": True, "delivery": "native"}}, "msg": "no such node"}, state="present")
    assert read("node_config_source", result, "", "failed")[-1] == Event(REFUSED, message="no such node")
    assert read("", {}, "", "failed", task="Look") == [
        Event(REFUSED, message="the task 'Look' failed; its own output has the cause")
    ]


def test_a_failed_task_without_a_module_has_its_message() -> None:
    assert read("", {"msg": "why"}, "n1", "failed") == [Event(FAILED, "n1", "why")]
    assert read("", {}, "n1") == []


@pytest.mark.parametrize("module", sorted(MODULES))
@pytest.mark.parametrize(
    "result",
    [
        {},
        {"nodes": None},
        {"nodes": [1]},
        {"nodes": {"n1": None}},
        {"nodes": {"n1": {"ok": True, "changed": True, "delivery": []}}},
        {"plan": 1},
        {"plan": {"nodes": 1}},
        {"summary": 3},
        {"invocation": None},
        {"invocation": {"module_args": "x"}},
        {"paused": 1},
        {"summary": {}, "text": 5},
        {"summary": {"nodes_to_restart": "two"}},
        *({"ansible_facts": {"__kubelet_config_rollout": value}} for value in ({"text": 5}, {"batches": [None]})),
        {
            "ansible_facts": {
                "__kubelet_config_rollout": {"text": ["a"], "batches": [{}, {"names": [{}]}, {"names": 5}]}
            }
        },
    ],
)
def test_no_result_is_too_odd(module: str, result: dict[str, t.Any]) -> None:
    for trouble in ("", "failed", "unreachable"):
        read(module, result, "n1", trouble)
        read("", result, "n1", trouble)


def test_every_verdict_that_is_a_failure_has_a_remedy() -> None:
    assert set(verdict.STATES) - {"active", "local"} <= set(REMEDIES)
