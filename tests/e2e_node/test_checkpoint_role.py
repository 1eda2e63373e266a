# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role `checkpoint` on a real node: switch, check mode, a configuration that ends the kubelet, reset."""

from __future__ import annotations

import time
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import textfile
from tests.support.lab_node.node_bench import STORE
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
