# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of a run: those of one node, those whose configuration or flags cannot be read, and their groups."""

from __future__ import annotations

import functools
import re
import typing as t

from ansible.inventory.helpers import sort_groups
from ansible.playbook.taggable import Taggable
from ansible.vars.plugins import get_vars_from_inventory_sources, get_vars_from_path

from ...module_utils._config import profiles
from ...module_utils._config.fields import shadow
from ...module_utils._config.plan.layers import OF_HOSTS, PROFILE
from ...module_utils._config.values import document
from .. import host_table
from .inputs import MAIN, named
from .rendered import UNKNOWN, is_template

_FLAGS = host_table.KINDS["flags"]
# Not of YAML that is wrong, and without what a quoted text of a template cannot have.
_FILE_NAME = re.compile(r"[^\n:'{}\[]+\.(ya?ml|json)")


class Hosts:
    """The hosts of a run, with the node and the configuration of each. `reads`: whether a playbook reads a variable."""

    def __init__(self, reads: t.Callable[[str], bool]) -> None:
        self._reads = reads
        self._nodes: dict[str, list[str]] = {}
        self._wrong: dict[tuple[str, str], list[str]] = {}

    def add(self, host: str, name: t.Any, given: t.Mapping[str, t.Any]) -> None:
        """Add a host. `name`: that of its node, None if it is that of the host. `given`: its variables as set."""
        if name is not UNKNOWN:
            self._nodes.setdefault(str(name or host), []).append(host)
        faults = {layer: _fault_of(layer, given.get(layer)) for layer in OF_HOSTS}
        faults[_FLAGS] = _fault_of_flags(given.get(_FLAGS))
        for variable, fault in faults.items():
            if fault and self._reads(variable):
                self._wrong.setdefault((variable, fault), []).append(host)

    def message(self) -> str:
        """Return the error for the operator, a line for each node and each text; empty without any."""
        lines = [host_table.same_node(hosts, name) for name, hosts in self._nodes.items() if len(hosts) > 1]
        lines += [f"{variable}{named(hosts, 0)}: {fault}" for (variable, fault), hosts in self._wrong.items()]
        return "\n".join(lines)


def _fault_of(layer: str, value: t.Any) -> str:
    """Return what is wrong with the value of a layer, empty if nothing is, or if only Ansible can render it."""
    if is_template(value):
        return ""
    if layer == PROFILE:
        return _fault(profiles.named, value) if value else ""
    # An empty text too: a survey without an answer gives one, and nothing declared would revert all nodes.
    if isinstance(value, (str, int, float)):
        return _fault_of_text(str(value))
    if isinstance(value, (list, tuple)):
        return _fault(document.accept, list(value))
    return ""


@functools.lru_cache(maxsize=64)
def _fault_of_text(text: str) -> str:
    """Return what is wrong with a configuration that is not a mapping, empty if nothing is."""
    fault = _fault(document.parse, text)
    if fault and _FILE_NAME.fullmatch(text):
        fault += f" To read the file, write {{{{ lookup('ansible.builtin.file', '{text}') }}}}"
    return fault


def _fault(read: t.Callable[[t.Any, str], t.Any], value: t.Any) -> str:
    """Return why a value cannot be read, empty if it can."""
    try:
        read(value, "its value")
    except document.DocumentError as error:
        return str(error)
    return ""


def _fault_of_flags(value: t.Any) -> str:
    """Return why the words of a command line cannot be read, empty if they can, or if only Ansible can render them."""
    if is_template(value) or not isinstance(value, (str, list, tuple)):
        return ""
    try:
        shadow.of_inventory(value)
    except ValueError as error:
        return str(error)
    return ""


_LISTS = ("listhosts", "listtasks", "listtags", "syntax")
"""Options of ansible-playbook that run no task."""


def left_out(options: t.Mapping[str, t.Any]) -> str:
    """Return why these options of ansible-playbook are refused, empty unless they leave out tasks without a tag."""
    if any(options.get(name) for name in _LISTS):
        return ""
    given = ""
    if not Taggable().evaluate_tags(options.get("tags") or ["all"], options.get("skip_tags") or [], {}):
        given = "--tags or --skip-tags"
    if options.get("start_at_task") is not None:
        given = "--start-at-task"
    if not given:
        return ""
    return (
        f"{given} leaves out tasks of this playbook, and each of its tasks needs those before it. Nothing was changed. "
        "Run it without this option. To name nodes, use --limit"
    )


