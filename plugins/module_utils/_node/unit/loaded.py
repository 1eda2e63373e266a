# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What systemd has loaded of a service, and the command line that it would start, as systemd itself resolves it."""

from __future__ import annotations

import os
import re
from typing import Mapping, NamedTuple

from ..system.command import Run, transient

_MANAGER = "org.freedesktop.systemd1"
# As busctl prints it: in double quotes, with the escapes of C for what is not printable ASCII.
_TEXT = r'"((?:[^"\\]|\\.)*)"'
_MAY_BE_ABSENT = {"true": "-", "false": ""}

_ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


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
