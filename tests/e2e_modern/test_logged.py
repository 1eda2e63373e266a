# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration in the log of a real kubelet 1.37, in both formats, and where journald drops lines of it."""

from __future__ import annotations

import typing as t

import pytest

from tests.lab import releases
from tests.lab.lab import Lab
from tests.support.lab.borrowed_lab import need
from tests.support.lab_node.dropin_node import Calls
from tests.support.lab_node.node_bench import Bench

LIMIT = "/etc/systemd/system/kubelet.service.d/60-limit.conf"
VERIFIED = "verified by the kubelet's log: it logged the configuration on trial"
UNKNOWN = "not verified by the kubelet's log: it has no whole configuration of this start"


@pytest.fixture
def calls(lab: Lab) -> t.Iterator[Calls]:
    """Yield the module on a node that runs 1.37; afterwards the node has its own kubelet and configuration."""
    need((releases.LOGGING,))
    bench = Bench(lab, "n3")
    before = bench.node.release.version
    try:
        lab.upgrade("n3", releases.LOGGING)
        bench.wait(bench.healthy, 60, "healthz of 1.37")
        bench.reports(lab.node("n3").release.version)
        yield Calls(bench)
    finally:
        bench.node.run(f"rm -f {LIMIT}; systemctl daemon-reload")
        bench.close()
        lab.upgrade("n3", before)
        bench.wait(bench.healthy, 60, "healthz of the former version")


@pytest.mark.parametrize(
    ("form", "burst", "printed"),
    [
        ("text", 10000, VERIFIED),
        ("json", 10000, VERIFIED),
        pytest.param("text", 30, UNKNOWN, id="journald drops lines"),
    ],
)
def test_the_guard_asks_the_log(calls: Calls, form: str, burst: int, printed: str) -> None:
    """Whatever the log shows, the configuration becomes last-known-good: the controller has verified it."""
    bench = calls.bench
    limit = f"[Service]\nLogRateLimitIntervalSec=5s\nLogRateLimitBurst={burst}\n"
    bench.node.run(f"cat > {LIMIT}; systemctl daemon-reload; systemctl restart kubelet", stdin=limit)
    bench.wait(bench.healthy, 60, "healthz with the limit")
    result = calls.switch({"maxPods": 77, "logging": {"format": form}}, trial_seconds=1)
    assert result["reasons"] == [], result
    bench.wait(bench.healthy, 60, "healthz")
    bench.confirm()
    bench.wait(lambda: not bench.on_trial(), 60, "graduation", every=0.5)
    log = bench.node.run(f"journalctl --unit=livenodes-kubelet-guard --output=cat --since=@{int(bench.begun)}")
    assert [line for line in log.splitlines() if "verified by the kubelet's log" in line] == [printed]
