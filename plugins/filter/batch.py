# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that turn hosts into nodes, for the controller's modules."""

from __future__ import annotations

import functools
import typing as t

import jinja2
from ansible.errors import AnsibleFilterError

from ansible_collections.livenodes.kubelet.plugins.plugin_utils import declared, sealed

# Further columns of the node table, and the host variable each of them comes from.
KINDS = {"flags": "kubelet_config_flags", "deliveries": "kubelet_config_delivery"}

SEALED = {"configs": sealed.layer, "group_configs": sealed.layer, "flags": sealed.flags}
"""How the secrets of a column are sealed."""

OF_THE_HOST = {
    "kubelet_config_allow_effect": "disrupt",
    "kubelet_config_drain": "never",
    "kubelet_config_forecast": "refuse",
    "kubelet_config_forecast_pods": 0,
}
"""Options that each host has its own value of, with their defaults. One task reads those of all hosts."""

READ = (
    "kubelet_config",
    "kubelet_config_host",
    "kubelet_config_node_name",
    "kubelet_config_flags",
    "kubelet_config_delivery",
)
"""The variables that users set."""


@jinja2.pass_context
def node_table_of_hosts(
    context: jinja2.runtime.Context, hosts: t.Sequence[str], hostvars: t.Mapping[str, t.Mapping[str, t.Any]]
) -> dict[str, t.Any]:
    """Return the node_table of the hosts, and the options of each host, as the modules that read them take them.

    These are C(allow_effects), C(drains) and C(forecasts).

    Raises AnsibleFilterError when a variable is set for the current task but not for its host. It would silently have
    no effect.
    """
    host = context.get("inventory_hostname")
    unseen = [name for name in READ if name in context and name not in hostvars[host]] if host in hostvars else []
    if unseen:
        raise AnsibleFilterError(
            f"{', '.join(unseen)} is set in the vars of a play, a role or import_playbook. It has no effect there: "
            "it is not a variable of the hosts. Set it in the inventory, in group_vars or host_vars, or with -e"
        )
    table = node_table(hosts, hostvars, _of_the_play(context, hostvars))
    # Tasks show and keep what they are given.
    for kind, seal in SEALED.items():
        table[kind] = {name: seal(given) for name, given in table[kind].items()}
    return table


def _of_the_play(context: jinja2.runtime.Context, hostvars: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """Return the options that a play, a role call or import_playbook sets for all hosts. They override those of hosts.

    Those that a task sees as their default come from the role, and do not.
    """
    host = context.get("inventory_hostname")
    own = hostvars.get(host, {})
    seen = {name: context[name] for name, default in OF_THE_HOST.items() if name in context}
    return {
        name: value
        for name, value in seen.items()
        if value != OF_THE_HOST[name] and (name not in own or own[name] != value)
    }


def node_table(
    hosts: t.Sequence[str],
    hostvars: t.Mapping[str, t.Mapping[str, t.Any]],
    of_the_play: t.Mapping[str, t.Any] | None = None,
) -> dict[str, dict[str, t.Any]]:
    """Return what Ansible knows about each host, as columns by node name.

    C(hosts): the inventory host. C(configs): the overrides of the host, in the order in which they apply.
    C(group_configs): the overrides of its group, an empty mapping if there are none. C(flags) and C(deliveries): the
    kubelet's flags and the delivery, if the inventory sets them. With C(of_the_play), which overrides them, also the
    options of each host.

    Raises AnsibleFilterError when two hosts name the same node, and for a variable that names an undefined one.
    """
    table: dict[str, dict[str, t.Any]] = {
        "hosts": {},
        "configs": {},
        "group_configs": {},
        **{kind: {} for kind in KINDS},
        **({} if of_the_play is None else {"allow_effects": {}, "drains": {}, "forecasts": {}}),
    }
    for host in hosts:
        variables = hostvars[host]
        read = functools.partial(declared.of_host, host, variables)
        name = read("kubelet_config_node_name") or host
        if name in table["hosts"]:
            raise AnsibleFilterError(
                f"hosts {table['hosts'][name]} and {host} both name the node {name}: "
                "set a different kubelet_config_node_name for each"
            )
        table["hosts"][name] = host
        of_group, of_host = read("kubelet_config"), read("kubelet_config_host")
        layers = [layer for layer in (of_group, of_host) if layer]
        if layers:
            table["configs"][name] = layers
        table["group_configs"][name] = of_group or {}
        for kind, variable in KINDS.items():
            given = read(variable)
            if given:
                table[kind][name] = given
        if of_the_play is not None:
            _add_options(table, name, variables, of_the_play)
    return table


def _add_options(
    table: dict[str, dict[str, t.Any]], name: str, variables: t.Mapping[str, t.Any], of_the_play: t.Mapping[str, t.Any]
) -> None:
    """Add what the host of a node has in OF_THE_HOST."""
    options = {
        key: of_the_play[key] if key in of_the_play else variables.get(key, default)
        for key, default in OF_THE_HOST.items()
    }
    table["allow_effects"][name] = options["kubelet_config_allow_effect"]
    table["drains"][name] = options["kubelet_config_drain"]
    table["forecasts"][name] = {
        "forecast": options["kubelet_config_forecast"],
        "pods": options["kubelet_config_forecast_pods"],
    }


def other_configs(hosts: t.Sequence[str], hostvars: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """Return by node name the C(kubelet_config) of hosts that a task does not change, an empty mapping if it is unset.

    Unlike in the node_table, several hosts may name one node, as in an inventory of several clusters. If their
    overrides differ, the node has none, because it is unknown which host is the node.
    """
    found: dict[str, t.Any] = {}
    for host in hosts:
        read = functools.partial(declared.of_host, host, hostvars[host])
        name, given = read("kubelet_config_node_name") or host, read("kubelet_config") or {}
        found[name] = given if found.get(name, given) == given else {}
    return {name: sealed.layer(given) for name, given in found.items()}


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {
            "node_table": node_table_of_hosts,
            "other_configs": other_configs,
        }
