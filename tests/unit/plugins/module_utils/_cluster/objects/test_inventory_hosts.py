# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables and groups of an inventory host."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import inventory_hosts, nodes
from tests.support.calls import NODES, PAGE, Call, Calls
from tests.support.objects import items, node, place, reference, status

LABELS = {"node-role.kubernetes.io/worker": "", "pool": "blue", "zone": "a-1"}
ADDRESSES = {"InternalIP": "10.0.0.1", "Hostname": "n1.example.com"}


# pylint: disable-next=dangerous-default-value  # never changed
def host(labels: t.Mapping[str, str] = LABELS, **fields: t.Any) -> dict[str, t.Any]:
    found = node(**fields)
    found["metadata"]["labels"] = dict(labels)
    found["status"]["addresses"] = [{"type": kind, "address": text} for kind, text in ADDRESSES.items()]
    found["status"]["nodeInfo"].update(operatingSystem="linux", architecture="arm64")
    return inventory_hosts.variables(nodes.trim(found))


def test_variables() -> None:
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    config = status(reference("b"), reference("a"), reference("a"), "some error")
    assert host(source=place("b"), config=config, unschedulable=True, taints=[taint]) == {
        "kubelet_config_node_name": "n1",
        "node_addresses": ADDRESSES,
        "node_arch": "arm64",
        "node_delivery": "native",
        "node_drift": True,
        "node_error": "some error",
        "node_kubelet_minor": "1.20",
        "node_kubelet_version": "v1.20.2",
        "node_labels": LABELS,
        "node_os": "linux",
        "node_ready": True,
        "node_roles": ["worker"],
        "node_schedulable": False,
        "node_settled": False,
        "node_taints": [taint],
        "node_variant": "a",
    }


def test_a_node_without_status() -> None:
    found = inventory_hosts.variables(nodes.trim({"metadata": {"name": "n1"}}))
    assert (found["node_kubelet_minor"], found["node_variant"], found["node_ready"], found["node_addresses"]) == (
        "",
        "local",
        False,
        {},
    )
    assert inventory_hosts.groups(found, inventory_hosts.GROUPS, ["*"]) == ["delivery_none", "variant_local", "settled"]


@pytest.mark.parametrize(
    ("fields", "kind", "names"),
    [
        ({}, "role", ["role_worker"]),
        ({}, "version", ["kubelet_1.20"]),
        ({"version": "v1.36.1"}, "version", ["kubelet_1.36"]),
        ({"config": {}}, "delivery", ["delivery_native"]),
        ({"reported": {}}, "delivery", ["delivery_checkpoint"]),
        ({}, "delivery", ["delivery_none"]),
        ({}, "variant", ["variant_local"]),
        ({"config": status(reference(), reference())}, "variant", ["variant_config-a"]),
        ({"reported": status(reference(), reference())}, "variant", ["variant_config-a"]),
        ({"source": place(), "config": status(reference(), reference())}, "drift", ["settled"]),
        ({"source": place(), "config": status()}, "drift", ["drift"]),
        ({"config": status(reference(), reference())}, "drift", ["drift"]),
        ({"source": place(), "config": status(reference(), reference(), error="e")}, "drift", ["drift"]),
    ],
)
def test_groups(fields: dict[str, t.Any], kind: str, names: list[str]) -> None:
    assert inventory_hosts.groups(host(**fields), [kind], []) == names


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ([], []),
        (["pool"], ["label_pool_blue"]),
        (["zone", "absent", "pool"], ["label_zone_a-1", "label_pool_blue"]),
        (["*"], ["label_node-role.kubernetes.io/worker", "label_pool_blue", "label_zone_a-1"]),
    ],
)
def test_groups_by_label(keys: list[str], names: list[str]) -> None:
    assert inventory_hosts.groups(host(), [], keys) == names


@pytest.mark.parametrize(
    ("wanted", "address"),
    [
        (["InternalIP"], "10.0.0.1"),
        (["ExternalIP"], None),
        (["ExternalIP", "Hostname", "InternalIP"], "n1.example.com"),
        (["ExternalIP", "name"], "n1"),
        (["ExternalIP", "none", "InternalIP"], None),
        ([], None),
    ],
)
def test_address(wanted: list[str], address: str | None) -> None:
    assert inventory_hosts.address(host(), wanted) == address


@pytest.mark.parametrize(
    "text",
    [
        "-oProxyCommand=touch /tmp/x",
        "-F/tmp/x",
        "10.0.0.1 -oProxyCommand=x",
        "root@10.0.0.2",
        "ssh://10.0.0.2",
        "fe80::1%-oProxyCommand=x",
        "a\nb",
        "[::1]",
        "",
        "a" * 254,
    ],
)
def test_what_is_no_address_is_not_connected_to(text: str) -> None:
    """A node chooses its address, and ssh takes one that begins with a hyphen for an option."""
    found = node()
    found["status"]["addresses"] = [
        {"type": "InternalIP", "address": text},
        {"type": "Hostname", "address": "n1.example.com"},
    ]
    variables = inventory_hosts.variables(nodes.trim(found))
    assert variables["node_addresses"] == {"Hostname": "n1.example.com"}
    assert inventory_hosts.address(variables, ["InternalIP", "Hostname"]) == "n1.example.com"
    assert inventory_hosts.address(variables, ["InternalIP"]) is None


@pytest.mark.parametrize("text", ["10.0.0.1", "fd00::1", "::1", "ip-10-0-0-1.ec2.internal", "N1", "node_1"])
def test_addresses_that_nodes_have(text: str) -> None:
    found = node()
    found["status"]["addresses"] = [{"type": "InternalIP", "address": text}]
    assert inventory_hosts.variables(nodes.trim(found))["node_addresses"] == {"InternalIP": text}


def test_one_list_whatever_the_number_of_nodes() -> None:
    with Calls(Call("GET", NODES, items(node("a"), node("b")), (("labelSelector", "x=y,z"), *PAGE))) as session:
        assert list(inventory_hosts.read(session, ["x=y", "z"])) == ["a", "b"]
