# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scalar of YAML means to the kubelet: words, numbers, escapes, line breaks.

From go-yaml v2 (resolve.go, scannerc.go), which sigs.k8s.io/yaml uses.
"""

from __future__ import annotations

import re
from typing import Any, Iterable

_FOLD = re.compile(r"[ \t]*\n[ \t\n]*")
_ESCAPE = re.compile(
    r"\\\n[ \t\n]*|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|\\.|[ \t]*\n[ \t\n]*", re.DOTALL
)
_ESCAPES = dict(zip("0abt\tnvfre \"'\\N_LP", "\0\a\b\t\t\n\v\f\r\x1b \"'\\\x85\xa0\u2028\u2029"))
_WORDS = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
}
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_BASES = {2: 16, 3: 2, 4: 8, 5: 10}
"""By the group of _INTEGER that has the digits."""
_LONGEST = 64
"""Digits of an integer of 64 bits, in base 2."""
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_POINT_FIRST = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def folded(gap: str) -> str:
    """Return what stands for line breaks and the blanks around them: a blank for one, one less for several."""
    return "\n" * (gap.count("\n") - 1) or " "


def single_quoted(inner: str) -> str:
    """Return the text that stands between single quotes."""
    return _FOLD.sub(lambda gap: folded(gap.group()), inner).replace("''", "'")


def double_quoted(inner: str) -> str:
    """Return the text that stands between double quotes. Raises ValueError with an escape that does not exist."""

    def one(found: Any) -> str:
        written: str = found.group()
        if written[0] != "\\":
            return folded(written)
        if written[1] == "\n":
            return "\n" * (written.count("\n") - 1)
        if written[1] in _ESCAPES:
            return _ESCAPES[written[1]]
        code = int(written[2:] or "-1", 16)
        if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise ValueError(written)
        return chr(code)

    return _ESCAPE.sub(one, inner)


def block_scalar(lines: Iterable[str], folds: bool, keeps: str) -> str:
    """Return the text of the lines of a literal or folded scalar (yaml_parser_scan_block_scalar). `keeps`: the sign in
    its header, `-` for no line break at its end, `+` for all, empty for one.
    """
    text, line_break, empty, was_blank = "", "", 0, False
    for line in lines:
        content = line.rstrip("\n")
        if not content:
            empty += len(line)
            continue
        is_blank = content[0] in " \t"
        if folds and line_break and not was_blank and not is_blank:
            line_break = "" if empty else " "
        text += line_break + "\n" * empty + content
        line_break, empty, was_blank = line[len(content) :], 0, is_blank
    if keeps == "-":
        return text
    if keeps == "+":
        line_break += "\n" * empty
    return text + line_break


def resolved(text: str) -> Any:
    """Return what a scalar without quotes means (resolve.go). Raises ValueError for numbers that JSON does not have."""
    if text in _WORDS:
        return _WORDS[text]
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(text)
    number: int | float | None = None
    if _POINT_FIRST.fullmatch(text):
        number = float(text)
    elif text[0] in "+-0123456789":
        number = _number(text.replace("_", ""))
    if number in (None, float("inf"), float("-inf")):
        # A number beyond the largest float is text to Go.
        return text
    return number


def _number(text: str) -> int | float | None:
    found = _INTEGER.fullmatch(text)
    if found and found.lastindex:
        sign, digits = found.group(1), found.group(found.lastindex).lstrip("0") or "0"
        # Python takes long for a number of a million digits.
        if len(digits) <= _LONGEST:
            number = int(sign + digits, _BASES[found.lastindex])
            if -(2**63) <= number < (2**63 if sign else 2**64):
                return number
    return float(text) if _FLOAT.fullmatch(text) else None


def as_json(value: Any) -> Any:
    """Return a value as JSON has it: `1e3` is written as 1000 (encoding/json, encode.go)."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value
