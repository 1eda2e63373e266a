# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import named_cgroups

MOUNT = "sys/fs/cgroup"
HAS = ("system.slice", "kube.slice/kube-own.slice", "pods")
SYSTEM, KUBE = ("systemReservedCgroup", "system-reserved"), ("kubeReservedCgroup", "kube-reserved")


def enforced(place: tuple[str, str], name: str, more: str = "") -> dict[str, t.Any]:
    field, value = place
    return {field: name, "enforceNodeAllocatable": ["pods", value + more]}


@pytest.fixture(params=["v1", "v2"])
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a node with some cgroups, of either version."""
    tops = [""] if request.param == "v2" else ["memory", "cpu", "pids"]
    for top in tops:
        for name in HAS:
            (tmp_path / MOUNT / top / name).mkdir(parents=True)
    if request.param == "v2":
        (tmp_path / MOUNT / "cgroup.controllers").write_text("cpu memory\n")
    return tmp_path


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({}, ""),
        (enforced(SYSTEM, "/system.slice"), ""),
        (enforced(SYSTEM, "system"), ""),
        (enforced(KUBE, "/kube-own.slice"), ""),
        (enforced(KUBE, "/kube.slice/kube-own.slice", "-compressible"), ""),
        (enforced(KUBE, "/pods"), ""),
        (enforced(SYSTEM, "/nosuch"), "systemReservedCgroup"),
        (enforced(KUBE, "/nosuch.slice"), "kubeReservedCgroup"),
        (enforced(KUBE, "/own.slice", "-compressible"), "kubeReservedCgroup"),
        # It is not enforced.
        ({"systemReservedCgroup": "/nosuch"}, ""),
        ({"cgroupRoot": "/"}, ""),
        ({"cgroupRoot": "/pods"}, ""),
        ({"cgroupRoot": "/kube/own"}, ""),
        ({"cgroupRoot": "/nosuch"}, "cgroupRoot"),
        ({"cgroupRoot": "/nosuch", "cgroupsPerQOS": False}, ""),
        ({"cgroupRoot": 5, "enforceNodeAllocatable": "x", "systemReservedCgroup": 5}, ""),
    ],
)
def test_the_cgroups_that_a_node_lacks(root: Path, config: dict[str, t.Any], field: str) -> None:
    found = named_cgroups.missing(config, frozenset(), str(root))
    assert [reason.partition(":")[0] for reason in found] == ([field] if field else [])
    assert all("does not exist on this node" in reason and "Create it" in reason for reason in found)


def test_what_something_else_decides_is_not_judged(root: Path) -> None:
    config = enforced(SYSTEM, "/nosuch")
    assert named_cgroups.missing(config, {"systemReservedCgroup"}, str(root)) == []
    assert named_cgroups.missing(config, {"enforceNodeAllocatable"}, str(root)) == []


def test_without_its_cgroups_nothing_is_known_of_a_node(tmp_path: Path) -> None:
    assert named_cgroups.missing(enforced(SYSTEM, "/nosuch"), frozenset(), str(tmp_path)) == []
