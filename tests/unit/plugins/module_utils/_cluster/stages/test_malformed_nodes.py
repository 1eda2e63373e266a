# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes whose annotations and status are malformed, or those of another machine.

A kubelet may write those of its own Node, and any user with access. Whatever they contain, every reader of Nodes
returns a row, and the other nodes of the batch are not affected. A node that was installed again runs its local config:
its annotations are not evidence of what it runs.
"""

from __future__ import annotations

import contextlib
import copy
import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import (
    config_sources,
    inventory_hosts,
    node_requests,
    nodes,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import drain_steps, gate, revert
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import (
    assign,
    node_rows,
    push,
    soak,
    verdict,
    verify,
    watch,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._config import delivery as deliveries
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.sim.api.direct import Clock, Direct
from tests.support.api import assigning
from tests.support.api.calls import MERGE, NODES, Call, Calls
from tests.support.api.comparing import found_drift, planned
from tests.support.api.objects import HEADER, configmap, live, node, place, reference, status

OURS = (annotation.SOURCE, annotation.STATUS, annotation.PREVIOUS, annotation.CORDONED, annotation.OWN)
A = reference("config-a")
MARKED = annotation.text({"configMap": A, "nodeUID": "uid-n1"})
GOOD = "n2"
CONFLICT = ApiError(409, "the object has been modified", "Conflict")

JSON: st.SearchStrategy[t.Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("kube-system"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


def mapping(**fields: st.SearchStrategy[t.Any]) -> st.SearchStrategy[dict[str, t.Any]]:
    """Return mappings with some of these fields, each with its value or with any JSON."""
    return st.fixed_dictionaries({}, optional={key: value | JSON for key, value in fields.items()})


# Almost right is what finds the exceptions.
REFERENCE = mapping(
    namespace=st.just("kube-system") | st.just(".."),
    name=st.just("config-a") | st.just("../secrets"),
    uid=st.just("uid-config-a"),
    resourceVersion=st.just("7"),
    kubeletConfigKey=st.just("kubelet"),
) | st.just(A)
HOLDER = mapping(configMap=REFERENCE)
CONFIG = mapping(
    assigned=HOLDER,
    active=HOLDER,
    lastKnownGood=HOLDER,
    error=st.sampled_from(["failed to sync: a", "it ended", ""]),
    reason=st.sampled_from([annotation.ON_TRIAL, "passed its trial"]),
    time=st.just("2026-01-01T00:00:00Z"),
    started=st.sampled_from(["2026-01-01T00:00:00Z", "2026-99-01T00:00:00Z"]),
)
MARK = mapping(holder=st.just("me"), time=st.just("2026-01-01T00:00:00Z"))
VALUES = HOLDER | CONFIG | MARK | JSON
TEXTS = VALUES.map(json.dumps) | st.text() | st.sampled_from(["1" * 5000, '"\\ud800"'])


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, t.Any]:
    """Return a Node whose annotations and config status hold anything."""
    found = node("n1", config=None, unschedulable=draw(st.booleans()))
    found["metadata"]["annotations"] = {key: draw(TEXTS) for key in OURS if draw(st.booleans())}
    if draw(st.booleans()):
        found["status"]["config"] = draw(CONFIG | JSON)
    if draw(st.booleans()):
        found["spec"]["configSource"] = draw(HOLDER | JSON)
    return found


def cluster(bad: dict[str, t.Any]) -> Direct:
    """Return a cluster with a damaged node and a good one that runs its source."""
    api = Direct(
        bad,
        node(GOOD, marked=A, reported={**status(A, A), "reason": "passed its trial"}),
        configmaps=[configmap("config-a", json.dumps({**HEADER, "maxPods": 7}))],
        live={"n1": live(maxPods=7), GOOD: live(maxPods=7)},
    )
    api.store.strict = False
    return api


def wanted(**more: t.Any) -> dict[str, t.Any]:
    sources = {name: place("config-a") for name in ("n1", GOOD)}
    return {"state": "present", "nodes": None, "source": None, "sources": sources, "delivery": "auto", **more}


def rows(run: t.Callable[[], dict[str, t.Any]]) -> dict[str, t.Any]:
    """Return the rows of a stage, also of one that failed for some nodes."""
    try:
        return t.cast("dict[str, t.Any]", run()["nodes"])
    except NodesFailed as failed:
        assert GOOD not in failed.failures, failed
        return t.cast("dict[str, t.Any]", failed.result["nodes"])


@given(damaged())
def test_a_node_can_always_be_read(bad: dict[str, t.Any]) -> None:
    found = nodes.trim(bad)
    shown = {"row": node_rows.row(found), "host": inventory_hosts.variables(found)}
    json.dumps(shown).encode()
    inventory_hosts.groups(shown["host"], list(inventory_hosts.GROUPS), [])
    for one in found.references:
        assert {"namespace", "name", "kubeletConfigKey"} <= set(one) <= set(A)
        assert all(isinstance(value, str) for value in one.values())
        assert ".." not in (one["namespace"], one["name"]) and "/" not in one["name"]
    gate.unavailable(cluster(bad), {"n1": found})
    drain_steps.cordoned_by_us(found)
    for delivery in deliveries.REQUESTS:
        for expected in (None, A):
            assert verdict.judge(found.with_delivery(delivery), expected).state in verdict.STATES


@given(damaged())
@pytest.mark.fault(case=61)
def test_every_stage_has_a_row_for_every_node(bad: dict[str, t.Any]) -> None:
    api: t.Any = cluster(bad)
    names = {"n1", GOOD}
    chosen = {"nodes": ["n1", GOOD], "label_selectors": None, "skip": False}
    assert set(rows(lambda: gate.info(api, chosen, False))) == names
    table, actions = planned(api, 8)
    assert set(actions) == names
    assert set(found_drift(api, current=table)) == names
    assert push._used(node_requests.read(api).values())  # pylint: disable=protected-access
    options = wanted(wait_timeout=0, wait_sleep=1, state="verified")
    seen = rows(lambda: verify.verify(api, options, config_sources.wanted(options)))
    assert set(seen) == names and seen[GOOD]["ok"] is True
    assert set(rows(lambda: verify.verify(api, {**options, "nodes": ["n1", GOOD]}))) == names


@given(damaged(), st.sampled_from(["present", "absent"]), st.booleans())
def test_an_assignment_and_its_revert_have_a_row_for_every_node(
    bad: dict[str, t.Any], state: str, check_mode: bool
) -> None:
    api: t.Any = cluster(bad)
    done = rows(lambda: assign.assign(api, wanted(state=state, check_source=True), check_mode))
    assert set(done) == {"n1", GOOD}
    undo = {"nodes": done, "current": None, "wait_timeout": 0, "wait_sleep": 1, "lease": None}
    with contextlib.suppress(NodesFailed):
        assert set(revert.revert(api, undo, check_mode)["nodes"]) == {"n1", GOOD}


@given(damaged())
def test_the_start_that_a_node_reports_is_a_number(bad: dict[str, t.Any]) -> None:
    found = nodes.trim(bad)
    for delivery in deliveries.REQUESTS:
        assert isinstance(soak._reported_start(found.with_delivery(delivery)), float)  # pylint: disable=protected-access


@pytest.mark.parametrize("key", OURS)
@pytest.mark.usefixtures("no_garbage")
def test_very_deep_json(key: str) -> None:
    """Python's parser gives up with RecursionError. An annotation may have 256 KiB."""
    bad = node("n1")
    bad["metadata"]["annotations"] = {key: "[" * 200_000}
    assert node_rows.row(nodes.trim(bad))["ready"] is True


