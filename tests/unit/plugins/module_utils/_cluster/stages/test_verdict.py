# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict from the status of one node. Its message fits on three lines and does not have the node's name."""

from __future__ import annotations

import dataclasses
import itertools
import re
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_requests, nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import revert
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import diagnose, verdict
from ansible_collections.livenodes.kubelet.plugins.module_utils._config import minors
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import following
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.forms import LATER
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.reference import same_place
from tests.sim.api.direct import Direct
from tests.support.api.objects import HEADER, Reference, node, place, reference, status

LOAD, VALIDATE, INTERNAL = verdict.MEANING
DOWNLOAD = "failed to sync: failed to download config, see Kubelet log for details"
A, B = reference("config-a"), reference("config-b")
OLD = reference("config-a", revision="6")
TO_B = "reverted to its last-known-good, kube-system/config-b key kubelet"


def judge(
    source: Reference | None, config: dict[str, t.Any] | None, expected: Reference | None, **fields: t.Any
) -> verdict.Verdict:
    return verdict.judge(nodes.trim(node("n1", source, config, **fields)), expected)


@pytest.mark.parametrize(
    ("config", "state", "text"),
    [
        (status(A, A), "active", "runs kube-system/config-a key kubelet"),
        (status(A, A, A), "active", "runs"),
        (status(A, A, B), "active", "runs"),
        (None, "not_listening", "its kubelet is not listening"),
        (status(), "pending", "it still reports the local config as assigned"),
        (status(B, B), "pending", "it still reports kube-system/config-b key kubelet as assigned"),
        (status(OLD, OLD), "pending", "an earlier revision of it"),
        (status(reference(key="other"), A), "pending", "key other"),
        (status(A), "pending", "to become active; active is the local config"),
        (status(A, OLD), "pending", "to become active"),
        # The error is that of another source, or of an earlier revision.
        (status(B, None, None, LOAD), "pending", "config-b"),
        (status(OLD, None, None, VALIDATE), "pending", "earlier revision"),
        (status(A, None, None, LOAD), "fell_back", "reverted to its local config: .*could not read or decode"),
        (status(A, B, B, VALIDATE), "fell_back", f"{TO_B}: .*an invalid value"),
        (status(A, None, None, INTERNAL), "fell_back", "failed while handling it"),
        (status(A, None, None, "news"), "fell_back", "an error that this collection does not know"),
        (status(B, B, None, DOWNLOAD), "sync_error", "still runs kube-system/config-b key kubelet and reports"),
        (status(error=DOWNLOAD), "sync_error", "still runs the local config and reports"),
    ],
)
def test_assigned(config: dict[str, t.Any] | None, state: str, text: str) -> None:
    found = judge(place(), config, A)
    assert found.state == state
    assert found.final is (state == "fell_back")
    assert re.search(text, found.message)


@pytest.mark.parametrize(
    ("config", "state", "text"),
    [
        (status(), "local", "runs its local config"),
        (None, "local", "runs its local config"),
        (status(error=DOWNLOAD), "local", "is a leftover that its next restart clears"),
        (status(A, A), "pending", "still has assigned, active"),
        (status(good=A), "pending", "still has lastKnownGood"),
        (status(A, None, None, LOAD), "pending", "still has assigned"),
    ],
)
def test_local(config: dict[str, t.Any] | None, state: str, text: str) -> None:
    found = judge(None, config, None)
    assert (found.state, found.final) == (state, False)
    assert text in found.message


@pytest.mark.parametrize(
    ("source", "expected", "text"),
    [
        (place("theirs"), A, "names kube-system/theirs key kubelet, not kube-system/config-a key kubelet"),
        (None, A, "names the local config, not kube-system/config-a"),
        (place(), None, "names kube-system/config-a key kubelet, not the local config"),
    ],
)
def test_reassigned(source: Reference | None, expected: Reference | None, text: str) -> None:
    found = judge(source, status(expected, expected), expected)
    assert (found.state, found.final) == ("reassigned", True)
    assert text in found.message


