# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the hosts of a run that differ in a variable of the run, for one message."""

from __future__ import annotations

import json
import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._cluster.api import cluster_options
from ...module_utils._cluster.api.errors import ClusterError
from ...module_utils._config.values.node_row import first_of
from . import check, specs
from .check import Option
from .inputs import SHOWN_HOSTS, once, shown

Groups = t.Mapping[str, t.Sequence[str]]


class Differing:
    """The values of the variables of a run, host by host. `known`: the specs of all variables by name."""

    def __init__(self, known: t.Mapping[str, Option]) -> None:
        self._known = known
        # By variable and comparable form: one value of this form, and the hosts that have it.
        self._found: dict[str, dict[str, tuple[t.Any, list[str]]]] = {}
        self._form = once(lambda name, value: _form(name, known[name], value))

    def add(self, host: str, name: str, value: t.Any) -> None:
        """Add the value of a host. An unset variable has the default of its spec, None without one."""
        alike = self._found.setdefault(name, {}).setdefault(self._form(name, value), (value, []))
        alike[1].append(host)

    def message(self, groups: Groups, hosts: t.Sequence[str]) -> str:
        """Return the error for the operator, a line for each variable and value with its hosts; empty without any.

        `groups` are the hosts of each inventory group, `hosts` those of the run.
        """
        found = {}
        for name, alike in self._found.items():
            if len(alike) > 1:
                found[name] = list(alike.values())
        clusters = found.pop(specs.AUTH, [])
        lines: list[str] = []
        if clusters:
            lines.append(
                "the hosts of this run name different clusters or credentials, and a run has only one. Nothing was "
                "read or changed. Run the playbook once for each of them, with kubelet_config_hosts:"
            )
            lines += [f"{_whose(named, groups, hosts)}: {_cluster(value)}" for value, named in clusters]
        if found:
            lines.append(
                "all hosts of a run share these variables, but the hosts differ. Nothing was changed. Set one value "
                "for all of them, or run the playbook once for each, with kubelet_config_hosts:"
            )
        for name, values in sorted(found.items()):
            words = [f"{self._shown(name, value)} on {_whose(named, groups, hosts)}" for value, named in values]
            lines.append(f"{name} is {', '.join(words)}")
        return "\n".join(lines)

    def _shown(self, name: str, value: t.Any) -> str:
        return "unset" if value is None else shown(self._known[name], value)


def _form(name: str, option: Option, value: t.Any) -> str:
    """Return a text that is equal for values that the roles read alike, such as 5 and "5"."""
    is_unset_if_empty = name in check.UNSET_IF_EMPTY or not option.get("default")
    if value is None or (value == "" and is_unset_if_empty):
        return "null"
    kind = option["type"]
    if kind == "bool":
        return str(boolean(str(value), strict=False))
    if kind == "dict":
        return json.dumps(value, sort_keys=True, default=str)
    # AWX has no lists, and -e passes numbers as texts, such as 60.0.
    items = value if isinstance(value, (list, tuple)) else str(value).split(",")
    texts = [str(item).strip() for item in items]
    if kind == "int":
        texts = [text.removesuffix(".0") for text in texts]
    return json.dumps(texts)


def _whose(named: t.Sequence[str], groups: Groups, hosts: t.Sequence[str]) -> str:
    """Return the hosts in words, with the smallest group that has them and no others of this run."""
    of_run, wanted = set(hosts), set(named)
    text = first_of(named, SHOWN_HOSTS)
    alike = []
    for group, members in groups.items():
        if group not in ("all", "ungrouped") and wanted == of_run & set(members):
            alike.append((len(members), group))
    if not alike:
        return text
    return f"group {min(alike)[1]} ({text})"


def _cluster(value: t.Any) -> str:
    """Return the cluster of a kubelet_config_auth in words, without its credentials."""
    given = value if isinstance(value, dict) else {}
    parts = []
    if given.get("host"):
        parts.append(f"host {cluster_options.without_login(str(given['host']))}")
    kubeconfig = given.get("kubeconfig")
    if kubeconfig:
        shown_path = kubeconfig if cluster_options.is_path(kubeconfig) else "as a mapping"
        parts.append(f"kubeconfig {shown_path}")
    if given.get("context"):
        parts.append(f"context {given['context']}")
    if given.get("in_cluster"):
        parts.append("in_cluster")
    return ", ".join(parts) or f"the cluster of the environment ({specs.AUTH} does not name any)"


WITHOUT_CLUSTER = frozenset({"upgrade_check"})
"""The roles that send no request to an API server."""


def in_words(given: t.Any) -> str:
    """Return the cluster that kubelet_config_auth and the environment name; empty if the first request reports why
    it is not known.
    """
    if not isinstance(given, dict):
        given = {}
    try:
        return cluster_options.in_words(cluster_options.completed(given))
    except ClusterError:
        return ""
