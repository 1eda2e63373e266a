# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads unit files, drop-ins and environment files by systemd's rules, and keeps the file and line of each setting.

Source: systemd's config_parse, extract_first_word and parse_env_file (systemd.syntax(7), systemd.exec(5)
"EnvironmentFile=").
"""

from __future__ import annotations

import bisect
import re
import sys
from typing import Iterator, NamedTuple

BLANKS = " \t\n\r"
_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    '"': '"',
    "'": "'",
    "s": " ",
}
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._/+-]*")
_NUMBERS = {"x": (2, 16), "u": (4, 16), "U": (8, 16)}


class Setting(NamedTuple):
    """One assignment of a unit file. Continuation lines are joined by a blank, as systemd does."""

    key: str
    value: str
    file: str
    starts: tuple[int, ...]
    """The offsets in `value` at which the physical lines begin."""
    numbers: tuple[int, ...]
    """The number, from 1, of each of those lines."""

    def line(self, offset: int) -> int:
        """Return the number of the line that holds this offset of the value."""
        return self.numbers[max(0, bisect.bisect_right(self.starts, offset) - 1)]


class Token(NamedTuple):
    """A word and its position in the text, quotes included."""

    text: str
    start: int
    end: int


class Variable(NamedTuple):
    """A variable of an environment file."""

    name: str
    value: str
    line: int


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
    for value, starts, numbers in _logical_lines(text):
        if value.startswith("["):
            inside = value.rstrip() == f"[{section}]"
        elif inside and "=" in value:
            key, _equals, rest = value.partition("=")
            cut = len(value) - len(rest.lstrip(BLANKS))
            yield Setting(
                key.strip(), rest.strip(BLANKS), file, tuple(max(0, start - cut) for start in starts), tuple(numbers)
            )


def _logical_lines(text: str) -> Iterator[tuple[str, list[int], list[int]]]:
    """Yield each line with its continuations: joined text, offsets of the physical lines in it, their numbers."""
    joined = ""
    starts: list[int] = []
    numbers: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not numbers:
            line = line.lstrip(BLANKS)
        # A comment between continued lines is skipped, and the continuation goes on after it.
        if line.lstrip(BLANKS)[:1] in ("#", ";") or (not numbers and not line):
            continue
        starts.append(len(joined))
        numbers.append(number)
        more = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        joined += f"{line[:-1]} " if more else line
        if not more:
            yield joined, starts, numbers
            joined, starts, numbers = "", [], []
    if numbers:
        yield joined, starts, numbers


def split(text: str, escapes: bool = True) -> list[Token]:
    """Return the words of a setting (`escapes`: backslash sequences as in C) or of a variable's value (a backslash only
    quotes the next character).

    Raises ValueError for what systemd refuses in a setting: an unterminated quote, an unknown escape.
    """
    found: list[Token] = []
    at = 0
    while True:
        while at < len(text) and text[at] in BLANKS:
            at += 1
        if at >= len(text):
            return found
        start, word, quote = at, "", ""
        while at < len(text) and (quote or text[at] not in BLANKS):
            letter = text[at]
            at += 1
            if letter == "\\":
                letter, at = _escape(text, at) if escapes else (text[at : at + 1], at + 1)
                word += letter
            elif letter == quote:
                quote = ""
            elif not quote and letter in "\"'":
                quote = letter
            else:
                word += letter
        if quote and escapes:
            raise ValueError(f"the quote {quote} is not terminated")
        found.append(Token(word, start, min(at, len(text))))


def _escape(text: str, at: int) -> tuple[str, int]:
    letter = text[at : at + 1]
    if letter in _ESCAPES and letter:
        return _ESCAPES[letter], at + 1
    if letter in _NUMBERS and letter:
        digits, base = _NUMBERS[letter]
        number = int(text[at + 1 : at + 1 + digits], base)
        if number > sys.maxunicode:
            raise ValueError(f"\\{text[at : at + 1 + digits]} is not a character")
        return chr(number), at + 1 + digits
    if letter.isdigit():
        return chr(int(text[at : at + 3], 8)), at + 3
    raise ValueError(f"\\{letter} is not an escape sequence of systemd")


def quoted(word: str) -> str:
    """Return a word quoted for a unit file, specifiers escaped."""
    for plain, written in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("\n", "\\n"), ("\t", "\\t")):
        word = word.replace(plain, written)
    return f'"{word}"'


def environment_file(text: str) -> Iterator[Variable]:
    """Yield the variables of an environment file in order; a later one of the same name replaces an earlier one."""
    at, line = 0, 1
    while at < len(text):
        letter = text[at]
        if letter in BLANKS:
            line += letter == "\n"
            at += 1
        elif letter in "#;":
            at, line = _skip_comment(text, at, line)
        else:
            first = line
            end = at
            while end < len(text) and text[end] not in "=\n":
                end += 1
            name = text[at:end].rstrip(BLANKS)
            if text[end : end + 1] != "=":
                at = end
                continue
            value, at, line = _value(text, end + 1, line)
            # systemd drops an invalid name, such as `export A`.
            if name.replace("_", "a").isalnum() and not name[0].isdigit():
                yield Variable(name, value, first)


def _skip_comment(text: str, at: int, line: int) -> tuple[int, int]:
    while at < len(text) and text[at] != "\n":
        # A backslash continues a comment too.
        if text[at] == "\\":
            line += text[at + 1 : at + 2] == "\n"
            at += 1
        at += 1
    return at, line


def _value(text: str, at: int, line: int) -> tuple[str, int, int]:
    """Read one value: quotes count only where a value or another quoted part begins or ends."""
    value, quote, bare, kept = "", "", False, 0
    while at < len(text):
        letter = text[at]
        at += 1
        line += letter == "\n"
        if letter == "\\" and quote != "'":
            following = text[at : at + 1]
            at += 1
            line += following == "\n"
            if following != "\n":
                value += following if not quote or following in '"\\`$' else f"\\{following}"
                kept = len(value)
                bare = bare or not quote
        elif quote:
            if letter == quote:
                quote = ""
            else:
                value += letter
            kept = len(value)
        elif letter == "\n":
            break
        elif not bare and letter in "\"'":
            quote = letter
        elif letter in BLANKS:
            value += letter if bare else ""
        else:
            bare = True
            value += letter
            kept = len(value)
    return value[:kept], at, line
