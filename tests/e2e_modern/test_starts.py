# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan refuses because it ends or hides a kubelet does so, and its neighbours do not."""

from __future__ import annotations

import contextlib
import time
import typing as t

import pytest

from tests.lab.console import LabError
from tests.lab.kubeadm import OWN_CONFIG
from tests.lab.lab import Lab
from tests.support.dropin_node import DropinNode
from tests.support.kubelet_starts import ENDS, HIDES, STARTS, Fields

# How long a kubelet has to answer, and how long it is watched for an end after that.
PATIENCE, WATCHED = 20.0, 3.0


@pytest.fixture(scope="module")
def node(lab: Lab) -> t.Iterator[DropinNode]:
    """Yield a node of the newest release whose config file may be changed."""
    node = DropinNode(lab, "n3")
    try:
        node.bench.wait(node.bench.healthy, 60, "healthz")
        node.open(f"--config={OWN_CONFIG}")
        yield node
    finally:
        node.close()


def restarts(node: DropinNode) -> int:
    return int(node.run("systemctl show -P NRestarts kubelet"))


def outcome(node: DropinNode, fields: Fields) -> str:
    """Return what becomes of the kubelet with these fields: `ends`, `hides`, or `starts`."""
    # Another kubelet's state is no part of this.
    node.run("systemctl stop kubelet; rm -f /var/lib/kubelet/*_manager_state")
    node.write(fields, {})
    node.restart()
    deadline = time.monotonic() + PATIENCE
    answers_since = None
    while time.monotonic() < deadline:
        if restarts(node):
            return "ends"
        answered = False
        with contextlib.suppress(LabError, OSError, ValueError):
            answered = bool(node.bench.configz())
        if not answered:
            answers_since = None
        elif answers_since is None:
            answers_since = time.monotonic()
        elif time.monotonic() - answers_since > WATCHED:
            return "starts"
        time.sleep(0.5)
    return "hides"


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(slice(0, None, 6), id="some"),
        pytest.param(slice(None), id="all", marks=pytest.mark.long),
    ],
)
def test_a_kubelet_ends_where_the_plan_refuses(node: DropinNode, part: slice) -> None:
    wanted = [
        *((fields, ("ends",)) for fields, _rule in ENDS[part]),
        # Which of two servers gets the port differs.
        *((fields, ("ends", "hides")) for fields, _rule in HIDES[part]),
        *((fields, ("starts",)) for fields in STARTS[part]),
    ]
    found = [(fields, outcome(node, fields), allowed) for fields, allowed in wanted]
    assert [row for row in found if row[1] not in row[2]] == []
