# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role `checkpoint` on a kubelet without kubeadm's unit: its arguments are in `ExecStart=`, or in a file."""

from __future__ import annotations

from tests.support import settled
from tests.support.node_bench import STORE
from tests.support.plain_unit import SERVICE, plain_unit
from tests.support.role_bench import Role

ARGV = "tr '\\0' '\\n' < /proc/$(systemctl show -P MainPID kubelet)/cmdline"


def test_switch_again_and_reset(role: Role) -> None:
    config = {**role.local, settled.FIELD: settled.NEW}
    source = role.bench.source()
    with plain_unit(role.node):
        role.bench.wait(role.bench.healthy, 30, "healthz")
        layout, argv = role.layout(), role.node.run(ARGV)
        first = role.play(source, config, kubelet_config_trial_seconds=2)
        assert first.code == 0, first.output
        assert settled.qps(role.bench) == settled.NEW
        assert role.node.run(ARGV) == f"{argv}--config={STORE}/active/kubelet\n"
        invocation = role.node.invocation_id()

        second = role.play(source, config, kubelet_config_trial_seconds=2)
        assert second.code == 0 and second.recap("n1")["changed"] == 0, second.output
        assert role.node.invocation_id() == invocation
        settled.settled(role.bench, settled.NEW, 30)

        gone = role.play(None, "", tasks_from="reset")
        assert gone.code == 0, gone.output
        assert (role.layout(), role.node.run(ARGV)) == (layout, argv)
        settled.settled(role.bench, settled.OLD, 30)


def test_arguments_from_an_environment_file_and_a_new_unit(role: Role) -> None:
    """As Kubespray, kops, EKS and AKS start kubelets. A package upgrade then brings a unit with one more flag."""
    config = {**role.local, settled.FIELD: settled.NEW}
    with plain_unit(role.node, by_environment=True):
        role.bench.wait(role.bench.healthy, 30, "healthz")
        layout, argv = role.layout(), role.node.run(ARGV)
        first = role.play(role.bench.source(), config, kubelet_config_trial_seconds=2)
        assert first.code == 0, first.output
        assert settled.qps(role.bench) == settled.NEW
        assert role.node.run(ARGV) == f"{argv}--config={STORE}/active/kubelet\n"
        settled.settled(role.bench, settled.NEW, 30)

        role.node.run(f"sed -i 's/KUBELET_ARGS$/KUBELET_ARGS --v=3/' {SERVICE}")
        role.node.run("systemctl daemon-reload && systemctl restart kubelet")
        role.bench.wait(role.bench.healthy, 30, "healthz")
        assert role.node.run(ARGV) == f"{argv}--v=3\n--config={STORE}/active/kubelet\n"
        assert settled.qps(role.bench) == settled.NEW
        role.node.run(f"sed -i 's/ --v=3$//' {SERVICE} && systemctl daemon-reload && systemctl restart kubelet")
        role.bench.wait(role.bench.healthy, 30, "healthz")

        gone = role.play(None, "", tasks_from="reset")
        assert gone.code == 0, gone.output
        assert (role.layout(), role.node.run(ARGV)) == (layout, argv)
        settled.settled(role.bench, settled.OLD, 30)
