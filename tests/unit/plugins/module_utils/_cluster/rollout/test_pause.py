# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pauses of rollouts: how they begin and end, and which batch they stop."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import pause
from tests.sim.api.direct import Clock, Direct
from tests.support.api.calls import NODES
from tests.support.api.gating import group, refused, run
from tests.support.api.objects import configmap, node


def paused(**data: str) -> dict[str, t.Any]:
    made = configmap("livenodes-kubelet-rollout", data=data)
    made["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return made


def test_a_pause(clock: Clock) -> None:
    """Before the nodes are looked at, and not waited for."""
    api = group()
    api.configmaps["livenodes-kubelet-rollout"] = paused(paused="true", reason="release day")
    error = refused(api, "n1", timeout=60)
    assert error.message == (
        "rollouts are paused since 2026-01-01T00:00:00Z: release day (key paused of the ConfigMap "
        "kube-system/livenodes-kubelet-rollout). Nothing was begun. "
        "End the pause with `kubectl -n kube-system patch configmap livenodes-kubelet-rollout --type=merge "
        '-p \'{"data":{"paused":null}}\'`, then run again: the rollout continues where it stopped'
    )
    assert error.result["paused"] == {"since": "2026-01-01T00:00:00Z", "by": "", "reason": "release day"}
    assert not clock.slept and api.count("GET", NODES) == 0
    assert run(api, "n1", pause_configmap="other") and run(api, "n1", pause_configmap="")
    api.configmaps["livenodes-kubelet-rollout"]["data"] = {"paused": "yes"}
    api.configmaps["livenodes-kubelet-rollout"]["metadata"]["managedFields"] = [
        {"manager": "kubectl-edit", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:data": {"f:paused": {}}}}
    ]
    assert "since 2026-01-02T00:00:00Z by kubectl-edit, no reason given (key paused" in refused(api, "n1").message


@pytest.mark.parametrize(
    ("before", "options", "after", "changed"),
    [
        (None, {}, {"paused": "true"}, True),
        (None, {"reason": "n1 was reverted"}, {"paused": "true", "reason": "n1 was reverted"}, True),
        # As a text block of YAML ends.
        (None, {"reason": "a\n"}, {"paused": "true", "reason": "a"}, True),
        ({"other": "kept"}, {"reason": "a"}, {"other": "kept", "paused": "true", "reason": "a"}, True),
        ({"paused": "yes", "reason": "a"}, {}, {"paused": "yes", "reason": "a"}, False),
        ({"paused": "yes", "reason": "a"}, {"reason": "b"}, {"paused": "true", "reason": "b"}, True),
        ({"paused": "yes", "reason": "a", "other": "kept"}, {"state": "resumed"}, {"other": "kept"}, True),
        ({"paused": "false"}, {"state": "resumed"}, {"paused": "false"}, False),
        (None, {"state": "resumed"}, None, False),
    ],
)
def test_pausing_and_resuming(before: t.Any, options: dict[str, str], after: t.Any, changed: bool) -> None:
    """Twice each, and in check mode before; other keys of the ConfigMap stay."""
    name = "livenodes-kubelet-rollout"
    api = Direct(configmaps=[] if before is None else [paused(**before)])
    given = {"state": "paused", "reason": "", "namespace": "kube-system", "pause_configmap": name, **options}

    def there() -> t.Any:
        return api.configmaps[name]["data"] if name in api.configmaps else None

    assert (pause.pause(api, given, True)["changed"], there()) == (changed, before)
    first = pause.pause(api, given, False)
    assert (first["changed"], there()) == (changed, after)
    assert pause.pause(api, given, False) == {"changed": False, "paused": first["paused"], "diff": []}
    assert bool(first["paused"]) == ("paused" in (after or {}) and after["paused"] != "false")


def test_a_pause_while_it_waits(clock: Clock) -> None:
    api = group(n7=node("n7", ready="False"))
    clock.at(5, lambda: api.configmaps.update({"livenodes-kubelet-rollout": paused(paused="true")}))
    assert refused(api, "n1", timeout=60).message.startswith("rollouts are paused since")


def test_the_option_pause_stops_after_the_batch_that_is_under_way(clock: Clock) -> None:
    api = group()
    assert run(api, "n1", pause=True)["paused"] is None
    assert run(api, "n1", started=True)["paused"] is None
    error = refused(api, "n1", pause=True, started=True)
    assert error.message.startswith(
        "paused by the option pause after the previous batch; nothing was changed on the nodes after it. Run again"
    )
    assert error.result["paused"] == {"since": "2026-01-01T00:00:00.000000Z", "by": "the option pause", "reason": ""}


def test_an_empty_batch_asks_for_the_pause_alone(clock: Clock) -> None:
    api = group(n7=node("n7", ready="False"), n8=node("n8", ready="False"))
    assert run(api)["budget"]["left"] == 0
    api.configmaps["livenodes-kubelet-rollout"] = paused(paused="true")
    assert "rollouts are paused" in refused(api).message
