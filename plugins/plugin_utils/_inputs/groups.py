# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the hosts that have the configuration of one of their groups and nothing of another one."""

from __future__ import annotations

import typing as t

from ansible.inventory.helpers import sort_groups
from ansible.vars.plugins import get_vars_from_inventory_sources, get_vars_from_path

from .inputs import named
from .names import MAIN


class Group(t.Protocol):
    """A group of Ansible's inventory."""

    name: str

    def get_vars(self) -> dict[str, t.Any]:
        """Return the variables that the inventory sets for the group."""

    def get_ancestors(self) -> set[Group]:
        """Return the groups that contain this one."""


class Groups:
    """The groups that set kubelet_config. `inventory` and `loader` are Ansible's."""

    def __init__(self, inventory: t.Any, loader: t.Any) -> None:
        self._inventory, self._loader = inventory, loader
        self._set: dict[str, t.Any] = {}
        # By the group that counts and those that do not: the hosts.
        self._lost: dict[tuple[str, str], list[str]] = {}

    def add(self, host: str, value: t.Any) -> None:
        """Add a host with its value as it is set, None without one."""
        groups = [group for group in self._of(host) if self._value(group) is not None]
        counting = [group for group in groups if self._value(group) == value]
        if not counting:  # host_vars or -e
            return
        counts = counting[-1]
        lost = [group.name for group in groups if group not in counting and group not in counts.get_ancestors()]
        if lost:
            self._lost.setdefault((counts.name, ", ".join(lost)), []).append(host)

    def message(self, hosts: int) -> str:
        """Return for the operator which group counts on which hosts, empty if none is lost; of so many hosts."""
        lines = [
            f"groups {lost} and {counts} both set {MAIN}: that of {counts} counts{named(found, hosts)}, with nothing "
            f"of {lost}. For another order, set ansible_group_priority of a group in the inventory file"
            for (counts, lost), found in sorted(self._lost.items())
        ]
        return "\n".join(lines)

    def _of(self, host: str) -> list[Group]:
        """Return the groups of a host in the order in which Ansible reads them."""
        found = self._inventory.get_host(host)
        return list(sort_groups(found.get_groups())) if found else []

    def _value(self, group: Group) -> t.Any:
        if group.name not in self._set:
            sources, here = self._inventory._sources, self._loader.get_basedir()
            given = {
                **group.get_vars(),
                **get_vars_from_inventory_sources(self._loader, sources, [group], "task"),
                **get_vars_from_path(self._loader, here, [group], "task"),
            }
            self._set[group.name] = given.get(MAIN)
        return self._set[group.name]
