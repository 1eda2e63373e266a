# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML documents drawn by a seed: trees in odd notations, damaged ones, and heaps of marks."""

from __future__ import annotations

import json
import random
import typing as t

_WORDS = """
yes No on OFF y N true False TRUE null ~ Null 0 7 -3 +5 010 08 0o17 0x1F -0x1f 0b101 1_000 1__0 0_7 1e3 1E-2 .5 -.5 5.
1.50 0.8 1e400 .1_0 ._1 18446744073709551615 18446744073709551616 -9223372036854775809 1e21 -0 -0.0 2001-01-01 12:30:45
2001-12-14T21:59:43Z 1:30 1220k 100Mi 10.96.0.10 0-3,8 1m30s 5% fe80::1 ::1 a:b http://x:1/y abcdef.0123456789abcdef
1.2.3 -a --a +a .a ._ - = << a#b <none> yess nan inf 0x 0b2 1.2e 1e 0xZ 0o9 _1 1_ +-1 'a -0b1 +0x10 0B1 0X1 0O7 .e3 . ..
1.e5 +.5e+5 tRue nULL cpu manager static memory.available
"""
_TEXTS = ("", "a b", "it's", 'a "x"', "a  b", "é", "\u00a0x", "\U0001f600", "a\\b", "x:", "a: b", "a #b", "@x", "%x")
WORDS = (*_WORDS.split(), *_TEXTS)
KEYS = ("a", "b", "c", "maxPods", "evictionHard", "memory.available", "yes", "1", "0x10", "x y", "it's", "é")
_INDICATORS = "a b 1 yes : ? - , [ ] { } # & * ! | > ' \" % @ ` \\ = ~ << --- ..."
MARKS = (
    *_INDICATORS.split(),
    *(" ", "  ", "    ", "\t", "\n", "\n", "\n ", "\n  ", "\n- ", "\n\n", ": ", "- ", " #", "a: ", "b:\n", "- c: "),
    *("|\n", ">-\n", "|+\n", ">2\n", "\r\n", "'x'", '"y"', "{a: 1}", "[b]", "\\n", '"\\x41"', "k: v\n", "\ufeff"),
)


def document(seed: int) -> str:
    """Return the document of a seed."""
    draw = random.Random(seed)
    kind = draw.random()
    if kind < 0.15:
        return "".join(draw.choice(MARKS) for _each in range(draw.randint(1, 14)))
    text = _Writer(draw).document()
    if kind < 0.4:
        for _round in range(draw.randint(1, 2)):
            text = _damaged(draw, text)
    return text


def _damaged(draw: random.Random, text: str) -> str:
    """Return a text with a mark put in, a piece taken out or a line moved."""
    at = draw.randint(0, len(text))
    to = min(len(text), at + draw.randint(0, 3))
    if draw.random() < 0.7:
        return text[:at] + draw.choice(MARKS) + text[to if draw.random() < 0.5 else at :]
    lines = text.split("\n")
    at = draw.randrange(len(lines))
    lines[at] = draw.choice((" ", "  ", "\t", "- ")) + lines[at] if draw.random() < 0.5 else lines[at].lstrip(" ")
    return "\n".join(lines)


