# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line that systemd builds from a service's unit files; each word has the file and line it comes from."""

from __future__ import annotations

import glob
import os
import re
from typing import Iterable, NamedTuple

from . import unitfile
from .unitfile import Setting, Token

_BRACED = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_BARE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
# What may stand before the program, systemd.service(5) "special executable prefixes".
_PREFIXES = "@-:+!|"


class Word(NamedTuple):
    """One word of the resolved command line."""

    text: str
    file: str
    line: int
    token: int
    """The word of ExecStart that it comes from, counted from 0."""
    variable: str
    """The variable that holds the word; empty for a word that ExecStart holds itself."""


class Variable(NamedTuple):
    """A variable of the service, and where it was last set."""

    value: str
    file: str
    line: int
    in_unit: bool
    """Set by Environment= in a unit file, which a later drop-in can override; else by an environment file, which always
    wins.
    """


class CommandLine:
    """ExecStart of a service, from the texts of its unit files, first to last.

    Raises ValueError with the reason when the texts are ambiguous.
    """

    def __init__(self, files: Iterable[tuple[str, str]], root: str = "/") -> None:
        found = [setting for path, text in files for setting in unitfile.settings(text, path)]
        commands = _since_reset(found, "ExecStart")
        if len(commands) != 1:
            raise ValueError(f"it has {len(commands)} ExecStart= commands" if commands else "it has no ExecStart=")
        self.setting: Setting = commands[0]
        text = self.setting.value
        self.prefix = text[: len(text) - len(text.lstrip(_PREFIXES))]
        self.tokens: list[Token] = unitfile.split(text)
        if not self.tokens:
            raise ValueError("its ExecStart= is empty")
        first = self.tokens[0]
        self.tokens[0] = first._replace(text=first.text[len(self.prefix) :])
        if any(token.text == ";" for token in self.tokens):
            raise ValueError("its ExecStart= holds several commands")
        self.environment: dict[str, Variable] = {}
        self.unit_environment: dict[str, str] = {}
        self._read_settings(_since_reset(found, "Environment"))
        self.environment_files: list[str] = []
        for setting in _since_reset(found, "EnvironmentFile"):
            self._read_files(setting.value, root)

    def _read_settings(self, found: list[Setting]) -> None:
        for setting in found:
            for token in unitfile.split(setting.value):
                name, equals, value = token.text.partition("=")
                if equals:
                    value = value.replace("%%", "%")
                    self.unit_environment[name] = value
                    self.environment[name] = Variable(value, setting.file, setting.line(token.start), True)

    def _read_files(self, value: str, root: str) -> None:
        pattern = value.lstrip("-")
        for path in sorted(glob.glob(os.path.join(root, pattern.lstrip("/")))):
            shown = "/" + os.path.relpath(path, root)
            self.environment_files.append(shown)
            with open(path, encoding="utf-8", errors="surrogateescape") as stream:
                for variable in unitfile.environment_file(stream.read()):
                    self.environment[variable.name] = Variable(variable.value, shown, variable.line, False)

    @property
    def program(self) -> str:
        """The program, as the unit names it."""
        return self.tokens[0].text

    def shown(self) -> str:
        """Return the command as `systemctl show` prints it (`argv[]=`): specifiers resolved, variables not."""
        return " ".join(token.text.replace("%%", "%") for token in self.tokens)

    def words(self) -> list[Word]:
        """Return the command line with all variables replaced, program first."""
        result: list[Word] = []
        for index, token in enumerate(self.tokens):
            line = self.setting.line(token.start)
            text = token.text.replace("%%", "%")
            bare = _BARE.fullmatch(token.text)
            if ":" in self.prefix:
                result.append(Word(text, self.setting.file, line, index, ""))
            elif bare:
                variable = self.environment.get(bare.group(1))
                if variable is not None:
                    # A word of a multi-line value is reported at the line where the variable begins.
                    result += [
                        Word(part.text, variable.file, variable.line, index, bare.group(1))
                        for part in unitfile.split(variable.value, escapes=False)
                    ]
            else:
                result.append(Word(_BRACED.sub(self._braced, text), self.setting.file, line, index, ""))
        return result

    def _braced(self, match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None:
            return "$"
        return self.environment[name].value if name in self.environment else ""


def _since_reset(found: list[Setting], key: str) -> list[Setting]:
    """Return the effective assignments of a list setting: an empty one resets the list."""
    result: list[Setting] = []
    for setting in found:
        if setting.key == key:
            result = [*result, setting] if setting.value else []
    return result