def noted(key: str, text: str, **fields: t.Any) -> dict[str, t.Any]:
    """Return node n1 with one more annotation."""
    found = node("n1", **fields)
    found["metadata"].setdefault("annotations", {})[key] = text
    return found


RUNS_A = status(A, A)
BAD_SOURCE = noted(annotation.SOURCE, '{"configMap": {"name": "a"}}', reported=RUNS_A)
BAD_STATUS = noted(annotation.STATUS, '{"active": 3}', marked=A)


def verified(api: t.Any, timeout: int = 0) -> dict[str, t.Any]:
    options = wanted(wait_timeout=timeout, wait_sleep=1, state="verified")
    return rows(lambda: verify.verify(api, options, config_sources.wanted(options)))


@pytest.mark.parametrize(("bad", "key"), [(BAD_SOURCE, annotation.SOURCE), (BAD_STATUS, annotation.STATUS)])
@pytest.mark.fault(case=61)
def test_a_malformed_node_is_a_row_with_cause_and_remedy(bad: dict[str, t.Any], key: str) -> None:
    seen = verified(cluster(bad))
    assert (seen["n1"]["ok"], seen["n1"]["state"], list(seen["n1"]["malformed"])) == (False, "malformed", [key])
    assert f"its annotation {key} is malformed: " in seen["n1"]["message"]
    assert f"`kubectl annotate node NAME {key}-`" in seen["n1"]["message"]
    assert (seen[GOOD]["ok"], seen[GOOD]["malformed"]) == (True, {})


