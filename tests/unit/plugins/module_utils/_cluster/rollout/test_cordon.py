# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cordon with a mark: its patches, and what happens when other writers change the Node at the same time."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import cordon
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.support.calls import DRY, MERGE, NODES, Call, Calls, OldCalls
from tests.support.cluster import Clock
from tests.support.objects import node

MARK = {"holder": "ops", "time": "2026-01-01T00:00:00.000000Z"}
CONFLICT = ApiError(409, "the object has been modified", "Conflict")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(cordon, "time", clock)
    return clock


def patch(answer: t.Any, mark: dict[str, str] | None, revision: str = "1", dry_run: bool = False) -> Call:
    """The patch that sets the cordon and its mark, or removes both (None)."""
    body = {
        "metadata": {
            "annotations": {annotation.CORDONED: annotation.text(mark) if mark else None},
            "resourceVersion": revision,
        },
        "spec": {"unschedulable": True if mark else None},
    }
    return Call("PATCH", f"{NODES}/n1", answer, DRY if dry_run else (), body, MERGE)


def get(answer: dict[str, t.Any]) -> Call:
    return Call("GET", f"{NODES}/n1", answer)


def set_cordon(session: Calls, found: dict[str, t.Any], dry_run: bool = False) -> nodes.Node:
    return cordon.cordon(t.cast("t.Any", session), nodes.trim(found), "ops", dry_run)


@pytest.mark.parametrize("dry_run", [False, True])
def test_cordon(dry_run: bool) -> None:
    with Calls(patch(node(cordoned=MARK, unschedulable=True), MARK, dry_run=dry_run)) as session:
        assert cordon.ours(set_cordon(session, node(), dry_run))


def test_a_cordoned_node_is_not_patched() -> None:
    with Calls() as session:
        assert not cordon.ours(set_cordon(session, node(unschedulable=True)))


def test_another_user_cordons_at_the_same_time() -> None:
    """After the conflict the node is read again, and the other cordon is kept."""
    with Calls(patch(CONFLICT, MARK), get(node(revision="2", unschedulable=True))) as session:
        found = set_cordon(session, node())
    assert found.unschedulable and not cordon.ours(found)


def test_a_node_that_never_stops_changing() -> None:
    calls = [
        call
        for number in range(1, cordon.TRIES + 1)
        for call in (patch(CONFLICT, MARK, str(number)), get(node(revision=str(number + 1))))
    ]
    with Calls(*calls) as session, pytest.raises(ApiError, match="changes faster than it can be patched"):
        set_cordon(session, node())


def test_uncordon_removes_the_mark() -> None:
    """Also from a node that another user has uncordoned; a node without our mark is not patched."""
    for found in (node(cordoned=MARK, unschedulable=True), node(cordoned=MARK)):
        with Calls(patch(node(), None)) as session:
            assert not cordon.uncordon(t.cast("t.Any", session), nodes.trim(found), False).unschedulable
    with Calls() as session:
        assert cordon.uncordon(t.cast("t.Any", session), nodes.trim(node(unschedulable=True)), False).unschedulable


@pytest.mark.parametrize(
    ("fields", "ours"),
    [
        ({"cordoned": MARK, "unschedulable": True}, True),
        ({"cordoned": MARK}, False),
        ({"unschedulable": True}, False),
        ({}, False),
    ],
)
def test_ours(fields: dict[str, t.Any], ours: bool) -> None:
    assert cordon.ours(nodes.trim(node(**fields))) is ours


def test_an_api_server_without_dry_runs() -> None:
    """Nothing is sent."""
    with OldCalls() as session:
        found = set_cordon(session, node(), True)
        assert cordon.ours(found)
        back = cordon.uncordon(t.cast("t.Any", session), found, True)
        assert (back.unschedulable, back.cordoned) == (False, None)
        assert not cordon.ours(set_cordon(session, node(unschedulable=True), True))
