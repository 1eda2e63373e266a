# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that is installed again under its name: the annotations of its Node are those of the former one.

With ansible-playbook, the real roles and an HTTP server as API server.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.sim.switched import SwitchedCluster, switched_ansible

NAMES = ("n1", "n2")


@pytest.mark.parametrize("part", [pytest.param("machineID", marks=pytest.mark.long), "uid"])
@pytest.mark.fault(case=52)
def test_a_machine_that_was_installed_again_is_assigned_anew(tmp_path: Path, part: str) -> None:
    """Another machine, or a Node that was created again. The other node is not changed."""
    with SwitchedCluster(*NAMES) as fleet:
        for name in NAMES:
            fleet.nodes[name]["status"]["nodeInfo"]["machineID"] = f"machine-{name}"
        ansible = switched_ansible(tmp_path, fleet)
        assert ansible.playbook("rollout").code == 0
        node = fleet.nodes["n1"]
        (node["metadata"] if part == "uid" else node["status"]["nodeInfo"])[part] = "another"
        fleet.live["n1"] = fleet.local
        drift = ansible.playbook("drift")
        assert drift.code != 0 and "was assigned to another machine" in drift.output, drift.output

        fleet.assigned.clear()
        again = ansible.playbook("rollout")
        assert (again.code, fleet.assigned) == (0, {"n1"}), again.output
        assert {name: fleet.live[name]["maxPods"] for name in NAMES} == dict.fromkeys(NAMES, 80)
        noted = json.loads(fleet.nodes["n1"]["metadata"]["annotations"][annotation.SOURCE])
        assert noted["nodeUID" if part == "uid" else "machineID"] == "another"

        fleet.assigned.clear()
        last = ansible.playbook("rollout")
        assert (last.code, fleet.assigned) == (0, set()), last.output
