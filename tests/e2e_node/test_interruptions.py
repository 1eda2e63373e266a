# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role `checkpoint` with its controller killed: before each step of a switch or a reset, where one of two nodes is
also rebooted, and between a revert and the restart of the kubelet.
"""

from __future__ import annotations

import json
import time
import typing as t

import pytest

from tests.support.lab import settled
from tests.support.lab_node.role_bench import AFTER, Role, Source
from tests.support.plays import boundaries

# tests/sim_nodes plays interrupted steps in the short tier.
pytestmark = pytest.mark.long

LEFT, REBOOTED = "n1", "n2"
# The deadline of an unconfirmed trial; plays that do confirm must finish within it on a busy machine, too.
LEAST_SECONDS, TIMES = 12, 1.5
Wanted = dict[str, tuple[Source, t.Any]]
REASON = "pods of the canary were lost"
RESTART = "Revert | Restart the kubelet with the previous configuration"


def wanted(role: Role) -> Wanted:
    return {
        name: (bench.source(), {**bench.local(), settled.FIELD: settled.NEW}) for name, bench in role.benches.items()
    }


def killed_at(role: Role, configs: Wanted, boundary: int, **variables: t.Any) -> str:
    """Run the role and kill the controller at a boundary; return the name of the step before which it ended, or ""."""
    at = []

    def before(count: int, name: str) -> bool:
        if count == boundary or name == AFTER:
            at.append(name)
        return not at

    run = boundaries.steps(role.ansible, role.write(configs, **variables), before)
    assert run.code == (-9 if at else 0), run.output
    return at[0] if at else ""


# Before the call that stages and switches, before the restart, before the confirmation.
@boundaries.some_or_each(1, 4)
@pytest.mark.fault(case=17)
@pytest.mark.fault(case=19)
def test_killed_before_a_step_and_one_node_rebooted(both: Role, numbers: t.Iterable[int]) -> None:
    role, seen = both, list[str]()
    back = []
    confirm = 60.0
    for number in numbers:
        configs = wanted(role)
        for bench in role.benches.values():
            settled.watch(bench)
        begun = time.monotonic()
        name = killed_at(
            role, configs, number, kubelet_config_confirm_seconds=int(confirm), kubelet_config_trial_seconds=2
        )
        killed = time.monotonic()
        seen.append(name)
        assert name and len(seen) < 30, seen
        taken = {
            each: settled.confirmed(bench, t.cast("dict[str, str]", configs[each][0]))
            for each, bench in role.benches.items()
        }
        switched = {each: bench.active() not in ("", "store/local/config") for each, bench in role.benches.items()}
        role.lab.node(REBOOTED).reboot()
        rebooted = time.monotonic()
        for each, bench in role.benches.items():
            settled.settled(bench, settled.NEW if taken[each] else settled.OLD, confirm + 30)
            if switched[each] and not taken[each]:
                back.append(f"{each} before `{name}`")
            settled.watched(bench)
        well = time.monotonic()
        again = role.ansible.playbook(str(role.write(configs, kubelet_config_trial_seconds=2)))
        assert again.code == 0, again.output
        confirm = max(LEAST_SECONDS, TIMES * (time.monotonic() - well))
        for bench in role.benches.values():
            assert settled.qps(bench) == settled.NEW
        print(
            f"\n{number:4} {name}: {killed - begun:.1f} s, reboot {rebooted - killed:.1f} s, "
            f"kubelet healthy {well - rebooted:.1f} s later, "
            f"again {time.monotonic() - well:.1f} s"
        )
        if name == AFTER:
            break
        for bench in role.benches.values():
            bench.close()
    third = role.ansible.playbook(str(role.home / "play.yml"))
    assert third.code == 0 and not any(third.recap(each)["changed"] for each in role.benches), third.output
    assert taken == {LEFT: True, REBOOTED: True} and len(back) >= min(4, len(seen) - 2), back


# Before the local configuration becomes active, before the kubelet restarts with it, before the drop-in is removed.
@boundaries.some_or_each(3)
@pytest.mark.fault(case=19)
def test_a_reset_killed_before_a_step_and_one_node_rebooted(both: Role, numbers: t.Iterable[int]) -> None:
    role, seen = both, list[str]()
    layouts = {name: role.layout(name) for name in role.benches}
    configs = wanted(role)
    for number in numbers:
        run = role.ansible.playbook(str(role.write(configs)))
        assert run.code == 0, run.output
        for bench in role.benches.values():
            settled.watch(bench)
        done = len(seen)

        def before(count: int, name: str, number: int = number, done: int = done) -> bool:
            if count == number or name == AFTER:
                seen.append(name)
            return len(seen) == done

        reset = role.write(configs, "reset")
        boundaries.steps(role.ansible, reset, before)
        assert len(seen) == done + 1 < 30, seen
        role.lab.node(REBOOTED).reboot()
        for bench in role.benches.values():
            bench.wait(
                lambda bench=bench: bench.healthy() and settled.qps(bench) in (settled.OLD, settled.NEW),
                30,
                "kubelet that is well",
                every=1,
            )
            settled.watched(bench)
        again = role.ansible.playbook(str(reset))
        assert again.code == 0, again.output
        for name, bench in role.benches.items():
            assert (settled.qps(bench), bench.status()) == (settled.OLD, {}), f"{name}, killed before {seen[-1]}"
            assert role.layout(name) == layouts[name]
        print(f"\n{number:4} {seen[-1]}")
        if seen[-1] == AFTER:
            break


def on_trial(role: Role) -> dict[str, str]:
    """Run a configuration that nothing confirms, and that is healthy; return its source."""
    source = role.bench.source()
    run = role.play(
        source,
        {**role.local, settled.FIELD: settled.NEW},
        kubelet_config_confirm=False,
        kubelet_config_confirm_seconds=900,
    )
    assert run.code == 0 and settled.qps(role.bench) == settled.NEW, run.output
    return source


def interrupted(role: Role) -> None:
    """Revert, and kill the controller before it restarts the kubelet."""
    play = role.write(dict.fromkeys(role.benches, (None, "")), "revert", kubelet_config_reason=REASON)
    seen = list[str]()

    def before(_count: int, name: str) -> bool:
        seen.append(name)
        return name != RESTART

    assert boundaries.steps(role.ansible, play, before).code == -9 and seen[-1] == RESTART, seen
    assert role.bench.active() == "store/local/config" and settled.qps(role.bench) == settled.NEW


def verdict(role: Role) -> t.Any:
    """Return the verdict that waits for a start of the kubelet."""
    return json.loads(role.node.run("cat /var/lib/kubelet-config/store/progress 2>/dev/null || echo {}")).get("verdict")


@pytest.mark.fault(case=35)
def test_the_node_restarts_its_kubelet_and_reports(role: Role) -> None:
    source = on_trial(role)
    invocation = role.node.invocation_id()
    interrupted(role)
    assert verdict(role) == REASON and role.node.invocation_id() == invocation
    # The guard gives the controller 60 s; the play itself takes part of this time on a busy machine.
    took = settled.settled(role.bench, settled.OLD, 240)
    print(f"\nrestarted by the guard after {took:.0f} s")
    status = role.bench.status()
    assert (status["assigned"]["configMap"], status["error"]) == (source, REASON) and "active" not in status
    assert role.node.restarts() == 0 and not verdict(role)
    # The role verifies what the guard has restarted, and restarts nothing.
    invocation = role.node.invocation_id()
    again = role.play(None, "", tasks_from="revert", kubelet_config_reason=REASON)
    assert again.code == 0 and role.node.invocation_id() == invocation, again.output


def test_the_controller_restarts_the_kubelet_once(role: Role) -> None:
    on_trial(role)
    run = role.play(None, "", tasks_from="revert", kubelet_config_reason=REASON)
    assert run.code == 0 and settled.qps(role.bench) == settled.OLD, run.output
    invocation = role.node.invocation_id()
    assert not verdict(role)
    role.bench.wait(lambda: settled.quiet(role.bench), 60, "end of the guard's work", every=1)
    assert role.node.invocation_id() == invocation and role.bench.status()["error"] == REASON