def test_a_guard_may_still_replace_a_malformed_status(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, api = Clock(), cluster(copy.deepcopy(BAD_STATUS))
    for used in (node_requests, verify, watch):
        monkeypatch.setattr(used, "time", clock)
    clock.at(3, lambda: api.nodes.update(n1=node("n1", marked=A, reported=RUNS_A)))
    assert verified(api, 10)["n1"]["state"] == "active"


@pytest.mark.parametrize(
    "bad", [BAD_SOURCE, noted(annotation.SOURCE, "{"), noted(annotation.PREVIOUS, "[]", marked=reference("old"))]
)
@pytest.mark.fault(case=61)
def test_an_assignment_replaces_what_is_malformed(bad: dict[str, t.Any]) -> None:
    api = cluster(copy.deepcopy(bad))
    done = rows(lambda: assign.assign(api, wanted(check_source=True), False))
    assert (done["n1"]["changed"], done["n1"]["source"], done["n1"]["error"]) == (True, A, "")
    assert api.nodes["n1"]["metadata"]["annotations"][annotation.SOURCE] == MARKED


@pytest.mark.parametrize("key", [annotation.SOURCE, annotation.PREVIOUS])
def test_a_reset_removes_what_is_malformed(key: str) -> None:
    api = cluster(noted(key, "{"))
    done = rows(lambda: assign.assign(api, wanted(state="absent", check_source=True), False))
    assert (done["n1"]["changed"], key in api.nodes["n1"]["metadata"]["annotations"]) == (True, False)
    again = rows(lambda: assign.assign(api, wanted(state="absent", check_source=True), False))
    assert again["n1"]["changed"] is False


def test_a_revert_does_not_guess_what_a_malformed_node_runs() -> None:
    """Without its status, the node could run anything; the local config is not assumed."""
    row = {"changed": True, "delivery": "checkpoint", "source": reference("bad"), "previous": A}
    options = {"nodes": {"n1": row}, "current": None, "wait_timeout": 0, "wait_sleep": 1, "lease": None}
    with pytest.raises(NodesFailed, match="/status is malformed"):
        revert.revert(cluster(copy.deepcopy(BAD_STATUS)), options, False)
    api = cluster(copy.deepcopy(BAD_SOURCE))
    assert rows(lambda: revert.revert(api, options, False))["n1"]["state"] == "refused"
    assert api.nodes["n1"]["metadata"]["annotations"][annotation.SOURCE] == MARKED


def test_what_a_node_ran_before_is_not_guessed() -> None:
    """A malformed annotation `previous` is not the local config, to which the node would be reverted."""
    found = nodes.trim(noted(annotation.PREVIOUS, '{"configMap": {"name": 3}}', marked=A, reported=RUNS_A))
    assert (found.previous, node_rows.row(found)["previous"], found.fault) == (None, None, "")


def test_annotations_that_cannot_be_read_do_not_change_the_delivery_of_a_native_node() -> None:
    native = {"source": place("config-a"), "config": RUNS_A}
    assert nodes.trim(noted(annotation.STATUS, "{", **native)).delivery == "native"
    assert nodes.trim(noted(annotation.SOURCE, "{", **native, reported=RUNS_A)).delivery == "checkpoint"
    assert nodes.trim(noted(annotation.STATUS, "{", config={})).delivery == "checkpoint"
    seen = verified(cluster(noted(annotation.STATUS, "{", **native)))
    assert (seen["n1"]["state"], seen["n1"]["settled"]) == ("active", True)
    assert list(seen["n1"]["malformed"]) == [annotation.STATUS]


def test_a_native_assignment_names_the_malformed_annotation_of_the_other_delivery() -> None:
    options = wanted(check_source=True, delivery="native")
    words = f"n1: its annotation {annotation.SOURCE} is malformed: it is not JSON"
    with pytest.raises(NodesFailed, match=words):
        assign.assign(cluster(noted(annotation.SOURCE, "{", config={})), {**options, "sources": {"n1": A}}, False)


def test_a_plan_assigns_a_node_whose_source_is_malformed() -> None:
    assert planned(cluster(BAD_SOURCE), 7)[1]["n1"]["action"] == "assign"
    assert planned(cluster(noted(annotation.STATUS, "{")), 7)[1]["n1"]["action"] == "none"


def test_drift_and_the_inventory_name_what_is_malformed() -> None:
    found = found_drift(cluster(BAD_STATUS), "n1")["n1"]["drift"][0]
    assert found["message"].endswith("status is malformed: active is 3, not a mapping")
    assert found["remedy"].startswith(f"Remove it with `kubectl annotate node NAME {PREFIX}status-`")
    host = inventory_hosts.variables(nodes.trim(BAD_STATUS))
    assert (host["node_settled"], host["node_drift"]) == (False, True)
    assert "is malformed: active is 3, not a mapping" in host["node_error"]


def test_a_node_whose_error_cannot_be_read_is_not_settled() -> None:
    found = nodes.trim(noted(annotation.STATUS, json.dumps({**RUNS_A, "error": ["it ended"]}), marked=A))
    assert (found.error, nodes.settled(found)) == ("", False)


def test_a_write_that_conflicts_still_removes_a_malformed_source() -> None:
    bad = noted(annotation.SOURCE, "{", revision="2")
    body = {"metadata": {"resourceVersion": "2", "annotations": {annotation.SOURCE: None}}}
    with Calls(
        Call("PATCH", f"{NODES}/n1", CONFLICT, (), {"metadata": {**body["metadata"], "resourceVersion": "1"}}, MERGE),
        Call("GET", f"{NODES}/n1", bad),
        Call("PATCH", f"{NODES}/n1", node("n1"), (), body, MERGE),
    ) as session:
        config_sources.write_source(session, nodes.trim(noted(annotation.SOURCE, "{")), None, False)


REPORTED = {**status(A, A, A), "reason": "passed its trial"}
BEFORE = {"machineID": "machine-1", "nodeUID": "uid-1"}


def installed(machine: str = "machine-1", uid: str = "uid-1", recorded: t.Any = None) -> dict[str, t.Any]:
    """Return a Node whose annotations name config-a, assigned to the machine `recorded` (default: BEFORE)."""
    found = node("n1", reported=REPORTED, previous=reference("old"))
    found["metadata"]["uid"] = uid
    found["status"]["nodeInfo"]["machineID"] = machine
    text = annotation.text({"configMap": A, **(BEFORE if recorded is None else recorded)})
    found["metadata"]["annotations"][annotation.SOURCE] = text
    return found


def reinstalled(found: dict[str, t.Any], pods: int = 110) -> t.Any:
    """Return a cluster with this node, which runs with maxPods `pods`. The ConfigMap has WANTED."""
    content = json.dumps({**HEADER, **live(maxPods=50)})
    return Direct(found, configmaps=[configmap("config-a", content)], live={"n1": live(maxPods=pods)})


@pytest.mark.parametrize(
    "now",
    [
        {},
        # Assigned by an earlier version; not known yet; malformed.
        {"recorded": {}},
        {"machine": "", "uid": ""},
        {"recorded": {"machineID": 3, "nodeUID": None}},
    ],
)
def test_a_node_that_runs_its_source_is_not_planned_again(now: dict[str, t.Any]) -> None:
    api = reinstalled(installed(**now), 50)
    assert planned(api, 50)[1]["n1"]["action"] == "none"
    assert nodes.settled(nodes.trim(api.nodes["n1"]))
    assert assigned(api)["changed"] is False


def assigned(api: t.Any, **more: t.Any) -> dict[str, t.Any]:
    """Assign config-a; return the row."""
    given = assigning.options(**{"sources": {"n1": place("config-a")}, **more})
    return t.cast("dict[str, t.Any]", assign.assign(api, given, False)["nodes"]["n1"])


@pytest.mark.parametrize("now", [{"machine": "machine-2"}, {"uid": "uid-2"}, {"machine": "machine-2", "uid": "uid-2"}])
@pytest.mark.fault(case=52)
def test_it_is_planned_again_and_an_assignment_records_the_new_machine(now: dict[str, t.Any]) -> None:
    """What the former machine has reported is removed: its guard cannot report on this one."""
    api = reinstalled(installed(**now))
    assert planned(api, 50)[1]["n1"]["action"] == "assign"
    row = assigned(api)
    assert (row["changed"], row["state"], row["source"], row["previous"]) == (True, "assigned", A, None)
    notes = api.nodes["n1"]["metadata"]["annotations"]
    machine = {"machineID": now.get("machine", "machine-1"), "nodeUID": now.get("uid", "uid-1")}
    assert json.loads(notes[annotation.SOURCE]) == {"configMap": A, **machine}
    assert (annotation.STATUS in notes, notes[annotation.PREVIOUS]) == (False, "{}")
    assert assigned(api)["changed"] is False


@pytest.mark.parametrize("given", [None, {"n1": config_sources.Wanted(place("config-a"))}])
@pytest.mark.fault(case=52)
def test_a_verification_and_drift_name_the_cause(given: t.Any) -> None:
    """Not a flag of its kubelet."""
    api = reinstalled(installed("machine-2"))
    waits = {"nodes": ["n1"], "delivery": "auto", "wait_timeout": 0, "wait_sleep": 1}
    words = "was assigned to another machine: this one is new or newly installed"
    with pytest.raises(NodesFailed, match=words) as caught:
        verify.verify(api, waits, given)
    assert caught.value.result["nodes"]["n1"]["state"] == "replaced"
    assert "flag" not in caught.value.message
    first = found_drift(api, "n1")["n1"]["drift"][0]
    assert "assigned to another machine" in first["message"] and "rollout" in first["remedy"]


def test_a_reset_leaves_nothing_of_the_former_machine() -> None:
    api = reinstalled(installed("machine-2"))
    row = assigned(api, state="absent", nodes=["n1"], sources=None)
    assert (row["changed"], api.nodes["n1"]["metadata"]["annotations"]) == (True, {})


def test_a_kubelet_with_native_delivery_fetches_its_source_on_any_machine() -> None:
    found = installed("machine-2")
    found["spec"]["configSource"], found["status"]["config"] = {"configMap": place("config-a")}, status(A, A)
    assert nodes.trim(found).with_delivery("native").reimaged is False
