# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Node object is reduced to, whatever it contains; its row of node_config_info; its host in an inventory."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import inventory_hosts, nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import node_rows
from tests.support.api.calls import NODES, PAGE, Call, Calls
from tests.support.api.objects import items, node, place, reference, status


def test_trim_a_node_that_has_said_nothing_yet() -> None:
    trimmed = nodes.trim({"metadata": {"name": "n1"}, "spec": None})
    found = (trimmed.source, trimmed.status, trimmed.ready, trimmed.ready_reason, trimmed.error, trimmed.minor)
    assert found == (None, None, "Unknown", "", "", 0)
    assert (trimmed.unschedulable, trimmed.capacity, trimmed.labels, trimmed.cordoned) == (False, {}, {}, None)


def test_trim_labels_capacity_addresses_and_our_own_mark_of_a_cordon() -> None:
    """The first address of each type counts."""
    given = (("InternalIP", "10.0.0.1"), ("InternalIP", "fd00::1"), ("Hostname", "a"))
    found = node(labels={"a": "b"}, cordoned={"holder": "me"}, unschedulable=True)
    found["status"]["addresses"] = [{"type": kind, "address": text} for kind, text in given]
    found["status"]["capacity"] = {"cpu": "4"}
    trimmed = nodes.trim(found)
    assert trimmed.labels == {"kubernetes.io/hostname": "n1", "a": "b"}
    assert (trimmed.cordoned, trimmed.unschedulable) == ({"holder": "me"}, True)
    assert trimmed.addresses == {"InternalIP": "10.0.0.1", "Hostname": "a"} and trimmed.capacity == {"cpu": "4"}


