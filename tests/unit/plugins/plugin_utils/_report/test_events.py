# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task reports."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verdict
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import events
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.events import FAILED, REFUSED, Event, read
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import goals


def given(result: dict[str, t.Any], **arguments: t.Any) -> dict[str, t.Any]:
    """A result as Ansible hands it to callbacks."""
    return {**result, "invocation": {"module_args": arguments}}


def steps(found: list[Event]) -> list[tuple[str, str]]:
    """Kinds and nodes, without the deliveries."""
    return [(event.kind, event.node) for event in found if event.kind != "delivery"]


def of_rows(
    rows: dict[str, t.Any], state: str, module: str = "node_config_source", **more: t.Any
) -> list[tuple[str, str]]:
    """The steps of a bulk call that returned these rows. With a message, it failed."""
    result = given({"nodes": rows, **more}, state=state)
    return steps(read(module, result, "", "failed" if more else ""))


CHANGED, GOOD = {"changed": True, "state": "assigned"}, {"ok": True, "state": "active"}
REFUSES = {"ok": False, "message": "no"}
BY_SSH, BY_API = ({"follower": {"transport": transport}} for transport in ("ssh", "api"))
STORED = "the API server stored the local config: its gate is off"


@pytest.mark.parametrize(
    ("state", "rows", "wanted"),
    [
        # Rows speak for their nodes. A checkpoint is switched by a task on its host.
        (
            "present",
            {"n1": {**CHANGED, "delivery": "native"}, "n2": {**CHANGED, "delivery": "checkpoint"}},
            ["switched n1"],
        ),
        ("present", {"n1": {"changed": False, "delivery": "native", "state": "unchanged"}}, []),
        ("present", {"n1": {**CHANGED, "delivery": "dropin", "transport": "api"}}, []),
        ("absent", {"n1": {**CHANGED, "delivery": "native"}}, ["switched n1"]),
        # A follower switches its node and confirms it: such a node is done like any other.
        (
            "verified",
            {"n1": {**GOOD, **BY_API}, "n2": {**GOOD, **BY_SSH}},
            ["switched n1", "verified n1", "verified n2"],
        ),
        ("verified", {"n1": {**REFUSES, "state": "differs", **BY_API}}, ["switched n1", "failed n1"]),
        ("verified", {"n1": {**REFUSES, "state": "refused", **BY_API}}, ["failed n1"]),
        ("verified", {"n1": {"ok": True, "state": "local"}}, ["reverted n1"]),
        ("settled", {"n1": {"ok": True, "delivery": "dropin", "state": "confirmed"}}, ["confirmed n1"]),
        ("settled", {"n1": {"ok": True, "delivery": "dropin", "state": "reverting"}}, []),
        ("settled", {"n1": {**REFUSES, "delivery": "dropin", "state": "unanswered"}}, ["failed n1"]),
    ],
)
def test_rows_of_a_bulk_call(state: str, rows: dict[str, t.Any], wanted: list[str]) -> None:
    assert [f"{kind} {node}" for kind, node in of_rows(rows, state)] == wanted


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
        Event(events.NOT_REVERTED, "n2", "not yet"),
        Event(events.NOT_REVERTED, "n3", "another controller assigned it"),
        Event("kept", "n4", "still running its previous configuration"),
    ]


def test_the_plan_of_a_rollback_has_the_target_of_each_node() -> None:
    before = {"kubeletConfigKey": "kubelet", "namespace": "kube-system", "name": "a"}
    now = {**before, "name": "b"}
    row = {"source": now, "config_source": None, "active": now, "settled": True}
    previous = {"n1": before, "n2": {}, "n3": None, "n4": now}
    plan = goals.of_goal("previous", {}, {name: {**row, "previous": given_} for name, given_ in previous.items()})
    value = {"text": plan["text"], "batches": [{"names": [*plan["nodes"]]}, {"names": [*plan["local"]]}]}
    result = {"ansible_facts": {"__kubelet_config_rollout": value}}
    found = read("", result, "")
    assert events.begins(result) and not events.begins({"ansible_facts": {"__kubelet_config_rollout": {"text": []}}})
    assert [(name, row["action"], row.get("text")) for name, row in found[0].detail["nodes"].items()] == [
        ("n1", "assign", "kube-system/b -> kube-system/a"),
        ("n2", "assign", "kube-system/b -> its local config"),
        ("n3", "none", None),
    ]
    assert "unknown" in found[0].detail["nodes"]["n3"]["problems"][0]["message"]
    assert read("", {"ansible_facts": {"__kubelet_config_rollout": None}}, "") == []


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
    assert steps(read("node_soak", {"nodes": rows}, "")) == [("soaked", "n1"), *steps(found)[1:]]
    without = steps(read("node_soak", given({"nodes": rows}, seconds=0), ""))
    assert without == steps(found)[1:], "it only looks at the pods"


