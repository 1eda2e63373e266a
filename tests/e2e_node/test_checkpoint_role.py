# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role `checkpoint` on a real node: switch, check mode, bad configurations, staging, reset."""

from __future__ import annotations

import time
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import textfile
from tests.support.lab_node.node_bench import STORE
from tests.support.lab_node.role_bench import Role
from tests.support.report import exposition

TEXTFILES = "/run/textfile"
UNIT_FILES = "systemctl cat kubelet; systemctl show kubelet --property=NeedDaemonReload,InvocationID,NRestarts"


@pytest.fixture
def textfiles(role: Role) -> t.Iterator[t.Callable[[], dict[str, str]]]:
    """Make a folder for metrics on the node; yield what reads them."""
    role.node.run(f"mkdir -p {TEXTFILES}")
    try:
        yield lambda: exposition.short(role.node.run(f"cat {TEXTFILES}/{textfile.NAME}"))
    finally:
        role.node.run(f"rm -r {TEXTFILES}")


def test_switch_again_check_mode_and_reset(role: Role, textfiles: t.Callable[[], dict[str, str]]) -> None:
    layout, config = role.layout(), {**role.local, "maxPods": 77}
    source = role.bench.source()
    invocation = role.node.invocation_id()

    checked = role.play(source, config, "--check", "--diff")
    assert checked.code == 0 and checked.recap("n1")["changed"] > 0, checked.output
    assert role.layout() == layout and role.node.invocation_id() == invocation

    begun = time.monotonic()
    options = {"kubelet_config_trial_seconds": 10, "kubelet_config_metrics_dir": TEXTFILES}
    first = role.play(source, config, **options)
    took = time.monotonic() - begun
    assert first.code == 0, first.output
    assert role.bench.configz()["maxPods"] == 77
    invocation = role.node.invocation_id()
    print(f"\nwhole play: {took:.1f} s")

    shown = {"assigned": source["uid"], "active": source["uid"], "error": "0"}
    assert textfiles().items() > shown.items()

    second = role.play(source, config, **options)
    assert second.code == 0 and second.recap("n1")["changed"] == 0, second.output
    assert role.node.invocation_id() == invocation
    role.bench.wait(lambda: source["uid"] in role.node.run(f"cat {STORE}/store/meta/last-known-good"), 30, "graduation")
    third = role.play(source, config, "--check", kubelet_config_metrics_dir=TEXTFILES)
    assert third.code == 0 and third.recap("n1")["changed"] == 0, third.output

    # Not by its reason: a second call after the trial reports again, without one.
    role.bench.wait(lambda: role.bench.status().get("lastKnownGood"), 20, "annotation")
    assert textfiles() == {**shown, "last_known_good": source["uid"]}
    assert role.node.run(f"find {TEXTFILES} -type f -printf '%m %f;'") == f"644 {textfile.NAME};"
    gone = role.play(None, "", tasks_from="reset")
    assert gone.code == 0, gone.output
    assert role.bench.status() == {} and not role.node.run(f"find {TEXTFILES} -type f")
    assert role.layout() == layout and role.bench.configz()["maxPods"] != 77
    again = role.play(None, "", tasks_from="reset")
    assert again.code == 0 and again.recap("n1")["changed"] == 0, again.output


@pytest.mark.fault(case=3)
def test_a_configuration_the_kubelet_refuses_changes_nothing(role: Role) -> None:
    layout, invocation = role.layout(), role.node.invocation_id()
    run = role.play(role.bench.source(), {**role.local, "kubeAPIQPS": -1})
    assert run.code and "kubeAPIQPS" in run.output and "Nothing was changed" in run.output, run.output
    assert role.layout() == layout and role.node.invocation_id() == invocation


def test_the_run_reverts_a_configuration_that_ends_the_kubelet(
    role: Role, textfiles: t.Callable[[], dict[str, str]]
) -> None:
    source = role.bench.source()
    deadly = {**role.local, "maxPods": 77, "evictionHard": {"memory.available": "lots"}}
    run = role.play(source, deadly, kubelet_config_metrics_dir=TEXTFILES)
    assert run.code, run.output
    verdict = next(line for line in run.output.splitlines() if "was reverted to its previous configuration" in line)
    # The words of the kubelet itself, not a hint where to look for them; and the node is named once. On a slow machine
    # the guard reads them before the role does.
    assert any(who in verdict for who in ("The kubelet logged last: ", "the kubelet refused the configuration: ")), run
    assert "quantities must match the regular expression" in verdict, verdict
    assert "journalctl" not in verdict and verdict.count("n1") == 1 and ".;" not in verdict, verdict
    role.bench.wait(role.bench.healthy, 30, "healthz")
    role.bench.wait(lambda: role.bench.configz()["maxPods"] != 77, 20, "the previous configuration")
    role.bench.wait(lambda: role.bench.status().get("error"), 20, "annotation")
    assert role.bench.status()["assigned"]["configMap"] == source
    assert textfiles() == {"assigned": source["uid"], "active": "local", "last_known_good": "local", "error": "1"}


def test_earlier_restarts_do_not_count_against_a_configuration(role: Role) -> None:
    """As on a node with native delivery, whose kubelet ends itself for each new configuration."""
    role.node.run("systemctl restart kubelet")
    for count in (1, 2, 3):
        role.node.run("systemctl kill --signal=KILL kubelet")
        role.bench.wait(
            lambda count=count: role.node.restarts() == count and role.bench.healthy(), 30, "restart by systemd"
        )
    run = role.play(role.bench.source(), {**role.local, "maxPods": 77})
    assert run.code == 0, run.output
    assert role.bench.configz()["maxPods"] == 77 and "error" not in role.bench.status()


@pytest.mark.long
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


@pytest.mark.long
def test_a_staging_that_is_given_up_leaves_nothing_after_a_reset(role: Role) -> None:
    layout = role.layout()
    invocation = role.node.invocation_id()
    assert role.play(role.bench.source(), {**role.local, "maxPods": 78}, tasks_from="stage").code == 0
    gone = role.play(None, "", tasks_from="reset")
    assert gone.code == 0, gone.output
    assert role.layout() == layout and role.node.invocation_id() == invocation
