# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders the templates of many hosts, each template once for all hosts that it is equal for.

The credentials of a cluster are often a lookup in a store of secrets, which takes long.
"""

from __future__ import annotations

import re
import typing as t

from ansible import errors

# Not in ansible-core before 2.19, where `omit` is a text.
_OMITTED: t.Any = getattr(errors, "AnsibleValueOmittedError", ())
UNKNOWN = object()
"""Stands for a template that cannot be rendered yet: its role will render it."""
_WORD = re.compile(r"[A-Za-z_]\w*")
_ANY = frozenset({"vars", "varnames"})
"""Words with which a template may read a variable that it does not name."""


class Rendered:
    """The values of templates that were rendered."""

    def __init__(self) -> None:
        self._known: dict[t.Any, t.Any] = {}
        self._failures: dict[t.Any, str] = {}

    def of_host(self, given: t.Mapping[str, t.Any], value: t.Any, render: t.Callable[[], t.Any]) -> t.Any:
        """Return a value of a host, rendered if it is a template, UNKNOWN if that is not possible yet.

        `given` are the variables of the host as they are set.
        """
        if not is_template(value):
            return value
        key = _key(value, given)
        if key not in self._known:
            self._known[key] = rendered(value, render)
        return self._known[key]

    def failure(self, given: t.Mapping[str, t.Any], name: str, value: t.Any, find: t.Callable[[], str]) -> str:
        """Return why this value of a variable cannot be rendered, as `find` returns it; empty without a template.

        `given` are the variables of the host as they are set.
        """
        if not is_template(value):
            return ""
        key = (name, _key(value, given))
        if key not in self._failures:
            self._failures[key] = find()
        return self._failures[key]


def rendered(value: t.Any, render: t.Callable[[], t.Any]) -> t.Any:
    """Return a value, rendered if it is a template, or UNKNOWN."""
    try:
        if is_template(value):
            value = render()
            return UNKNOWN if is_template(value) else value
    # A template may fail in any way.
    except Exception:  # pylint: disable=broad-except
        return UNKNOWN
    return value


def failure(render: t.Callable[[], t.Any]) -> str:
    """Return why a template cannot be rendered, empty if it can, or if it leaves its variable out."""
    try:
        # From ansible-core 2.19 on, what a container holds is rendered when it is read.
        is_template(render())
    except _OMITTED:
        return ""
    # A template may fail in any way.
    except Exception as error:  # pylint: disable=broad-except
        return str(error.__cause__ or error).rstrip(".")
    return ""


def is_template(value: t.Any) -> bool:
    """Return whether a value contains a template."""
    if isinstance(value, dict):
        return any(map(is_template, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(is_template, value))
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def words(value: t.Any, given: t.Mapping[str, t.Any]) -> set[str]:
    """Return the words in a template, and in the templates of the host's variables that it names."""
    found: set[str] = set()
    texts = [repr(value)]
    while texts:
        new = set(_WORD.findall(texts.pop())) - found
        found |= new
        texts += [repr(given[name]) for name in new if is_template(given.get(name))]
    return found


def _key(value: t.Any, given: t.Mapping[str, t.Any]) -> t.Any:
    """Return what the result of a template depends on: its text and all variables of the host whose name is in it."""
    found: dict[str, str] = {"": repr(value)}
    for name in words(value, given):
        if name in _ANY:
            found[name] = str(given.get("inventory_hostname"))
        elif name in given:
            found[name] = repr(given[name])
    return tuple(sorted(found.items()))
