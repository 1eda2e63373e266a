# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words of settings and of environment files by systemd's rules, for stand-ins of systemd.

Source: systemd's extract_first_word and parse_env_file (systemd.syntax(7), systemd.exec(5) "EnvironmentFile="). The
product asks systemd instead.
"""

from __future__ import annotations

import re
import sys
import typing as t

BLANKS = " \t\n\r"
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_ESCAPES |= {"\\": "\\", '"': '"', "'": "'"}
_NUMBERS = {"x": (2, 16), "u": (4, 16), "U": (8, 16)}

_BARE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_VARIABLE = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
PREFIXES = "@-:+!|"


def split(text: str, escapes: bool = True) -> list[str]:
    """Return the words of a setting (`escapes`: backslash sequences as in C) or of a variable's value (a backslash only
    quotes the next character).

    Raises ValueError for what systemd refuses in a setting: an unterminated quote, an unknown escape.
    """
    found: list[str] = []
    at = 0
    while True:
        while at < len(text) and text[at] in BLANKS:
            at += 1
        if at >= len(text):
            return found
        word, quote = "", ""
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
        found.append(word)


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


def environment_file(text: str) -> t.Iterator[tuple[str, str]]:
    """Yield the variables of an environment file in order; a later one of the same name replaces an earlier one."""
    at = 0
    while at < len(text):
        if text[at] in BLANKS:
            at += 1
        elif text[at] in "#;":
            at = _skip_comment(text, at)
        else:
            end = at
            while end < len(text) and text[end] not in "=\n":
                end += 1
            name = text[at:end].rstrip(BLANKS)
            if text[end : end + 1] != "=":
                at = end
                continue
            value, at = _value(text, end + 1)
            # systemd drops an invalid name, such as `export A`.
            if name.replace("_", "a").isalnum() and not name[0].isdigit():
                yield name, value


def _skip_comment(text: str, at: int) -> int:
    while at < len(text) and text[at] != "\n":
        # A backslash continues a comment too.
        at += 2 if text[at] == "\\" else 1
    return at


def _value(text: str, at: int) -> tuple[str, int]:
    """Read one value: quotes count only where a value or another quoted part begins or ends."""
    value, quote, bare, kept = "", "", False, 0
    while at < len(text):
        letter = text[at]
        at += 1
        if letter == "\\" and quote != "'":
            following = text[at : at + 1]
            at += 1
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
    return value[:kept], at


def words(line: str) -> list[str]:
    """Return the words of a command, prefixes of the program removed, variables not replaced."""
    found = [word.replace("%%", "%") for word in split(line)]
    return [found[0].lstrip(PREFIXES), *found[1:]]


def replaced(found: t.Sequence[str], environment: t.Mapping[str, str]) -> list[str]:
    """Return words with their variables replaced (systemd.service(5), "Command lines")."""

    def braced(match: re.Match[str]) -> str:
        return "$" if match.group(1) is None else environment.get(match.group(1), "")

    result: list[str] = []
    for word in found:
        bare = _BARE.fullmatch(word)
        if bare:
            result += split(environment.get(bare.group(1), ""), escapes=False)
        else:
            result.append(_VARIABLE.sub(braced, word))
    return result


def shown_on_bus(
    command: t.Sequence[str], environment: t.Mapping[str, str], files: t.Sequence[tuple[str, bool]]
) -> str:
    """Return what busctl prints of ExecStart, Environment and EnvironmentFiles. `files`: paths, and whether each may be
    absent.
    """
    started = " ".join(_on_bus(word) for word in (command[0], *command))
    variables = [_on_bus(f"{name}={value}") for name, value in environment.items()]
    paths = [f"{_on_bus(path)} {'true' if optional else 'false'}" for path, optional in files]
    return (
        f"a(sasbttttuii) 1 {started.replace(' ', f' {len(command)} ', 1)} false 0 0 0 0 0 0 0\n"
        f"{' '.join(['as', str(len(variables)), *variables])}\n{' '.join(['a(sb)', str(len(paths)), *paths])}\n"
    )


def _on_bus(text: str) -> str:
    shown = {34: '\\"', 92: "\\\\", 10: "\\n", 9: "\\t"}
    octets = text.encode("utf-8", "surrogateescape")
    return '"' + "".join(shown.get(one) or (chr(one) if 31 < one < 127 else f"\\{one:03o}") for one in octets) + '"'
