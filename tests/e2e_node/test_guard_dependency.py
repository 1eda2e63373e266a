# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A restart of the kubelet that fails on a dependency of its unit: systemd leaves it stopped, as an operator does."""

from __future__ import annotations

import time
import typing as t

import pytest

from tests.support.node_bench import STORE, Bench
from tests.support.role_bench import Role

LOCAL = "store/local/config"
NEEDED = "needed-by-test.service"
KUBELET = "/etc/systemd/system/kubelet.service.d/95-test.conf"
CONTAINERD = "/etc/systemd/system/containerd.service.d/95-test.conf"
# systemd would stop the kubelet itself while it starts a containerd again and again that its unit requires.
FAILS = "[Service]\\nRestart=no\\nExecStart=\\nExecStart=/bin/false\\n"
CALM_SECONDS = 12


def depend(bench: Bench, unit: str) -> None:
    """Let the kubelet's unit require another one."""
    bench.node.run(f"printf '[Unit]\\nRequires={unit}\\nAfter={unit}\\n' > {KUBELET}; systemctl daemon-reload")


def state(bench: Bench) -> str:
    return bench.node.unit_property("ActiveState", "kubelet")


@pytest.fixture
def role(role: Role) -> t.Iterator[Role]:
    """Yield the role on node n1; end its dependencies and start the container runtime afterwards."""
    try:
        yield role
    finally:
        role.node.run(
            f"systemctl stop {NEEDED}; rm -f {KUBELET} {CONTAINERD} /run/systemd/system/{NEEDED}; "
            "systemctl daemon-reload; "
            "systemctl reset-failed containerd kubelet; systemctl start containerd; systemctl start kubelet",
            check=False,
        )


def stays(bench: Bench, wanted: str) -> None:
    """Assert that the kubelet's unit keeps this state for a while."""
    seen = set()
    until = time.monotonic() + CALM_SECONDS
    while time.monotonic() < until:
        seen.add(state(bench))
        time.sleep(1)
    assert seen == {wanted}


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
    depend(bench, "containerd.service")
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


@pytest.mark.fault(case=70)
def test_the_guard_starts_a_kubelet_that_the_role_could_not_restart(role: Role) -> None:
    bench = role.bench
    first = role.play(bench.source(), {**role.local, "maxPods": 76})
    assert first.code == 0, first.output
    active = bench.active()
    bench.node.run(f"printf '[Service]\\nType=oneshot\\nExecStart=/bin/false\\n' > /run/systemd/system/{NEEDED}")
    depend(bench, NEEDED)
    failed = role.play(
        bench.source(),
        {**role.local, "maxPods": 77},
        kubelet_config_allow_pending_edits=True,
    )
    assert failed.code and "systemctl restart failed (A dependency job " in failed.output, failed.output
    assert (state(bench), bench.active()) == ("inactive", active)
    bench.node.run(f"sed -i s,/bin/false,/bin/true, /run/systemd/system/{NEEDED}; systemctl daemon-reload")
    took = bench.wait(bench.healthy, 120, "start by the guard", every=1)
    print(f"\nthe kubelet runs {took:.1f} s after its dependency can start")
    assert bench.configz()["maxPods"] == 76 and bench.active() == active


@pytest.mark.fault(case=70)
def test_a_kubelet_that_an_operator_stops_stays_stopped(role: Role) -> None:
    bench = role.bench
    run = role.play(
        bench.source(),
        {**role.local, "maxPods": 77},
        kubelet_config_confirm=False,
        # Longer than the role needs on a busy machine: a revert that has begun restarts the kubelet.
        kubelet_config_confirm_seconds=40,
    )
    assert run.code == 0, run.output
    bench.node.run("systemctl stop kubelet")
    bench.wait(lambda: bench.active() == LOCAL, 90, "revert", every=1)
    stays(bench, "inactive")
    bench.node.run("systemctl start kubelet")
    bench.wait(bench.healthy, 60, "healthz")
    assert bench.configz()["maxPods"] == role.local.get("maxPods", 110)
    assert not bench.node.run(f"cat {STORE}/store/meta/last-known-good")
