# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a batch: what they call, what they add, and which hosts come next."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import endings, moves, rows, steps
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.batch import Found
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.steps import PLACEHOLDER, Step

from .steps_at import BAD, LEASE, NODE, PODS, SOAK, VARIABLES, WAIT, at, place, row

STEPS = {**steps.STEPS, **endings.STEPS, **moves.STEPS}
SOURCES = {"n1": place("a"), "n2": place("a")}
UNREACHED = {"h2": {"rollout_reached": {"state": "unreachable", "msg": "no route"}}}
WAITING = {"state": "verified", "wait_timeout": WAIT, "lease": LEASE}
CONFIRMED = 2 * NODE + 2 + WAIT + PODS + SOAK + 30
"""Two waves of nodes, a second for each host, what the batch waits for, and the margin."""
DRAINED = {"delete_emptydir_data": False, "force": True, "lease": LEASE, "state": "drained", "timeout": 600}


@pytest.mark.parametrize(
    ("step", "given", "options"),
    [
        pytest.param(STEPS["drain"], at(), None, id="nothing is drained"),
        pytest.param(STEPS["drain"], at({"drain": ["n1", "n2"]}), {**DRAINED, "nodes": ["n1", "n2"]}, id="drain"),
        pytest.param(
            STEPS["drain"],
            at({"drain": ["n1", "n2"], "reach": ["n1", "n2"]}, UNREACHED),
            {**DRAINED, "nodes": ["n1"]},
            id="a host that cannot be reached keeps its pods",
        ),
        pytest.param(
            STEPS["drain"],
            at({"drain": ["n1", "n2"]}, rows={"n2": BAD}),
            {**DRAINED, "nodes": ["n1"]},
            id="a node that the gate has not found",
        ),
        pytest.param(
            STEPS["assign"],
            at(rows={"n2": BAD}),
            {"sources": {"n1": place("a")}, "rollout": "r1", "undo": False, "lease": LEASE},
            id="a failed node is left out",
        ),
        (STEPS["assign"], at({"undoes": "", "lease": {}}), {"sources": SOURCES, "rollout": "r1", "undo": True}),
        pytest.param(STEPS["rehearse"], at(), {"sources": SOURCES, "transport": "ssh"}, id="rehearse"),
        pytest.param(STEPS["verify"], at(check_mode=True), None, id="check mode waits for nothing"),
        pytest.param(STEPS["verify"], at(), {**WAITING, "sources": SOURCES}, id="what is expected"),
        pytest.param(
            STEPS["verify"],
            at({"expected": None}, rows={"n1": BAD}),
            {**WAITING, "nodes": ["n2"]},
            id="what is assigned",
        ),
        pytest.param(
            STEPS["verify"],
            at(
                on_hosts={"h1": {rows.HOST_ROW: {"ok": False, "message": "no space"}}},
                rows={"n1": row(delivery="dropin")},
            ),
            {**WAITING, "sources": {"n2": place("a")}},
            id="what failed on its host",
        ),
        pytest.param(
            STEPS["verify"],
            at(
                on_hosts={"h1": {rows.HOST_ROW: {"ok": True, "message": "", "kubelet": {"v": 1}, "files": [1]}}},
                rows={"n1": row(delivery="dropin")},
                before={"nodes": {}},
            ),
            {
                **WAITING,
                "sources": SOURCES,
                "before": {"nodes": {}},
                "hosts": {"n1": {"kubelet": {"v": 1}, "own": [1]}},
            },
            id="what was found on its host",
        ),
        pytest.param(STEPS["soak"], at({"soak": None}), None, id="by hand"),
        pytest.param(STEPS["soak"], at(check_mode=True), None, id="no soak in check mode"),
        pytest.param(STEPS["soak"], at(rows={"n1": BAD, "n2": BAD}), None, id="all have failed"),
        pytest.param(
            STEPS["soak"],
            at(rows={"n1": BAD}, pods={"n2": {}}),
            {
                "nodes": ["n2"],
                "seconds": SOAK,
                "pods": {"n2": {}},
                "allow_pod_loss": "0",
                "pods_timeout": PODS,
                "lease": LEASE,
            },
            id="soak",
        ),
        pytest.param(STEPS["revert"], at(rows={"n1": row()}), None, id="nothing has failed"),
        pytest.param(STEPS["revert"], at(rows={"n1": BAD}), None, id="failed before its assignment"),
        pytest.param(STEPS["revert"], at(rows={"n1": {**BAD, "assigned": {}}}, check_mode=True), None, id="check mode"),
        pytest.param(STEPS["revert"], at({"steps": "reset"}, rows={"n1": {**BAD, "assigned": {}}}), None, id="reset"),
        pytest.param(
            STEPS["revert"],
            at(rows={"n1": {**BAD, "assigned": {"uid": "u"}}}),
            {
                "nodes": {"n1": {"uid": "u"}},
                "current": {"nodes": {"n1": {"variant": "v"}}},
                "wait_timeout": WAIT,
                "lease": LEASE,
            },
            id="revert",
        ),
        pytest.param(STEPS["uncordon"], at({"drain": ["n1"]}), None, id="no drain was tried"),
        (STEPS["uncordon"], at({"drain": ["n1"]}, drained=True), {"state": "restored", "nodes": ["n1"]}),
    ],
)
def test_what_a_step_calls(step: Step, given: Any, options: dict[str, Any] | None) -> None:
    assert step.options(step.begin(given)) == options


