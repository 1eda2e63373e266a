# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes as inventory hosts: their variables, their addresses and the names of their groups."""

from __future__ import annotations

import re
import typing as t

from ..._config.forecast import machine_size
from ..api.session import Session
from . import node_requests, nodes

# Two values beside the types of status.addresses: the name of the node, and no address at all.
_NAME, _NO_ADDRESS = "name", "none"
_ALL_LABELS = "*"
_CONTROLLER = frozenset({"localhost", "127.0.0.1", "::1"})
"""What Ansible takes for the controller (C.LOCALHOST of ansible-core): such a host gets all delegated tasks."""
# An IP address or a name. A node chooses this text, and Ansible connects to it: ssh would take one that begins with a
# hyphen for an option, and one with an @ for the name of a user.
_ADDRESS = re.compile(r"[0-9A-Za-z:][-._:0-9A-Za-z]{0,252}")


def read(session: Session, selectors: t.Sequence[str]) -> dict[str, dict[str, t.Any]]:
    """Return the variables of all nodes that match the label selectors, by node name (one LIST). Raises ClusterError.

    JSON can represent all values.
    """
    return {name: variables(node) for name, node in node_requests.read(session, None, selectors).items()}


def is_controller(name: str) -> bool:
    """Return whether a host of this name would be the controller. The API server accepts no name with capitals."""
    return name in _CONTROLLER


def variables(node: nodes.Node) -> dict[str, t.Any]:
    """Return the host variables of a node.

    All names have a prefix: Ansible itself uses `roles` and `tags`, and inventories often use `labels`. The role dump
    sets the capacity too.
    """
    active, variant, minor = node.part("active"), "local", ""
    if active:
        # Of some ConfigMaps, some kubelets report the uid alone.
        variant = active.get("name") or active["uid"]
    if node.minor:
        minor = f"1.{node.minor}"
    settled = nodes.settled(node)
    return {
        "kubelet_capacity": machine_size.capacity(node.capacity),
        "kubelet_config_node_name": node.name,
        "node_addresses": {kind: text for kind, text in node.addresses.items() if _ADDRESS.fullmatch(text)},
        "node_arch": node.arch,
        "node_delivery": node.delivery,
        "node_drift": not settled,
        "node_error": node.error or node.fault,
        "node_kubelet_minor": minor,
        "node_kubelet_version": node.kubelet_version,
        "node_labels": node.labels,
        "node_os": node.os,
        "node_ready": node.ready == "True",
        "node_roles": node.roles,
        "node_schedulable": not node.unschedulable,
        "node_settled": settled,
        "node_taints": node.taints,
        "node_variant": variant,
    }


def address(host: t.Mapping[str, t.Any], wanted: t.Sequence[str]) -> str | None:
    """Return the first address of a host whose type is wanted, in the order of `wanted`; None if there is none."""
    for kind in wanted:
        if kind == _NO_ADDRESS:
            return None
        found = host["kubelet_config_node_name"] if kind == _NAME else host["node_addresses"].get(kind)
        if found:
            return str(found)
    return None


def _labels(host: t.Mapping[str, t.Any], keys: t.Sequence[str]) -> list[str]:
    labels = host["node_labels"]
    if _ALL_LABELS in keys:
        keys = sorted(labels)
    # A label may have an empty value, as role labels do.
    return ["_".join(filter(None, ("label", key, labels[key]))) for key in keys if key in labels]


# Group names of a host by its variables. The caller makes the names valid for Ansible.
GROUPS: dict[str, t.Callable[[t.Mapping[str, t.Any]], list[str]]] = {
    "role": lambda host: [f"role_{role}" for role in host["node_roles"]],
    "version": lambda host: [f"kubelet_{host['node_kubelet_minor']}"] if host["node_kubelet_minor"] else [],
    "delivery": lambda host: [f"delivery_{host['node_delivery']}"],
    "variant": lambda host: [f"variant_{host['node_variant']}"],
    "drift": lambda host: ["drift" if host["node_drift"] else "settled"],
}


def groups(host: t.Mapping[str, t.Any], kinds: t.Collection[str], labels: t.Sequence[str]) -> list[str]:
    """Return the names of the groups of a host.

    `kinds` are keys of GROUPS; `labels` are label keys, or `*` for all labels.
    """
    found = []
    for kind in kinds:
        found += GROUPS[kind](host)
    return found + _labels(host, labels)
