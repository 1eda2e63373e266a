# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab node becomes a control-plane node of kubeadm, and a worker again."""

from __future__ import annotations

import json
import typing as t

import pytest
import yaml

from tests.lab.lab import Lab
from tests.support.control_plane import LABELS, ControlPlaneNode


def _groups(lab: Lab) -> dict[str, list[str]]:
    return {
        name: sorted(group["hosts"] or {})
        for name, group in yaml.safe_load(lab.inventory.read_text())["all"]["children"].items()
    }


def _roles(lab: Lab, node: str) -> dict[str, str]:
    return {
        name: value for name, value in lab.get(f"/api/v1/nodes/{node}")["metadata"]["labels"].items() if name in LABELS
    }


def _static(lab: Lab) -> list[dict[str, t.Any]]:
    return t.cast(
        "list[dict[str, t.Any]]",
        json.loads(lab.kubectl("get", "pods", "-n", "kube-system", "-l", "tier=control-plane", "-o", "json"))["items"],
    )


# The collection has no part in it; other tests fail if the lab does not do this.
@pytest.mark.long
def test_control_plane_and_worker_again(lab: Lab) -> None:
    """Labels, group and static pods are created and removed; readiness switches; a kubelet restart keeps containers."""
    before = _groups(lab)
    with ControlPlaneNode(lab, "n3") as plane:
        assert _roles(lab, "n3") == dict.fromkeys(LABELS, "")
        assert _groups(lab) == {
            **before,
            "workers_a": [name for name in before["workers_a"] if name != "n3"],
            "control_plane": ["n3"],
        }
        assert Lab.attach().node("n3").group == "control_plane"
        found = {
            pod["metadata"]["name"]: (
                pod["metadata"]["labels"]["component"],
                "kubernetes.io/config.mirror" in pod["metadata"]["annotations"],
            )
            for pod in _static(lab)
        }
        assert found == {"kube-apiserver-n3": ("kube-apiserver", True), "etcd-n3": ("etcd", True)}
        first = plane.see()
        plane.set_ready(False, "etcd")
        assert {component: pod and pod.ready for component, pod in plane.see().items()} == {
            "kube-apiserver": True,
            "etcd": False,
        }
        plane.set_ready(True)
        lab.node("n3").run("systemctl restart kubelet")
        lab.wait_ready()
        plane.set_ready(False)
        plane.set_ready(True)
        assert plane.see() == first
    assert (_groups(lab), _roles(lab, "n3"), _static(lab)) == (before, {}, [])
