# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role `checkpoint` on a kubelet without kubeadm's unit: one plain `ExecStart=/usr/bin/kubelet --config ...`."""

from __future__ import annotations

from tests.support import settled
from tests.support.node_bench import STORE
from tests.support.plain_unit import plain_unit
from tests.support.role_bench import Role

ARGV = "tr '\\0' '\\n' < /proc/$(systemctl show -P MainPID kubelet)/cmdline"


def test_switch_again_and_reset(role: Role) -> None:
    config = {**role.local, "kubeAPIQPS": settled.NEW}
    source = role.bench.source()
    with plain_unit(role.node):
        role.bench.wait(role.bench.healthy, 30, "healthz")
        layout, argv = role.layout(), role.node.run(ARGV)
        first = role.play(source, config, kubelet_config_trial_seconds=2)
        assert first.code == 0, first.output
        assert settled.qps(role.bench) == settled.NEW
        assert role.node.run(ARGV) == argv.replace(
            "--config\n/var/lib/kubelet/config.yaml\n", f"--config={STORE}/active/kubelet\n"
        )
        invocation = role.node.invocation_id()

        second = role.play(source, config, kubelet_config_trial_seconds=2)
        assert second.code == 0 and second.recap("n1")["changed"] == 0, second.output
        assert role.node.invocation_id() == invocation
        settled.settled(role.bench, settled.NEW, 30)

        gone = role.play(None, "", tasks_from="reset")
        assert gone.code == 0, gone.output
        assert (role.layout(), role.node.run(ARGV)) == (layout, argv)
        settled.settled(role.bench, settled.OLD, 30)
