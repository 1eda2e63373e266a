# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A secret of a configuration is in the files that a plan and a rollout write, and in none of their output."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sim.played import PlayedCluster, played_ansible

NAMES = ("n1", "n2")
LIVE, DECLARED = "live-secret", "declared-secret"
FILES = ("plan", "dump", "drift")


@pytest.mark.parametrize("playbook", ["plan", "rollout", "drift"])
@pytest.mark.fault(case=45)
def test_secrets_are_not_shown(tmp_path: Path, playbook: str) -> None:
    variables = {
        "kubelet_config": {"maxPods": 80, "staticPodURLHeader": {"Authorization": [DECLARED]}},
        **{f"kubelet_config_{name}_file": str(tmp_path / f"{name}.json") for name in FILES},
    }
    with PlayedCluster(*NAMES, local=NAMES) as fleet:
        fleet.local["staticPodURLHeader"] = {"Authorization": [LIVE]}
        ansible = played_ansible(tmp_path, fleet, **variables)
        run = ansible.playbook(playbook, "--diff", "-vvv")
        if playbook == "rollout":
            assert [fleet.live[name]["staticPodURLHeader"] for name in NAMES] == [{"Authorization": [DECLARED]}] * 2
            fleet.assigned.clear()
            again = ansible.playbook(playbook)
            assert (again.code, fleet.assigned) == (0, set()), again.output
    assert "failed=0" in run.output and "********" in run.output, run.output
    assert [secret for secret in (LIVE, DECLARED) if secret in run.output] == [], run.output
    written = {path.stem: path.read_text() for path in tmp_path.glob("*.json")}
    assert [name for name in written if LIVE in written[name] or DECLARED in written[name]] == [
        name for name in written if name != "drift"
    ]
    assert written, "the run wrote files"
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("*.json")} == {0o600}
