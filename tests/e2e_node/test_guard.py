# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard on a real node, without Ansible and ssh: the report of a revert, and what a trial that passes costs."""

from __future__ import annotations

import calendar
import time

import pytest

from tests.support.lab_node.node_bench import STORE, Bench

LOCAL = "store/local/config"
GOOD = {"maxPods": 77}
DROPIN = "/etc/systemd/system/kubelet.service.d/95-test.conf"


def returned(bench: Bench, source: dict[str, str], reason: str) -> None:
    """Assert that the node reverts automatically to its local configuration and reports it."""
    took = bench.wait(lambda: bench.active() == LOCAL and bench.healthy(), 60, "revert")
    bench.wait(lambda: reason in bench.status().get("error", ""), 30, f"annotation with {reason!r}")
    print(f"\nrecovery: {reason}: {took:.1f} s")
    status = bench.status()
    assert status["assigned"]["configMap"] == source
    bench.wait(
        lambda: any(reason in event["message"] for event in bench.events()),
        10,
        f"Event with {reason!r}, which is sent after the annotation",
    )
    event = bench.events()[-1]
    assert event["type"] == "Warning" and reason in event["message"]
    assert event["message"].startswith("Kubelet restarting to use ")
    bench.wait(lambda: bench.configz()["maxPods"] != 77, 20, "configz with the old value")
    bench.wait(lambda: same_start(bench), 20, "start of the kubelet in the annotation")
    bench.wait(
        lambda: bench.node.unit_property("ActiveState", "livenodes-kubelet-guard.service") == "inactive",
        20,
        "end of the guard",
    )


def same_start(bench: Bench) -> bool:
    """Return whether the annotation has the start time of the running kubelet, give or take a second of rounding."""
    times = [
        calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))
        for text in (bench.status().get("started"), bench.start())
        if text
    ]
    return len(times) == 2 and abs(times[0] - times[1]) <= 1


def last_known_good(bench: Bench) -> str:
    """Return the last-known-good of the store; empty for the local configuration."""
    return bench.node.run(f"cat {STORE}/store/meta/last-known-good")


@pytest.mark.fault(case=13)
def test_start_limit(bench: Bench) -> None:
    bench.node.run(
        f"printf '[Unit]\\nStartLimitIntervalSec=300\\nStartLimitBurst=1\\n' > {DROPIN}; systemctl daemon-reload"
    )
    source = bench.assign(GOOD, deadline=300)
    # A kubelet that a signal ends does not state a cause.
    bench.node.run("systemctl kill --signal=KILL kubelet")
    returned(bench, source, "given up")


def test_graduation_and_its_cost(bench: Bench) -> None:
    source = bench.assign(GOOD, deadline=25)
    bench.wait(bench.healthy, 30, "healthz")
    bench.confirm()
    pid = bench.node.unit_property("MainPID", "livenodes-kubelet-guard.service")
    time.sleep(10)
    memory = int(bench.node.run(f"grep VmRSS /proc/{pid}/status").split()[1])
    fields = bench.node.run(f"cat /proc/{pid}/stat").split()
    ticks = sum(int(field) for field in fields[13:17])
    print(f"\nguard: {memory / 1024:.1f} MB, {ticks / 100:.2f} s of CPU with its children")
    assert memory < 20 * 1024
    bench.wait(lambda: source["uid"] in last_known_good(bench), 40, "graduation")
    bench.wait(lambda: bench.status().get("lastKnownGood", {}).get("configMap") == source, 20, "annotation")
    status = bench.status()
    assert status["active"] == status["assigned"] == status["lastKnownGood"] and "error" not in status
    bench.wait(bench.events, 10, "Event, which is sent after the annotation")
    assert [event["type"] for event in bench.events()] == ["Normal"]