@pytest.mark.parametrize(
    ("state", "result", "trouble", "wanted"),
    [
        ("staged", {"changed": True}, "", ["staged"]),
        ("assigned", {"changed": False, "restart_needed": False}, "", []),
        ("assigned", {"changed": True, "restart_needed": False}, "", []),
        ("assigned", {"restart_needed": True}, "", ["staged", "switched"]),
        ("confirmed", {"changed": True}, "", ["confirmed"]),
        ("rolled_back", {"changed": True}, "", ["reverted"]),
        ("rolled_back", {"changed": False}, "", []),
        ("assigned", {"msg": "disk full"}, "failed", [FAILED]),
        ("restarted", {"seconds": 4.2}, "", ["restarted"]),
        ("restarted", {"msg": "it did not come up"}, "", [FAILED]),
        ("restarted", {"msg": "it did not come up"}, "failed", [FAILED]),
        ("updated", {"changed": True}, "", []),
    ],
)
def test_results_of_a_host(state: str, result: dict[str, t.Any], trouble: str, wanted: list[str]) -> None:
    found = read("kubelet_checkpoint", given(result, state=state), "n1", trouble)
    assert steps(found) == [(kind, "n1") for kind in wanted]


@pytest.mark.parametrize(
    ("module", "trouble"), [("kubelet_preflight_info", "failed"), ("kubelet_checkpoint", "unreachable")]
)
def test_a_result_without_arguments(module: str, trouble: str) -> None:
    assert steps(read(module, {"msg": "why"}, "n1", trouble)) == [(FAILED, "n1")]


@pytest.mark.parametrize(
    ("state", "kinds"), [("restarted", ["restarted"]), ("confirmed", ["confirmed"]), ("reset", [])]
)
def test_what_follows_a_switch_names_no_delivery(state: str, kinds: list[str]) -> None:
    """Its option has the default, also where the switch had another one."""
    found = read("kubelet_checkpoint", given({"seconds": 1.0}, state=state, delivery="checkpoint"), "n1")
    assert [event.kind for event in found] == kinds


def test_a_connection_lost_on_the_node_is_unreachable_however_ansible_reports_it() -> None:
    expected = [Event(FAILED, "n1", "no route", "unreachable")]
    assert read("kubelet_checkpoint", {"msg": "no route"}, "n1", "unreachable") == expected
    assert read("kubelet_checkpoint", {"msg": "no route", "state": "unreachable"}, "n1", "failed") == expected


def test_a_drain_names_the_nodes_that_failed() -> None:
    rows = {
        "n1": {"ok": True, "changed": True, "message": "1 pod evicted"},
        "n2": {"ok": False, "changed": True, "message": "a PodDisruptionBudget forbids it"},
    }
    failed = of_rows(rows, "drained", "node_drain", msg="draining failed: n2: a PodDisruptionBudget forbids it")
    assert failed == [("drained", "n1"), (FAILED, "n2")]
    assert of_rows({"n1": rows["n1"]}, "restored", "node_drain") == [("restored", "n1")]


def test_the_gate_opens_a_batch_pauses_or_refuses() -> None:
    def of_gate(trouble: str, **result: t.Any) -> list[Event]:
        return read("kubelet_rollout_gate", given(result, nodes=["n1", "n2"]), "", trouble)

    assert of_gate("", paused=None)[0].detail == ["n1", "n2"]
    paused = of_gate("failed", paused={"since": "now"}, msg="paused")
    assert [(event.kind, event.detail) for event in paused] == [(events.PAUSED, {"since": "now"})]
    assert steps(of_gate("failed", paused=None, msg="2 of 2 are down")) == [(REFUSED, "")]


def test_a_failure_of_the_whole_call_belongs_to_no_node() -> None:
    result = given({"nodes": {"n1": {"changed": True, "delivery": "native"}}, "msg": "no such node"}, state="present")
    assert read("node_config_source", result, "", "failed")[-1] == Event(REFUSED, message="no such node")
    assert read("", {}, "", "failed", task="Look") == [
        Event(REFUSED, message="the task 'Look' failed; its own output has the cause")
    ]


def test_a_failed_task_without_a_module_has_its_message() -> None:
    assert read("", {"msg": "why"}, "n1", "failed") == [Event(FAILED, "n1", "why")]
    assert read("", {}, "n1") == []


ODD_ROLLOUTS = ({"text": 5}, {"batches": [None]}, {"text": ["a"], "batches": [{}, {"names": [{}]}, {"names": 5}]})


@pytest.mark.parametrize("module", sorted(events.MODULES))
@pytest.mark.parametrize(
    "result",
    [
        *({}, {"nodes": None}, {"nodes": [1]}, {"nodes": {"n1": None}}),
        {"nodes": {"n1": {"ok": True, "changed": True, "delivery": []}}},
        *({"plan": 1}, {"plan": {"nodes": 1}}, {"summary": 3}, {"invocation": None}),
        *({"invocation": {"module_args": "x"}}, {"paused": 1}, {"summary": {}, "text": 5}),
        {"summary": {"nodes_to_restart": "two"}},
        *({"ansible_facts": {"__kubelet_config_rollout": value}} for value in ODD_ROLLOUTS),
    ],
)
def test_no_result_is_too_odd(module: str, result: dict[str, t.Any]) -> None:
    for trouble in ("", "failed", "unreachable"):
        read(module, result, "n1", trouble)
        read("", result, "n1", trouble)


def test_every_verdict_that_is_a_failure_has_a_remedy() -> None:
    assert set(verdict.STATES) - {"active", "local"} <= set(events.REMEDIES)
