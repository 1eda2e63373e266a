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

from tests.lab.lab import Lab
from tests.support.lab_node.node_bench import STORE, Bench

LOCAL = "store/local/config"
# No flag of a node overrides it.
GOOD = {"kubeAPIQPS": 77}
# Every kubelet refuses it before it asks its runtime. One of 1.36 reads the eviction thresholds only afterwards.
REFUSED_EARLY = {"kubeAPIQPS": -1}
SOCKET = "/run/containerd/containerd.sock"
DROPIN = "/etc/systemd/system/containerd.service.d/95-test.conf"
# The kubelet's unit wants containerd, so that each of its starts would start it again.
STOP = "systemctl mask --quiet --runtime --now containerd"
START = "systemctl unmask --quiet --runtime containerd; systemctl daemon-reload; systemctl start containerd"
OUTAGE_SECONDS, HOLD_SECONDS, CALM_SECONDS = 600, 90, 20
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
    assert bench.configz()["kubeAPIQPS"] == 77


@pytest.fixture
def stages(static_lab: Lab) -> t.Iterator[dict[bool, Bench]]:
    """Yield a node whose trial is confirmed and one whose trial is not, with the guard; restore them afterwards."""
    benches = {confirmed: Bench(static_lab, name) for confirmed, name in ((True, "n1"), (False, "n2"))}
    for bench in benches.values():
        bench.open()
    try:
        yield benches
    finally:
        for bench in benches.values():
            bench.node.run(START)
            bench.close()


def looked_at(stages: dict[bool, Bench], sources: dict[bool, dict[str, str]], seconds: float) -> dict[str, str]:
    """Return how often each node's healthz answered in this time; assert that no configuration is reverted."""
    answers: dict[bool, list[bool]] = {confirmed: [] for confirmed in stages}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for confirmed, bench in stages.items():
            answers[confirmed].append(bench.healthy())
            assert sources[confirmed]["uid"] in bench.active() and bench.on_trial()
            assert "error" not in bench.status(), bench.status()
        time.sleep(5)
    return {stages[confirmed].node.name: f"{sum(found)} of {len(found)} times" for confirmed, found in answers.items()}


@pytest.mark.long
@pytest.mark.fault(case=36)
def test_containerd_stopped_for_ten_minutes(stages: dict[bool, Bench]) -> None:
    """The kubelet's process runs on, whether its healthz fails meanwhile or not. After half of the time something ends
    it, and from then on each of its starts ends.
    """
    # The Node is not Ready before this hold time is over, so that the trial outlasts the outage.
    sources = {confirmed: on_trial(bench, confirmed, deadline=HOLD_SECONDS) for confirmed, bench in stages.items()}
    invocations = {bench.node.name: bench.node.invocation_id() for bench in stages.values()}
    for bench in stages.values():
        bench.node.run(STOP)
    print(f"\nhealthz answered while the kubelet ran on: {looked_at(stages, sources, OUTAGE_SECONDS / 2)}")
    assert {bench.node.name: bench.node.invocation_id() for bench in stages.values()} == invocations
    for bench in stages.values():
        kill_kubelet(bench)
    print(f"healthz answered after the kubelet had ended: {looked_at(stages, sources, OUTAGE_SECONDS / 2)}")
    starts = {confirmed: bench.node.restarts() for confirmed, bench in stages.items()}
    assert min(starts.values()) >= 10, "each start of the kubelet ends"
    for bench in stages.values():
        bench.node.run(START)
    for confirmed, bench in stages.items():
        unchanged(bench, sources[confirmed], confirmed)
        restarts = bench.node.restarts()
        stage = "confirmed" if confirmed else "on trial"
        print(f"{bench.node.name}, {stage}: {starts[confirmed]} starts while containerd was stopped, {restarts} in all")
        # systemd counts from 0 again when anyone else starts the kubelet.
        assert restarts >= starts[confirmed], "systemd alone started the kubelet"
        time.sleep(CALM_SECONDS)
        assert bench.node.restarts() == restarts, "the kubelet stays"


@pytest.mark.parametrize(("seconds", "confirmed"), SHORT_AND_LONG)
@pytest.mark.fault(case=36)
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
@pytest.mark.fault(case=36)
def test_the_words_of_the_kubelet_outweigh_a_runtime_that_is_away(bench: Bench) -> None:
    bench.node.run(STOP)
    bench.assign(REFUSED_EARLY, deadline=300)
    bench.wait(lambda: bench.active() == LOCAL, 30, "revert")
    bench.node.run(START)
    bench.wait(lambda: "refused the configuration: " in bench.status().get("error", ""), 60, "annotation")
    assert "must not be a negative number" in bench.status()["error"]


@pytest.mark.long
@pytest.mark.fault(case=36)
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
