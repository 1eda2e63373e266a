# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A unit that waits until the kubelet has started (`Type=notify`), and one that ends a kubelet that hangs
(`WatchdogSec=`).

A kubelet of any version sends READY=1 when it has started (cmd/kubelet/app/server.go); from 1.32 on it also answers
systemd's watchdog as long as its own health checks succeed (pkg/kubelet/watchdog).
"""

from __future__ import annotations

import typing as t

import pytest

from tests.support.lab import settled
from tests.support.lab_node.role_bench import Role

LOCAL = "store/local/config"
DROPIN = "/etc/systemd/system/kubelet.service.d/95-notify.conf"
WATCHDOG_SECONDS = 6
NOTIFY = "[Service]\nType=notify\n"
WATCHED = f"{NOTIFY}WatchdogSec={WATCHDOG_SECONDS}\n"
# It passes every check before the switch. The kubelet ends, because the port is that of sshd, or before it has started.
DEADLY = [{"readOnlyPort": 22}, {"evictionHard": {"memory.available": "lots"}}]
UNITS = [
    pytest.param(NOTIFY, id="notify"),
    pytest.param(
        WATCHED,
        id="watchdog",
        marks=pytest.mark.minors(first=32, reason="earlier kubelets do not answer the watchdog"),
    ),
]


@pytest.fixture
def notify(role: Role, request: pytest.FixtureRequest) -> t.Iterator[Role]:
    """Yield a node whose unit has these settings; restore the unit afterwards, and the node's own configuration."""
    try:
        role.node.run(f"cat > {DROPIN} && systemctl daemon-reload && systemctl restart kubelet", stdin=request.param)
        role.bench.wait(role.bench.healthy, 60, "healthz")
        assert role.node.unit_property("Type") == "notify"
        layout = role.layout()
        try:
            yield role
        finally:
            if role.layout() != layout:
                role.play(None, "", tasks_from="reset")
    finally:
        role.node.run(f"rm -f {DROPIN} && systemctl daemon-reload && systemctl restart kubelet")


@pytest.mark.parametrize("notify", UNITS, indirect=True)
@pytest.mark.parametrize(
    "deadly", [pytest.param(DEADLY[0], id="a port", marks=pytest.mark.long), pytest.param(DEADLY[1], id="a value")]
)
def test_switch_revert_and_reset(notify: Role, deadly: dict[str, t.Any]) -> None:
    role = notify
    layout = role.layout()
    good = role.bench.source()
    first = role.play(good, {**role.local, settled.FIELD: settled.NEW}, kubelet_config_trial_seconds=2)
    assert first.code == 0, first.output
    settled.settled(role.bench, settled.NEW, 60)
    active = role.bench.active()
    assert good["uid"] in active

    run = role.play(role.bench.source(), {**role.local, **deadly})
    assert run.code and "was reverted to its previous configuration" in run.output, run.output
    role.bench.wait(lambda: role.bench.active() == active and role.bench.healthy(), 60, "revert")
    settled.settled(role.bench, settled.NEW, 60)
    assert role.bench.status()["error"]

    gone = role.play(None, "", tasks_from="reset")
    assert gone.code == 0, gone.output
    assert role.layout() == layout
    settled.settled(role.bench, settled.OLD, 30)


@pytest.mark.parametrize("notify", UNITS, indirect=True)
def test_the_guard_alone_reverts_a_kubelet_that_never_starts(notify: Role) -> None:
    """Its unit is `activating` until it ends, so that no start of it is ever complete."""
    role = notify
    role.bench.open()
    try:
        role.bench.assign(DEADLY[1])
        took = role.bench.wait(lambda: role.bench.active() == LOCAL and role.bench.healthy(), 60, "revert")
        print(f"\nrecovery: {took:.1f} s")
        role.bench.wait(lambda: "refused the configuration" in role.bench.status().get("error", ""), 30, "annotation")
    finally:
        role.bench.close()


@pytest.mark.parametrize("notify", UNITS[1:], indirect=True)
def test_the_guard_counts_what_the_watchdog_ends(notify: Role) -> None:
    """A kubelet that hangs does not answer: systemd ends it, and the guard reverts the configuration."""
    role = notify
    role.bench.open()
    try:
        role.bench.assign({settled.FIELD: settled.NEW}, deadline=300, unhealthy=120)
        for end in (1, 2):
            role.bench.wait(role.bench.healthy, 60, "healthz")
            if role.bench.active() == LOCAL:
                break
            role.node.run("kill -STOP $(systemctl show -P MainPID kubelet)")
            # systemd counts its restarts from 0 again when the guard restarts the kubelet.
            role.bench.wait(
                lambda end=end: role.node.restarts() >= end or role.bench.active() == LOCAL,
                6 * WATCHDOG_SECONDS,
                "end by the watchdog",
            )
        took = role.bench.wait(lambda: role.bench.active() == LOCAL and role.bench.healthy(), 60, "revert")
        print(f"\nrecovery: {took:.1f} s")
        role.bench.wait(lambda: "ended 2 times" in role.bench.status().get("error", ""), 30, "annotation")
    finally:
        role.bench.close()
