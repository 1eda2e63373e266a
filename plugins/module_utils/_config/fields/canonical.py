# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The canonical form of a value, by the type of its field: the form in which a kubelet shows it in /configz.

Equal forms mean the same to a kubelet. A value of a wrong type keeps its form; rules/types.py names it.
"""

from __future__ import annotations

import datetime
import re
from typing import Any, Callable, Mapping

from ..values import duration, quantity
from . import fields
from .field_row import Field

FLUSH_TEXT = 28
"""The first minor that takes a text where others take nanoseconds only (component-base/logs/api/v1/types.go)."""

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d+)?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_NO_TIME = "0001-01-01T00:00:00Z"
"""Go's zero time, which counts as absent."""
_LIMIT_DIGITS = 3
"""The digits of a quantity in a map: SetDefaults_ResourceList in pkg/apis/core/v1/defaults.go rounds the others up."""
_ZEROS = {"duration": "0s", "duration or nanoseconds": "0s", "quantity": "0", "string": ""}


def canonical(value: Any, field: Field, minor: int) -> Any:
    """Return the canonical form of a value of this field for a kubelet of a minor.

    Durations, times and quantities are in Go's notation, and the members of an object in a list are as Go writes them:
    without those that it omits, with those that it always shows. A negative podPidsLimit is -1
    (pkg/kubelet/apis/config/v1beta1/defaults.go). From FLUSH_TEXT on, nanoseconds are a duration.
    """
    if field.path == "podPidsLimit" and isinstance(value, int) and not isinstance(value, bool):
        return max(value, -1)
    return _of_type(field.type, value, field, minor)


def is_zero(value: Any, field: Field) -> bool:
    """Return whether a value is absent or the zero or empty value of the field's type."""
    if isinstance(value, str):
        return bool(canonical(value, field, FLUSH_TEXT) == _ZEROS.get(field.type, ""))
    return value is None or (isinstance(value, (bool, int, float, list, dict)) and not value)


def moment(text: str) -> str:
    """Return a time of RFC 3339 in UTC without fractions of a second, as Go writes it. Raises ValueError."""
    found = _TIME.fullmatch(text)
    wrong = ValueError(f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00"')
    if found is None:
        raise wrong
    zone = datetime.timedelta(hours=int(found.group(3) or 0), minutes=int(found.group(4) or 0))
    try:
        at = datetime.datetime.fromisoformat(found.group(1))
        return f"{(at + zone if found.group(2) == '-' else at - zone).isoformat()}Z"
    except (OverflowError, ValueError) as error:
        raise wrong from error


def _of_type(kind: str, value: Any, field: Field, minor: int) -> Any:
    if kind == "list[object]" and isinstance(value, list):
        return [_element(entry, field, minor) if isinstance(entry, Mapping) else entry for entry in value]
    if kind.startswith("list[") and isinstance(value, list):
        return [_of_type(kind[len("list[") : -1], entry, field, minor) for entry in value]
    if kind.startswith("map[") and isinstance(value, Mapping):
        return {key: _of_type(kind[len("map[string]") :], inner, field, minor) for key, inner in value.items()}
    if isinstance(value, bool):
        return value
    if kind == "duration or nanoseconds" and isinstance(value, int):
        return duration.format(value) if minor >= FLUSH_TEXT else value
    if kind == "quantity" and isinstance(value, (int, float, str)):
        digits = _LIMIT_DIGITS if field.type.startswith("map[") else 9
        return _or_as_written(value, lambda text: quantity.canonical(text.strip(" "), digits))
    form = _TEXTS.get(kind)
    return _or_as_written(value, form) if form and isinstance(value, str) else value


def _or_as_written(value: Any, form: Callable[[str], str]) -> Any:
    try:
        return form(str(value))
    except ValueError:
        return value


def _duration(text: str) -> str:
    return duration.format(duration.parse(text))


_TEXTS: dict[str, Callable[[str], str]] = {
    "duration": _duration,
    "duration or nanoseconds": _duration,
    "time": moment,
}


def _element(entry: Mapping[str, Any], field: Field, minor: int) -> dict[str, Any]:
    """Return an object of a list with its members as Go writes them; members that no kubelet knows stay."""
    result = {key: value for key, value in entry.items() if value is not None}
    for name in fields.children(f"{field.path}[]"):
        member = fields.ALL[f"{field.path}[].{name}"]
        value = canonical(result.pop(name, None), member, minor)
        if value is None and member.unset != "nil":
            value = {} if member.type.startswith("map[") else _ZEROS.get(member.type, 0)
        if not (value in (None, _NO_TIME) or (member.zero_omitted and is_zero(value, member))):
            result[name] = value
    return result
