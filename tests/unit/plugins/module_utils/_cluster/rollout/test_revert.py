# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is undone: the source of nodes that failed, and the cordon."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import (
    ApiError,
    ClusterError,
    NodesFailed,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import drain_steps, revert
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, document
from tests.sim.api.direct import Clock, Direct
from tests.support.api.calls import NODES
from tests.support.api.draining import cordoned, fail, run
from tests.support.api.objects import live, node, place, reference, status

BEFORE = document.variant(fields.restore(live(maxPods=110)))
INVALID = "failed to validate config, see Kubelet log for details"
WORDS = "the kubelet refused the configuration: invalid configuration: kubeAPIQPS -1 must not be a negative number"
TABLE = {"variants": {}, "nodes": {"n1": {"variant": BEFORE}}}


def row(
    previous: dict[str, str] | None = None, delivery: str = "native", source: dict[str, str] | None = None
) -> dict[str, t.Any]:
    """An assignment as node_config_source returns it."""
    return {"changed": True, "delivery": delivery, "source": source or place("bad"), "previous": previous}


def bad(pods: int = 110) -> Direct:
    """Return a cluster whose node runs a bad source, and whose kubelet is live with so many pods."""
    found = node("n1", place("bad"), status(reference("bad"), reference("bad")))
    return Direct(found, live={"n1": live(maxPods=pods)})


def go(cluster: Direct, check_mode: bool = False, **rows: t.Any) -> dict[str, t.Any]:
    return revert.revert(
        cluster, {"nodes": rows, "current": TABLE, "wait_timeout": 30, "wait_sleep": 2, "lease": None}, check_mode
    )


def test_a_kubelet_that_differs_is_assigned_its_previous_source(clock: Clock) -> None:
    """It counts as reverted once its status and its live configuration show the previous one."""
    cluster = bad(7)
    clock.at(10, lambda: cluster.nodes["n1"]["status"].update(config=GOOD))
    clock.at(14, lambda: cluster.live.update(n1=live(maxPods=110)))
    result = go(cluster, n1=row(place("good")))
    shown = {"changed": True, "ok": True, "state": "reverted", "message": "running its previous configuration again"}
    assert result["nodes"]["n1"] == {**shown, "source": place("good"), "delivery": "native", "error": ""}
    assert cluster.nodes["n1"]["spec"]["configSource"] == {"configMap": place("good")}
    assert clock.now == 1014
    assert len([path for method, path in cluster.requests if method == "PATCH"]) == 1


@pytest.mark.parametrize(
    ("delivery", "changed", "assigned", "error", "state"),
    [
        # Its preflight refused the source: only the annotation was written, and is as before.
        *((delivery, True, "good", "", "refused") for delivery in ("checkpoint", "dropin")),
        ("checkpoint", True, "bad", WORDS, "reverted"),
        ("native", True, "bad", INVALID, "reverted"),
        # The guard has reverted the trial and forgotten its source.
        ("checkpoint", True, "good", WORDS, "reverted"),
        # A kubelet may have seen what its Node named.
        ("native", True, "good", "", "reverted"),
        # The API server refused to write it: the row has the source that the node has kept.
        *((delivery, False, "good", "", "refused") for delivery in ("native", "dropin")),
    ],
)
def test_only_a_node_that_was_changed_is_reverted(
    clock: Clock, delivery: str, changed: bool, assigned: str, error: str, state: str
) -> None:
    seen = status(reference(assigned), reference("good"), error=error)
    reported = {**seen, "started": "2025-01-01T00:00:00Z"}
    source = reference("bad") if changed else reference("good")
    made = node("n1", marked=source, delivery=delivery, reported=reported, version="v1.36.2")
    if delivery == "native":
        made = node("n1", {key: source[key] for key in place()}, seen)
    cluster = Direct(made, live={"n1": live(maxPods=110)})
    result = go(cluster, n1={**row(reference("good"), delivery, source), "changed": changed})
    found = result["nodes"]["n1"]
    # What the kubelet or its guard has reported stays with the row.
    assert (found["state"], found["ok"], found["error"]) == (state, True, error), result
    # What is reverted already is not written again.
    assert result["changed"] is False or not (error and assigned == "bad"), result
    assert [result["summary"][key] for key in ("reverted", "refused")] == [state == "reverted", state == "refused"]


