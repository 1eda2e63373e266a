# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the lines of unit files: what a drop-in repeats, and which line of which file has a word.

Their meaning is asked of systemd (loaded.py). Source: config_parse in systemd's src/shared/conf-parser.c,
systemd.syntax(7).
"""

from __future__ import annotations

import re
from typing import Iterable, Iterator, NamedTuple, Sequence

_BLANKS = " \t\n\r"
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._/+-]*")
_BYTE_ORDER_MARK = "\ufeff"


class Setting(NamedTuple):
    """One assignment of a unit file, as it is written. A blank joins continuation lines, as in systemd."""

    key: str
    value: str
    file: str
    line: int
    """The number of its first line, from 1."""


def unfit(path: str) -> str:
    """Return why a path cannot be in a unit file as it is, without quotes and escapes; empty if it can.

    RequiresMountsFor= ignores a path with `..`: unit_require_mounts_for in systemd's src/core/unit.c.
    """
    if _PLAIN_PATH.fullmatch(path) and ".." not in path.split("/"):
        return ""
    return (
        "a systemd unit cannot name this path as it is: it must begin with /, have no .. in it, and hold only letters, "
        "digits and . _ + - /"
    )


def settings(text: str, file: str, section: str = "Service") -> Iterator[Setting]:
    """Yield the assignments of one section in order."""
    inside = False
    for number, line in _logical_lines(text):
        if line.startswith("["):
            inside = line.rstrip() == f"[{section}]"
        elif inside and "=" in line:
            key, _equals, value = line.partition("=")
            yield Setting(key.strip(), value.strip(_BLANKS), file, number)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line, joined with its continuations, and the number of the first of them."""
    joined, first = "", 0
    for number, line in enumerate(text.lstrip(_BYTE_ORDER_MARK).split("\n"), 1):
        line = line.rstrip("\r")
        if not first:
            line = line.lstrip(_BLANKS)
        # A comment between continued lines is skipped, and the continuation goes on after it.
        if _is_comment(line) or (not first and not line):
            continue
        first = first or number
        if (len(line) - len(line.rstrip("\\"))) % 2 == 1:
            joined += f"{line[:-1]} "
            continue
        yield first, joined + line
        joined, first = "", 0
    if first:
        yield first, joined


def _is_comment(line: str) -> bool:
    """Return whether a line of a unit file or an environment file is a comment."""
    return line.lstrip(_BLANKS)[:1] in ("#", ";")


def effective(found: Iterable[Setting], key: str) -> list[Setting]:
    """Return the effective assignments of a list setting: an empty one resets the list."""
    result: list[Setting] = []
    for setting in found:
        if setting.key == key and setting.value:
            result.append(setting)
        elif setting.key == key:
            result.clear()
    return result


def place(word: str, texts: Sequence[tuple[str, str]]) -> tuple[str, int] | None:
    """Return file and line of a word of the command line; None if no file has it. The last of some uses counts.

    `texts`: path and text of unit and environment files, first to last. A flag is also found where its value is written
    in another way, with a specifier, a variable, an escape or a quote in it.
    """
    if not word:
        return None
    name, equals, _value = word.partition("=")
    patterns = [rf"(?<![\w-]){re.escape(word)}(?![\w./:=-])"]
    if word.startswith("-") and equals:
        patterns.append(rf"""(?<![\w-]){re.escape(name)}[=\s]["']?[^\s"'%\\$]*(?:[%\\$]|["'][^\s"'])""")
    for pattern in patterns:
        found = _last(pattern, texts)
        if found:
            return found
    return None


def _last(pattern: str, texts: Sequence[tuple[str, str]]) -> tuple[str, int] | None:
    """Return file and line of the last match that is not in a comment."""
    found = None
    for path, text in texts:
        for number, line in enumerate(text.split("\n"), 1):
            if not _is_comment(line) and re.search(pattern, line):
                found = (path, number)
    return found


def masked(text: str) -> str:
    """Return a text that quotes a unit or a command line, with the values of secret flags masked.

    Units, shells and systemd quote differently, so the mask covers all up to the next flag or the end of the line.
    """
    # The table of all fields is the largest module, and most texts contain no such flag.
    from ..._config.fields import fields, shadow

    names = [name.replace("-", "[-_]") for name, flag in fields.FLAGS.items() if fields.ALL[flag.field].secret]
    value = r"(?:[^\n\\]|\\.)*?(?=[\s\"']--[a-z]|\n|$)"
    return re.sub(rf"(--(?:{'|'.join(names)}))(=|\s+){value}", rf"\1\2{shadow.HIDDEN}", text, flags=re.DOTALL)
