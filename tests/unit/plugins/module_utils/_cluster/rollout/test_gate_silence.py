# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate and kubelets that send no heartbeat, although their Node is Ready."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import timestamps
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from tests.sim.api.direct import HEARTBEATS, Clock, Direct
from tests.support import gating
from tests.support.gating import GROUP, Node, group, refused, run
from tests.support.objects import live, node

DEAD = ApiError(503, "dial tcp: connection refused", "ServiceUnavailable")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return gating.simulated_time(monkeypatch)


def beating(name: str, seconds: float, clock: Clock, **fields: t.Any) -> Node:
    """A node whose condition was written so many seconds ago."""
    made = node(name, **fields)
    made["status"]["conditions"][1]["lastHeartbeatTime"] = timestamps.text(clock.time() - seconds)
    return made


@pytest.mark.parametrize(
    ("written", "renewed", "silent", "lists"),
    [(30, 500, False, 0), (250, 5, False, 1), (250, 59, False, 1), (250, 61, True, 1), (250, None, False, 1)],
)
def test_silence(clock: Clock, written: float, renewed: float | None, silent: bool, lists: int) -> None:
    """Both have to be old; one more LIST, only where a Node was not written for long."""
    api = Direct(*(beating(name, written if name == "n7" else 0, clock) for name in GROUP), live={"n7": DEAD})
    api.renewed = {} if renewed is None else {"n7": timestamps.text(clock.time() - renewed)}
    if silent:
        text = "silent: its kubelet has sent no heartbeat for 61 s by the API server's clock, but its Node is still"
        assert text in refused(api, "n1").message
        assert "n7: in the batch and silent: its kubelet" in refused(api, "n7").message
        api.asked.clear()
    assert run(api, "n1", max_unavailable=2)["budget"]["limit"] == 2
    assert api.count("GET", HEARTBEATS) == lists


def test_a_kubelet_that_answers_has_a_wrong_clock(clock: Clock) -> None:
    """The node controller goes by its own clock: a node whose clock is an hour slow stays Ready."""
    api = Direct(*(beating(name, 3600 if name == "n7" else 0, clock) for name in GROUP), live={"n7": live()})
    api.renewed = {"n7": timestamps.text(clock.time() - 3600)}
    assert run(api, "n7")["budget"]["unavailable"] == {}
    assert api.count("GET", "/api/v1/nodes/n7/proxy/configz") == 1


def test_nodes_without_a_heartbeat_are_not_judged_by_it(clock: Clock) -> None:
    api = group()
    for item in api.nodes.values():
        del item["status"]["conditions"][1]["lastHeartbeatTime"]
    clock.now += 3600
    assert run(api, "n1") and api.count("GET", HEARTBEATS) == 0
