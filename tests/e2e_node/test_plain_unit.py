# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role `checkpoint` on a kubelet without kubeadm's unit: its arguments are in `ExecStart=`, or in a file."""

from __future__ import annotations

import pytest

from tests.support.lab import settled
from tests.support.lab_node.node_bench import STORE
from tests.support.lab_node.plain_unit import SERVICE, plain_unit
from tests.support.lab_node.role_bench import Role

ARGV = "tr '\\0' '\\n' < /proc/$(systemctl show -P MainPID kubelet)/cmdline"


@pytest.mark.parametrize(
    "by_environment",
    [pytest.param(False, id="in the unit", marks=pytest.mark.long), pytest.param(True, id="in a file")],
)
def test_switch_again_a_new_unit_and_reset(role: Role, by_environment: bool) -> None:
    """In a file: as Kubespray, kops, EKS and AKS start kubelets. A package upgrade then brings one more flag."""
    config, source = {**role.local, settled.FIELD: settled.NEW}, role.bench.source()
    with plain_unit(role.node, by_environment=by_environment):
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

        if by_environment:
            restarted(role, "s/KUBELET_ARGS$/KUBELET_ARGS --v=3/")
            assert role.node.run(ARGV) == f"{argv}--v=3\n--config={STORE}/active/kubelet\n"
            assert settled.qps(role.bench) == settled.NEW
            restarted(role, "s/ --v=3$//")
        gone = role.play(None, "", tasks_from="reset")
        assert gone.code == 0, gone.output
        assert (role.layout(), role.node.run(ARGV)) == (layout, argv)
        settled.settled(role.bench, settled.OLD, 30)


def restarted(role: Role, edit: str) -> None:
    """Edit the unit as sed does, and restart the kubelet."""
    role.node.run(f"sed -i '{edit}' {SERVICE} && systemctl daemon-reload && systemctl restart kubelet")
    role.bench.wait(role.bench.healthy, 30, "healthz")
