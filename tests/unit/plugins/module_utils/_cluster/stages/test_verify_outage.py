# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage verify while the API server is unavailable, refuses requests or has no such node."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, NodesFailed
from tests.sim.api.direct import HEARTBEATS, Clock
from tests.support.objects import node, place
from tests.support.verifying import WAIT_SLEEP, cluster, done, fail, noticed, run, stopped, turn, waiting

AWAY = ApiError(0, "no usable answer from the API server", transient=True)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return stopped(monkeypatch)


def test_a_passing_outage_of_the_api_server(clock: Clock) -> None:
    api = cluster(waiting())
    clock.at(4, lambda: api.answers.update({"*": AWAY}))
    clock.at(20, lambda: api.answers.pop("*"))
    clock.at(30, turn(api, done()))
    assert run(api, {"n1": place()})["nodes"]["n1"]["ok"]
    assert noticed(clock, 30) and max(clock.slept) == WAIT_SLEEP


def test_an_outage_of_the_api_server_until_the_end(clock: Clock) -> None:
    """Each node is named with its last verdict, and no further request is sent."""
    api = cluster(waiting("n1"), done("n2"), waiting("n3"))
    clock.at(4, lambda: api.answers.update({"*": AWAY}))
    failed = fail(api, dict.fromkeys(["n1", "n2", "n3"], place()))
    assert set(failed.failures) == {"n1", "n3"}
    assert failed.failures["n1"].startswith(
        "no usable answer from the API server; last seen: waiting for its kubelet to take up"
    )
    assert (clock.now, api.count("GET", HEARTBEATS)) == (1060, 0)


def test_no_api_server_at_the_start(clock: Clock) -> None:
    api = cluster(waiting("n1"), waiting("n2"))
    api.answers["*"] = AWAY
    failed = fail(api, dict.fromkeys(["n1", "n2"], place()))
    assert set(failed.failures) == {"n1", "n2"}
    assert "not verified: no usable answer" in failed.failures["n1"]


def test_permission_lost_while_waiting(clock: Clock) -> None:
    """Waiting does not restore it; the last verdicts are kept."""
    api = cluster(waiting("n1"), done("n2"))
    clock.at(4, lambda: api.answers.update({"*": ApiError(403, "forbidden")}))
    with pytest.raises(NodesFailed, match="n1: forbidden; last seen: waiting") as caught:
        run(api, dict.fromkeys(["n1", "n2"], place()))
    assert (noticed(clock, 4), caught.value.result["nodes"]["n2"]["ok"]) == (True, True)


def test_node_that_is_deleted_during_the_wait(clock: Clock) -> None:
    """The others are waited for."""
    api = cluster(waiting("n1"), waiting("n2"), done("n3"))
    clock.at(4, lambda: api.nodes.pop("n1"))
    clock.at(9, turn(api, done("n2")))
    failed = fail(api, dict.fromkeys(["n1", "n2", "n3"], place()))
    assert (set(failed.failures), failed.result["nodes"]["n1"]["state"], noticed(clock, 9)) == ({"n1"}, "gone", True)


def test_node_that_is_created_again_during_the_wait(clock: Clock) -> None:
    """It is another machine, whose local configuration is not a change by another user."""

    def numbered(found: dict[str, t.Any], uid: str) -> dict[str, t.Any]:
        found["metadata"]["uid"] = uid
        return found

    api = cluster(numbered(waiting("n1"), "u1"), waiting("n2"))
    clock.at(4, turn(api, numbered(node("n1"), "u2")))
    clock.at(9, turn(api, done("n2")))
    failed = fail(api, dict.fromkeys(["n1", "n2"], place()))
    assert (set(failed.failures), failed.result["nodes"]["n1"]["state"]) == ({"n1"}, "replaced")
    assert "deleted and created again" in failed.failures["n1"]
