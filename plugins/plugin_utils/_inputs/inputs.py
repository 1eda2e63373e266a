# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collects the wrong variables of all hosts, for one message, and those of the run in which hosts differ, for another.

Names distinguishes a misspelt variable of this collection from one of another collection or of the user.
"""

from __future__ import annotations

import difflib
import functools
import json
import re
import typing as t

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._cluster.api import cluster_options
from ...module_utils._cluster.api.errors import ClusterError
from ...module_utils._config.fields import fields
from ...module_utils._config.values.node_row import first_of
from ...module_utils._config.values.short_texts import items_of
from . import specs
from .rendered import UNKNOWN
from .specs import FORMS, Option, accepted

_SHOWN_HOSTS = 3
_SHOWN_CHARACTERS = 40


class Inputs:
    """The variables of a run, host by host.

    `known`: the specs of all variables of the collection by name. `read`: the names that the playbook reads; a variable
    that only another playbook reads may have any value.
    """

    def __init__(self, known: t.Mapping[str, Option], read: t.Container[str]) -> None:
        self._known = known
        self._read = read
        self._names = Names(known)
        self._hosts: dict[str, list[str]] = {}
        self._ignored: set[str] = set()
        self._problem = once(self._problem_of)

    def reads(self, name: str) -> bool:
        """Return whether the playbook reads a variable."""
        return name in self._read

    def may_be_unset(self, name: str) -> bool:
        """Return whether the roles go on without a variable. To them, one that names an undefined one is unset."""
        return name in self._known and self._known[name].get("default") in (None, "")

    def matters(self, name: str) -> bool:
        """Return whether a variable must be added: its name is unknown, or its value may be wrong."""
        option = self._known.get(name)
        if option is None:
            return name.startswith(PREFIX) or bool(self._names.near(name))
        return name in self._read and (option["type"] != "raw" or name in FORMS)

    def is_default(self, name: str, value: t.Any) -> bool:
        """Return whether a value is the default of a role's variable. The defaults of a role are seen in the play."""
        if name in specs.INTERNAL:
            return bool(specs.INTERNAL[name] == value)
        return name in self._known and "default" in self._known[name] and self._known[name]["default"] == value

    def defaults(self) -> dict[str, t.Any]:
        """Return the defaults of all variables that have one."""
        return {name: option["default"] for name, option in self._known.items() if "default" in option}

    def default(self, name: str) -> t.Any:
        """Return the value of a variable that is not set, None if its role decides."""
        return self._known[name].get("default")

    def add(self, host: str, name: str, value: t.Any) -> None:
        """Check one variable of a host."""
        problem = self._problem(name, value)
        if problem:
            self._hosts.setdefault(problem, []).append(host)

    def add_failure(self, host: str, name: str, why: str) -> None:
        """Add a variable of a host if its template fails. `why`: what follows the names of both, empty otherwise."""
        if why:
            self._hosts.setdefault(f"{name}{_HOSTS}{why}", []).append(host)

    def message(self, hosts: int) -> str:
        """Return the error for the operator, a line for each wrong value, with `{hosts}` named; empty without any.

        `hosts` is the number of all hosts.
        """
        if not self._hosts:
            return ""
        lines = [problem.replace(_HOSTS, named(found, hosts), 1) for problem, found in sorted(self._hosts.items())]
        count = "1 variable is wrong" if len(lines) == 1 else f"{len(lines)} variables are wrong"
        first = f"{count}. Nothing was changed. Correct the inventory or the -e options, then run again:"
        return "\n".join([first, *lines])

    def ignored(self) -> str:
        """Return what the operator should know of variables that look like ours, but are not; empty without any."""
        if not self._ignored:
            return ""
        return (
            f"{', '.join(sorted(self._ignored))}: this collection has no such variable and ignores it. If it is one of "
            "yours, give it another prefix than kubelet_config_"
        )

    def _problem_of(self, name: str, value: t.Any) -> str:
        option = self._known.get(name)
        if option is None:
            return self._unknown(name, value)
        if value is UNKNOWN:
            # A template that cannot be rendered yet is checked by its role.
            return ""
        words = accepted(name, option, value)
        if not words:
            return ""
        return f"{name} is {shown(option, value)}{_HOSTS}: use {words}{_hint(option, value)}"

    def _unknown(self, name: str, value: t.Any) -> str:
        meant = self._names.meant(name, value)
        if meant:
            return (
                f"{name}{_HOSTS}: unknown. Did you mean {meant}? If not, give it a name that is less like those of "
                "this collection"
            )
        if name.startswith(PREFIX):
            self._ignored.add(name)
        return ""


