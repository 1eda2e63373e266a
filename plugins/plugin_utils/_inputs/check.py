# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares one value of a variable with its argument spec."""

from __future__ import annotations

import re
import typing as t

from . import limits

Option = t.Mapping[str, t.Any]
"""The spec of one variable in meta/argument_specs.yml."""

# Those of Ansible's type bool.
_TRUE = ("y", "yes", "on", "1", "true", "t")
_FALSE = ("n", "no", "off", "0", "false", "f")
_PLAIN = (str, int, float)


def accepted(name: str, option: Option, value: t.Any) -> str:
    """Return in words what the variable accepts, if it does not accept the value; empty if it does.

    A value of a type that neither YAML nor JSON has is accepted.
    """
    empty = value is None or value == ""
    if empty and (name in limits.UNSET_IF_EMPTY or option["type"] == "raw" or option.get("default") == value):
        return ""
    form = limits.FORMS.get(name)
    if form:
        return "" if form.accepts(value) else form.words
    if not isinstance(value, (type(None), *_PLAIN, list, tuple, dict)):
        return ""
    return _CHECKS[option["type"]](name, option, value)


def _text(_name: str, option: Option, value: t.Any) -> str:
    choices = option.get("choices")
    if choices:
        return "" if _chosen(choices, value) else _listed(choices)
    return "" if isinstance(value, _PLAIN) and not isinstance(value, bool) and value != "" else "a text"


def _chosen(choices: t.Sequence[t.Any], value: t.Any) -> bool:
    """Return whether a value is one of the choices; a boolean is, if its word is one of them."""
    words = [str(choice) for choice in choices]
    text = str(value).lower() if str(value).lower() in ("true", "false") else str(value)
    return isinstance(value, _PLAIN) and text in words


def _listed(choices: t.Sequence[t.Any]) -> str:
    *others, last = [str(choice) for choice in choices]
    return f"{', '.join(others)} or {last}" if others else last


def _number(name: str, _option: Option, value: t.Any) -> str:
    least = limits.MINIMUM.get(name, 0)
    whole = not isinstance(value, bool) and re.fullmatch(r"\s*[+-]?\d{1,15}(\.0+)?\s*", str(value), re.ASCII)
    return "" if whole and float(value) >= least else f"a whole number, {least} or more"


def is_true(value: t.Any) -> bool:
    """Return whether a value of a boolean variable is true."""
    return str(value).strip().lower() in _TRUE


def _boolean(_name: str, _option: Option, value: t.Any) -> str:
    return "" if isinstance(value, _PLAIN) and str(value).strip().lower() in (*_TRUE, *_FALSE) else "true or false"


def _list(_name: str, _option: Option, value: t.Any) -> str:
    """Ansible splits a text at its commas."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return "" if all(isinstance(item, _PLAIN) for item in items) else "a list of texts"


def _mapping(_name: str, _option: Option, value: t.Any) -> str:
    return "" if isinstance(value, dict) else "a mapping"


def _anything(_name: str, _option: Option, _value: t.Any) -> str:
    return ""


_CHECKS: dict[str, t.Callable[[str, Option, t.Any], str]] = {
    "str": _text,
    "path": _text,
    "int": _number,
    "bool": _boolean,
    "list": _list,
    "dict": _mapping,
    "raw": _anything,
}
