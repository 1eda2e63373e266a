# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard on a real node whose container runtime is stopped or late, whose power is cut, or whose kubelet ends for a
reason of its own.
"""

from __future__ import annotations

import time
import typing as t

import pytest

from tests.support.node_bench import STORE, Bench

LOCAL = "store/local/config"
GOOD = {"maxPods": 77}
BAD = {"evictionHard": {"memory.available": "lots"}}
SOCKET = "/run/containerd/containerd.sock"
DROPIN = "/etc/systemd/system/containerd.service.d/95-test.conf"
# The kubelet's unit wants containerd, so that each of its starts would start it again.
STOP = "systemctl mask --quiet --runtime --now containerd"
START = "systemctl unmask --quiet --runtime containerd; systemctl daemon-reload; systemctl start containerd"
OUTAGE_SECONDS, HOLD_SECONDS = 600, 90
SHORT_AND_LONG = [
    (20, False),
    *(pytest.param(*row, marks=pytest.mark.long) for row in ((20, True), (60, False), (60, True))),
]


@pytest.fixture
def bench(bench: Bench) -> t.Iterator[Bench]:
    """Yield node n1 with the guard; start its container runtime again afterwards."""
    try:
        yield bench
    finally:
        if not bench.node.running:
            bench.node.start()
        bench.node.run(f"rm -f {DROPIN}; {START}")


def on_trial(bench: Bench, confirmed: bool, deadline: float = 8, **terms: t.Any) -> dict[str, str]:
    """Switch to a configuration with which the kubelet is healthy; return the source."""
    source = bench.assign(GOOD, deadline=deadline, confirm=900, **terms)
    bench.wait(bench.healthy, 30, "healthz")
    bench.wait(lambda: '"was_healthy": true' in progress(bench), 20, "observation of the healthy kubelet")
    if confirmed:
        bench.confirm()
    return source


def progress(bench: Bench) -> str:
    return bench.node.run(f"cat {STORE}/store/progress", check=False)


def last_known_good(bench: Bench) -> str:
    return bench.node.run(f"cat {STORE}/store/meta/last-known-good")


def kill_kubelet(bench: Bench) -> None:
    bench.node.run("systemctl kill --signal=KILL kubelet")


def unchanged(bench: Bench, source: dict[str, str], confirmed: bool) -> None:
    """Assert that the node runs the source, and that it graduates when it is confirmed."""
    bench.wait(bench.healthy, 60, "healthz")
    assert source["uid"] in bench.active()
    assert "error" not in bench.status(), bench.status()
    if not confirmed:
        assert bench.on_trial()
        bench.confirm()
    bench.wait(lambda: source["uid"] in last_known_good(bench), HOLD_SECONDS + 90, "graduation")
    bench.wait(lambda: bench.status().get("reason") == "passed its trial", 30, "annotation")
    assert bench.configz()["maxPods"] == 77


@pytest.mark.parametrize("confirmed", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_kubelet_that_ends_because_its_runtime_is_stopped(bench: Bench, confirmed: bool) -> None:
    source = on_trial(bench, confirmed)
    bench.node.run(STOP)
    kill_kubelet(bench)
    stage = "on trial, confirmed" if confirmed else "on trial"
    bench.wait(lambda: bench.node.restarts() >= 4, 60, "ends of the kubelet")
    bench.wait(
        lambda: bench.status().get("reason", "").startswith(f"{stage}; the container runtime is away: {SOCKET} "),
        30,
        "annotation that names the container runtime",
    )
    bench.node.run(START)
    unchanged(bench, source, confirmed)


def healthz_while(bench: Bench, source: dict[str, str], seconds: float) -> str:
    """Return how often healthz answered in this time; assert that the source stays active and is not reverted."""
    answers = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answers.append(bench.healthy())
        assert source["uid"] in bench.active() and "error" not in bench.status(), bench.status()
        time.sleep(5)
    return f"healthz answered {sum(answers)} of {len(answers)} times, the last time {answers[-1]}"


@pytest.mark.long
@pytest.mark.parametrize("confirmed", [True, False])
def test_containerd_stopped_for_ten_minutes(bench: Bench, confirmed: bool) -> None:
    """The kubelet's process runs on, whether its healthz fails meanwhile or not. After half of the time something ends
    it, and then each of its starts ends, too.
    """
    # Longer than it takes until the Node is not Ready: its trial must not end before.
    source = on_trial(bench, confirmed, deadline=HOLD_SECONDS)
    invocation = bench.node.invocation_id()
    bench.node.run(STOP)
    running = healthz_while(bench, source, OUTAGE_SECONDS / 2)
    assert bench.node.invocation_id() == invocation and bench.node.restarts() == 0, "nothing ends the kubelet"
    kill_kubelet(bench)
    ending = healthz_while(bench, source, OUTAGE_SECONDS / 2)
    starts = bench.node.restarts()
    assert bench.on_trial() and starts >= 10, "each start of the kubelet ends"
    bench.node.run(START)
    unchanged(bench, source, confirmed)
    # systemd counts from 0 again after a restart by anyone else.
    assert starts <= bench.node.restarts() <= starts + 3, "systemd alone starts the kubelet, which then stays"
    print(
        f"\nwithout containerd, before the kubelet ended: {running}; after: {ending}; "
        f"{bench.node.restarts()} starts, all by systemd"
    )


@pytest.mark.parametrize(("seconds", "confirmed"), SHORT_AND_LONG)
def test_a_boot_after_which_containerd_is_late(bench: Bench, seconds: int, confirmed: bool) -> None:
    """Without the grace of a boot, so that only the container runtime explains the ends of the kubelet."""
    source = on_trial(bench, confirmed, extra={"boot_grace_seconds": 0})
    # Unlike with a longer start of containerd, the kubelet does not wait for it.
    late = f"[Service]\\nType=simple\\nExecStart=\\nExecStart=/bin/sh -c 'sleep {seconds}; exec containerd'\\n"
    bench.node.run(f'mkdir -p $(dirname {DROPIN}) && printf "{late}" > {DROPIN}')
    if seconds < 60:
        bench.node.kill()
        bench.node.start()
    else:
        bench.node.reboot()
    assert bench.node.restarts() >= 2, "the kubelet ended while its container runtime was away"
    unchanged(bench, source, confirmed)


@pytest.mark.long
def test_a_power_cut_after_which_the_controller_does_not_confirm(bench: Bench) -> None:
    bench.assign(GOOD, deadline=300, confirm=30)
    bench.wait(lambda: '"was_healthy": true' in progress(bench), 20, "observation of the healthy kubelet")
    bench.node.kill()
    bench.node.start()
    assert bench.active() != LOCAL
    bench.wait(lambda: bench.active() == LOCAL and bench.healthy(), 60, "revert")
    error = "the configuration was not confirmed within 30 s after the reboot"
    bench.wait(lambda: bench.status().get("error") == error, 30, "annotation")


@pytest.mark.long
def test_a_second_reboot_before_the_confirmation(bench: Bench) -> None:
    on_trial(bench, False)
    bench.node.reboot()
    bench.wait(bench.healthy, 30, "healthz")
    assert bench.active() != LOCAL
    bench.node.reboot()
    bench.wait(lambda: bench.active() == LOCAL and bench.healthy(), 60, "revert")
    bench.wait(lambda: "rebooted 2 times before" in bench.status().get("error", ""), 30, "annotation")


@pytest.mark.long
def test_the_words_of_the_kubelet_outweigh_a_runtime_that_is_away(bench: Bench) -> None:
    bench.node.run(STOP)
    bench.assign(BAD, deadline=300)
    bench.wait(lambda: bench.active() == LOCAL, 30, "revert")
    bench.node.run(START)
    bench.wait(lambda: "refused the configuration: " in bench.status().get("error", ""), 60, "annotation")
    assert "quantities must match" in bench.status()["error"]


@pytest.mark.long
def test_ends_far_apart(bench: Bench) -> None:
    source = on_trial(bench, True, extra={"recovery_seconds": 6}, deadline=60)
    for _end in range(4):
        kill_kubelet(bench)
        bench.wait(bench.healthy, 30, "healthz")
        time.sleep(10)
    assert source["uid"] in bench.active() and "error" not in bench.status()
    kill_kubelet(bench)
    # Not in its prestart step: the end of that is not an end of the kubelet.
    bench.wait(lambda: bench.node.restarts() == 5 and bench.node.kubelet_pid(), 30, "start of the kubelet")
    kill_kubelet(bench)
    bench.wait(lambda: bench.active() == LOCAL, 30, "revert after two ends in a row")


@pytest.mark.long
def test_a_configuration_that_passed_its_trial_is_not_blamed_for_the_runtime(bench: Bench) -> None:
    source = on_trial(bench, True)
    bench.wait(lambda: source["uid"] in last_known_good(bench), 60, "graduation")
    bench.node.run(STOP)
    kill_kubelet(bench)
    bench.wait(
        lambda: f"and the container runtime is away: {SOCKET}" in bench.status().get("error", ""), 60, "annotation"
    )
    assert bench.status()["reason"] == "not changed" and source["uid"] in bench.active()
    bench.node.run(START)
    bench.wait(lambda: bench.status().get("reason") == "recovered", 120, "annotation")