OfValue = t.Callable[[str, t.Any], str]
"""A function of the name and the value of a variable."""


def once(function: OfValue) -> OfValue:
    """Return the function, called once for each value: most hosts share their values."""
    cached = functools.lru_cache(maxsize=None, typed=True)(function)

    def call(name: str, value: t.Any) -> str:
        try:
            return cached(name, value)
        except TypeError:  # a list or a mapping
            return function(name, value)

    return call


_HOSTS = "\0"
"""Stands for the hosts in a problem that is not yet complete."""


def named(found: t.Sequence[str], hosts: int) -> str:
    if len(found) == hosts > 1:
        return " on all hosts"
    text = f" on {first_of(found, _SHOWN_HOSTS)}"
    if len(found) > _SHOWN_HOSTS:
        text += " hosts"
    return text


def shown(option: Option, value: t.Any) -> str:
    """Return a value as YAML has it. Mappings may contain secrets, so only their type is shown."""
    if option["type"] == "dict" or isinstance(value, dict):
        for kind, words in ((str, "a text"), (list, "a list"), (dict, "a mapping")):
            if isinstance(value, kind):
                return words
        return "no mapping"
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def _hint(option: Option, value: t.Any) -> str:
    if isinstance(value, bool) and option["type"] == "str" and "choices" in option:
        return ". YAML reads a bare no, off, yes or on as a boolean: use quotes"
    return ""


MAIN = "kubelet_config"
PREFIX = f"{MAIN}_"
_FACT = "kubelet_configz"
"""What a module of this collection returns as a fact."""
_WHOLE = 0.92
"""So alike is our shortest name with one wrong, missing or additional character. Kubespray's kube_config_dir has 0.909.
"""
_END = 0.77
"""Of what follows the prefix. The path in kubelet_config_path has 0.75 of auth."""
_ABBREVIATED = re.compile(r"kubelet_conf(_.*)?")
"""Roles of others have such variables for the kubeconfig kubelet.conf."""


class Names:
    """The names of all variables of this collection."""

    def __init__(self, known: t.Iterable[str]) -> None:
        self._known = frozenset(known)
        self._ends = sorted(name[len(PREFIX) :] for name in self._known - {MAIN})
        # Most hosts have the same variables.
        self.near = functools.lru_cache(maxsize=None)(self._near)

    def meant(self, name: str, value: t.Any) -> str:
        """Return the variable that an unknown one with this value most likely means, empty if it is not ours."""
        if _ABBREVIATED.fullmatch(name) and not _is_configuration(value):
            return ""
        return self.near(name)

    def _near(self, name: str) -> str:
        """Return our variable whose name is most like this one, empty without any."""
        if name in self._known or name == _FACT or name[:1].lower() != MAIN[:1]:
            return ""
        if not name.startswith(PREFIX) or name == PREFIX:
            return _closest(name, self._known, _WHOLE)
        end = name[len(PREFIX) :]
        found = _closest(end, self._ends, _END)
        if not found:
            first = end.partition("_")[0]
            alike = [known for known in self._ends if known.partition("_")[0] == first]
            found = _closest(end, alike, 0)
        return f"{PREFIX}{found}" if found else ""


def _closest(word: str, words: t.Iterable[str], least: float) -> str:
    return next(iter(difflib.get_close_matches(word, list(words), n=1, cutoff=least)), "")


def _is_configuration(value: t.Any) -> bool:
    return isinstance(value, dict) and any(key in fields.ALL for key in value)


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
    is_unset_if_empty = name in specs.UNSET_IF_EMPTY or not option.get("default")
    if value is None or (value == "" and is_unset_if_empty):
        return "null"
    kind = option["type"]
    if kind == "bool":
        return str(boolean(str(value), strict=False))
    if kind == "dict":
        return json.dumps(value, sort_keys=True, default=str)
    # -e passes numbers as texts, such as 60.0.
    texts = [str(item).strip() for item in items_of(value)]
    if kind == "int":
        texts = [text.removesuffix(".0") for text in texts]
    return json.dumps(texts)


def _whose(named: t.Sequence[str], groups: Groups, hosts: t.Sequence[str]) -> str:
    """Return the hosts in words, with the smallest group that has them and no others of this run."""
    of_run, wanted = set(hosts), set(named)
    text = first_of(named, _SHOWN_HOSTS)
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