@pytest.mark.parametrize(
    ("failed", "previous", "spec", "words"),
    [
        # Its last-known-good is 10 minutes behind.
        (status(reference("bad"), error=INVALID), reference("good"), {"configMap": place("good")}, "running its"),
        # It would take it up later.
        (status(error="failed to sync: failed to download config, see Kubelet log"), None, None, "still running its"),
    ],
)
def test_a_kubelet_with_an_error_is_assigned_its_previous_source(
    clock: Clock, failed: dict[str, t.Any], previous: t.Any, spec: t.Any, words: str
) -> None:
    cluster = Direct(node("n1", place("bad"), failed), live={"n1": live(maxPods=110)})
    clock.at(12, lambda: cluster.nodes["n1"]["status"].update(config=status(previous, previous)))
    result = go(cluster, n1=row(previous))["nodes"]["n1"]
    assert cluster.nodes["n1"]["spec"].get("configSource") == spec
    assert (result["state"], clock.now) == ("reverted", 1012)
    assert result["message"].startswith(f"{words} previous configuration")


@pytest.mark.parametrize(("assigned", "changed"), [("bad", False), ("worse", True)])
def test_a_guard_that_reverted_further_is_reported(clock: Clock, assigned: str, changed: bool) -> None:
    """The previous configuration had not become last-known-good; only another switch would restore it.

    A guard whose status was still the previous one gets its annotation back, and nothing more is waited for.
    """
    reported = status(reference(assigned), reference("older"), reference("older"), "reverted it")
    cluster = Direct(node("n1", marked=reference("bad"), reported=reported), live={"n1": live(maxPods=7)})
    result = go(cluster, n1=row(reference("good"), "checkpoint", reference("bad")))["nodes"]["n1"]
    assert (result["ok"], result["changed"]) == (True, changed)
    assert "last-known-good, kube-system/older key kubelet" in result["message"]
    assert changed or "; its previous configuration, kube-system/good" in result["message"]


def test_a_migration_that_failed_leaves_the_delivery_as_it_was(clock: Clock) -> None:
    """The guard on the node has reverted to the checkpoint already."""
    good = reference("good")
    found = node(
        "n1", version="v1.36.2", marked=reference("bad"), delivery="dropin", reported=status(good, good, error=WORDS)
    )
    cluster = Direct(found, live={"n1": live(maxPods=110)})
    result = go(cluster, n1=row({**good, "delivery": "checkpoint"}, "dropin", reference("bad")))["nodes"]["n1"]
    assert (result["state"], result["source"]) == ("reverted", good)
    noted = json.loads(cluster.nodes["n1"]["metadata"]["annotations"][annotation.SOURCE])
    assert noted == {"configMap": good, "nodeUID": "uid-n1"}


def test_a_guard_that_has_not_acted(clock: Clock) -> None:
    reported = {**status(reference("bad"), reference("bad")), "error": WORDS}
    cluster = Direct(node("n1", marked=reference("bad"), reported=reported), live={"n1": live(maxPods=110)})
    words = f"n1: not reverted within 30 s: its guard has not reverted it yet and reports `{WORDS}`"
    with pytest.raises(NodesFailed, match=words):
        go(cluster, n1=row(reference("good"), "checkpoint", reference("bad")))


GOOD = status(reference("good"), reference("good"))


@pytest.mark.parametrize(
    ("source", "ready", "answer", "message"),
    [
        ("good", "False", live(maxPods=110), "the Node is not Ready"),
        ("good", "True", live(maxPods=7), "not the one from before the rollout"),
        ("good", "True", ApiError(503, "kubelet away", transient=True), "kubelet away"),
        ("bad", "Unknown", live(), r"has sent no heartbeat for .* empty store/meta/assigned"),
    ],
)
def test_why_a_node_is_not_reverted(clock: Clock, source: str, ready: str, answer: t.Any, message: str) -> None:
    """Each reason is reported; the rows are kept."""
    runs = status(reference(source), reference(source))
    cluster = Direct(node("n1", place(source), runs, ready=ready), live={"n1": answer})
    cluster.renewed = {"n1": "2025-12-31T00:00:00.000000Z"}
    with pytest.raises(NodesFailed, match=message) as caught:
        go(cluster, n1=row(place("good")))
    assert caught.value.result["nodes"]["n1"]["state"] == "not_reverted"
    assert caught.value.result["summary"] == {"nodes": 1, "reverted": 0, "refused": 0, "failed": 1}


