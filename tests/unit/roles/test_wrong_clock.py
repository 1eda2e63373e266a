# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A controller whose clock is an hour wrong, with ansible-playbook, the real roles and an HTTP server as API server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sim.played import PlayedCluster, played_ansible

NAMES = ("n1", "n2")


@pytest.mark.parametrize("ahead", [pytest.param(-4000.0, marks=pytest.mark.long), 4000.0])
@pytest.mark.fault(case=57)
def test_a_wrong_clock_neither_ends_a_lease_nor_keeps_it(tmp_path: Path, ahead: float) -> None:
    """The cluster's clock alone counts: the Lease of another run holds, and expires by it."""
    with PlayedCluster(*NAMES) as fleet:
        fleet.ahead = ahead
        ansible = played_ansible(tmp_path, fleet, kubelet_config={"maxPods": 80}, kubelet_config_lease_seconds=24)
        other = {"state": "held", "group": "others", "nodes": ["n2"], "holder": "another user", "duration": 600}
        held = ansible.module("kubelet_rollout_lease", {**other, "host": fleet.url})
        assert not held["failed"], held
        refused = ansible.playbook("rollout")
        assert refused.code != 0 and "another user has been rolling out to others" in refused.output, refused.output
        assert fleet.assigned == set() and list(fleet.claims.items) == [held["lease"]["name"]]

        fleet.ahead += 700
        run = ansible.playbook("rollout")
        assert (run.code, fleet.assigned, fleet.claims.items) == (0, set(NAMES), {}), run.output
        fleet.assigned.clear()
        again = ansible.playbook("rollout")
        assert (again.code, fleet.assigned) == (0, set()), again.output