BARE = "_raw_params"
"""Where Ansible puts the words of C(-e) that have no C(=)."""


def cut_off(given: t.Mapping[str, t.Any]) -> str:
    """Return why these variables of C(-e) are refused, empty unless Ansible has cut the value of one at a space.

    The message shows no values: one may be a secret.
    """
    if not given.get(BARE):
        return ""
    texts = sorted(name for name, value in given.items() if name != BARE and isinstance(value, str))
    names = ", ".join(texts) or "the variables"
    return (
        f"-e has words that belong to no variable. Ansible ends a value at a space, so one of {names} has "
        "only a part of its value. Nothing was changed. Quote the value inside the argument, such as "
        "-e \"kubelet_config_max_unavailable='50 %'\", or give JSON, such as -e "
        """'{"kubelet_config": {"maxPods": 80}}'"""
    )


HOSTS, LIMIT = "kubelet_config_hosts", "ansible_limit"
ANY, NAMED = "any", "named"


def asked(given: t.Any) -> list[str]:
    """Return the patterns of hosts in kubelet_config_hosts, a text or lists of texts, one after the other."""
    if not isinstance(given, (list, tuple)):
        return [str(given)]
    found = []
    for inner in given:
        found += asked(inner)
    return found


class Run(t.NamedTuple):
    """The hosts of a run."""

    patterns: t.Sequence[str] | None
    """Those of kubelet_config_hosts, None if it is not set."""
    matching: t.Collection[str]
    """The hosts of the inventory that the patterns have; all without any."""
    limit: str | None
    """The text of --limit."""
    playing: t.Collection[str]
    """The hosts of the play for all hosts, of which --limit leaves some out."""
    by_user: bool
    """Whether the user names the patterns, and not a playbook for several groups, of which --limit may leave some out.
    """

    def problem(self, must: str) -> str:
        """Return why these hosts are refused, for the operator; empty if they are not.

        With `must` NAMED, the operator must name hosts.
        """
        if must == NAMED and self.patterns is None and self.limit is None:
            return (
                f"A run without hosts would take all nodes. Nothing was changed. Name them with -e {HOSTS}, such as a "
                "group or all, or with --limit."
            )
        patterns = ["all"] if self.patterns is None else self.patterns
        if not "".join(patterns).strip():
            return f"{HOSTS} is empty. Nothing was changed. Set it to a group or hosts of the inventory."
        shown = f"{HOSTS}={':'.join(patterns)}"
        if not self.matching:
            return (
                f"No host matches {shown}. Set it to a group or hosts of the inventory that represent nodes of the "
                "cluster."
            )
        if self.by_user and not set(self.matching) & set(self.playing):
            return (
                f"No host of {shown} is in --limit {self.limit}. Nothing was changed. Name hosts that both have, or "
                "leave one of the two out."
            )
        return ""


Group = t.Any
"""A group of Ansible's inventory, which has no types."""


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
        kept = {*counting, *counts.get_ancestors()}
        lost = [group.name for group in groups if group not in kept]
        if lost:
            self._lost.setdefault((counts.name, ", ".join(lost)), []).append(host)

    def message(self, hosts: int) -> str:
        """Return for the operator which group counts on which hosts, empty if none is lost; of so many hosts."""
        lines = []
        for (counts, lost), found in sorted(self._lost.items()):
            lines.append(
                f"groups {lost} and {counts} both set {MAIN}: that of {counts} counts{named(found, hosts)}, with "
                f"nothing of {lost}. For another order, set ansible_group_priority of a group in the inventory file"
            )
        return "\n".join(lines)

    def _of(self, host: str) -> list[Group]:
        """Return the groups of a host in the order in which Ansible reads them."""
        found = self._inventory.get_host(host)
        if not found:
            return []
        return list(sort_groups(found.get_groups()))

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