@pytest.mark.parametrize("ready", ["False", "Unknown"])
@pytest.mark.fault(case=9)
def test_not_ready_may_pass(ready: str) -> None:
    found = judge(place(), status(A, A), A, ready=ready)
    assert (found.state, found.final, verdict.ok(found)) == ("not_ready", False, False)
    assert "KubeletReady: posting" in found.message


@pytest.mark.parametrize(
    ("found", "delivery", "silent", "state", "words"),
    [
        ("pending", "native", 90.4, "silent", "no heartbeat for 90 s"),
        ("pending", "native", 5.0, "not_restarting", "waiting. After 180 s its kubelet is alive but has not restarted"),
        ("pending", "native", None, "pending", "waiting (gave up after 180 s)"),
        ("pending", "checkpoint", 90.0, "silent", "Its guard reverts a configuration that is not confirmed"),
        ("pending", "checkpoint", 5.0, "pending", "waiting (gave up after 180 s)"),
        ("not_ready", "native", 5.0, "not_ready", "waiting (gave up after 180 s)"),
        ("not_ready", "native", 41.0, "silent", "Last seen: waiting"),
    ],
)
def test_at_timeout(found: str, delivery: str, silent: float | None, state: str, words: str) -> None:
    late = verdict.at_timeout(verdict.Verdict(found, "waiting"), delivery, silent, 180)
    assert (late.state, late.final, words in late.message) == (state, True, True), late
    assert state == "silent" or late.message.startswith(words)
    assert delivery == "native" or "--dynamic-config-dir" not in late.message


def test_counts() -> None:
    rows = {"n1": {"ok": False, "state": "b"}, "n2": {"ok": True, "state": "a"}, "n3": {"ok": False, "state": "b"}}
    summary = verdict.result(rows, 1.23)["summary"]
    assert summary == {"nodes": 3, "ok": 1, "failed": 2, "states": {"a": 1, "b": 2}, "waited_seconds": 1.2}
    assert list(summary["states"]) == ["a", "b"]


references = st.sampled_from([None, A, B, OLD, reference("config-a", key="other")])
errors = st.sampled_from(["", LOAD, VALIDATE, INTERNAL, DOWNLOAD, "failed to sync: ", "news"])
statuses = st.none() | st.builds(status, references, references, references, errors)
sources = st.sampled_from([None, place(), place("config-b")])


readiness = st.sampled_from(["True", "False", "Unknown"])
silences = st.none() | st.floats(0, 1e6)


@given(sources, statuses, references, readiness, silences)
def test_any_status_has_a_sound_verdict(source: t.Any, config: t.Any, wanted: t.Any, ready: str, silent: t.Any) -> None:
    """A verdict is good only without any contrary sign, and never good at the timeout."""
    found = judge(source, config, wanted, ready=ready)
    assert found.state in verdict.STATES
    assert found.message
    assert not (found.final and verdict.ok(found))
    assert same_place(source, wanted) or found.state == "reassigned"
    if found.state == "active":
        assert config is not None and ready == "True"
        assert {**config, "lastKnownGood": None} == {**status(wanted, wanted), "lastKnownGood": None}
    if found.state == "local":
        assert wanted is None and not set(config or {}) - {"error"}
    late = verdict.at_timeout(found, "native", silent, 60)
    assert late.final
    assert late.state in verdict.STATES
    assert found.message in late.message or late.message.endswith("...")
    assert not verdict.ok(late) or verdict.ok(found)


HEARTBEAT, SINCE = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"


def judge_checkpoint(
    report: dict[str, t.Any] | None, expected: Reference | None = A, marked: Reference | None = A, **fields: t.Any
) -> verdict.Verdict:
    return verdict.judge(nodes.trim(node("n1", marked=marked, reported=report, **fields)), expected)


