# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import upgrade
from tests.support.api.upgrading import CHECKPOINT, ENV, OWN, SOCKET, facts_of

OTHER_SOCKET = "--container-runtime-endpoint=unix:///x"
LIMITED = {"memorySwap": {"swapBehavior": "LimitedSwap"}}


@pytest.mark.parametrize(
    ("config", "target", "names"),
    [
        ({}, 34, []),
        ({}, 35, ["failCgroupV1"]),
        ({"failCgroupV1": True}, 30, []),
        ({"failCgroupV1": True}, 31, ["failCgroupV1"]),
        ({"failCgroupV1": False}, 36, []),
        # The gate is on by default from 1.30 on.
        (LIMITED, 29, []),
        (LIMITED, 30, ["memorySwap.swapBehavior"]),
        ({**LIMITED, "featureGates": {"NodeSwap": False}}, 30, []),
        ({"singleProcessOOMKill": False}, 32, ["singleProcessOOMKill"]),
        ({"singleProcessOOMKill": False}, 31, []),
        ({"singleProcessOOMKill": True}, 34, []),
    ],
)
def test_cgroup_v1(config: dict[str, t.Any], target: int, names: list[str]) -> None:
    on_v1 = upgrade.check(facts_of("v1.28.0", config=config, cgroup_version=1), target)
    found = [one for one in on_v1 if one.severity == "stops"]
    assert [one.name for one in found] == names
    assert {one.where for one in found} <= {OWN if config else ""}
    assert all(one.message.startswith("this host has version 1 cgroup controllers, and ") for one in found)
    for version in (2, None):
        other = facts_of("v1.28.0", config=config, cgroup_version=version)
        assert [one for one in upgrade.check(other, target) if one.severity == "stops"] == []


@pytest.mark.parametrize(
    ("runtime", "version", "target", "severities"),
    [
        ("containerd", "1.5.9", 25, []),
        ("containerd", "1.5.9", 26, ["stops"]),
        ("containerd", "1.5.9", 36, ["stops"]),
        ("containerd", "1.6.20~ds1", 35, []),
        ("containerd", "1.7.2", 37, []),
        ("containerd", "1.7.2", 38, ["stops"]),
        ("containerd", "2.0.0", 38, []),
        ("containerd", None, 36, []),
        ("cri-o", "1.5.0", 36, []),
        (None, None, 36, []),
    ],
)
def test_runtimes(runtime: str | None, version: str | None, target: int, severities: list[str]) -> None:
    facts = facts_of("v1.24.0", runtime=runtime, runtime_version=version)
    assert [one.severity for one in upgrade.check(facts, target)] == severities


@pytest.mark.parametrize(
    ("flag", "config", "own", "target", "severities"),
    [
        (SOCKET, {}, None, 33, []),
        (SOCKET, {}, None, 34, ["changes"]),
        ("--max-pods=6", {}, None, 34, []),
        (OTHER_SOCKET, {}, None, 34, ["changes"]),
        (OTHER_SOCKET, {}, {}, 34, ["stops", "stays"]),
        (OTHER_SOCKET, {"containerRuntimeEndpoint": "unix:///x"}, {}, 34, ["changes", "stays"]),
        (SOCKET, {}, {}, 34, ["changes", "stays"]),
    ],
)
def test_the_socket_in_kubeadms_file(flag: str, config: t.Any, own: t.Any, target: int, severities: t.Any) -> None:
    found = list(upgrade.check(facts_of("v1.32.0", flag, config=config, own=own), target))
    assert [one.severity for one in found] == severities
    assert {one.where for one in found if one.kind == "runtime"} <= {f"{ENV}, line 1"}


def test_what_is_said_of_the_socket() -> None:
    (stops, _stays) = upgrade.check(facts_of("v1.32.0", OTHER_SOCKET, own={}), 34)
    assert (stops.message, stops.remedy) == (
        "`kubeadm upgrade node` removes the flag from kubeadm-flags.env and writes containerRuntimeEndpoint into the "
        "node's own files, which the kubelet does not read because of its checkpoint: it would use "
        "unix:///run/containerd/containerd.sock",
        "Declare containerRuntimeEndpoint: unix:///x for this node before the upgrade.",
    )


def test_deliveries() -> None:
    (native,) = upgrade.check(facts_of("v1.23.0", dynamic="/d", own={}), 24)
    assert (native.severity, native.name) == ("stops", "native") and "migrate" in native.remedy
    assert list(upgrade.check(facts_of("v1.22.0", dynamic="/d"), 23)) == []
    facts = facts_of("v1.33.0", own={})
    (checkpoint,) = upgrade.check(facts, 35)
    assert (checkpoint.severity, checkpoint.name, checkpoint.where) == ("stays", "checkpoint", CHECKPOINT)
    assert checkpoint.message.endswith(f"the node's own config file has no effect ({OWN})")
    (unreadable,) = upgrade.check(dataclasses.replace(facts, own=None), 35)
    assert unreadable.message.endswith("the node's own config file has no effect")


def test_a_flag_counts_only_where_the_target_knows_it() -> None:
    """Before 1.31 the flag is unknown."""
    facts = facts_of("v1.30.0", "--fail-cgroupv1", cgroup_version=1)
    assert list(upgrade.check(facts, 30)) == []
    (found,) = upgrade.check(facts, 31)
    assert found.where == f"flag --fail-cgroupv1 in {ENV}, line 1"