def test_the_gate() -> None:
    gate, given = STEPS["gate"], at({"reach": ["n2"], "drain": ["n2"], "on_nodes": True, "uids": {"n1": "u1"}})
    assert gate.options(given) == {
        "nodes": ["n1", "n2"],
        "uids": {"n1": "u1"},
        "group_nodes": ["n1", "n2", "n3"],
        "max_unavailable": "2",
        "allow_unready": True,
        "reverted": ["n9"],
        "pause": False,
        "started": False,
        "timeout": 60,
        "lease": LEASE,
        "pods": True,
        "allow_pod_loss": "0",
        "drained": ["n2"],
    }
    result = {"nodes": {"n1": {"ok": True}}, "pods": {"n1": {}}}
    found = gate.after(given, result)
    assert (found.begun, found.soak, found.pods, found.open(["n1"])) == (True, SOAK, {"n1": {}}, ["n1"])
    assert found.confirm == CONFIRMED
    assert gate.more(given, result) == {"on_hosts": {"h2": {}}, "steps": "switch", "on_nodes": True}
    refused = {"failed": True, "nodes": {}, "stop": False}
    assert not gate.goes_on(refused) and not gate.after(given, refused).begun


def test_the_window_of_a_gate() -> None:
    variables = {"kubelet_config_window_minutes": "30.0"}
    given = at({"on_nodes": True}, variables=variables)
    batch = given.batch._asdict()
    rollout = {**given.rollout, "batches": [batch], "began": 1000.0}
    window = STEPS["gate"].options(given._replace(rollout=rollout))["window"]
    assert window == {"minutes": 30, "ends": 2800.0, "needs": CONFIRMED, "began": []}


def test_the_confirmation_that_an_operator_has_chosen() -> None:
    given = at(variables={"kubelet_config_confirm_seconds": 500})
    assert STEPS["gate"].after(given, {"nodes": {}}).confirm == 500 + SOAK


@pytest.mark.parametrize(
    ("step", "result", "goes_on"),
    [
        (STEPS["assign"], {"stop": False}, True),
        (STEPS["assign"], {"stop": True}, False),
        (STEPS["assign"], {"msg": "no API server answers"}, False),
        (STEPS["verify"], {"nodes": {}}, True),
        (STEPS["soak"], {"msg": "the lease was lost"}, False),
        (STEPS["revert"], {"nodes": {}}, True),
    ],
)
def test_a_failure_of_single_nodes_fails_no_step(step: Step, result: dict[str, Any], goes_on: bool) -> None:
    assert step.goes_on(result) is goes_on


def test_a_drain_adds_pods_and_keeps_the_reason_of_an_unreachable_host() -> None:
    drain = STEPS["drain"]
    given = at({"drain": ["n1"], "reach": ["n2"]}, UNREACHED, rows={"n2": BAD}, pods={"n1": {"a": 1}})
    found = drain.after(drain.begin(given), {"nodes": {"n1": {"ok": True}}, "pods": {"n1": {"b": 1}}})
    assert found.drained and found.pods == {"n1": {"b": 1}} and found.open(["n1", "n2"]) == ["n1"]
    assert found.rows["n2"]["message"] == "was not switched: no route"