@pytest.mark.parametrize(
    ("labels", "roles", "control_plane"),
    [
        ({}, [], False),
        ({"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}, ["edge", "worker"], False),
        ({"node-role.kubernetes.io/control-plane": ""}, ["control-plane"], True),
        ({"node-role.kubernetes.io/master": ""}, ["master"], True),
        ({"node-role.kubernetes.io/": "", "kubernetes.io/role": ""}, [], False),
        ({"control-plane": "yes"}, [], False),
    ],
)
def test_roles(labels: dict[str, str], roles: list[str], control_plane: bool) -> None:
    trimmed = nodes.trim({"metadata": {"name": "n1", "labels": labels}})
    assert (trimmed.labels, trimmed.roles, trimmed.control_plane) == (labels, roles, control_plane)
    assert node_rows.row(trimmed)["control_plane"] is control_plane


def row(**fields: t.Any) -> dict[str, t.Any]:
    return node_rows.row(nodes.trim(node(**fields)))


def test_row() -> None:
    config = status(reference("b"), reference("a"), reference("a"), "some error")
    ready = {"ready": True, "ready_reason": "KubeletReady: posting", "heartbeat": "2026-01-01T00:00:00Z"}
    kubelet = {"delivery": "native", "listening": True, "kubelet_version": "v1.20.2", **ready}
    sources = {"source": place("b"), "config_source": place("b"), "assigned": reference("b"), "active": reference("a")}
    verdict = {"lastKnownGood": reference("a"), "error": "some error", "fell_back": True, "settled": False}
    marks = {"reason": "", "malformed": {}, "previous": None, "rollout": "", "undone": False}
    node_itself = {"cordon": None, "schedulable": False, "control_plane": False}
    found = row(source=place("b"), config=config, unschedulable=True)
    assert found == {**kubelet, **sources, **verdict, **marks, **node_itself}


@pytest.mark.parametrize(
    ("version", "config", "delivery"),
    [
        ("v1.11.0", {}, "native"),
        ("v1.23.17", {}, "native"),
        ("v1.24.0", {}, "none"),
        ("v1.20.2", None, "none"),
        ("", {}, "native"),
    ],
)
def test_delivery(version: str, config: dict[str, t.Any] | None, delivery: str) -> None:
    assert row(version=version, config=config)["delivery"] == delivery


SETTLED, BACK, NEITHER = (True, False), (False, True), (False, False)


@pytest.mark.parametrize(
    ("source", "config", "found"),
    [
        (place(), status(reference(), reference()), SETTLED),
        (None, status(), SETTLED),
        (None, None, SETTLED),
        (place(), None, NEITHER),
        (place(), status(), NEITHER),
        (place(), status(reference("b"), reference("b")), NEITHER),
        (place(), status(reference(), None), NEITHER),
        (place(), status(reference(revision="8"), reference(revision="7")), NEITHER),
        (place(), status(reference(), reference(), error="some"), NEITHER),
        (None, status(reference(), reference()), NEITHER),
        # It has refused what it should run for good, and no other source is on its way.
        (place("b"), status(reference("b"), reference("a"), reference("a"), "some error"), BACK),
        (place("b"), status(reference("b"), None, None, "some error"), BACK),
        (place("b"), status(reference("b"), reference("a"), reference("a")), NEITHER),
        (place("c"), status(reference("b"), reference("a"), reference("a"), "some error"), NEITHER),
        (place("b"), status(reference("b"), reference("a"), None, "failed to sync: some error"), NEITHER),
    ],
)
def test_a_node_is_settled_or_has_fallen_back(source: t.Any, config: t.Any, found: tuple[bool, bool]) -> None:
    made = row(source=source, config=config)
    assert (made["settled"], made["fell_back"]) == found


STALE = status(reference("b"), reference("b"), error="failed to load config")


@pytest.mark.parametrize(("version", "counts"), [("v1.23.17", True), ("", True), ("v1.24.0", False)])
@pytest.mark.fault(case=62)
def test_a_status_of_an_older_kubelet_does_not_count(version: str, counts: bool) -> None:
    """No kubelet has written status.config since 1.24, and none clears it: an upgraded Node keeps the last error."""
    made = row(source=place("b"), config=STALE, version=version)
    found = [made[key] for key in ("source", "assigned", "active", "error", "settled")]
    native = [place("b"), reference("b"), reference("b"), "failed to load config", False]
    assert found == (native if counts else [None, None, None, "", True])
    assert made["config_source"] == place("b")


def test_what_else_a_status_of_an_older_kubelet_means() -> None:
    """A malformed one is no fault. Prune keeps its ConfigMaps: an operator may still want to read what the node ran."""
    broken = nodes.trim(node(config={"error": 1}, version="v1.24.0"))
    assert (broken.fault, nodes.settled(broken)) == ("", True)
    assert nodes.trim(node(config={"error": 1}, version="v1.23.0")).fault.startswith("its status.config is malformed")
    trimmed = nodes.trim(node(source=place("b"), config=STALE, version="v1.24.0"))
    assert trimmed.references == [place("b"), reference("b"), reference("b")]


def test_both_deliveries_read_alike() -> None:
    """Once this collection wrote a checkpoint, whatever status the kubelet reports for Node.spec.configSource."""
    ran = status(reference(), reference(), error="some error")
    config = {**ran, "reason": "reverted", "started": "2026-01-01T00:00:00Z"}
    native = row(source=place(), config=ran)
    differs = {"delivery": "checkpoint", "source": reference(), "config_source": None, "reason": "reverted"}
    for kubelet in (None, {}):
        mine = row(marked=reference(), reported=config, config=kubelet)
        assert mine == {**native, **differs, "listening": kubelet is not None}
    assert row(marked=reference())["delivery"] == row(reported={})["delivery"] == "checkpoint"


LABELS = {"node-role.kubernetes.io/worker": "", "pool": "blue", "zone": "a-1"}
ADDRESSES = {"InternalIP": "10.0.0.1", "Hostname": "n1.example.com"}


def host(addresses: t.Mapping[str, str] | None = None, **fields: t.Any) -> dict[str, t.Any]:
    """Return the variables of a node."""
    found = node(**fields)
    found["metadata"]["labels"] = LABELS
    given = ADDRESSES if addresses is None else addresses
    found["status"]["addresses"] = [{"type": kind, "address": text} for kind, text in given.items()]
    found["status"]["capacity"] = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    found["status"]["nodeInfo"].update(operatingSystem="linux", architecture="arm64")
    return inventory_hosts.variables(nodes.trim(found))


def test_variables() -> None:
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    config = status(reference("b"), reference("a"), reference("a"), "some error")
    found = host(source=place("b"), config=config, unschedulable=True, taints=[taint])
    capacity = {"cpu": 4, "memory": 8 * 2**30, "pods": 110, "hugepages": {}}
    config_of = {"delivery": "native", "drift": True, "error": "some error", "settled": False, "variant": "a"}
    kubelet = {"kubelet_minor": "1.20", "kubelet_version": "v1.20.2", "os": "linux", "arch": "arm64", "ready": True}
    shown = {"addresses": ADDRESSES, "labels": LABELS, "roles": ["worker"], "schedulable": False, "taints": [taint]}
    facts = {f"node_{name}": value for name, value in {**config_of, **kubelet, **shown}.items()}
    assert found == {"kubelet_capacity": capacity, "kubelet_config_node_name": "n1", **facts}


def test_a_node_without_status() -> None:
    found = inventory_hosts.variables(nodes.trim({"metadata": {"name": "n1"}}))
    assert (found["node_kubelet_minor"], found["node_variant"]) == ("", "local")
    assert (found["node_ready"], found["node_addresses"]) == (False, {})
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
        ({"source": place(), "config": status(reference(), reference())}, "drift", ["settled"]),
        ({"source": place(), "config": status()}, "drift", ["drift"]),
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


OPTIONS_OF_SSH = ["-oProxyCommand=touch /tmp/x", "-F/tmp/x", "10.0.0.1 -oProxyCommand=x", "fe80::1%-oProxyCommand=x"]


@pytest.mark.parametrize("text", [*OPTIONS_OF_SSH, "root@10.0.0.2", "ssh://10.0.0.2", "a\nb", "[::1]", "", "a" * 254])
def test_what_is_no_address_is_not_connected_to(text: str) -> None:
    """A node chooses its address, and ssh takes one that begins with a hyphen for an option."""
    variables = host(addresses={**ADDRESSES, "InternalIP": text})
    assert variables["node_addresses"] == {"Hostname": "n1.example.com"}
    assert inventory_hosts.address(variables, ["InternalIP", "Hostname"]) == "n1.example.com"
    assert inventory_hosts.address(variables, ["InternalIP"]) is None


@pytest.mark.parametrize("text", ["10.0.0.1", "fd00::1", "::1", "ip-10-0-0-1.ec2.internal", "N1", "node_1"])
def test_addresses_that_nodes_have(text: str) -> None:
    assert host(addresses={"InternalIP": text})["node_addresses"] == {"InternalIP": text}


def test_one_list_whatever_the_number_of_nodes() -> None:
    with Calls(Call("GET", NODES, items(node("a"), node("b")), (("labelSelector", "x=y,z"), *PAGE))) as session:
        assert list(inventory_hosts.read(session, ["x=y", "z"])) == ["a", "b"]