def test_the_assignment_of_another_user_is_kept(clock: Clock) -> None:
    cluster = Direct(node("n1", place("theirs"), status(reference("bad"), reference("bad"))))
    with pytest.raises(NodesFailed, match="another user or program has assigned kube-system/theirs") as caught:
        go(cluster, n1=row(place("good")))
    assert caught.value.result["nodes"]["n1"]["state"] == "reassigned"
    assert cluster.count("PATCH", f"{NODES}/n1") == 0


def test_the_previous_source_of_another_user_is_waited_for(clock: Clock) -> None:
    """Its Node names it already, and the kubelet still runs the source that failed."""
    failed = status(reference("bad"), reference("bad"))
    cluster = Direct(node("n1", place("good"), failed), live={"n1": live(maxPods=110)})
    with pytest.raises(NodesFailed, match=r"to take up .*/good key kubelet again; active is .*/bad"):
        go(cluster, n1=row(place("good")))
    clock.at(33, lambda: cluster.nodes["n1"]["status"].update(config=GOOD))
    assert go(cluster, n1=row(place("good")))["nodes"]["n1"]["state"] == "reverted"


@pytest.mark.parametrize(
    ("requests", "answer", "words"),
    [
        # It is no other user, and waiting does not help.
        ("PATCH *", ApiError(403, "patching nodes is forbidden"), "n1: not reverted: patching nodes is forbidden"),
        # Every node is named all the same.
        ("*", ApiError(0, "no answer", transient=True), r"n1: not reverted: no answer. .* run again"),
    ],
)
def test_requests_that_fail(clock: Clock, requests: str, answer: ApiError, words: str) -> None:
    cluster = bad()
    cluster.answers[requests] = answer
    with pytest.raises(NodesFailed, match=words) as caught:
        go(cluster, n1=row(place("good")))
    assert caught.value.result["nodes"]["n1"]["state"] == "not_reverted" and clock.slept == []


def test_a_passing_outage_of_the_api_server(clock: Clock) -> None:
    """What an earlier run had switched is not held against what was live then."""
    cluster = bad(7)
    clock.at(2, lambda: cluster.answers.update({"*": ApiError(0, "no answer", transient=True)}))
    clock.at(6, lambda: cluster.answers.pop("*"))
    clock.at(8, lambda: cluster.nodes["n1"]["status"].update(config=GOOD))
    assert go(cluster, n1={**row(place("good")), "changed": False})["nodes"]["n1"]["ok"]


def test_rows_that_are_none() -> None:
    with pytest.raises(ClusterError, match="the value of n1 is not a row of node_config_source"):
        go(Direct(), n1={"source": None})


OURS = {"holder": "ops", "time": "2026-01-01T00:00:00.000000Z"}
ROW = {"ok": True, "delivery": "none", "source": None, "error": "", "evicted": [], "skipped": []}
UNCORDONED = f"uncordoned; it was {drain_steps.cordon_in_words(OURS)}"
FREE, THEIRS = (False, False), (True, False)


@pytest.mark.parametrize(
    ("before", "changed", "after", "message"),
    [
        ({"cordoned": OURS, "unschedulable": True}, True, FREE, UNCORDONED),
        ({"cordoned": OURS}, True, FREE, "already uncordoned by another user or program; our mark was removed"),
        ({"unschedulable": True}, False, THEIRS, "cordoned by another user or program; not changed"),
        ({}, False, FREE, "not cordoned"),
    ],
)
def test_restore(clock: Clock, before: dict[str, t.Any], changed: bool, after: tuple[bool, bool], message: str) -> None:
    """Also after another run's cordon; check mode reports the same without a change; a second run changes nothing."""
    api = Direct(node("n1", **before))
    was = cordoned(api)
    found = run(api, state="restored", check_mode=True)["nodes"]["n1"]
    assert found == {**ROW, "state": "restored", "changed": changed, "cordoned": after[0], "message": message}
    assert cordoned(api) == was
    result = run(api, state="restored")
    assert (result["changed"], result["nodes"]["n1"]["message"], cordoned(api)) == (changed, message, after)
    assert run(api, state="restored")["changed"] is False
    assert cordoned(api) == after


def test_an_uncordon_that_is_not_stored(clock: Clock) -> None:
    api = Direct(node("n1", cordoned=OURS, unschedulable=True))
    api.answers["PATCH *"] = api.nodes["n1"]
    failed = fail(api, state="restored")
    assert "did not store that it was uncordoned: does an admission webhook" in failed.failures["n1"]
    assert failed.result["nodes"]["n1"]["cordoned"]
