# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that turn hosts into nodes, for the controller's modules."""

from __future__ import annotations

import functools
import typing as t

import jinja2
from ansible.errors import AnsibleFilterError

from ansible_collections.livenodes.kubelet.plugins.plugin_utils import declared, host_table, sealed

SEALED = {"configs": sealed.layers, "group_configs": sealed.layer, "flags": sealed.flags}
"""How the secrets of a column are sealed."""


@jinja2.pass_context
def node_table_of_hosts(
    context: jinja2.runtime.Context, hosts: t.Sequence[str], hostvars: t.Mapping[str, t.Mapping[str, t.Any]]
) -> dict[str, t.Any]:
    """Return the node_table of the hosts, and the options of each host, as the modules that read them take them.

    These are C(allow_effects), C(drains) and C(forecasts).

    Raises AnsibleFilterError when a variable is set for the current task but not for its host. It would silently have
    no effect.
    """
    wrong = host_table.unseen(context, hostvars)
    if wrong:
        raise AnsibleFilterError(wrong)
    table = host_table.node_table(hosts, hostvars, _of_the_play(context, hostvars))
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
    seen = {name: context[name] for name, default in host_table.OF_THE_HOST.items() if name in context}
    return {
        name: value
        for name, value in seen.items()
        if value != host_table.OF_THE_HOST[name] and (name not in own or own[name] != value)
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
