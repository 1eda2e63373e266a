# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The callback in a real rollout: its report shows the result of each node, and when."""

from __future__ import annotations

import itertools
import json

from tests.e2e_fleet.test_failure import DEADLY
from tests.support.ansible import Ansible
from tests.support.fleet import Fleet


def test_each_step_of_each_node_and_the_reverted_ones(fleet: Fleet, ansible: Ansible) -> None:
    """A canary whose checkpoint works, and a node whose kubelet ends with it."""
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 71}})
    ansible.host_variables(n4={"kubelet_config_host": DEADLY})
    paths = {kind: ansible.home / f"report.{kind}" for kind in ("json", "html")}
    run = ansible.playbook(
        "rollout",
        "-e",
        "kubelet_config_hosts=n3:n4",
        ANSIBLE_CALLBACKS_ENABLED="livenodes.kubelet.rollout",
        **{f"LIVENODES_KUBELET_REPORT_{kind.upper()}": str(path) for kind, path in paths.items()},
    )
    assert run.code != 0
    made = json.loads(paths["json"].read_text())
    assert (made["outcome"], made["group"], made["summary"]) == (
        "failed",
        "n3:n4",
        {"nodes": 2, "batches": 2, "reverted": 1, "done": 1},
    ), run.output
    failed, good = made["nodes"]
    assert (good["name"], good["batch"], list(good["steps"])) == (
        "n3",
        1,
        ["staged", "switched", "restarted", "verified", "confirmed"],
    )
    assert (failed["name"], failed["batch"], list(failed["steps"])) == (
        "n4",
        2,
        ["staged", "switched", "failed", "reverted"],
    )
    assert {node["delivery"] for node in made["nodes"]} == {"checkpoint"}
    moments = [*good["steps"].values(), *failed["steps"].values(), made["seconds"]]
    assert all(one <= other for one, other in itertools.pairwise(moments)), moments
    assert (
        "kubelet rollout: batch 1, 1 node (n3): 1 done" in run.output
        and "kubelet rollout: node n4 failed" in run.output
    ), run.output
    assert failed["cause"] in paths["html"].read_text()
