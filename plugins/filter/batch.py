# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters node_table and plan_sources: what the roles' bulk calls take, made from what Ansible knows a host."""
from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError


def node_table(hosts: t.Sequence[str], hostvars: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, dict[str, t.Any]]:
    """Return by node name: the inventory host, its overrides in the order they apply, those of its group alone (of every host, also where there are none),
    and its kubelet's flags where the inventory knows them.
    """
    table: dict[str, dict[str, t.Any]] = {"hosts": {}, "configs": {}, "group_configs": {}, "flags": {}}
    for host in hosts:
        variables = hostvars[host]
        name = variables.get("kubelet_config_node_name", host)
        if name in table["hosts"]:
            raise AnsibleFilterError(f"hosts {table['hosts'][name]} and {host} both stand for the node {name}: give each its own kubelet_config_node_name")
        table["hosts"][name] = host
        layers = [variables[key] for key in ("kubelet_config", "kubelet_config_host") if variables.get(key)]
        if layers:
            table["configs"][name] = layers
        table["group_configs"][name] = variables.get("kubelet_config") or {}
        if variables.get("kubelet_config_flags"):
            table["flags"][name] = variables["kubelet_config_flags"]
    return table


def plan_sources(plan: t.Mapping[str, t.Any], purpose: str) -> dict[str, t.Any]:
    """Return the config source of every node that a plan wants to V(assign), or to V(verify): those, and those that are not as they should be."""
    if purpose not in ("assign", "verify"):
        raise AnsibleFilterError(f"plan_sources: the purpose is assign or verify, not {purpose!r}")
    return {name: row["source"] for name, row in plan["nodes"].items() if row["action"] == "assign" or (purpose == "verify" and row["changes"])}


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {"node_table": node_table, "plan_sources": plan_sources}
