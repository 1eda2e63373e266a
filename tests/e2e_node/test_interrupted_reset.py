# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reset of the role `checkpoint` with its controller killed before each of its steps: a second reset completes the
first one.
"""

from __future__ import annotations

import typing as t

import pytest

from tests.support import boundaries, settled
from tests.support.role_bench import AFTER, Role

REBOOTED = "n2"


# Before the local configuration becomes active, before the kubelet restarts with it, before the drop-in is removed.
@boundaries.some_or_each(3)
@pytest.mark.fault(case=19)
def test_killed_before_a_step_and_one_node_rebooted(both: Role, numbers: t.Iterable[int]) -> None:
    role, seen = both, list[str]()
    layouts = {name: role.layout(name) for name in role.benches}
    configs = {
        name: (bench.source(), {**bench.local(), settled.FIELD: settled.NEW}) for name, bench in role.benches.items()
    }
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
