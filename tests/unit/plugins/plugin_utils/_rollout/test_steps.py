# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a batch: what they call, what they add, and which hosts come next."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import endings, moves, rows, steps
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.batch import At, Found
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.steps import PLACEHOLDER, Step

from .steps_at import BAD, LEASE, NODE, PODS, SOAK, VARIABLES, WAIT, at, place, row

STEPS = {**steps.STEPS, **endings.STEPS, **moves.STEPS}
SOURCES = {"n1": place("a"), "n2": place("a")}
DROPINS = {name: {**source, "delivery": "dropin"} for name, source in SOURCES.items()}
OF_DUMP = {"source": None, "kubelet_version": "v1.32.0"}
DUMP = {"nodes": {"n1": {"variant": "v", **OF_DUMP}}, "variants": {"v": {"maxPods": 7}}}
"""What the dump has of the nodes that still run what the rollout was planned from: n1, but not n2."""
OTHERS = {
    "nodes": {**DUMP["nodes"], "n2": {"variant": "w", **OF_DUMP}, "n3": {"variant": "v", **OF_DUMP}},
    "variants": {**DUMP["variants"], "w": {"maxPods": 8}},
}
BOTH = ["n1", "n2"]
UNREACHED = {"h2": {"rollout_reached": {"state": "unreachable", "msg": "no route"}}}
CONFIRMED = 2 * NODE + 2 + WAIT + PODS + SOAK + 30
"""Two waves of nodes, a second for each host, what the batch waits for, and the margin."""
DRAINED = {"delete_emptydir_data": False, "force": True, "lease": LEASE, "state": "drained", "timeout": 600}
DRAINS_N1 = {**DRAINED, "nodes": ["n1"]}
DRAINS: dict[str, Any] = {"drain": ["n1"]}
NONE_LEFT = {"n1": BAD, "n2": BAD}
ASSIGNED = {"n1": {**BAD, "assigned": {"source": place("a"), "uid": "u"}}}
ASSIGNS = {"rollout": "r1", "lease": LEASE}
WAITING = {"wait_timeout": WAIT, "lease": LEASE}
VERIFIES = {**WAITING, "state": "verified"}
SOAKS = {"seconds": SOAK, "allow_pod_loss": "0", "pods_timeout": PODS, "lease": LEASE}
DROPIN = {"n1": row(delivery="dropin")}
NO_SPACE = {"h1": {rows.HOST_ROW: {"ok": False, "message": "no space"}}}
FOUND = {"h1": {rows.HOST_ROW: {"ok": True, "message": "", "kubelet": {"v": 1}, "files": [1]}}}
OF_FOUND = {"before": {"nodes": {}}, "hosts": {"n1": {"kubelet": {"v": 1}, "own": [1]}}}
REVERTS = {"nodes": {"n1": ASSIGNED["n1"]["assigned"]}, "current": {"nodes": {"n1": {"variant": "v"}}}, **WAITING}
MOVING = {"n1": place("a")}
TO_NATIVE = {"sources": MOVING, "delivery": "native"}
WRITTEN: dict[str, Any] = {"rows": {"n1": row(), "n2": BAD}, "written": BOTH}
LEAVES = {"nodes": ["n1"], "state": "absent", "lease": LEASE}


