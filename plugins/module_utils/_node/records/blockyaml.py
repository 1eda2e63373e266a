# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The YAML that Kubernetes' own tools write (kubeconfigs, config.yaml), read without PyYAML, which nodes do not have.

Block maps and lists, plain and quoted scalars on one line, `{}` and `[]`, comments; JSON too. Everything else is
refused with its line number, never guessed.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable

_KEY = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#&*!|>%@`{\[,?:-][^:#]*?|[-?:][^\s:#][^:#]*?)\s*:(?:\s+(.*))?$""",
    re.ASCII,
)
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
# What YAML takes for blanks. Python strips others too, such as a no-break space, which belongs to the text.
_BLANKS = " \t"
_WORDS = {"": None, "null": None, "~": None, "true": True, "false": False}
# Words that YAML 1.1 and 1.2 read differently: they are refused.
_UNCLEAR = re.compile(r"[-+.]?[0-9].*|[yYnN]|(?i:yes|no|on|off|null|true|false|[-+]?\.(?:inf|nan))")
# A longer word that begins with a number (an address, a duration, a version) is text in both.
_TEXT = re.compile(
    r"[0-9]+(\.[0-9]+){2,}.*|[0-9][0-9.]*(ns|us|ms|[smhKMGTi%]|[KMGT]i)([0-9.]+(ms|[smh]))*|[0-9a-fA-F.:]+/[0-9]+"
)


class Unreadable(ValueError):
    """The text is not the plain YAML that this reader supports; the message names the line."""

    @property
    def unquoted(self) -> str:
        """The message for a text with secrets: without what it quotes of the text."""
        return f"{str(self).partition('`')[0].rstrip(': ')}: not plain YAML"


def load(text: str, plain: Callable[[str], Any] | None = None) -> Any:
    """Return the document. Raises Unreadable.

    `plain` returns the value of a word that is not quoted; by default a word that YAML versions read differently is
    refused.
    """
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"not JSON: {error}") from error
    lines: list[tuple[int, int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        body = line.strip(_BLANKS)
        if not body or body.startswith("#") or (body == "---" and not lines):
            continue
        if "\t" in line[: len(line) - len(line.lstrip(_BLANKS))] or line.startswith(("---", "...", "%")):
            raise Unreadable(f"line {number}: a tab, a second document or a directive")
        lines.append((number, len(line) - len(line.lstrip(" ")), body))
    reader = _Reader(lines, plain)
    try:
        value = reader.block(0) if lines else None
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    reader.end()
    return value


class _Reader:
    def __init__(self, lines: list[tuple[int, int, str]], plain: Callable[[str], Any] | None) -> None:
        self.lines = lines
        self.plain = plain
        self.at = 0

    def end(self) -> None:
        if self.at < len(self.lines):
            raise self._wrong("its indentation matches no line above it")

    def block(self, least: int) -> Any:
        """Read the map or list that starts at the next line, indented by `least` columns or more."""
        _number, indent, body = self.lines[self.at]
        if indent < least:
            return None
        if body == "-" or body.startswith("- "):
            return self._list(indent)
        return self._map(indent)

    def _map(self, indent: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while (
            self.at < len(self.lines)
            and self.lines[self.at][1] == indent
            and not self.lines[self.at][2].startswith("- ")
        ):
            match = _KEY.match(self.lines[self.at][2])
            if not match:
                raise self._wrong("not `key: value`")
            key = self._scalar(match.group(1))
            name = key if isinstance(key, str) else match.group(1)
            if name in result:
                raise self._wrong(f"the key {name} is there twice")
            rest = _without_comment(match.group(2) or "")
            if rest:
                result[name] = self._scalar(rest)
                self.at += 1
            else:
                self.at += 1
                result[name] = self._below(indent)
        return result

    def _below(self, indent: int) -> Any:
        """Read the value of the key above: deeper lines, or a list at the key's own column."""
        if self.at == len(self.lines):
            return None
        _number, deep, body = self.lines[self.at]
        if deep > indent or (deep == indent and (body == "-" or body.startswith("- "))):
            return self.block(deep)
        return None

    def _list(self, indent: int) -> list[Any]:
        result: list[Any] = []
        while (
            self.at < len(self.lines)
            and self.lines[self.at][1] == indent
            and (self.lines[self.at][2] + " ").startswith("- ")
        ):
            number, _indent, body = self.lines[self.at]
            rest = body[1:].lstrip(_BLANKS)
            if not rest:
                self.at += 1
                result.append(self._below(indent))
            elif _KEY.match(rest) or rest.startswith("- "):
                # The item's own map starts on the line of the dash: the dash is read as a space.
                inner = indent + len(body) - len(rest)
                self.lines[self.at] = (number, inner, rest)
                result.append(self.block(inner))
            else:
                result.append(self._scalar(_without_comment(rest)))
                self.at += 1
        return result

    def _scalar(self, word: str) -> Any:
        if word in ("{}", "[]"):
            return {} if word == "{}" else []
        if word[:1] == '"':
            try:
                return json.loads(word)
            except ValueError:
                raise self._wrong("a double-quoted string with an unsupported escape") from None
        if word[:1] == "'":
            if not re.fullmatch("'(?:[^']|'')*'", word):
                raise self._wrong("a single-quoted string that does not end on its line")
            return word[1:-1].replace("''", "'")
        if self.plain:
            return self.plain(word)
        if word in _WORDS:
            return _WORDS[word]
        if _INTEGER.fullmatch(word):
            return int(word)
        if word[0] in "&*!|>%@`{}[],#?" or ": " in word or (_UNCLEAR.fullmatch(word) and not _TEXT.fullmatch(word)):
            raise self._wrong(f"`{word.split()[0]}` is not plain YAML")
        return word

    def _wrong(self, cause: str) -> Unreadable:
        return Unreadable(f"line {self.lines[min(self.at, len(self.lines) - 1)][0]}: {cause}")


def _without_comment(text: str) -> str:
    """Return a value without its trailing comment; a quoted value may hold a `#`."""
    match = re.match(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(#.*)?$""", text, re.ASCII)
    return match.group(1) if match else re.split(r"(?:^|\s+)#", text, flags=re.ASCII)[0].strip(_BLANKS)
