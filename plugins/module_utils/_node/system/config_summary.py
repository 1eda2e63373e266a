# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a config text holds, for messages about it, as far as a node without a YAML library can read it."""

from __future__ import annotations

import json
from typing import Any, Iterable, Iterator, Mapping, Sequence

from ..._config.fields import fields
from ..._config.fields.shadow import HIDDEN
from ..records import blockyaml

_SECRET_FIELDS = [name for name, field in fields.ALL.items() if field.secret]
_NOT_SHOWN = f"(more is not shown: it may quote {', '.join(_SECRET_FIELDS)})"

_DEEPEST = 100
"""Levels of a configuration: what is read here is followed by recursion. No field of a kubelet has ten."""
_SHORTEST = 4
"""Length of the shortest value that is masked in a message: `1` is a part of many numbers and of no use as a secret."""

# What a result contains for people. The roles branch on all other keys, where a mask would damage a path or a verdict.
_PROSE = {"message", "messages", "reason", "reasons", "remedy", "warnings", "unreadable", "config_unreadable"}


def load(text: str) -> dict[str, Any]:
    """Return the configuration a text holds. Raises ValueError when it cannot be read without guessing."""
    try:
        found = blockyaml.load(text)
    except blockyaml.Unreadable as error:
        if any(name in text for name in _SECRET_FIELDS):
            raise ValueError(f"{error.unquoted} {_NOT_SHOWN}") from None
        raise
    if not isinstance(found, dict):
        raise ValueError("it is not a mapping of fields")
    if _is_deeper(found, _DEEPEST):
        raise ValueError("it is nested too deeply: check that this is the right file")
    return found


def _is_deeper(value: Any, most: int) -> bool:
    """Return whether a value is nested in more than so many levels."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return False
    return most == 0 or any(_is_deeper(inner, most - 1) for inner in value)


def secrets(text: str) -> list[str]:
    """Return the secret values in a text, longest first. Raises ValueError when there may be some and the text cannot
    be read.
    """
    if not any(name in text for name in _SECRET_FIELDS):
        return []
    config = load(text)
    found = set(_strings([config.get(name) for name in _SECRET_FIELDS]))
    return sorted(found, key=len, reverse=True)


def without_secrets(messages: Iterable[str], text: str) -> list[str]:
    """Return messages about a text, which may quote parts of it, with secret values masked.

    Of a text that cannot be read, a message keeps only what precedes its word `error`.
    """
    try:
        hidden = [value for value in secrets(text) if len(value) >= _SHORTEST]
    except ValueError:
        return list(map(_cut, messages))
    if not hidden:
        return list(messages)
    result = []
    for message in messages:
        for secret in hidden:
            message = message.replace(secret, HIDDEN)
        # A quotation may begin or end in the middle of a secret.
        result.append(message.partition("bigger context")[0])
    return result


def _cut(message: str) -> str:
    if _NOT_SHOWN in message:
        return message
    return f"{message[: max(0, message.find('error'))].strip()} {_NOT_SHOWN}"


def shown(result: Any, text: str) -> Any:
    """Return a module's result without the secrets of a text: they are masked in messages, at every depth.

    The other values do not change. `no_log` masks them too, and with them paths, versions and verdicts that contain a
    value of the configuration, such as `110` or `kubelet`.
    """
    if isinstance(result, list):
        return [shown(inner, text) for inner in result]
    if not isinstance(result, dict):
        return result
    masked = {}
    for key, value in result.items():
        mask = _prose if key in _PROSE else shown
        masked[key] = mask(value, text)
    return masked


def _prose(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return without_secrets([value], text)[0]
    if isinstance(value, list):
        return [_prose(inner, text) for inner in value]
    return shown(value, text)


def complete(named: Sequence[str], text: str, minor: int | None) -> list[str]:
    """Return the unknown fields a kubelet of this minor named, with those that it left out."""
    if not named:
        return []
    others = _unknown_in(text, minor)
    known = {other.rpartition(".")[2] for other in others}
    unseen = {name for name in named if name.rpartition(".")[2] not in known}
    return sorted(unseen.union(others))


def unknown(named: Sequence[str], text: str, minor: int | None) -> list[str]:
    """Return the fields of a drop-in that a kubelet of this minor ignores: those it named when it was asked about that
    file alone, and those that our tables do not know for a minor that they know.
    """
    if named or minor is None or minor > fields.NEWEST_MINOR:
        return complete(named, text, minor)
    return _unknown_in(text, minor)


def _unknown_in(text: str, minor: int | None) -> list[str]:
    """Return the fields of a text that our tables do not know for this minor, none if it cannot be read."""
    try:
        return sorted(_unknown(load(text), "", minor))
    except ValueError:
        return []


def _unknown(value: Mapping[str, Any], parent: str, minor: int | None) -> Iterator[str]:
    for name, inner in value.items():
        path = f"{parent}{name}"
        field = fields.ALL.get(path)
        if field is None:
            if not parent and name in ("kind", "apiVersion"):
                continue
            yield path
        elif minor is not None and ((field.since or 0) > minor or (field.until or minor) < minor):
            yield path
        elif isinstance(inner, dict) and fields.children(path):
            yield from _unknown(inner, f"{path}.", minor)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        # Messages quote a text of several lines with escapes between them, and other marks as JSON has them.
        for line in value.split("\n"):
            yield from {line, json.dumps(line, ensure_ascii=False)[1:-1]} - {""}
    elif isinstance(value, dict):
        yield from _strings([*value.values()])
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
