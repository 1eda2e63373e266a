# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A field that the inventory sets to null, with ansible-playbook, the real roles and an HTTP server as API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sim.played import PlayedCluster, played_ansible

NAMES = ("n1", "n2")
# Not all defaults of this version are known.
VERSION = "v1.22.17"


@pytest.mark.fault(case=66)
def test_a_null_is_a_change_with_the_effect_of_its_field(tmp_path: Path) -> None:
    """The weaker effect of the field beside it does not hide that. It is asked for once."""
    with PlayedCluster(*NAMES, local=NAMES) as fleet:
        fleet.live = {name: {**fleet.local, "cgroupDriver": "systemd"} for name in NAMES}
        for name in NAMES:
            fleet.nodes[name]["status"]["nodeInfo"]["kubeletVersion"] = VERSION
        ansible = played_ansible(tmp_path, fleet, kubelet_config={"cgroupDriver": None, "containerLogMaxFiles": 6})
        run = ansible.playbook("rollout")
        assert run.code != 0 and "cgroupDriver: systemd -> cgroupfs" in run.output, run.output
        assert "allow_effect=reboot" in run.output and fleet.assigned == set(), run.output

        allowed = ansible.playbook("rollout", "-e", "kubelet_config_allow_effect=reboot")
        assert (allowed.code, fleet.assigned) == (0, set(NAMES)), allowed.output
        found = [(live.get("cgroupDriver", "cgroupfs"), live["containerLogMaxFiles"]) for live in fleet.live.values()]
        assert found == [("cgroupfs", 6)] * 2

        fleet.assigned.clear()
        again = ansible.playbook("rollout")
        assert (again.code, fleet.assigned) == (0, set()), again.output
