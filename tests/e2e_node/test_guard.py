# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard on a real node, without Ansible and ssh. Each case ends with the kubelet on its old configuration, and with
a report on its Node.
"""

from __future__ import annotations

import calendar
import time
import typing as t

import pytest

from tests.support.lab_node.node_bench import STORE, Bench

LOCAL = "store/local/config"
BAD = {"evictionHard": {"memory.available": "lots"}}
GOOD = {"maxPods": 77}
DROPIN = "/etc/systemd/system/kubelet.service.d/95-test.conf"


def returned(
    bench: Bench, source: dict[str, str], reason: str, seconds: float, target: str = LOCAL, port: int = 10248
) -> None:
    """Assert that the node reverts automatically within `seconds` and reports it."""
    took = bench.wait(
        lambda: (
            bench.active() == target
            and bench.healthy(port)
            and "maxPods: 77" not in bench.node.run(f"cat {STORE}/active/kubelet")
        ),
        seconds,
        "revert",
    )
    bench.wait(lambda: reason in bench.status().get("error", ""), 30, f"annotation with {reason!r}")
    print(f"\nrecovery: {reason}: {took:.1f} s")
    status = bench.status()
    assert status["assigned"]["configMap"] == source
    assert (status.get("active") or {}).get("configMap", {}).get("uid", "") in target or target == LOCAL
    assert "active" in status or target == LOCAL
    bench.wait(
        lambda: any(reason in event["message"] for event in bench.events()),
        10,
        f"Event with {reason!r}, which is sent after the annotation",
    )
    event = bench.events()[-1]
    assert (
        event["type"] == "Warning"
        and reason in event["message"]
        and event["message"].startswith("Kubelet restarting to use ")
    )
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


def harm(bench: Bench, what: str) -> None:
    """From now on run shell code against every kubelet that does not run the local configuration."""
    script = f"""
while sleep 0.2; do
  [ "$(readlink {STORE}/active)" = {LOCAL} ] && continue
  pid=$(systemctl show --property=MainPID --value kubelet); [ "$pid" = 0 ] && continue
  tr '\\0' ' ' < /proc/$pid/cmdline | grep -q config || continue
  age=$(ps -o etimes= -p $pid | tr -d ' ')
  {what}
