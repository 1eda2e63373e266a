# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and types of fields, checked as the kubelet's JSON decoder checks them.

Source: pkg/kubelet/kubeletconfig/util/codec (strict, then lenient decoding) and the Go types of KubeletConfiguration
v1beta1. A type error makes the whole document unloadable; an unknown name is silently ignored, which is worse.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Iterator, Mapping

from ..fields import fields
from ..fields.binary_facts import BinaryFacts
from ..fields.compare import FLUSH_TEXT, moment
from ..fields.field_row import Field
from ..minors import fields_of
from ..values import amounts, document, paths
from ..values.document import KIND
from ..values.short_texts import clipped
from .problem import REFUSAL, WARNING, Problem

_RANGES = {"int64": (-(2**63), 2**63 - 1), "uint32": (0, 2**32 - 1)}
_INT32 = (-(2**31), 2**31 - 1)
_MILLISECOND = 10**6
QUOTE = "Put it in quotes"
"""The start of the remedy for a value that is not text."""
_BOOL_WORDS = {"true", "false", "yes", "no", "on", "off"}


def check(config: Mapping[str, Any], minor: int, binary: BinaryFacts | None = None) -> Iterator[Problem]:
    """Yield the wrong names and types for a kubelet of this minor. Nulls are skipped: they stand for absence.

    Whether it has a field, its binary decides, where it was asked, and the tables otherwise.
    """
    form = fields_of(minor)
    for key, wanted in (("kind", KIND), ("apiVersion", form.api_version)):
        if key in config and config[key] != wanted:
            cause = f"{key} is {show(config[key])}, which a kubelet cannot load"
            yield Problem(REFUSAL, key, cause, f"Write `{key}: {wanted}` or leave it out.", "header")
    for key, value in paths.without_header(config).items():
        judged = form.judge(key, value)
        if judged is not None:
            cause, remedy = judged
            if cause:
                yield Problem(REFUSAL, key, cause, remedy, "first-fields")
        else:
            yield from _check_field((key,), value, minor, binary)


def _check_field(at: paths.Path, value: Any, minor: int, binary: BinaryFacts | None) -> Iterator[Problem]:
    if value is None:
        return
    field = fields.lookup(at)
    has = binary.has(at) if binary else None
    if field is None:
        # Its binary has judged the type of a field that no table has.
        if not has:
            yield unknown(at, minor, has)
        return
    if not (field.exists_at(minor) if has is None else has):
        yield _not_in_binary(at) if field.exists_at(minor) else _other_version(field, at, minor)
        return
    if field.type == "object":
        members = ", ".join(fields.children(field.path)) or "see the Kubernetes reference"
        yield from _check_members(at, value, field, minor, binary, f"Write its members below it: {members}.")
    else:
        yield from _check_value(field.type, at, value, field, minor, binary)


def _check_value(
    kind: str, at: paths.Path, value: Any, field: Field, minor: int, binary: BinaryFacts | None
) -> Iterator[Problem]:
    if kind.startswith("list["):
        if not isinstance(value, list):
            yield _wrong(at, value, "a list", "Write a list, also for one entry: `[value]`.", field)
            return
        for position, inner in enumerate(value):
            if inner is None:
                yield _empty_entry((*at, position))
            elif kind == "list[object]":
                remedy = "Write each entry as `key: value` lines."
                yield from _check_members((*at, position), inner, field, minor, binary, remedy)
            else:
                yield from _check_value(kind[5:-1], (*at, position), inner, field, minor, binary)
    elif kind.startswith("map["):
        if not isinstance(value, Mapping):
            yield _wrong(at, value, "a mapping", "Write `key: value` lines below it.", field)
            return
        for key, inner in value.items():
            if inner is not None:
                yield from _check_value(kind[len("map[string]") :], (*at, key), inner, field, minor, binary)
    else:
        yield from _SCALARS[kind](at, value, field)


