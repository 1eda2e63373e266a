# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters node_table, plan_sources and moving_sources: what the roles' bulk calls take."""

from __future__ import annotations

import typing as t

import jinja2
from ansible.errors import AnsibleFilterError

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import ON_TRIAL

# What else is collected of the hosts that have it, and the variable it stands in.
KINDS = {"flags": "kubelet_config_flags", "deliveries": "kubelet_config_delivery", "failures": "assign_failure"}

READ = (
    "kubelet_config",
    "kubelet_config_host",
    "kubelet_config_node_name",
    "kubelet_config_flags",
    "kubelet_config_delivery",
)
"""The variables of users among those that are read."""


@jinja2.pass_context
def node_table_of_hosts(
    context: jinja2.runtime.Context, hosts: t.Sequence[str], hostvars: t.Mapping[str, t.Mapping[str, t.Any]]
) -> dict[str, t.Any]:
    """Return the node_table. Raises AnsibleFilterError where a variable is set for the task that asks, and not for its
    host: it would do nothing, silently.
    """
    host = context.get("inventory_hostname")
    unseen = [name for name in READ if name in context and name not in hostvars[host]] if host in hostvars else []
    if unseen:
        raise AnsibleFilterError(
            f"{', '.join(unseen)} is set in the vars of a play, a role or import_playbook, where it is no variable of the hosts: nothing would come of it. "
            "Set it in the inventory, in group_vars or host_vars, or with -e"
        )
    return node_table(hosts, hostvars)


def node_table(hosts: t.Sequence[str], hostvars: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, dict[str, t.Any]]:
    """Return by node name what Ansible knows of each host.

    C(hosts): the inventory host. C(configs): its overrides in the order they apply; C(group_configs): those of its
    group alone, of every host, also where there are none. C(flags): its kubelet's flags, C(deliveries): its delivery,
    where the inventory names them. C(failures): why the role assign could not switch it.
    """
    table: dict[str, dict[str, t.Any]] = {
        "hosts": {},
        "configs": {},
        "group_configs": {},
        **{kind: {} for kind in KINDS},
    }
    for host in hosts:
        variables = hostvars[host]
        name = variables.get("kubelet_config_node_name", host)
        if name in table["hosts"]:
            raise AnsibleFilterError(
                f"hosts {table['hosts'][name]} and {host} both stand for the node {name}: give each its own kubelet_config_node_name"
            )
        table["hosts"][name] = host
        layers = [variables[key] for key in ("kubelet_config", "kubelet_config_host") if variables.get(key)]
        if layers:
            table["configs"][name] = layers
        table["group_configs"][name] = variables.get("kubelet_config") or {}
        for kind, variable in KINDS.items():
            if variables.get(variable):
                table[kind][name] = variables[variable]
    return table


def plan_sources(
    plan: t.Mapping[str, t.Any], purpose: str, table: t.Mapping[str, t.Mapping[str, t.Any]] | None = None
) -> dict[str, t.Any]:
    """Return the config source of every node that a plan wants to V(assign), or to V(verify): those, and those that are
    not as they should be.

    With the delivery that the node_table of the hosts has for it, C(auto) by default. With a table it is about its
    hosts only, and those that failed there already are not verified.
    """
    if purpose not in ("assign", "verify"):
        raise AnsibleFilterError(f"plan_sources: the purpose is assign or verify, not {purpose!r}")
    deliveries, failures = (table["deliveries"], table["failures"]) if table else ({}, {})
    return {
        name: {**row["source"], "delivery": deliveries.get(name, "auto")}
        for name, row in plan["nodes"].items()
        if table is None or name in table["hosts"]
        if row["action"] == "assign" or (purpose == "verify" and row["changes"])
        if purpose == "assign" or name not in failures
    }


def moving_sources(rows: t.Mapping[str, t.Mapping[str, t.Any]], delivery: str) -> dict[str, t.Any]:
    """Return the config source of every node that a move to a delivery is about, by the rows of node_config_info.

    Also of nodes on which an earlier move was cut off.
    """
    if delivery not in ("checkpoint", "native"):
        raise AnsibleFilterError(f"moving_sources: the delivery is checkpoint or native, not {delivery!r}")
    if delivery == "native":
        return {name: row["source"] for name, row in rows.items() if row["delivery"] == "checkpoint" and row["source"]}
    return {
        name: row["source"]
        for name, row in rows.items()
        if row["listening"]
        and row["source"]
        and (row["config_source"] or not row["settled"] or row["reason"] == ON_TRIAL)
    }


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {"node_table": node_table_of_hosts, "plan_sources": plan_sources, "moving_sources": moving_sources}
