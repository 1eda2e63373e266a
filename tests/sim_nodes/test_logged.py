# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration that a kubelet 1.37 logs at its start is a proof that the guard needs no permission for."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.sim.cluster import Cluster
from tests.sim.nodes.calls import Calls
from tests.sim.nodes.node import SimNode

GUARD = "livenodes-kubelet-guard.service"
STATUS = f"{PREFIX}status"
CONFIG = "/var/lib/kubelet-config"


class Trials:
    """A node with a kubelet 1.37 and one delivery."""

    def __init__(self, cluster: Cluster, node: SimNode, delivery: str) -> None:
        self.cluster, self.node = cluster, node
        self.calls = Calls(node, delivery)

    def switched(self, pods: int) -> dict[str, str]:
        done = self.calls.switch({"maxPods": pods}, trial_seconds=1)
        self.node.wait(lambda: self.node.configz().get("maxPods") == pods, 60, "the new configuration")
        return t.cast("dict[str, str]", done["source"])

    def confirm(self, source: dict[str, str]) -> None:
        self.calls.apply("confirmed", source=source)

    def reason(self) -> str:
        text = self.cluster.node(self.node.name)["metadata"].get("annotations", {}).get(STATUS, "{}")
        return str(json.loads(text).get("reason", ""))

    def passed(self) -> bool:
        return self.reason() == "passed its trial"


@pytest.fixture(params=[pytest.param("checkpoint", marks=pytest.mark.long), "dropin"])
def trials(cluster: Cluster, tmp_path: Path, request: pytest.FixtureRequest) -> t.Iterator[Trials]:
    """Yield a node of its own, since a journal is never empty again."""
    with SimNode(cluster, tmp_path, f"logs-{request.param}", "v1.37.0") as node:
        node.wait(node.healthy, 60, "healthz")
        yield Trials(cluster, node, request.param)
    cluster.remove(node.name)


def test_the_guard_verifies_what_the_kubelet_logged(trials: Trials) -> None:
    trials.confirm(trials.switched(71))
    trials.node.wait(trials.passed, 120, "last-known-good")
    assert "verified by the kubelet's log: it logged the configuration on trial" in trials.node.journal(GUARD)
