# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Node object is reduced to, whatever it contains."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import nodes
from tests.support.objects import node, place, reference, status


def one(**fields: t.Any) -> nodes.Node:
    return nodes.trim(node(**fields))


def test_trim() -> None:
    trimmed = one(source=place(), config=status(reference(), error="some error"), unschedulable=True, ready="False")
    assert trimmed == nodes.Node(
        name="n1",
        resource_version="1",
        kubelet_version="v1.20.2",
        native=nodes.Side(place(), status(reference(), error="some error")),
        noted=nodes.Side(),
        delivery="native",
        ready="False",
        ready_reason="KubeletReady: posting",
        heartbeat="2026-01-01T00:00:00Z",
        unschedulable=True,
        previous=None,
        cordoned=None,
        capacity={},
        labels={},
        taints=[],
        addresses={},
        os="",
        arch="",
    )
    assert (trimmed.part("assigned"), trimmed.part("active"), trimmed.error, trimmed.minor) == (
        reference(),
        None,
        "some error",
        20,
    )


def test_labels_and_our_own_mark_of_a_cordon() -> None:
    trimmed = one(labels={"a": "b"}, cordoned={"holder": "me"}, unschedulable=True)
    assert (trimmed.labels, trimmed.cordoned, trimmed.unschedulable) == ({"a": "b"}, {"holder": "me"}, True)
    assert (one().labels, one(unschedulable=True).cordoned) == ({}, None)


def test_trim_a_node_that_has_said_nothing_yet() -> None:
    trimmed = nodes.trim({"metadata": {"name": "n1"}, "spec": None})
    assert (trimmed.source, trimmed.status, trimmed.ready, trimmed.ready_reason, trimmed.error, trimmed.minor) == (
        None,
        None,
        "Unknown",
        "",
        "",
        0,
    )
    assert (trimmed.unschedulable, trimmed.capacity) == (False, {})


def test_capacity() -> None:
    assert nodes.trim({"metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "4"}}}).capacity == {"cpu": "4"}


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


def test_the_first_address_of_each_type() -> None:
    addresses = [
        {"type": "InternalIP", "address": "10.0.0.1"},
        {"type": "InternalIP", "address": "fd00::1"},
        {"type": "Hostname", "address": "a"},
    ]
    assert nodes.trim({"metadata": {"name": "n1"}, "status": {"addresses": addresses}}).addresses == {
        "InternalIP": "10.0.0.1",
        "Hostname": "a",
    }


ALPHA = {"namespace": "kube-system", "name": "config-a", "uid": "uid-config-a"}


def alpha_node(version: str = "v1.9.11") -> dict[str, t.Any]:
    """A kubelet 1.8 to 1.10 that runs config-a, and has a last-known-good whose name it does not report."""
    found = node(version=version)
    found["spec"]["configSource"] = {"configMapRef": ALPHA}
    found["status"]["conditions"].append(
        {
            "type": "ConfigOK",
            "status": "False",
            "message": 'using last-known-good (UID: "other")',
            "reason": 'failed to parse current (UID: "uid-config-a")',
        }
    )
    return found


@pytest.mark.parametrize("version", ["v1.8.15", "v1.9.11", "v1.10.13"])
def test_the_first_form(version: str) -> None:
    """The same parts as for every later kubelet."""
    found = nodes.trim(alpha_node(version))
    whole = {**ALPHA, "kubeletConfigKey": "kubelet"}
    assert (found.alpha, found.listening, found.delivery, found.place) == (True, True, "native", "checkpoint")
    assert (found.source, found.part("assigned"), found.error) == (
        whole,
        whole,
        'failed to parse current (UID: "uid-config-a")',
    )
    assert nodes.describe(found.part("active")) == "the ConfigMap with uid other"
    assert (found.references, found.uids) == ([whole, whole], {"uid-config-a", "other"})


def test_the_first_form_on_a_later_kubelet() -> None:
    found = nodes.trim(alpha_node("v1.20.2"))
    assert (found.alpha, found.listening, found.source, found.place, found.uids) == (False, False, None, "", set())
