# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collects the wrong variables of all hosts, for one message."""

from __future__ import annotations

import functools
import json
import typing as t

from ...module_utils._config.values.node_row import first_of
from . import specs
from .check import FORMS, Option, accepted
from .names import PREFIX, Names
from .rendered import UNKNOWN

SHOWN_HOSTS = 3
SHOWN_CHARACTERS = 40


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

    def default(self, name: str) -> t.Any:
        """Return the value of a variable that is not set, None if its role decides."""
        return self._known[name].get("default")

    def add(self, host: str, name: str, value: t.Any) -> None:
        """Check one variable of a host."""
        problem = self._problem(name, value)
        if problem:
            self._hosts.setdefault(problem, []).append(host)

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
    text = f" on {first_of(found, SHOWN_HOSTS)}"
    if len(found) > SHOWN_HOSTS:
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
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def _hint(option: Option, value: t.Any) -> str:
    if isinstance(value, bool) and option["type"] == "str" and "choices" in option:
        return ". YAML reads a bare no, off, yes or on as a boolean: use quotes"
    return ""