@pytest.mark.parametrize(
    ("delivery", "source", "data"),
    [
        ("dropin", place("a"), {"kubelet": "of the cluster"}),
        ("checkpoint", {**place("a"), "uid": "u", "resourceVersion": "7"}, {"kubelet": "of the cluster"}),
        ("checkpoint", place("new"), {"kubelet": "of the plan"}),
    ],
)
def test_what_is_copied_to_a_host(delivery: str, source: dict[str, str], data: dict[str, str]) -> None:
    """In check mode there is no ConfigMap yet: the text is that of the plan, the version a placeholder."""
    given = at({"texts": {"n1": "of the plan", "n2": "of the plan"}})
    nodes = {"n1": row(delivery=delivery), "n2": row(delivery=delivery, ok=False)}
    nodes["n1"]["source"] = source
    maps = {"kube-system/a": {"kubelet": "of the cluster"}, "kube-system/new": {}}
    copied = STEPS["assign"].more(given, {"nodes": nodes, "configmaps": maps})["on_hosts"]
    assert copied == {"h1": {"delivery": delivery, "source": {**PLACEHOLDER, **source}, "data": data}}
    native = {"nodes": {"n1": row()}, "configmaps": {}}
    assert STEPS["assign"].more(given, native) == {"on_hosts": {}}


def test_nothing_is_copied_in_check_mode_of_an_unknown_configmap() -> None:
    """Such as a source by hand, and in a migration one whose ConfigMap was deleted."""
    result = {"nodes": {"n1": row(delivery="dropin")}, "configmaps": {"kube-system/a": {}}}
    assert STEPS["assign"].more(at(check_mode=True), result) == {"on_hosts": {}}


def test_what_a_host_confirms_or_reverts() -> None:
    nodes = {"n1": row(delivery="dropin"), "n2": row(delivery="checkpoint", ok=False)}
    given = at()
    verified = STEPS["verify"].after(given, {"nodes": nodes})
    given = given._replace(found=verified)
    reason = "refused"
    assert STEPS["settle"].options(given) is None
    assert STEPS["settle"].more(given, {}) == {
        "on_hosts": {"h1": {"source": place("a"), "reason": ""}, "h2": {"source": place("a"), "reason": reason}}
    }


def test_what_is_left_to_followers() -> None:
    """Nothing is copied to their hosts, and their trials are settled through their Nodes."""
    nodes = {
        "n1": row(delivery="dropin", transport="api"),
        "n2": row(delivery="checkpoint", ok=False, transport="api"),
    }
    assert STEPS["assign"].more(at(), {"nodes": nodes, "configmaps": {}}) == {"on_hosts": {}}
    given = at()
    assigned = given._replace(found=STEPS["assign"].after(given, {"nodes": nodes}))
    # A verification returns no transport.
    verified = {"n1": row(delivery="dropin", seen="{}"), "n2": row(delivery="checkpoint", ok=False)}
    given = given._replace(found=STEPS["verify"].after(assigned, {"nodes": verified}))
    assert STEPS["settle"].options(given) == {
        "state": "settled",
        "sources": {**SOURCES, "n1": {**place("a"), "seen": "{}"}},
        "verdicts": {"n1": "", "n2": "refused"},
        "wait_timeout": WAIT,
        "lease": LEASE,
    }
    assert STEPS["settle"].more(given, {}) == {"on_hosts": {}}


def test_what_a_soak_has_seen_of_another_source_confirms_nothing() -> None:
    """Another user has assigned it after the verification."""
    verified, soaked = row(delivery="dropin", transport="api"), row(delivery="dropin", source=place("b"), seen="{}")
    given = at()
    given = given._replace(found=STEPS["verify"].after(given, {"nodes": {"n1": verified}}))
    given = given._replace(found=STEPS["soak"].after(given, {"nodes": {"n1": soaked}}))
    options = STEPS["settle"].options(given)
    assert options is not None and options["sources"] == {"n1": place("a")}


@pytest.mark.parametrize("step", ["assign", "reset"])
def test_who_takes_a_source_to_each_node(step: str) -> None:
    """Not what the host of the task has: its batch may have hosts that set nothing."""
    given = at({"transports": {"n1": "api"}}, variables={"kubelet_config_transport": "api"})
    options = {**STEPS, **moves.STEPS}[step].options(given) or {}
    assert {name: source.get("transport") for name, source in options["sources"].items()} == {"n1": "api", "n2": None}
    assert "transport" not in options