class _Writer:
    """Writes a tree as a person would, each part in one of the notations of YAML."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def _one(self, *choices: t.Any) -> t.Any:
        return self.draw.choice(choices)

    def document(self) -> str:
        if self.draw.random() < 0.05:
            return json.dumps(self._tree(3), indent=self._one(None, 1, 4))
        text = self._block(0, 3).lstrip("\n")
        start = self._one("", "", "", "---\n", "# c\n", "\n\n", "--- # c\n", "\ufeff", "# c\n---\n", "%YAML 1.1\n---\n")
        text = start + text + self._one("", "", "\n", "\n# c\n", "\n...\n", "\n---\nb: 2\n", "\n---\n: [\n", "\n\n\n")
        return text.replace("\n", "\r\n") if self.draw.random() < 0.05 else text

    def _tree(self, depth: int) -> t.Any:
        if depth == 0 or self.draw.random() < 0.3:
            return self._one(1, 0, -5, 1.5, 1e3, True, None, "", "a", "yes", "\u00e9", "a\tb", 'q"')
        if self.draw.random() < 0.5:
            return [self._tree(depth - 1) for _each in range(self.draw.randint(0, 3))]
        return {self._one(*KEYS): self._tree(depth - 1) for _each in range(self.draw.randint(0, 3))}

    def _block(self, column: int, depth: int) -> str:
        """Return lines of a map or list, each with a line break before it."""
        lines = []
        is_list = self.draw.random() < 0.3
        keys = self.draw.sample(KEYS, self.draw.randint(1, 4))
        for key in keys:
            if self.draw.random() < 0.15:
                lines.append(self._one("", "# c", "  # c", f"{' ' * column}# c", "   "))
            mark = "-" if is_list else self._key(key) + self._one(":", ":", ":", " :")
            lines.append(" " * column + mark + self._value(column, depth - 1, is_list))
        return "\n" + "\n".join(lines)

    def _key(self, key: str) -> str:
        return str(self._one(key, key, key, json.dumps(key), "'" + key.replace("'", "''") + "'"))

    def _value(self, column: int, depth: int, in_list: bool) -> str:
        kind = self.draw.random()
        if depth > 0 and kind < 0.35:
            deeper = column + self._one(1, 2, 2, 4)
            inner = self._block(deeper, depth)
            begins_at_once = in_list and deeper > column + 1 and inner.startswith("\n" + " " * deeper)
            if begins_at_once and self.draw.random() < 0.6:
                return " " * (deeper - column - 1) + inner.lstrip()
            if not in_list and self.draw.random() < 0.2:
                return self._one("", " # c") + self._block(column, 1)
            return self._one("", "", " # c", " ") + inner
        if kind < 0.45:
            return self._one(" ", " ", "  ", "\n" + " " * (column + 1)) + self._brackets(2, column) + self._end()
        if kind < 0.53:
            return self._scalar_block(column)
        if kind < 0.58:
            return self._one("", " ", " # c", "\n")
        return self._one(" ", " ", " ", "  ", "\n" + " " * (column + 2)) + self._scalar(column) + self._end()

    def _end(self) -> str:
        return "\t# c" if self.draw.random() < 0.01 else str(self._one("", "", "", "", " ", " # c", "  "))

    def _scalar(self, column: int) -> str:
        word = self._one(*WORDS)
        pad = self._one(f"\n{' ' * (column + 1)}", f" \n{' ' * (column + 3)}", f"\n\n{' ' * (column + 2)}", " ", " ")
        kind = self.draw.random()
        if kind < 0.6:
            return str(word)
        if kind < 0.7:
            return f"{word}{pad}{self._one(*WORDS)}"
        if kind < 0.85:
            return "'" + word.replace("'", "''") + self._one("", pad + "x", "''", " ") + "'"
        escapes = self._one("", "\\x41", "\\u00e9", "\\U0001F600", "\\n\\t\\0", "\\\n  ", "\\ ", "\\e\\_\\N", pad)
        return json.dumps(word, ensure_ascii=self._one(True, False))[:-1] + escapes + self._one("", "x", " ") + '"'

    def _brackets(self, depth: int, column: int) -> str:
        space = f"\n{' ' * (column + 1)}"
        gap, comma = self._one("", " ", "", space), self._one(", ", ",", ", ", f",{space}", f" , # c{space}")
        items = []
        is_map = self.draw.random() < 0.5
        for key in self.draw.sample(KEYS, self.draw.randint(0, 3)):
            nested = depth and self.draw.random() < 0.3
            inner = self._brackets(depth - 1, column) if nested else self._scalar(column)
            if is_map or self.draw.random() < 0.05:
                inner = self._key(key) + self._one(": ", ": ", ": ", ":", " : ", ":  ") + inner
            items.append(inner)
        last = self._one("", "", "", ",") if items else ""
        return "[{"[is_map] + gap + comma.join(items) + last + gap + "]}"[is_map]

    def _scalar_block(self, column: int) -> str:
        header = self._one("|", ">") + self._one("", "-", "+", "", "2", "1-", "+4", "-1")
        header += self._one("", "", " # c", " ")
        indent = " " * (column + self._one(1, 2, 2, 4))
        lines = []
        for _line in range(self.draw.randint(0, 5)):
            line = self._one("a", "b c", " more", "\tt", "", "", "  ", "x: y", "# no", "- i", "'", " ")
            lines.append(indent + line if line or self.draw.random() < 0.3 else "")
        return f" {header}\n" + "\n".join(lines)
