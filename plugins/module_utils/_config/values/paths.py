# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The notation for the place of a value in a configuration.

A path is a tuple of keys and list positions. In its text form, dots join plain keys, list positions are in brackets,
and every other key is in brackets and quotes: ``maxPods``, ``authentication.webhook.enabled``,
``evictionHard["memory.available"]``, ``reservedMemory[0].limits``. ``parse`` reads the text form without loss.
"""

from __future__ import annotations

import json
import re
from typing import Any, Container, Iterable, Mapping, Tuple, TypeVar, Union

Path = Tuple[Union[str, int], ...]
Config = Mapping[str, Any]
"""A configuration, or a part of one, as it is parsed."""
_Kind = TypeVar("_Kind")

_PLAIN = re.compile(r"[A-Za-z0-9_/-]+")
_STEP = re.compile(
    r"""(?P<dot>\.?)(?P<plain>[A-Za-z0-9_/-]+)|\[(?P<index>[0-9]+)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]"""
)


def show(path: Path) -> str:
    """Return the text form of a path; the empty path is ``(top level)``."""
    if not path:
        return "(top level)"
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif _PLAIN.fullmatch(key):
            text += f".{key}"
        else:
            text += f"[{json.dumps(key)}]"
    return text.lstrip(".")


def parse(text: str) -> Path:
    """Return the path of a text form. Raises ValueError when the text is not a path."""
    if text == show(()):
        return ()
    keys: list[str | int] = []
    at = 0
    while at < len(text):
        step = _STEP.match(text, at)
        # A dot precedes every plain key except the first.
        if step is None or (step.group("plain") is not None and bool(step.group("dot")) != bool(at)):
            raise ValueError(f"{text!r} is not a path: unexpected text at position {at}")
        if step.group("plain") is not None:
            keys.append(step.group("plain"))
        elif step.group("index") is not None:
            keys.append(int(step.group("index")))
        else:
            keys.append(json.loads(step.group("quoted")))
        at = step.end()
    return tuple(keys)


def top(text: str) -> str:
    """Return the first key of a text form: the top-level field that has the value. Raises ValueError if it is none."""
    step = _STEP.match(text)
    if step is None or step.group("dot") or step.group("index"):
        raise ValueError(f"{text!r} is not a path: it does not begin with a field")
    return step.group("plain") or str(json.loads(step.group("quoted")))


def above(text: str) -> set[str]:
    """Return the text forms of all that contains the place of a text form."""
    return {text[:at] for at, sign in enumerate(text) if sign in ".["}


def field_path(path: Path) -> str:
    """Return the dotted name of a path in the field table: list positions become ``[]``."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += "[]"
        elif text:
            text += f".{key}"
        else:
            text = key
    return text


def value_at(config: Any, keys: Iterable[str | int]) -> Any:
    """Return the value at the keys of a path in a configuration, None if it is absent."""
    for key in keys:
        if not isinstance(config, Mapping):
            return None
        config = config.get(key)
    return config


HEADER = ("kind", "apiVersion")


def without_header(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration without kind and apiVersion."""
    return without(config, HEADER)


def without(config: Mapping[str, _Kind], names: Container[str]) -> dict[str, _Kind]:
    """Return a mapping without these keys."""
    return {key: value for key, value in config.items() if key not in names}


def only(config: Mapping[str, _Kind], names: Iterable[str]) -> dict[str, _Kind]:
    """Return those of these keys that a mapping has, in their order, with its values."""
    return {key: config[key] for key in names if key in config}


def present(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration without the fields that are null."""
    return {key: value for key, value in config.items() if value is not None}


def typed(value: Any, kind: type[_Kind]) -> _Kind:
    """Return a JSON value of this type, the empty value of the type in place of any other."""
    if isinstance(value, kind):
        return value
    return kind()
