# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout that fails within the trial of the one before."""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.support.lab_node.node_bench import STORE
from tests.support.lab_node.role_bench import Role

# The binary accepts it, and the kubelet ends with it.
DEADLY = {"evictionHard": {"memory.available": "lots"}}


def last_known_good(role: Role) -> str:
    return role.node.run(f"cat {STORE}/store/meta/last-known-good")


def trial(role: Role) -> dict[str, t.Any]:
    return t.cast("dict[str, t.Any]", json.loads(role.node.run(f"cat {STORE}/store/trial")))


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
