# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role `checkpoint` on a real node: switch, check mode, a configuration that ends the kubelet, reset; with the
state file of another policy, and on a kubelet without kubeadm's unit: its arguments are in `ExecStart=` or a file.
"""

from __future__ import annotations

import json
import time
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import textfile
from tests.support.lab import settled
from tests.support.lab_node.node_bench import STORE
from tests.support.lab_node.plain_unit import SERVICE, plain_unit
from tests.support.lab_node.role_bench import Role
from tests.support.report import exposition

TEXTFILES = "/run/textfile"


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


STATE = "/var/lib/kubelet/cpu_manager_state"
STATIC = {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "500m"}}


def state(role: Role) -> str:
    return role.node.run(f"cat {STATE}")


def policy(role: Role) -> tuple[t.Any, t.Any]:
    """Return the policy of the running kubelet, and that of its state file."""
    return role.bench.configz()["cpuManagerPolicy"], json.loads(state(role))["policyName"]


@pytest.mark.fault(case=11)
def test_a_change_of_policy_is_refused_unless_asked_for(role: Role) -> None:
    layout, invocation, before = role.layout(), role.node.invocation_id(), state(role)
    run = role.play(role.bench.source(), {**role.local, **STATIC})
    assert (
        run.code and f"Node n1: {STATE} is for the policy none" in run.output and "Nothing was changed" in run.output
    ), run.output
    assert "kubelet_config_state_files" in run.output, run.output
    assert (role.layout(), role.node.invocation_id(), state(role)) == (layout, invocation, before)
    run = role.play(role.bench.source(), {**role.local, **STATIC}, kubelet_config_state_files="switch")
    assert run.code == 0 and policy(role) == ("static", "static"), run.output
    gone = role.play(None, "", tasks_from="reset", kubelet_config_state_files="switch")
    assert gone.code == 0 and policy(role) == ("none", "none"), gone.output


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