def _check_members(
    at: paths.Path, value: Any, field: Field, minor: int, binary: BinaryFacts | None, remedy: str
) -> Iterator[Problem]:
    if not isinstance(value, Mapping):
        yield _wrong(at, value, "a mapping", remedy, field)
        return
    for key, inner in value.items():
        yield from _check_field((*at, key), inner, minor, binary)


def _bool(at: paths.Path, value: Any, field: Field) -> Iterator[Problem]:
    if isinstance(value, bool):
        return
    remedy = "Write true or false without quotes."
    if isinstance(value, str) and value.lower() in _BOOL_WORDS:
        remedy = f"{remedy} {_TEMPLATES}"
    yield _wrong(at, value, "a boolean", remedy, field)


def _integer(at: paths.Path, value: Any, field: Field) -> Iterator[Problem]:
    least, most = _RANGES.get(field.type, _INT32)
    if isinstance(value, bool) or not isinstance(value, int):
        remedy = "Write a whole number."
        if isinstance(value, str) and re.fullmatch("[+-]?[0-9]+", value.strip()):
            remedy = f"Write {value.strip()} without quotes. {_TEMPLATES}"
        elif isinstance(value, float) and value.is_integer():
            remedy = f"Write {int(value)} without a decimal point."
        yield _wrong(at, value, "a whole number", remedy, field)
    elif not least <= value <= most:
        cause = (
            f"{value} is too {'small' if value < least else 'large'} for the field; the kubelet could not load the "
            "configuration"
        )
        yield Problem(REFUSAL, paths.show(at), cause, f"Give a number from {least} to {most}.", "type")


def _float(at: paths.Path, value: Any, field: Field) -> Iterator[Problem]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        yield _wrong(at, value, "a number", f"Write a number without quotes. {_TEMPLATES}", field)


def _string(at: paths.Path, value: Any, field: Field) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield _wrong(at, value, "a string", f"{QUOTE}{_how(value, field)}.", field)


def _how(value: Any, field: Field) -> str:
    """Return how to put a value in quotes. YAML has lost how a boolean or a fraction was written."""
    if isinstance(value, bool):
        return f', as it was written, such as "{show(value)}" or "{"on" if value else "off"}"'
    if isinstance(value, float):
        return f': "{value}", or "{value}0" if it was written so'
    return "" if isinstance(value, (list, Mapping)) or field.secret else f': "{show(value)}"'


def _quantity(at: paths.Path, value: Any, field: Field) -> Iterator[Problem]:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        yield _wrong(at, value, "a quantity", _QUANTITY, field)
        return
    try:
        # Go's Quantity.UnmarshalJSON takes a number, too, and removes spaces. In JSON, a tab is an escape sequence.
        amounts.parse_quantity(str(value).strip(" "))
    except ValueError as error:
        yield Problem(REFUSAL, paths.show(at), f"{value}: {error}; the kubelet could not load it", _QUANTITY, "type")


def _duration(at: paths.Path, value: Any, field: Field) -> Iterator[Problem]:
    if not isinstance(value, str):
        remedy = 'Write a Go duration, such as "1m30s".'
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            remedy = f'Write a Go duration with its unit in quotes, such as "{show(value)}s" for seconds.'
        yield _wrong(at, value, "a duration", remedy, field)
        return
    try:
        amounts.parse_duration(value)
    except ValueError as error:
        remedy = 'Write a Go duration: numbers with the units h, m, s, ms, us or ns, such as "1m30s".'
        yield Problem(REFUSAL, paths.show(at), str(error), remedy, "type")


def _nanoseconds(at: paths.Path, value: Any, field: Field) -> Iterator[Problem]:
    """A number counts nanoseconds: component-base/logs/api/v1/types.go, TimeOrMetaDuration."""
    if isinstance(value, bool) or not isinstance(value, int):
        yield from _duration(at, value, field)
    elif 0 < value < _MILLISECOND:
        cause = f"the kubelet reads the number {value} as nanoseconds: {amounts.format_duration(value)}"
        remedy = f"Write {value * 10**9} for {value}s. Kubelets from 1.{FLUSH_TEXT} on also take a text with its unit."
        yield Problem(WARNING, paths.show(at), cause, remedy, "nanoseconds")