@pytest.mark.parametrize(
    ("report", "state", "words"),
    [
        (None, "pending", "waiting for the guard on the node to report"),
        ({}, "pending", "still reports the local config as assigned"),
        (status(OLD, OLD), "pending", "an earlier revision of it"),
        (status(A, B), "pending", "waiting for kube-system/config-a key kubelet to become active"),
        (status(A, A), "active", "runs kube-system/config-a"),
        ({**status(A, A), "started": HEARTBEAT}, "active", "runs kube-system/config-a"),
        ({**status(A, A), "started": SINCE}, "not_ready", f"no heartbeat since its kubelet started at {SINCE}"),
        (status(A, B, B, "the kubelet ended 2 times"), "fell_back", f"{TO_B}: `the kubelet ended 2 times`"),
        (status(A, None, None, "the kubelet ended 2 times"), "fell_back", "to its local config: `the kubelet ended"),
        (status(A, A, A, "the kubelet ended 2 times"), "not_ready", "the guard on the node reports: `the kubelet"),
    ],
)
def test_a_checkpoint(report: dict[str, t.Any] | None, state: str, words: str) -> None:
    found = judge_checkpoint(report)
    assert (found.state, words in found.message) == (state, True), found


def test_a_checkpoint_of_an_unready_node_and_of_another_source() -> None:
    assert judge_checkpoint(status(A, A), ready="False").state == "not_ready"
    found = judge_checkpoint(status(A, A), marked=B)
    assert found.message.startswith(f"its annotation {PREFIX}source names kube-system/config-b")
    assert judge_checkpoint({}, None, None).state == "local"
    assert judge_checkpoint(status(A, A), None, None).state == "pending"


NAME = "worker-17.example"
LONG = "kubelet-config-workers-zone-b-7f5c2bd9"
# A guard reports the kubelet's own words, whose length is not ours.
WORDS = "the kubelet ended 2 times: WORDS"
ERRORS = ["", WORDS, *verdict.MEANING, nodes.SYNC + next(iter(verdict.MEANING))]


def judged() -> t.Iterator[verdict.Verdict]:
    """Yield the verdicts on nodes with each combination of source, status, error and delivery."""
    parts: list[t.Any] = [None, reference(LONG), reference(LONG, "8"), reference("another-" + LONG)]
    started = ("2025-06-01T10:00:00Z", "2026-06-01T10:00:00Z")
    for assigned, active, error, ready, start in itertools.product(parts, parts, ERRORS, ("True", "False"), started):
        report = {**status(assigned, active, active, error), "started": start}
        native = nodes.trim(node(NAME, place(LONG), report, ready=ready))
        checkpoint = nodes.trim(node(NAME, marked=reference(LONG), reported=report, ready=ready))
        for wanted in (reference(LONG), None):
            yield verdict.judge(native.with_delivery("native"), wanted)
            yield verdict.judge(checkpoint.with_delivery("checkpoint"), wanted)
    for error in ERRORS:
        yield verdict.judge(nodes.trim(node(NAME, config=status(error=error))).with_delivery("native"), None)
    yield verdict.judge(nodes.trim(node(NAME, place(LONG))).with_delivery("native"), reference(LONG))
    yield verdict.judge(nodes.trim(node(NAME, marked=reference(LONG))).with_delivery("checkpoint"), reference(LONG))
    wrong = {"lastKnownGood": {"configMap": {**reference(LONG), "resourceVersion": ["7"]}}}
    yield verdict.judge(nodes.trim(node(NAME, marked=reference(LONG), reported=wrong)), reference(LONG))
    for key, value in itertools.product(("kubeletConfigKey", "name", "namespace"), ("x/" * 400, None, {})):
        wrong = {"lastKnownGood": {"configMap": {**reference(LONG), key: value}}}
        yield verdict.judge(nodes.trim(node(NAME, marked=reference(LONG), reported=wrong)), reference(LONG))
        yield verdict.judge(nodes.trim(node(NAME, place(LONG), wrong)), reference(LONG))