@pytest.mark.parametrize(
    ("step", "_case", "given", "options"),
    [
        ("admit", "nothing is drained", at(), None),
        ("admit", "check mode asks for it later", at({"drain": BOTH}, check_mode=True), None),
        ("admit", "only verified", at({**DRAINS, "sources": {}}), None),
        ("admit", "", at(DRAINS), {**ASSIGNS, "sources": {"n1": place("a")}, "undo": False}),
        (
            *("admit", "a host that cannot be reached", at({"drain": BOTH, "reach": BOTH}, UNREACHED)),
            {**ASSIGNS, "sources": {"n1": place("a")}, "undo": False},
        ),
        (
            *("admit", "reset", at({**DRAINS, "steps": "reset"})),
            {"sources": {"n1": {}}, "state": "absent", "undo": False, "lease": LEASE},
        ),
        ("admit", "a migration, which finds out first what they run", at({**DRAINS, "steps": "to_native"}), None),
        (
            *("admit", "without the dump", at({**DRAINS, "sources": DROPINS}, dump=OTHERS)),
            {**ASSIGNS, "sources": {"n1": DROPINS["n1"]}, "undo": False},
        ),
        ("drain", "nothing is drained", at(), None),
        ("drain", "both", at({"drain": BOTH}), {**DRAINED, "nodes": BOTH}),
        ("drain", "a node that the gate has not found", at({"drain": BOTH}, rows={"n2": BAD}), DRAINS_N1),
        ("assign", "without the failed", at(rows={"n2": BAD}), {**ASSIGNS, "sources": MOVING, "undo": False}),
        ("assign", "no lease", at({"undoes": "", "lease": {}}), {"sources": SOURCES, "rollout": "r1", "undo": True}),
        (
            "assign",
            "a dump",
            at({"sources": DROPINS}, dump=OTHERS),
            {**ASSIGNS, "sources": DROPINS, "undo": False, "current": DUMP},
        ),
        ("assign", "native", at(dump=OTHERS), {**ASSIGNS, "sources": SOURCES, "undo": False}),
        ("rehearse", "", at(), {"sources": SOURCES, "transport": "ssh"}),
        ("verify", "check mode waits for nothing", at(check_mode=True), None),
        ("verify", "what is expected", at(), {**VERIFIES, "sources": SOURCES}),
        ("verify", "assigned", at({"expected": None}, rows={"n1": BAD}), {**VERIFIES, "nodes": ["n2"]}),
        ("verify", "no space", at(on_hosts=NO_SPACE, rows=DROPIN), {**VERIFIES, "sources": {"n2": place("a")}}),
        (
            *("verify", "what was found on its host", at(on_hosts=FOUND, rows=DROPIN, before={"nodes": {}})),
            {**VERIFIES, "sources": SOURCES, **OF_FOUND},
        ),
        ("soak", "by hand", at({"soak": None}), None),
        ("soak", "check mode", at(check_mode=True), None),
        ("soak", "all have failed", at(rows=NONE_LEFT), None),
        ("soak", "", at(rows={"n1": BAD}, pods={"n2": {}}), {**SOAKS, "nodes": ["n2"], "pods": {"n2": {}}}),
        ("revert", "nothing has failed", at(rows={"n1": row()}), None),
        ("revert", "failed before its assignment", at(rows={"n1": BAD}), None),
        ("revert", "check mode", at(rows=ASSIGNED, check_mode=True), None),
        ("revert", "reset", at({"steps": "reset"}, rows=ASSIGNED), None),
        ("revert", "", at(rows=ASSIGNED), REVERTS),
        ("uncordon", "no drain was tried", at({"drain": ["n1"]}), None),
        ("uncordon", "", at({"drain": ["n1"]}, drained=True), {"state": "restored", "nodes": ["n1"]}),
        # Those of a reset and of a migration.
        ("reset", "", at(rows={"n2": BAD}), {"sources": {"n1": {}}, "state": "absent", "undo": False, "lease": LEASE}),
        ("reset", "all have failed", at(rows=NONE_LEFT), None),
        ("verify_local", "check mode waits for nothing", at(check_mode=True), None),
        ("verify_local", "", at(), {**VERIFIES, "nodes": BOTH}),
        ("look_to_native", "the hosts that are left", at(present=("h2",)), {"nodes": ["n2"]}),
        ("look_to_native", "without a deleted node", at(rows={"n2": BAD}), {"nodes": ["n1"]}),
        ("look_to_native", "all were deleted", at(rows=NONE_LEFT), None),
        (
            *("annotate", "", at(moving=MOVING)),
            {"sources": MOVING, "delivery": "checkpoint", "transport": "ssh", "lease": LEASE},
        ),
        ("leave_native", "none was written", at(), None),
        ("leave_native", "", at(**WRITTEN), {**LEAVES, "delivery": "native", "wait": True, "wait_timeout": WAIT}),
        ("verify_moved", "", at(**WRITTEN), {**VERIFIES, "nodes": ["n1"]}),
        ("restore", "nothing to restore", at(rows={"n1": row()}, written=["n1"]), None),
        ("restore", "", at(rows=ASSIGNED, written=["n1"]), TO_NATIVE),
        ("restore_all", "nothing was removed yet", at(moving=MOVING), None),
        ("restore_all", "", at(moving=MOVING, attempted=True), TO_NATIVE),
        ("assign_native", "", at(moving=MOVING), {**TO_NATIVE, **WAITING, "wait": True}),
        ("drop_annotation", "its checkpoint is still there", at(on_hosts=NO_SPACE, **WRITTEN), None),
        ("drop_annotation", "", at(**WRITTEN), {**LEAVES, "delivery": "checkpoint", "transport": "ssh"}),
        ("verify_native", "", at(**WRITTEN), {**VERIFIES, "nodes": ["n1"], "delivery": "native"}),
    ],
)
def test_what_a_step_calls(step: str, _case: str, given: Any, options: dict[str, Any] | None) -> None:
    assert STEPS[step].options(STEPS[step].begin(given)) == options


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
    given = at({"on_nodes": True}, variables={"kubelet_config_window_minutes": "30.0"})
    rollout = {**given.rollout, "batches": [given.batch._asdict()], "began": 1000.0}
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


