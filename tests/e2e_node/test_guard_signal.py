# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet that a signal ends, and that systemd starts again before the guard looks."""

from __future__ import annotations

import typing as t

import pytest

from tests.support.node_bench import STORE, Bench

LOCAL = "store/local/config"
DROPIN = "/etc/systemd/system/kubelet.service.d/95-test.conf"


@pytest.fixture
def bench(bench: Bench) -> t.Iterator[Bench]:
    """Yield node n1 whose kubelet systemd starts again within 0.1 s: the guard looks every second."""
    bench.node.run(f"printf '[Service]\\nRestartSec=100ms\\n' > {DROPIN}; systemctl daemon-reload")
    try:
        yield bench
    finally:
        bench.node.run(f"rm -f {DROPIN}; systemctl daemon-reload", check=False)


def killed(bench: Bench, times: int) -> None:
    """Kill the kubelet, and wait for the one that systemd starts."""
    bench.node.run("systemctl kill --signal=KILL kubelet")
    bench.wait(lambda: bench.node.restarts() == times and bench.healthy(), 60, f"restart {times} by systemd")


@pytest.mark.fault(case=77)
def test_a_kubelet_that_is_killed_once_passes_its_trial(bench: Bench) -> None:
    source = bench.assign({"maxPods": 77}, deadline=8, confirm=300)
    bench.wait(bench.healthy, 30, "healthz")
    killed(bench, 1)
    bench.confirm()
    bench.wait(lambda: source["uid"] in bench.node.run(f"cat {STORE}/store/meta/last-known-good"), 60, "graduation")
    bench.wait(lambda: bench.status().get("reason") == "passed its trial", 30, "annotation")
    assert "error" not in bench.status() and bench.configz()["maxPods"] == 77


@pytest.mark.fault(case=77)
def test_the_reason_of_a_revert_names_the_signal(bench: Bench) -> None:
    source = bench.assign({"maxPods": 77}, deadline=300)
    bench.wait(bench.healthy, 30, "healthz")
    killed(bench, 1)
    bench.wait(lambda: '"failures": 1' in bench.node.run(f"cat {STORE}/store/progress"), 20, "count of the first end")
    assert source["uid"] in bench.active() and "error" not in bench.status()
    bench.node.run("systemctl kill --signal=KILL kubelet")
    bench.wait(lambda: bench.active() == LOCAL and bench.healthy(), 60, "revert")
    bench.wait(lambda: bench.status().get("error"), 30, "annotation")
    assert bench.status()["error"] == "the kubelet ended 2 times; a signal ended it, not an error of its own"
