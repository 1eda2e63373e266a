# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller is killed between its revert of a node and the restart of the kubelet."""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.support import boundaries, settled
from tests.support.role_bench import Role

REASON = "pods of the canary were lost"
RESTART = "Revert | Restart the kubelet with the previous configuration"


def on_trial(role: Role) -> dict[str, str]:
    """Run a configuration that nothing confirms, and that is healthy; return its source."""
    source = role.bench.source()
    run = role.play(
        source,
        {**role.local, settled.FIELD: settled.NEW},
        kubelet_config_confirm=False,
        kubelet_config_confirm_seconds=900,
    )
    assert run.code == 0 and settled.qps(role.bench) == settled.NEW, run.output
    return source


def interrupted(role: Role) -> None:
    """Revert, and kill the controller before it restarts the kubelet."""
    play = role.write(dict.fromkeys(role.benches, (None, "")), "revert", kubelet_config_reason=REASON)
    seen = list[str]()

    def before(_count: int, name: str) -> bool:
        seen.append(name)
        return name != RESTART

    assert boundaries.steps(role.ansible, play, before).code == -9 and seen[-1] == RESTART, seen
    assert role.bench.active() == "store/local/config" and settled.qps(role.bench) == settled.NEW


def verdict(role: Role) -> t.Any:
    """Return the verdict that waits for a start of the kubelet."""
    return json.loads(role.node.run("cat /var/lib/kubelet-config/store/progress 2>/dev/null || echo {}")).get("verdict")


@pytest.mark.fault(case=35)
def test_the_node_restarts_its_kubelet_and_reports(role: Role) -> None:
    source = on_trial(role)
    invocation = role.node.invocation_id()
    interrupted(role)
    assert verdict(role) == REASON and role.node.invocation_id() == invocation
    # The guard gives the controller 60 s; the play itself takes part of this time on a busy machine.
    took = settled.settled(role.bench, settled.OLD, 240)
    print(f"\nrestarted by the guard after {took:.0f} s")
    status = role.bench.status()
    assert (status["assigned"]["configMap"], status["error"]) == (source, REASON) and "active" not in status
    assert role.node.restarts() == 0 and not verdict(role)
    # The role verifies what the guard has restarted, and restarts nothing.
    invocation = role.node.invocation_id()
    again = role.play(None, "", tasks_from="revert", kubelet_config_reason=REASON)
    assert again.code == 0 and role.node.invocation_id() == invocation, again.output


def test_the_controller_restarts_the_kubelet_once(role: Role) -> None:
    on_trial(role)
    run = role.play(None, "", tasks_from="revert", kubelet_config_reason=REASON)
    assert run.code == 0 and settled.qps(role.bench) == settled.OLD, run.output
    invocation = role.node.invocation_id()
    assert not verdict(role)
    role.bench.wait(lambda: settled.quiet(role.bench), 60, "end of the guard's work", every=1)
    assert role.node.invocation_id() == invocation and role.bench.status()["error"] == REASON
