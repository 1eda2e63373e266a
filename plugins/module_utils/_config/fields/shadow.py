# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which fields a kubelet's command line hides from every configuration.

A kubelet applies its flags on top of any configuration, including dynamic ones, and reports success regardless
(cmd/kubelet/app/server.go kubeletConfigFlagPrecedence). A list or map from a flag replaces the configured one; feature
gates are merged key by key. A few values the kubelet replaces by those that it finds itself.
"""

from __future__ import annotations

import re
import shlex
from typing import Any, Iterable, Iterator, Mapping

from ..values import paths
from . import fields

HIDDEN = "********"
UNKNOWN = object()
"""The value of a field whose flag has a form that is not understood here."""
BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
"""What Go's strconv.ParseBool makes of a text."""
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,18})")
"""In Go's strconv.ParseInt, other forms are octal, hexadecimal or not a number."""
_RUNTIME_DRIVER_MINOR = 28
"""From this minor on, the kubelet may take cgroupDriver from the runtime (KEP-4033) and show that."""
_GATES = "featureGates"
"""The only field of which a flag hides the keys that it names, and no others."""
_CPUS = "reservedSystemCPUs"
_REPLACED_BY_CPUS = ("kubeReserved.cpu", "systemReserved.cpu")
"""What the kubelet replaces if that field is set (cmd/kubelet/app/server.go, run)."""


def shadows(argv: Iterable[str], minor: int | None) -> dict[str, str]:
    """Return the shadowed paths, each with the flag as it was given: ``{"maxPods": "--max-pods=61"}``.

    ``argv`` holds the words of the command line, with or without the program. It accepts the forms ``--a=b``, ``--a b``
    and, for a boolean, ``--a``; underscores count as dashes. A repeated flag is shown with all its uses. Secret values
    are masked. ``minor`` is the kubelet's: only flags that set a field in this minor count; all, if it is None.
    """
    found: dict[str, str] = {}
    for path, name, text in _uses(argv, minor):
        shown = HIDDEN if fields.is_secret(path) else text
        found[path] = f"{found.get(path, '')} --{name}={shown}".lstrip()
    return found


def values(argv: Iterable[str], minor: int | None) -> dict[str, Any]:
    """Return the values that the flags give to the shadowed paths of shadows(), in the types of the configuration.

    A value is UNKNOWN if the text is not one of the field's type, and for lists and maps of anything but texts.
    """
    texts: dict[str, list[str]] = {}
    for path, _name, text in _uses(argv, minor):
        texts.setdefault(path, []).append(text)
    return {path: _value(path, uses) for path, uses in texts.items()}


def _uses(argv: Iterable[str], minor: int | None) -> Iterator[tuple[str, str, str]]:
    """Yield the path that each use of a flag sets, its name, and its text. Each gate is a use of its own, `A=true`."""
    for name, value in _flags(list(argv), minor):
        path = fields.FLAGS[name].field
        if path != _GATES:
            yield path, name, value
            continue
        for pair in value.split(","):
            gate = pair.partition("=")[0].strip()
            if gate:
                yield paths.show((_GATES, gate)), name, pair.strip()


def _value(path: str, uses: list[str]) -> Any:
    """Return the value of all uses of a flag. A scalar has the last one, a list or map all of them."""
    field, last = fields.ALL.get(path), uses[-1]
    if field is None:
        return BOOLEANS.get(last.partition("=")[2].strip(), UNKNOWN)
    kind = field.type
    if kind == "bool":
        return BOOLEANS.get(last, UNKNOWN)
    if kind in ("int32", "int64", "uint32") and _INTEGER.fullmatch(last):
        return int(last)
    if kind in ("string", "duration"):
        return last
    words = [word.strip() for word in ",".join(uses).split(",") if word.strip()]
    if kind == "list[string]":
        return words
    if kind == "map[string]string":
        return _pairs(words)
    return UNKNOWN


def _pairs(words: list[str]) -> Any:
    found = {}
    for word in words:
        key, sign, value = word.partition("<" if "<" in word else "=")
        if not sign:
            return UNKNOWN
        found[key.strip()] = value.strip()
    return found


def shadow_of(path: str, found: Mapping[str, Any]) -> Any:
    """Return the flag that shadows a path or its field, as `found` has it by path, or None."""
    if path in found:
        return found[path]
    above = paths.above(path)
    for name, flag in found.items():
        if name in above:
            return flag
    return None


def computed(path: str, config: Mapping[str, Any], minor: int) -> bool:
    """Return whether a kubelet with this configuration replaces a configured value by one that it finds itself."""
    return (path == "cgroupDriver" and minor >= _RUNTIME_DRIVER_MINOR) or (
        path in _REPLACED_BY_CPUS and bool(config.get(_CPUS))
    )


_COMMA = re.compile(r"""[\s,]*,\s*(?=["']?-|$)""")
"""Commas that separate flags, and not the parts of a value."""


def of_nodes(flags: Mapping[str, Any] | None) -> dict[str, list[str]]:
    """Return the words of the kubelets' command lines, as an inventory has them, by node name.

    Raises ValueError, which names the node, for a text whose quotes are wrong.
    """
    found = {}
    for name, given in (flags or {}).items():
        try:
            found[name] = of_inventory(given)
        except ValueError as error:
            raise ValueError(f"flags of node {name} (kubelet_config_flags): {error}") from error
    return found


def of_inventory(given: Any) -> list[str]:
    """Return the words of a command line, as an inventory has it: a list, or a text with spaces or commas between.

    Quotes and backslashes count as in a shell. Only a comma before a hyphen ends a flag within quotes, too. A flag may
    stand beside its value in one item, as in C(--max-pods 61).

    Raises ValueError for a quote without its end. The message shows no flag: one may be a secret.
    """
    items = given or ()
    if isinstance(given, str):
        items = [given]
    words: list[str] = []
    for item in items:
        words += _words(str(item))
    return words


def _words(text: str) -> list[str]:
    """Return the words of one item. A value with spaces is one word. Raises ValueError."""
    try:
        parts = shlex.split(_COMMA.sub(" ", text))
    except ValueError as error:
        raise ValueError(
            f"the flags are no words of a command line ({str(error).lower()}). Close each quote, or leave it out"
        ) from error
    words: list[str] = []
    for part in parts:
        if words and not part.startswith("-") and not _expects_value(words[-1]):
            words[-1] += f" {part}"
        else:
            words.append(part)
    return words


def _expects_value(word: str) -> bool:
    return word.startswith("-") and "=" not in word


def _flags(words: list[str], minor: int | None) -> Iterator[tuple[str, str]]:
    """Yield the configuration flags of this minor among the words with their values."""
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            return
        name, given, value = _long(word).partition("=")
        name = name.replace("_", "-")
        flag = fields.FLAGS.get(name)
        if flag is None or not flag.exists_at(minor):
            continue
        if not given:
            value = "true"
            if fields.ALL[flag.field].type != "bool":
                value = words[at] if at < len(words) else ""
                at += 1
        yield name, value


def _long(word: str) -> str:
    """Return a flag without its dashes, empty for another word. -v is short for --v and may have its value attached."""
    if word.startswith("--"):
        return word[2:]
    if not word.startswith("-v"):
        return ""
    if word == "-v":
        return "v"
    return f"v={word[2:].lstrip('=')}"