@pytest.mark.parametrize(
    ("variables", "confirm", "options"),
    [
        ({}, None, {}),
        ({}, 500, {"confirm_seconds": 500}),
        ({"kubelet_config_trial_seconds": 60}, None, {"trial_seconds": 60}),
    ],
)
def test_what_a_follower_is_given(variables: dict[str, Any], confirm: int | None, options: dict[str, Any]) -> None:
    given = at(variables=variables, confirm=confirm)
    assert options.items() <= STEPS["assign"].options(given).items()
    assert {*STEPS["assign"].options(given)} - {"sources", "rollout", "undo", "lease"} == {*options}


@pytest.mark.parametrize(
    "found",
    [
        row(),
        row(delivery="none"),
        row(delivery="dropin", source=None),
        row(delivery="dropin", state="reassigned"),
        # By its follower, so that nothing is on trial.
        row(delivery="dropin", state="refused"),
    ],
)
def test_what_a_host_does_not_judge(found: dict[str, Any]) -> None:
    assert STEPS["verify"].after(at(), {"nodes": {"n1": found}}).on_trial == {}


@pytest.mark.parametrize(
    ("failed", "continues", "untouched"),
    [
        pytest.param({"n1": {**BAD, "assigned": {}}}, False, ". Untouched hosts: h3", id="one too many"),
        pytest.param({}, True, "", id="none in this batch"),
    ],
)
def test_the_verdicts(failed: dict[str, Any], continues: bool, untouched: str) -> None:
    revert = STEPS["revert"]
    given, result = revert.begin(at(rows=failed)), {"nodes": {"n1": {"message": "reverted"}}} if failed else {}
    assert revert.after(given, result) == given.found
    more = revert.more(given, result)
    hosts = {"h1": f"Node n1: refused; reverted{untouched}"} if failed else {}
    assert more == {
        "failures": {"n1": "refused"} if failed else {},
        "verdicts": {"hosts": hosts, "lost": ""},
        "continues": continues,
    }


def test_where_a_rollout_stopped() -> None:
    text = "The rollout to workers stopped at n1, n2: why. Run again to complete it. Untouched hosts: h3"
    assert STEPS["stop"].problem(at(begun=True), "why.") == text
    assert "see above. Nothing was changed there." in STEPS["stop"].problem(at(), "")


def test_each_host_reports_its_own_node() -> None:
    own = {rows.HOST_ROW: {"ok": False, "message": "Node n1: no space."}}
    given = at(on_hosts={"h1": own, "h2": own}, rows={"n1": row(delivery="dropin"), "n2": BAD})
    for step, untouched in ((STEPS["report_assigned"], ""), (STEPS["report_verified"], ". Untouched hosts: h3")):
        assert step.problem(step.begin(given), "") == f"Node n1: no space{untouched}"
    assert STEPS["report_assigned"].problem(STEPS["report_assigned"].begin(at(rows={"n2": BAD})), "") == ""


def test_what_was_found_out_travels_as_one_text() -> None:
    """The roles read the seconds of the soak beside it. By hand, no step has passed anything on."""
    found = Found(begun=True, soak=30, rows={"n1": BAD}, written=["n1"])
    passed = found.passed()
    assert Found.of(passed) == found and passed["soak"] == 30
    assert [type(value) for value in passed.values()] == [int, str]
    assert Found.of({}) == Found()


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_step_reads_no_other_variables_than_it_names(step: Step) -> None:
    """The argument specs of the roles name these."""
    read: list[str] = []
    usual = at({"drain": ["n1"], "on_nodes": True}, rows={"n1": {**BAD, "assigned": {"source": {}}}}, written=["n1"])

    def variable(name: str) -> Any:
        read.append(name)
        return {**VARIABLES, "kubelet_config_window_minutes": 5}.get(name)

    rollout = {**usual.rollout, "batches": [usual.batch._asdict()], "began": 1000.0}
    given = usual._replace(play=usual.play._replace(variable=variable), rollout=rollout)
    step.options(step.begin(given))
    step.problem(step.begin(given), "")
    assert set(read) <= set(step.reads)
