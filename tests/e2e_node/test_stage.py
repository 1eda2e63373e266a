# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A staging on a real node: nothing restarts, the kubelet's own file stays its own, and the switch finds the rest."""

from __future__ import annotations

from tests.support.node_bench import STORE
from tests.support.role_bench import Role

UNIT_FILES = "systemctl cat kubelet; systemctl show kubelet --property=NeedDaemonReload,InvocationID,NRestarts"


def test_a_staging_and_the_switch_after_it(role: Role) -> None:
    node, bench = role.node, role.bench
    layout, source, config = role.layout(), bench.source(), {**role.local, "maxPods": 78}
    unit = node.run(UNIT_FILES)

    checked = role.play(source, config, "--check", tasks_from="stage")
    assert checked.code == 0 and checked.recap("n1")["changed"] == 1, checked.output
    assert role.layout() == layout
    staged = role.play(source, config, tasks_from="stage")
    assert staged.code == 0 and staged.recap("n1")["changed"] == 1, staged.output
    assert node.run(UNIT_FILES) == unit
    again = role.play(source, config, tasks_from="stage")
    assert again.code == 0 and again.recap("n1")["changed"] == 0, again.output

    # A restart before the window is a restart with the node's own file, also after an edit of it.
    own = "/var/lib/kubelet/config.yaml"
    before = node.run(f"cat {own}")
    try:
        node.run(f"cat > {own}", stdin=before.replace("maxPods: 110", "maxPods: 99") + "\nkubeAPIBurst: 77\n")
        node.run("systemctl restart kubelet")
        bench.wait(bench.healthy, 60, "healthz")
        bench.wait(lambda: bench.configz()["kubeAPIBurst"] == 77, 20, "the edited file")

        checkpoint = f"{STORE}/store/checkpoints/{source['uid']}/{source['resourceVersion']}/kubelet"
        guard = f"{STORE}/guard/current {STORE}/guard/settings.json"
        service = "/etc/systemd/system/livenodes-kubelet-guard.service"
        files = f"stat --format='%n %i %Z' {checkpoint} {guard} {service}"
        written = node.run(files)
        switched = role.play(source, config)
        assert switched.code == 0, switched.output
        assert node.run(files) == written and bench.configz()["maxPods"] == 78
        # The local configuration is the file as it was at the switch.
        assert "kubeAPIBurst: 77" in node.run(f"cat {STORE}/store/local/config/kubelet")
    finally:
        node.run(f"cat > {own}", stdin=before)


def test_a_refused_configuration_is_not_staged(role: Role) -> None:
    layout = role.layout()
    run = role.play(role.bench.source(), {**role.local, "kubeAPIQPS": -1}, tasks_from="stage")
    assert run.code and "kubeAPIQPS" in run.output and "Nothing was changed" in run.output, run.output
    assert role.layout() == layout


def test_a_staging_that_is_given_up_leaves_nothing_after_a_reset(role: Role) -> None:
    layout = role.layout()
    invocation = role.node.invocation_id()
    assert role.play(role.bench.source(), {**role.local, "maxPods": 78}, tasks_from="stage").code == 0
    gone = role.play(None, "", tasks_from="reset")
    assert gone.code == 0, gone.output
    assert role.layout() == layout and role.node.invocation_id() == invocation