def answered() -> t.Iterator[verdict.Verdict]:
    """Judge a node by the answers of its follower."""
    source = reference(LONG)
    for answer in (following.Answer(), following.Answer(configMap=source, refused="swap is on: turn it off")):
        found = node(NAME, marked=source)
        found["metadata"]["annotations"][following.FOLLOWER] = following.text(answer)
        yield verdict.judge(nodes.trim(found), source)


JUDGED = list({found.message: found for found in (*judged(), *answered())}.values())
TIMED_OUT = [
    verdict.at_timeout(found, delivery, silent, 180, form)
    for found in JUDGED
    for form in (minors.source_form(minors.FIRST_NATIVE), LATER)
    for delivery in ("native", "checkpoint")
    for silent in (None, 10.0, 12345.0)
]
PROBLEMS = checks.problems({**HEADER, "kubeAPIQPS": -1}, 20)
FELL_BACK = [found for found in JUDGED if found.state == "fell_back" and WORDS not in found.message]
REFUSED = [
    diagnose.refusal(found, fault, problems, guarded=guarded)
    for found in FELL_BACK
    for fault, problems in ((f"the key kubelet of {LONG} does not exist", ()), (None, PROBLEMS), (None, ()))
    for guarded in (False, True)
]
FLAGS = {
    "maxPods": ["max-pods"],
    "evictionHard.memory.available": ["eviction-hard"],
    "staticPodURLHeader": [],
    "memorySwap.swapBehavior": [],
    "kubeAPIQPS": ["kube-api-qps"],
    "clusterDNS": ["cluster-dns"],
}
DIFFERENCES = [
    {"path": path, "live": "x" * 200, "expected": ["y" * 90], "flags": flags} for path, flags in FLAGS.items()
]
DIFFERS = [
    diagnose.differs(DIFFERENCES[:count], minor, delivery)
    for count in (1, 2, 6)
    for minor, delivery in ((20, "native"), (24, "checkpoint"), (36, "checkpoint"))
]
LOST = node_requests.lost(Direct(), {"a": "", "b": "u1"}, {"b": dataclasses.replace(nodes.trim(node("b")), uid="u2")})
ABSENT = [verdict.Verdict(row.state, row.message, True) for row in LOST.values()]
MISSING = diagnose.missing(place(LONG), nodes.trim(node(NAME, place(LONG), {})))
ALL = [*JUDGED, *TIMED_OUT, *REFUSED, *DIFFERS, *ABSENT, MISSING]


@pytest.mark.parametrize("state", sorted({found.state for found in ALL}))
def test_a_verdict_fits_on_three_lines(state: str) -> None:
    for found in (found for found in ALL if found.state == state):
        assert len(found.message) <= verdict.LONGEST_MESSAGE, (len(found.message), found.message)


def test_a_verdict_has_one_line_and_no_name_of_its_node() -> None:
    assert {found.state for found in ALL} == set(verdict.STATES)
    for found in ALL:
        assert NAME not in found.message and "\n" not in found.message, found.message
        text = found.message.replace("...", "")
        assert ".;" not in text and ".." not in text and not text.endswith("."), found.message


def test_a_revert_fits_on_three_lines() -> None:
    for delivery, silent in itertools.product(("native", "checkpoint"), (None, 10.0, 12345.0)):
        row = {"delivery": delivery, "source": place(LONG), "previous": place("another-" + LONG), "changed": True}
        one = revert._Revert(row, None)  # pylint: disable=protected-access
        for found in (status(reference(LONG), reference(LONG)), status(None, reference(LONG), error=WORDS)):
            for ready, written in itertools.product(("True", "False"), (True, False)):
                one.written = written
                one.judge(nodes.trim(node(NAME, config=found, ready=ready)).with_delivery(delivery))
                assert len(one.late(180, silent)) <= verdict.LONGEST_MESSAGE and NAME not in one.message
