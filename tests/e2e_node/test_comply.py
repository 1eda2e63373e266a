# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Security profiles on real kubelets: a guarded rollout sets them, and a flag over a correct file is found."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import profiles
from tests.support.lab_node.role_bench import Role

DECLARED = {
    "kubelet_config_profile": list(profiles.PROFILES),
    # The kernel settings of this machine are not those of the kubelet.
    "kubelet_config": {"protectKernelDefaults": False},
}
OWN_VALUE = {item.id for item in profiles.STIG_V2R6 if item.of == "protectKernelDefaults"}
FLAGS = "/etc/default/kubelet"
FLAG = "--read-only-port=10255"


def checked(role: Role) -> dict[str, dict[str, dict[str, t.Any]]]:
    """Run the playbook, which fails if an item fails; return its rows by node and item."""
    folder = role.home / "evidence"
    given = {**DECLARED, "kubelet_config_compliance_dir": str(folder)}
    run = role.ansible.playbook("comply", "-e", json.dumps(given))
    assert "compliance: 2 nodes" in run.output, run.output
    found = json.loads((folder / "compliance.json").read_text(encoding="utf-8"))["nodes"]
    assert bool(run.code) == any(row["verdict"] == "fail" for node in found.values() for row in node["rows"]), (
        run.output
    )
    return {name: {row["item"]: row for row in node["rows"]} for name, node in found.items()}


@pytest.fixture
def flag(both: Role) -> t.Iterator[str]:
    """Give the kubelet of n2 a flag, and yield where it is; remove it afterwards."""
    bench = both.benches["n2"]
    before = bench.node.run(f"cat {FLAGS}")
    bench.node.run(f"sed -i 's/^KUBELET_EXTRA_ARGS=.*/& {FLAG}/' {FLAGS} && systemctl restart kubelet")
    try:
        bench.wait(bench.healthy, 60, "healthz with the flag")
        yield f"flag {FLAG}: {FLAGS}, line 1"
    finally:
        bench.node.run(f"cat > {FLAGS} && systemctl restart kubelet", stdin=before)
        bench.wait(bench.healthy, 60, "healthz without the flag")


def test_a_rollout_of_a_profile_and_a_flag_over_a_correct_file(both: Role, request: pytest.FixtureRequest) -> None:
    minor = both.node.release.minor
    items = [*profiles.CIS_1_12, *profiles.STIG_V2R6]
    wanted = {item.id for item in items if item.sets is not None and item.is_of(minor)} - OWN_VALUE
    # A kubelet with a drop-in folder would forget an empty value in the file of n2.
    both.ansible.host_variables(n2={"kubelet_config_delivery": "checkpoint"})
    given = {**DECLARED, "kubelet_config_allow_effect": "drain"}
    done = both.ansible.playbook("rollout", "-e", json.dumps(given))
    assert done.code == 0, done.output
    after = checked(both)
    origins = {"n1": "drop-in" if minor >= 32 else "file", "n2": "file"}
    for name, rows in after.items():
        assert {item: rows[item]["verdict"] for item in wanted} == dict.fromkeys(wanted, "pass"), (name, rows)
        assert {rows[item]["origin"].partition(" ")[0] for item in wanted} == {origins[name]}
    # The file of a checkpoint is root's alone; a drop-in leaves the mode of the node's own file.
    assert {(item, after["n2"][item]["verdict"], after["n2"][item]["value"]) for item in ("4.1.5", "4.1.9")} == {
        ("4.1.5", "pass", "0600"),
        ("4.1.9", "pass", "0600"),
    }

    where = request.getfixturevalue("flag")
    rows = checked(both)
    assert rows["n1"]["4.2.4"]["verdict"] == "pass"
    row = rows["n2"]["4.2.4"]
    assert (row["verdict"], row["value"], row["origin"]) == ("fail", "10255", where), row
