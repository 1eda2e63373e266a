# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role `checkpoint` with its controller killed before each of its steps: one node keeps running, the other one is
also rebooted.
"""

from __future__ import annotations

import time
import typing as t

import pytest

from tests.support import boundaries, settled
from tests.support.role_bench import AFTER, Role, Source

LEFT, REBOOTED = "n1", "n2"
# The deadline of an unconfirmed trial; plays that do confirm must finish within it on a busy machine, too.
LEAST_SECONDS, TIMES = 12, 1.5
Wanted = dict[str, tuple[Source, t.Any]]


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