done"""
    bench.node.run("cat > /run/harm.sh", stdin=script)
    bench.node.run("systemd-run --quiet --collect --unit=harm sh /run/harm.sh")


def graduated(bench: Bench, **options: t.Any) -> dict[str, str]:
    """Assign a source and let it graduate; return it."""
    source = bench.assign({"maxPods": 55}, deadline=3, confirm=60, **options)
    bench.wait(bench.healthy, 30, "healthz")
    bench.confirm()
    bench.wait(lambda: last_known_good(bench), 40, "graduation")
    return source


def test_with_kubeadms_pause_between_restarts(bench: Bench) -> None:
    bench.node.run(f"printf '[Service]\\nRestartSec=10\\n' > {DROPIN}; systemctl daemon-reload")
    returned(bench, bench.assign(BAD), "refused the configuration", 30)


@pytest.mark.parametrize("seconds", [1, 5, *(pytest.param(each, marks=pytest.mark.long) for each in (60, 180))])
@pytest.mark.fault(case=7)
def test_a_kubelet_that_dies_later(bench: Bench, seconds: int) -> None:
    harm(bench, f"[ $age -ge {seconds} ] && kill -9 $pid")
    source = bench.assign(GOOD, deadline=300)
    bench.wait(bench.healthy, 30, "healthz") if seconds > 1 else None
    bench.confirm()
    returned(bench, source, "ended 2 times", 2 * seconds + 30)


@pytest.mark.fault(case=8)
def test_a_kubelet_that_runs_without_healthz(bench: Bench) -> None:
    # Each kubelet only once: a SIGSTOP during the guard's restart would delay the end of the old kubelet by
    # TimeoutStopSec=.
    harm(bench, '[ $age -ge 3 ] && [ $pid != "$stopped" ] && kill -STOP $pid && stopped=$pid')
    returned(bench, bench.assign(GOOD, deadline=120, unhealthy=8), "healthz has failed", 60)


@pytest.mark.fault(case=6)
def test_healthz_is_queried_at_the_address_of_the_new_configuration(bench: Bench) -> None:
    source = bench.assign({**GOOD, "healthzPort": 10348}, deadline=8, confirm=60, unhealthy=4)
    bench.wait(lambda: bench.healthy(10348), 30, "healthz on the new port")
    bench.confirm()
    bench.wait(lambda: source["uid"] in last_known_good(bench), 30, "graduation")


@pytest.mark.fault(case=6)
def test_a_healthz_address_that_does_not_exist(bench: Bench) -> None:
    returned(
        bench,
        bench.assign({**GOOD, "healthzPort": 10348, "healthzBindAddress": "192.0.2.1"}, deadline=120, unhealthy=8),
        "healthz has failed",
        60,
    )


def test_a_missing_restart_and_confirmation(bench: Bench) -> None:
    before = bench.node.invocation_id()
    returned(bench, bench.assign(GOOD, deadline=5, restart=False), "was not confirmed", 40)
    assert bench.node.invocation_id() == before


@pytest.mark.fault(case=19)
def test_rebooted_before_the_kubelet_was_healthy(bench: Bench) -> None:
    source = bench.assign(GOOD, deadline=300, restart=False)
    bench.node.reboot()
    returned(bench, source, "rebooted before", 60)
    assert bench.node.restarts() == 0


def test_a_trial_continues_after_a_reboot_and_a_confirmation(bench: Bench) -> None:
    source = bench.assign(GOOD, deadline=8, confirm=60)
    bench.wait(bench.healthy, 30, "healthz")
    bench.confirm()
    bench.node.kill()
    bench.node.start()
    bench.wait(lambda: source["uid"] in last_known_good(bench), 60, "graduation")
    assert bench.configz()["maxPods"] == 77


@pytest.mark.fault(case=13)
def test_start_limit(bench: Bench) -> None:
    bench.node.run(
        f"printf '[Unit]\\nStartLimitIntervalSec=300\\nStartLimitBurst=1\\n' > {DROPIN}; systemctl daemon-reload"
    )
    # A kubelet that a signal ends does not state a cause.
    harm(bench, "kill -9 $pid")
    returned(bench, bench.assign(GOOD, deadline=300), "given up", 60)


def test_a_guard_that_is_killed(bench: Bench) -> None:
    source = bench.assign(GOOD, deadline=300)
    bench.wait(bench.healthy, 30, "healthz")
    bench.node.run("systemctl kill --signal=KILL livenodes-kubelet-guard.service")
    bench.wait(
        lambda: bench.node.unit_property("ActiveState", "livenodes-kubelet-guard.service") == "active",
        10,
        "a new guard",
    )
    harm(bench, "[ $age -ge 2 ] && kill -9 $pid; systemctl kill --signal=KILL livenodes-kubelet-guard.service")
    returned(bench, source, "ended 2 times", 60)


@pytest.mark.fault(case=24)
def test_with_a_damaged_store_the_units_own_file_is_used(bench: Bench) -> None:
    good = graduated(bench)
    bench.node.run(
        f"echo torn > {STORE}/store/checkpoints/{good['uid']}/1/kubelet; "
        f"rm -r {STORE}/store/local; systemctl restart kubelet",
        check=False,
    )
    bench.wait(bench.healthy, 30, "healthz")
    assert bench.active() == LOCAL and bench.configz()["maxPods"] != 55
    bench.wait(
        lambda: "/var/lib/kubelet/config.yaml" in bench.status().get("reason", "") and same_start(bench),
        20,
        "annotation",
    )
    assert "does not match" in bench.status()["error"]


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
