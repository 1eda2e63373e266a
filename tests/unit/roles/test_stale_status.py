# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Node whose kubelet was upgraded to 1.24 or later keeps the last error of the earlier one, and no kubelet clears it.

With ansible-playbook, the real roles and an HTTP server as API server.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sim.switched import SwitchedCluster, switched_ansible
from tests.support import objects

STALE = "failed to load config, see Kubelet log for details"


@pytest.mark.fault(case=62)
def test_an_error_from_before_the_upgrade_is_no_failure(tmp_path: Path) -> None:
    """Neither of the node, nor one that uses up the budget of its group."""
    with SwitchedCluster("n1", "n2") as fleet:
        before = objects.status(objects.reference("former"), error=STALE)
        fleet.nodes["n2"] = objects.node("n2", objects.place("former"), before, version="v1.30.2")
        ansible = switched_ansible(tmp_path, fleet, kubelet_config_gate_timeout=0)
        other = ansible.playbook("rollout", "--limit", "n1", "-e", "kubelet_config_max_unavailable=1")
        assert (other.code, fleet.live["n1"]["maxPods"], fleet.live["n2"]["maxPods"]) == (0, 80, 90), other.output
        run = ansible.playbook("rollout")
        assert (run.code, fleet.live["n2"]["maxPods"]) == (0, 80), run.output
        assert STALE not in other.output + run.output
        assert fleet.nodes["n2"]["status"]["config"] == before and fleet.honest("n2")
        again = ansible.playbook("rollout")
        assert [again.recap(name)["changed"] for name in ("n1", "n2")] == [0, 0], again.output
