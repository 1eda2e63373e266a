# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A batch of a good and a bad node: the good one is confirmed and keeps its configuration, the bad one is reverted."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.lab.settled import NEW
from tests.support.lab_node.node_bench import STORE
from tests.support.lab_node.role_bench import Role

# It passes every check before the switch. The kubelet ends, because the port is that of sshd.
DEADLY = {"readOnlyPort": 22}
VARIABLES = json.dumps(
    {"kubelet_config_hosts": "n1:n2", "kubelet_config_serial": 2, "kubelet_config_delivery": "checkpoint"}
)


@pytest.mark.parametrize("bad", ["n1", pytest.param("n2", marks=pytest.mark.long)])
def test_each_node_of_a_batch_gets_its_own_verdict(both: Role, bad: str) -> None:
    good = "n2" if bad == "n1" else "n1"
    both.ansible.variables(all={"kubelet_config": {"kubeAPIQPS": NEW}})
    both.ansible.host_variables(**{bad: {"kubelet_config_host": DEADLY}})
    try:
        run = both.ansible.playbook("rollout", "-e", VARIABLES)
        # All of the output would hide the cause of another end.
        failures = "\n".join(line for line in run.output.splitlines() if line.startswith(("fatal: ", "[ERROR]: ")))
        assert (run.code != 0, set(re.findall(r"Node (n\d) was ", run.output))) == (True, {bad}), failures
        trial = json.loads(both.benches[good].node.run(f"cat {STORE}/store/trial"))
        assert trial["confirmed"] and not trial.get("failed"), trial
        assert both.benches[good].configz()["kubeAPIQPS"] == NEW
        assert both.benches[bad].configz()["kubeAPIQPS"] != NEW
        # Guards wait for both nodes: two waves of 90 s, 180 s and 120 s for the verification, 30 s and a second a host.
        assert trial["extra"]["confirm_seconds"] == 2 * 90 + 180 + 120 + 30 + 2
    finally:
        both.ansible.host_variables()
        both.ansible.variables()
        reset = both.ansible.playbook("reset", "-e", VARIABLES)
    assert reset.code == 0, reset.output
