# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight on real nodes: compare its report with what systemd and the kubelet really do."""

from __future__ import annotations

import json
import typing as t

from tests.lab import kubeadm
from tests.support.lab_node.preflight_node import Node
from tests.support.plays.ansible import Ansible


def module(ansible: Ansible, host: str, **config: t.Any) -> dict[str, t.Any]:
    """Run the module on a node over ssh, like a user, for a configuration."""
    return ansible.module("kubelet_preflight_info", {"config": json.dumps(config)}, host=host)


def test_what_a_kubeadm_node_runs(nodes: dict[str, Node], ansible: Ansible) -> None:
    found = module(ansible, "n2", **{**nodes["n2"].header(), "maxPodz": 1, "cgroupDriver": "systemd"})
    kubelet = found["kubelet"]
    assert (
        kubelet["command"]
        == nodes["n2"].run("tr '\\0' '\\n' < /proc/$(systemctl show -P MainPID kubelet)/cmdline").split("\n")[:-1]
    )
    assert (kubelet["form"], kubelet["command_source"], kubelet["changes_at_restart"]) == ("kubeadm", "process", False)
    assert kubelet["config"] == "/var/lib/kubelet/config.yaml"
    assert kubelet["config_given_by"] == {
        "file": f"{kubeadm.drop_in_folder(nodes['n2'].minor)}/10-kubeadm.conf",
        "line": 3,
    }
    assert kubelet["version"] == nodes["n2"].lab_node.release.version
    assert kubelet["shadowed"] == {"maxPods": {"flag": "--max-pods=61", "file": "/etc/default/kubelet", "line": 1}}
    assert found["check"] == {"verdict": "valid", "messages": [], "unknown_fields": ["maxPodz"]}
    assert found["host"]["container_runtime"]["cgroup_driver"] == "cgroupfs"
    assert found["host"]["state_files"]["cpu"] == {"path": "/var/lib/kubelet/cpu_manager_state", "policy": "none"}
    assert [problem["rule"] for problem in found["problems"]] == ["cgroup-driver"]
    assert ["maxPodz" in reason for reason in found["reasons"]] == [True] and found["node_proof"]
