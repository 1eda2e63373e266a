# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard on a real node whose systemd has given up the kubelet, or cannot start it for a dependency."""

from __future__ import annotations

import calendar
import time
import typing as t

import pytest

from tests.support.lab_node.node_bench import Bench
from tests.support.lab_node.role_bench import Role

LOCAL = "store/local/config"
GOOD = {"maxPods": 77}
DROPIN = "/etc/systemd/system/kubelet.service.d/95-test.conf"
CONTAINERD = "/etc/systemd/system/containerd.service.d/95-test.conf"
# systemd would stop the kubelet itself while it starts a containerd again and again that its unit requires.
FAILS = "[Service]\\nRestart=no\\nExecStart=\\nExecStart=/bin/false\\n"


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


@pytest.mark.fault(case=13)
def test_start_limit(bench: Bench) -> None:
    bench.node.run(
        f"printf '[Unit]\\nStartLimitIntervalSec=300\\nStartLimitBurst=1\\n' > {DROPIN}; systemctl daemon-reload"
    )
    source = bench.assign(GOOD, deadline=300)
    # A kubelet that a signal ends does not state a cause.
    bench.node.run("systemctl kill --signal=KILL kubelet")
    returned(bench, source, "given up")


def state(bench: Bench) -> str:
    return bench.node.unit_property("ActiveState", "kubelet")


@pytest.fixture
def role(role: Role) -> t.Iterator[Role]:
    """Yield the role on node n1; remove its dependency and start the container runtime afterwards."""
    try:
        yield role
    finally:
        role.node.run(
            f"rm -f {DROPIN} {CONTAINERD}; systemctl daemon-reload; "
            "systemctl reset-failed containerd kubelet; systemctl start containerd; systemctl start kubelet",
            check=False,
        )


@pytest.mark.fault(case=70)
def test_the_guard_starts_the_kubelet_once_the_runtime_is_back(role: Role) -> None:
    bench = role.bench
    run = role.play(
        bench.source(),
        {**role.local, "maxPods": 77},
        kubelet_config_confirm=False,
        kubelet_config_confirm_seconds=20,
    )
    assert run.code == 0, run.output
    unit = "containerd.service"
    bench.node.run(f"printf '[Unit]\\nRequires={unit}\\nAfter={unit}\\n' > {DROPIN}; systemctl daemon-reload")
    bench.node.run(
        f"mkdir -p $(dirname {CONTAINERD}); printf '{FAILS}' > {CONTAINERD}; systemctl daemon-reload; "
        "systemctl kill --signal=KILL containerd"
    )
    bench.wait(lambda: state(bench) == "inactive", 90, "restart that fails", every=1)
    assert bench.active() == LOCAL
    bench.node.run(f"rm {CONTAINERD}; systemctl daemon-reload")
    took = bench.wait(bench.healthy, 120, "start by the guard", every=1)
    print(f"\nthe kubelet runs {took:.1f} s after the runtime can start")
    assert bench.configz()["maxPods"] == role.local.get("maxPods", 110)
    bench.wait(lambda: "was not confirmed" in bench.status().get("error", ""), 60, "annotation")
