# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of unit files: what a drop-in repeats, and which line of which file has a word; and what systemd has loaded
of a service, with the command line that it would start.

The meaning of the lines is asked of systemd. Source: config_parse in systemd's src/shared/conf-parser.c,
systemd.syntax(7).
"""

from __future__ import annotations

import os
import re
from typing import Iterable, Iterator, Mapping, NamedTuple, Sequence

from ..system.command import Run, transient

_BLANKS = " \t\n\r"
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._/+-]*")
_BYTE_ORDER_MARK = "\ufeff"
_MANAGER = "org.freedesktop.systemd1"
# As busctl prints it: in double quotes, with the escapes of C for what is not printable ASCII.
_TEXT = r'"((?:[^"\\]|\\.)*)"'
_MAY_BE_ABSENT = {"true": "-", "false": ""}
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


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


class Loaded(NamedTuple):
    """What systemd has loaded of a service with one command.

    Over D-Bus each word arrives alone, its specifiers, quotes and escapes resolved. `systemctl show` joins the words of
    ExecStart= by blanks, and its form of Environment= depends on its version.
    """

    words: list[str]
    """ExecStart= with its variables, program first."""
    environment: list[str]
    """Environment= as NAME=value."""
    files: list[str]
    """The paths and patterns of EnvironmentFile=, with `-` before those that may be absent."""


def ask(name: str, run: Run) -> Loaded | None:
    """Return what systemd has loaded; None without an answer, such as without a system bus."""
    place = f"/org/freedesktop/systemd1/unit/{object_name(name)}"
    wanted = ["ExecStart", "Environment", "EnvironmentFiles"]
    done = run(["busctl", "get-property", _MANAGER, place, f"{_MANAGER}.Service", *wanted])
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) != len(wanted):
        return None
    # The first text of ExecStart= is the program's path.
    words = _texts(lines[0])[1:]
    if not words:
        return None
    found = re.findall(rf"{_TEXT} (true|false)", lines[2])
    paths = [_MAY_BE_ABSENT[mark] + _plain(path) for path, mark in found]
    return Loaded(words, _texts(lines[1]), paths)


def object_name(name: str) -> str:
    """Return a unit's name as a part of a path on D-Bus (sd_bus_path_encode(3))."""
    return re.sub(r"[^A-Za-z0-9]|^[0-9]", lambda match: f"_{ord(match.group()):02x}", name)


def _texts(line: str) -> list[str]:
    return [_plain(text) for text in re.findall(_TEXT, line)]


def _plain(text: str) -> str:
    return os.fsdecode(re.sub(rb"\\([0-3][0-7]{2}|.)", _unescaped, os.fsencode(text)))


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    if len(code) == 3:
        return bytes([int(code, 8)])
    return _ESCAPES.get(code, code)


def starts(found: Loaded, properties: Mapping[str, str], run: Run) -> list[str] | None:
    """Return the words that systemd would start now, with the current environment files; None without an answer.

    A transient unit with the same words and the same environment prints them, so that systemd itself replaces the
    variables. `properties`: those that `systemctl show` prints.
    """
    options = [f"--property=EnvironmentFile={path}" for path in found.files]
    for key in ("PassEnvironment", "UnsetEnvironment"):
        if properties.get(key):
            options.append(f"--property={key}={properties[key]}")
    options += [f"--setenv={variable}" for variable in found.environment]
    printed = ["--collect", *options, "/usr/bin/printf", "%s\\0", *found.words]
    done = transient(run, "the kubelet's next command line", printed)
    if done.returncode or not done.stdout.endswith("\0"):
        return None
    return done.stdout.split("\0")[:-1]
