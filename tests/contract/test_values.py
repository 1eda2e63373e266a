# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A configuration that means what a node runs is live and verified, in whatever notation its values are written; and
what else a kubelet serves.
"""

from __future__ import annotations

import json
import re
import time

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verify
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from tests.contract.clusters import NAMES, NODES, Contracted
from tests.support.api.assigning import patiently
from tests.support.kubelets.odd_values import TURNS, respelt

# Each node gets another turn.
ROUNDS = [tuple((start + at) % TURNS for at in range(len(NAMES))) for start in range(0, TURNS, len(NAMES))]


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(ROUNDS[-1:], id="some notations"),
        pytest.param(ROUNDS, id="every notation", marks=pytest.mark.long_on_lab),
    ],
)
def test_every_notation_is_live_and_verified(cluster: Contracted, rounds: list[tuple[int, ...]]) -> None:
    before = {name: cluster.look(name).configz for name in NAMES}
    for turns in rounds:
        sources = {}
        for name, turn in zip(NAMES, turns):
            config = respelt(fields.restore(before[name]), fields.OLDEST_MINOR, turn)
            sources[name] = cluster.apply(f"values-{name}-{turn}", {"kubelet": json.dumps(config)})
        # It fails with `differs` if a value is not the one of the source.
        result = verify.config_source(cluster.session, patiently(sources=sources), False)
        assert {row["state"] for row in result["nodes"].values()} == {"active"}
        assert {name: cluster.look(name).configz for name in NAMES} == before


def test_what_a_kubelet_serves(around: Contracted) -> None:
    """Its health, its start and how long it has looked after its pods, what its node uses, and its heartbeats."""
    proxy = f"{NODES}/n1/proxy"
    assert around.session.text(f"{proxy}/healthz") == "ok"
    metrics = around.session.text(f"{proxy}/metrics")
    started = re.findall(r"^process_start_time_seconds (\S+)$", metrics, re.MULTILINE)
    relisted = re.findall(r"^kubelet_pleg_relist_interval_seconds_sum (\S+)$", metrics, re.MULTILINE)
    age = time.time() - float(started[0])
    # A kubelet relists from a few seconds after its start on.
    assert 0 < age < 100000 and float(relisted[0]) > age - 10
    summary = around.get(f"{proxy}/stats/summary")["node"]
    assert {"availableBytes", "usageBytes", "workingSetBytes"} <= summary["memory"].keys()
    assert summary["fs"].keys() == summary["runtime"]["imageFs"].keys()
    assert {"availableBytes", "capacityBytes", "inodesFree", "inodes"} <= summary["fs"].keys()
    assert summary["rlimit"].keys() == {"time", "maxpid", "curproc"}
    ready = next(each for each in around.get(f"{NODES}/n1")["status"]["conditions"] if each["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("True", "KubeletReady")
    lease = around.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1")["spec"]
    assert lease.keys() == {"holderIdentity", "leaseDurationSeconds", "renewTime"}
