# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares one value of a variable with its argument spec, and with what no spec can state: its form, its least number,
when it is unset.
"""

from __future__ import annotations

import re
import typing as t

from ...module_utils._config.values import amounts

Option = t.Mapping[str, t.Any]
"""The spec of one variable in meta/argument_specs.yml."""

# Those of Ansible's type bool.
_TRUE = ("y", "yes", "on", "1", "true", "t")
_FALSE = ("n", "no", "off", "0", "false", "f")
_PLAIN = (str, int, float)


class TextForm(t.NamedTuple):
    """A form of text: whether it accepts a value, and what it accepts in words."""

    accepts: t.Callable[[t.Any], bool]
    words: str


_LOSS = re.compile(r"\s*(\d+|true|yes|on|false|no|off|none|)\s*", re.IGNORECASE)


def _is_serial(value: t.Any) -> bool:
    sizes = value if isinstance(value, (list, tuple)) else str(value).split(",")
    counts = [amounts.parse_node_count(size) for size in sizes]
    return bool(counts) and all(one and one.number for one in counts)


def _is_limit(value: t.Any) -> bool:
    found = amounts.parse_node_count(value)
    return found is not None and found.number > 0 and not (found.percent and found.number > 100)


def _is_skipped(value: t.Any) -> bool:
    found = amounts.parse_node_count(value)
    return found is not None and not (found.percent and found.number > 100)


def _is_loss(value: t.Any) -> bool:
    return bool(_LOSS.fullmatch(str(value)))


FORMS = {
    "kubelet_config_serial": TextForm(
        _is_serial, "a number above 0, a percentage, or several of them as a list or with commas, such as 1,20%"
    ),
    "kubelet_config_max_unavailable": TextForm(_is_limit, "a number above 0 or a percentage from 1% to 100%"),
    "kubelet_config_max_skipped": TextForm(_is_skipped, "a number or a percentage up to 100%"),
    "kubelet_config_allow_pod_loss": TextForm(_is_loss, "a number of pods, or true for any number"),
}
"""By variable, as the order of a rollout, the gate and the soak read it."""

MINIMUM = {
    "kubelet_config_confirm_seconds": 1,
    "kubelet_config_lease_seconds": 1,
    "kubelet_config_node_seconds": 1,
}
"""The least whole number, if it is not 0."""

UNSET_IF_EMPTY = frozenset(
    {
        "kubelet_config_confirm_seconds",
        "kubelet_config_delivery",
        "kubelet_config_flags",
        "kubelet_config_lease_seconds",
        "kubelet_config_max_skipped",
        "kubelet_config_serial",
        "kubelet_config_target_binary",
    }
)
"""The roles read null and the empty text as if the variable was not set. AWX passes an unanswered question as such."""

OF_THE_PLAYBOOKS: dict[str, dict[str, t.Any]] = {
    "kubelet_config_auth": {"type": "dict"},
    "kubelet_config_migrate_changes": {"type": "bool"},
    "kubelet_config_read": {"type": "str", "choices": ["proxy", "kubelet", "node"]},
}
"""Specs of the variables that the playbooks read, but no role."""

OF_EVERY_PLAYBOOK = ("kubelet_config_auth", "kubelet_config_hosts", "kubelet_config_read")
"""The variables that the playbooks read themselves, whatever their roles."""

OF_ROLLOUTS = ("kubelet_config_serial",)
"""Further variables of the playbooks with the role C(rollout)."""


def accepted(name: str, option: Option, value: t.Any) -> str:
    """Return in words what the variable accepts, if it does not accept the value; empty if it does.

    A value of a type that neither YAML nor JSON has is accepted.
    """
    empty = value is None or value == ""
    if empty and (name in UNSET_IF_EMPTY or option["type"] == "raw" or option.get("default") == value):
        return ""
    form = FORMS.get(name)
    if form:
        return "" if form.accepts(value) else form.words
    if not isinstance(value, (type(None), *_PLAIN, list, tuple, dict)):
        return ""
    return _CHECKS[option["type"]](name, option, value)


def _text(_name: str, option: Option, value: t.Any) -> str:
    choices = option.get("choices")
    if choices:
        return "" if _chosen(choices, value) else _listed(choices)
    is_text = isinstance(value, _PLAIN) and not isinstance(value, bool) and value != ""
    return "" if is_text else "a text"


def _chosen(choices: t.Sequence[t.Any], value: t.Any) -> bool:
    """Return whether a value is one of the choices; a boolean is, if its word is one of them."""
    text = str(value)
    if text.lower() in ("true", "false"):
        text = text.lower()
    return isinstance(value, _PLAIN) and text in map(str, choices)


def _listed(choices: t.Sequence[t.Any]) -> str:
    *others, last = [str(choice) for choice in choices]
    return f"{', '.join(others)} or {last}" if others else last


def _number(name: str, _option: Option, value: t.Any) -> str:
    least = MINIMUM.get(name, 0)
    whole = not isinstance(value, bool) and re.fullmatch(r"\s*[+-]?\d{1,15}(\.0+)?\s*", str(value), re.ASCII)
    return "" if whole and float(value) >= least else f"a whole number, {least} or more"


def is_true(value: t.Any) -> bool:
    """Return whether a value of a boolean variable is true."""
    return str(value).strip().lower() in _TRUE


def _boolean(_name: str, _option: Option, value: t.Any) -> str:
    is_word = str(value).strip().lower() in (*_TRUE, *_FALSE)
    return "" if isinstance(value, _PLAIN) and is_word else "true or false"


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
