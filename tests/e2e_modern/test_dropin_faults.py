# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Delivery `dropin` on a node whose kubelet is replaced by another version."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.support.lab_node import other_kubelet
from tests.support.lab_node.dropin_node import Calls
from tests.support.lab_node.node_bench import STORE, Bench
from tests.support.plays.ansible import Ansible

LOCAL = "store/local/config"
LINK = f"{STORE}/conf.d/90-livenodes-kubelet.conf"
REFUSED = "maxPods.*: 8[67]"


@pytest.fixture
def calls(lab: Lab) -> t.Iterator[Calls]:
    """Yield the module on a node of 1.36; afterwards the node has its own kubelet and its own configuration."""
    calls = Calls(Bench(lab, "n3"))
    try:
        yield calls
    finally:
        other_kubelet.remove(calls.bench.node)
        calls.bench.close()


def graduated(calls: Calls, **fields: t.Any) -> str:
    """Switch to fields and let them become last-known-good; return what `active` leads to."""
    bench = calls.bench
    result = calls.switch(fields, trial_seconds=1)
    assert result["reasons"] == [], result
    bench.wait(bench.healthy, 60, "healthz")
    bench.confirm()
    bench.wait(lambda: not bench.on_trial(), 60, "graduation", every=0.5)
    bench.wait(lambda: bench.status().get("reason") == "passed its trial", 30, "annotation")
    return bench.active()


def test_a_new_binary_refuses_what_is_active(calls: Calls) -> None:
    """What it refuses gives way to the empty override: the kubelet runs the node's own file as it is then."""
    bench, node = calls.bench, calls.bench.node
    graduated(calls, maxPods=86)
    other_kubelet.install(node, REFUSED)
    node.run("systemctl restart kubelet")
    bench.wait(bench.healthy, 60, "healthz")
    assert bench.active() == LOCAL and node.restarts() == 0
    assert node.run(f"readlink {LINK}").strip() == f"{STORE}/active/kubelet"
    assert bench.configz()["maxPods"] == 110
    refusal = f"kubelet {other_kubelet.version(node)} refuses this configuration: {other_kubelet.REFUSAL}"
    bench.wait(lambda: refusal in bench.status().get("error", ""), 30, "annotation")
    assert "lastKnownGood" not in bench.status()


class Check(t.NamedTuple):
    """How the playbook upgrade_check ended."""

    code: int
    output: str
    findings: dict[tuple[str, str], dict[str, t.Any]]


def check(ansible: Ansible, home: Path, **options: str) -> Check:
    file = home / "upgrade.json"
    given = {"hosts": "n3", "target_version": "1.37", "upgrade_file": str(file), **options}
    run = ansible.playbook(
        "upgrade_check",
        *(word for name, value in given.items() for word in ("-e", f"kubelet_config_{name}={value}")),
    )
    (row,) = json.loads(file.read_text())["nodes"].values()
    return Check(run.code, run.output, {(one["kind"], one["name"]): one for one in row["findings"]})


def test_the_next_binary_is_asked_about_the_drop_in_before_an_upgrade(
    calls: Calls, ansible: Ansible, tmp_path: Path
) -> None:
    """It reads the node's own file and the folder, as it will after the upgrade; the node does not change."""
    bench, node = calls.bench, calls.bench.node
    graduated(calls, maxPods=86)
    before = node.invocation_id()
    tables = check(ansible, tmp_path)
    assert tables.code == 0, tables.output
    target = f"{other_kubelet.OTHER}-target"
    try:
        for pattern, code in ((REFUSED, 2), ("maxPods.*: 99", 0)):
            other_kubelet.place(node, pattern, target)
            found = check(ansible, tmp_path, target_binary=target)
            assert (found.code, other_kubelet.REFUSAL in found.output) == (code, bool(code)), found.output
            stops = {key for key, one in found.findings.items() if one["severity"] in ("stops", "unknown")}
            assert stops == ({("binary", target)} if code else set())
        assert node.invocation_id() == before and bench.healthy()
    finally:
        node.run(f"rm -f {target}")
