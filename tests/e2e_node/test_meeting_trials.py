# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A trial beside other runs: one that fails before its switch, one that fails after it, one that confirms too early."""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.support.lab_node.node_bench import STORE
from tests.support.lab_node.role_bench import Role

# The binary accepts it, and the kubelet ends with it.
DEADLY = {"evictionHard": {"memory.available": "lots"}}
HOLDER = "holder-of-test.service"
HOLD_SECONDS = 5


def last_known_good(role: Role) -> str:
    return role.node.run(f"cat {STORE}/store/meta/last-known-good")


def trial(role: Role) -> dict[str, t.Any]:
    return t.cast("dict[str, t.Any]", json.loads(role.node.run(f"cat {STORE}/store/trial")))


@pytest.fixture
def held(role: Role) -> t.Iterator[t.Callable[[bool], None]]:
    """Yield a function that lets another process hold the store's lock, or ends it; end it afterwards."""

    def hold(wanted: bool) -> None:
        if not wanted:
            role.node.run(f"systemctl stop {HOLDER}", check=False)
            return
        role.node.run(f"systemd-run --quiet --collect --unit={HOLDER} flock {STORE}/lock sleep 300")
        begun = f"systemctl show --property=ActiveState --value {HOLDER}; pgrep --full '^sleep 300$' || true"
        role.bench.wait(lambda: len(role.node.run(begun).split()) == 2, 10, "process that holds the lock")

    try:
        yield hold
    finally:
        hold(False)


@pytest.mark.fault(case=71)
def test_a_run_that_fails_before_its_switch_leaves_the_trial_of_another_run(
    role: Role, held: t.Callable[[bool], None]
) -> None:
    first = role.bench.source()
    run = role.play(
        first, {**role.local, "maxPods": 76}, kubelet_config_confirm=False, kubelet_config_trial_seconds=HOLD_SECONDS
    )
    assert run.code == 0, run.output
    invocation, before = role.node.invocation_id(), (role.bench.active(), trial(role))
    held(True)
    failed = role.play(role.bench.source(), {**role.local, "maxPods": 77})
    held(False)
    assert failed.code and f"{STORE} has been in use by process " in failed.output, failed.output
    assert "Node n1 was not switched and keeps its configuration: " in failed.output, failed.output
    assert (role.bench.active(), trial(role)) == before and role.node.invocation_id() == invocation
    confirmed = role.play(first, "", tasks_from="confirm")
    assert confirmed.code == 0, confirmed.output
    role.bench.wait(lambda: first["uid"] in last_known_good(role), 60, "graduation")
    assert role.bench.configz()["maxPods"] == 76 and role.node.invocation_id() == invocation
    role.bench.wait(lambda: role.bench.status().get("reason") == "passed its trial", 30, "annotation")
    assert "error" not in role.bench.status()


@pytest.mark.fault(case=76)
def test_a_rollout_that_fails_within_the_trial_of_the_one_before_reverts_to_that_one(role: Role) -> None:
    oldest, first, second = (role.bench.source() for _run in range(3))
    run = role.play(oldest, {**role.local, "maxPods": 75}, kubelet_config_trial_seconds=1)
    assert run.code == 0, run.output
    role.bench.wait(lambda: oldest["uid"] in last_known_good(role), 60, "graduation")
    run = role.play(first, {**role.local, "maxPods": 76})
    assert run.code == 0 and trial(role)["confirmed"], run.output
    active = role.bench.active()

    failed = role.play(second, {**role.local, **DEADLY})
    assert failed.code, failed.output
    assert failed.output.count('"msg": "Node n1 was reverted to its previous configuration: ') == 1, failed.output
    role.bench.wait(lambda: role.bench.active() == active and role.bench.healthy(), 60, "revert")
    assert role.bench.configz()["maxPods"] == 76
    role.bench.wait(lambda: role.bench.status().get("error"), 60, "annotation")
    status = role.bench.status()
    names = {part: (status.get(part) or {}).get("configMap") for part in ("assigned", "active", "lastKnownGood")}
    assert names == {"assigned": second, "active": first, "lastKnownGood": oldest}, status
    assert status["reason"] == "reverted to the previous configuration", status