def _time(at: paths.Path, value: Any, field: Field) -> Iterator[Problem]:
    remedy = 'Write a time of RFC 3339, such as "2026-01-31T12:00:00Z".'
    if not isinstance(value, str):
        yield _wrong(at, value, "a time", remedy, field)
        return
    try:
        moment(value)
    except ValueError as error:
        yield Problem(REFUSAL, paths.show(at), f"{error}; the kubelet could not load it", remedy, "type")


_QUANTITY = 'Write a quantity such as "1Gi".'
_SCALARS: dict[str, Callable[[paths.Path, Any, Field], Iterator[Problem]]] = {
    "bool": _bool,
    "int32": _integer,
    "int64": _integer,
    "uint32": _integer,
    "float": _float,
    "string": _string,
    "duration": _duration,
    "duration or nanoseconds": _nanoseconds,
    "time": _time,
    "quantity": _quantity,
}
_TEMPLATES = (
    "A Jinja template yields a string unless ansible-core is 2.19 or jinja2_native is on: "
    "then give the whole configuration as a YAML text block (`|`) instead."
)


def _empty_entry(at: paths.Path) -> Problem:
    """Return the refusal of a null in a list. The kubelet loads it, and its /configz shows another value."""
    cause = "an entry without a value, which the kubelet would take for an empty text, a zero or an empty object"
    return Problem(REFUSAL, paths.show(at), cause, "Write its value, or remove the entry.", "type")


def _wrong(at: paths.Path, value: Any, wanted: str, remedy: str, field: Field) -> Problem:
    shown = "" if field.secret else f" {show(value)}"
    found = f"{'a' if isinstance(value, (Mapping, list)) else 'the'} {document.kind(value)}{shown}"
    cause = f"{found} where the kubelet expects {wanted}; it could not load the configuration"
    return Problem(REFUSAL, paths.show(at), cause, remedy, "type")


def unknown(at: paths.Path, minor: int, has: bool | None = None) -> Problem:
    """Return the refusal of a name that no table has. Whether a kubelet beyond the tables has it, its binary knows:
    `has` is its answer, None if it was not asked.
    """
    newest = fields.NEWEST_MINOR
    near = fields.nearest(paths.field_path(at))
    message = f"no kubelet up to 1.{newest} knows this field; kubelets ignore it silently"
    remedy = "Check the name in the Kubernetes reference of KubeletConfiguration v1beta1, or remove it."
    if near:
        remedy = f"Did you mean {near}?"
    if minor > newest and has is False:
        message = f"the binary of this 1.{minor} does not know this field and would ignore it silently"
    elif minor > newest:
        message = f"{message}, and the binary of this 1.{minor} was not asked"
        remedy += (
            f" If 1.{minor} has it, set it in the node's own file first: what the live configuration shows is accepted."
        )
    return Problem(REFUSAL, paths.show(at), message, remedy, "unknown-field")


def _not_in_binary(at: paths.Path) -> Problem:
    message = "the binary of this kubelet does not know the field and would ignore it silently"
    return Problem(REFUSAL, paths.show(at), message, "Remove it (in an override: set it to null).", "unknown-field")


def _other_version(field: Field, at: paths.Path, minor: int) -> Problem:
    if field.since is not None and minor < field.since:
        cause = f"the field exists from 1.{field.since} on; this kubelet is 1.{minor} and would ignore it silently"
        remedy = "Remove it for this node, or upgrade the node first."
        return Problem(REFUSAL, paths.show(at), cause, remedy, "field-too-new")
    cause = f"the field was removed after 1.{field.until}; this kubelet is 1.{minor} and would ignore it silently"
    return Problem(REFUSAL, paths.show(at), cause, "Remove it (in an override: set it to null).", "field-removed")


def show(value: Any) -> str:
    """Return a value as JSON on one line of at most 60 characters."""
    return clipped(json.dumps(value, ensure_ascii=False), 60)