def test_who_is_not_drained() -> None:
    """Whose host cannot be reached, and who may not be changed. Nothing was written to the others."""
    admit = STEPS["admit"]
    given = admit.begin(at({"drain": ["n1"], "reach": ["n2"]}, UNREACHED, rows={"n2": BAD}))
    assert given.found.rows["n2"]["message"] == "was not switched: no route"
    dry_run = {"ok": False, "message": "webhook w does not support dry run"}
    denied = {**row(ok=False), "uid": "u1"}
    nodes = {"n1": {**denied, "previous": {}}, "n3": {"ok": True, "changed": True}, "n4": dry_run}
    found = admit.after(given, {"nodes": nodes, "changed": True})
    assert found.open(["n1", "n2", "n3", "n4"]) == ["n3", "n4"] and not found.drained
    assert not rows.to_revert(found.rows, BOTH), "nothing was written"
    nothing: dict[str, Any] = {"changed": False, "configmaps": {}, "diff": []}
    assert admit.more(given, {"nodes": nodes}) == {**nothing, "nodes": {"n1": denied}}
    assert [name for name, step in STEPS.items() if step.dry_run] == ["admit"]


def test_a_drain_adds_pods() -> None:
    given = at({"drain": ["n1"]}, pods={"n1": {"a": 1}})
    found = STEPS["drain"].after(given, {"nodes": {"n1": {"ok": True}}, "pods": {"n1": {"b": 1}}})
    assert found.drained and found.pods == {"n1": {"b": 1}}


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


def after(given: At, **nodes: dict[str, Any]) -> At:
    """Return what is read after some steps, each of which has returned these rows."""
    for step, found in nodes.items():
        given = given._replace(found=STEPS[step].after(given, {"nodes": found}))
    return given


def test_what_a_host_confirms_or_reverts() -> None:
    nodes = {"n1": row(delivery="dropin"), "n2": row(delivery="checkpoint", ok=False)}
    given = after(at(), verify=nodes)
    reasons = {"h1": "", "h2": "refused"}
    assert STEPS["settle"].options(given) is None
    assert STEPS["settle"].more(given, {}) == {
        "on_hosts": {host: {"source": place("a"), "reason": reason} for host, reason in reasons.items()}
    }


def test_what_is_left_to_followers() -> None:
    """Nothing is copied to their hosts, and their trials are settled through their Nodes."""
    # A verification returns no transport.
    verified = {"n1": row(delivery="dropin", seen="{}"), "n2": row(delivery="checkpoint", ok=False)}
    nodes = {name: {**found, "transport": "api"} for name, found in verified.items()}
    assert STEPS["assign"].more(at(), {"nodes": nodes, "configmaps": {}}) == {"on_hosts": {}}
    given = after(at(), assign=nodes, verify=verified)
    assert STEPS["settle"].options(given) == {
        "state": "settled",
        "sources": {**SOURCES, "n1": {**place("a"), "seen": "{}"}},
        "verdicts": {"n1": "", "n2": "refused"},
        **WAITING,
    }
    assert STEPS["settle"].more(given, {}) == {"on_hosts": {}}


def test_what_a_soak_has_seen_of_another_source_confirms_nothing() -> None:
    """Another user has assigned it after the verification."""
    verified, soaked = row(delivery="dropin", transport="api"), row(delivery="dropin", source=place("b"), seen="{}")
    options = STEPS["settle"].options(after(at(), verify={"n1": verified}, soak={"n1": soaked}))
    assert options is not None and options["sources"] == {"n1": place("a")}


@pytest.mark.parametrize("step", ["assign", "reset"])
def test_who_takes_a_source_to_each_node(step: str) -> None:
    """Not what the host of the task has: its batch may have hosts that set nothing."""
    given = at({"transports": {"n1": "api"}}, variables={"kubelet_config_transport": "api"})
    options = STEPS[step].options(given) or {}
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
        *({}, {"delivery": "none"}, {"delivery": "dropin", "source": None}),
        {"delivery": "dropin", "state": "reassigned"},
        # By its follower, so that nothing is on trial.
        {"delivery": "dropin", "state": "refused"},
    ],
)
def test_what_a_host_does_not_judge(found: dict[str, Any]) -> None:
    assert after(at(), verify={"n1": row(**found)}).found.on_trial == {}


@pytest.mark.parametrize(
    ("failed", "result", "failures", "hosts"),
    [
        (
            *({"n1": {**BAD, "assigned": {}}}, {"nodes": {"n1": {"message": "reverted"}}}, {"n1": "refused"}),
            {"h1": "Node n1: refused; reverted. Untouched hosts: h3"},
        ),
        ({}, {}, {}, {}),
    ],
    ids=["one too many", "none in this batch"],
)
def test_the_verdicts(
    failed: dict[str, Any], result: dict[str, Any], failures: dict[str, str], hosts: dict[str, str]
) -> None:
    revert = STEPS["revert"]
    given = revert.begin(at(rows=failed))
    assert revert.after(given, result) == given.found
    verdicts = {"hosts": hosts, "lost": ""}
    assert revert.more(given, result) == {"failures": failures, "verdicts": verdicts, "continues": not failed}


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
