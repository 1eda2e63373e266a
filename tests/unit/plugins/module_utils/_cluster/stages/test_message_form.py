# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every message about a node fits on three lines and leaves the node's name to the row or the line that it is in."""

from __future__ import annotations

import dataclasses
import itertools
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_requests, nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import revert
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import diagnose, verdict
from ansible_collections.livenodes.kubelet.plugins.module_utils._config import minors
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.forms import LATER
from tests.sim.api.direct import Direct
from tests.support.objects import HEADER, node, place, reference, status

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


JUDGED = list({found.message: found for found in judged()}.values())
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
    diagnose.refusal(found, fault, problems)
    for found in FELL_BACK
    for fault, problems in ((f"the key kubelet of {LONG} does not exist", ()), (None, PROBLEMS), (None, ()))
]
DIFFERENCES = [
    {"path": path, "live": "x" * 200, "expected": ["y" * 90], "flags": flags}
    for path, flags in (
        ("maxPods", ["max-pods"]),
        ("evictionHard.memory.available", ["eviction-hard"]),
        ("staticPodURLHeader", []),
        ("memorySwap.swapBehavior", []),
        ("kubeAPIQPS", ["kube-api-qps"]),
        ("clusterDNS", ["cluster-dns"]),
    )
]
DIFFERS = [
    diagnose.differs(DIFFERENCES[:count], minor, delivery)
    for count in (1, 2, 6)
    for minor, delivery in ((20, "native"), (24, "checkpoint"), (36, "checkpoint"))
]
LOST = node_requests.lost(Direct(), {"a": "", "b": "u1"}, {"b": dataclasses.replace(nodes.trim(node("b")), uid="u2")})
ABSENT = [verdict.Verdict(row.state, row.message, True) for row in LOST.values()]
ALL = [
    *JUDGED,
    *TIMED_OUT,
    *REFUSED,
    *DIFFERS,
    *ABSENT,
    diagnose.missing(place(LONG), nodes.trim(node(NAME, place(LONG), {}))),
]


@pytest.mark.parametrize("state", sorted({found.state for found in ALL}))
def test_a_verdict_fits_on_three_lines(state: str) -> None:
    for found in (found for found in ALL if found.state == state):
        assert len(found.message) <= verdict.LONGEST_MESSAGE, (len(found.message), found.message)


def test_each_state_of_a_verdict_has_a_message_here() -> None:
    assert {found.state for found in ALL} == set(verdict.STATES)


def test_a_verdict_has_one_line_and_no_name_of_its_node() -> None:
    for found in ALL:
        assert NAME not in found.message and "\n" not in found.message, found.message
        text = found.message.replace("...", "")
        assert ".;" not in text and ".." not in text and not text.endswith("."), found.message


def test_a_failure_of_nodes_names_each_once() -> None:
    words = str(NodesFailed("verifying", {f"n{index}": found.message for index, found in enumerate(ALL[:9])}))
    for index, line in enumerate(words.splitlines()[1:]):
        assert line.startswith(f"n{index}: ") and line.count(f"n{index}") == 1


def test_a_revert_fits_on_three_lines() -> None:
    for delivery, silent in itertools.product(("native", "checkpoint"), (None, 10.0, 12345.0)):
        row = {"delivery": delivery, "source": place(LONG), "previous": place("another-" + LONG), "changed": True}
        one = revert._Revert(row, None)  # pylint: disable=protected-access
        for found in (status(reference(LONG), reference(LONG)), status(None, reference(LONG), error=WORDS)):
            for ready, written in itertools.product(("True", "False"), (True, False)):
                one.written = written
                one.judge(nodes.trim(node(NAME, config=found, ready=ready)).with_delivery(delivery))
                assert len(one.late(180, silent)) <= verdict.LONGEST_MESSAGE and NAME not in one.message
