# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The YAML of the files on a node (config files, drop-ins, kubeconfigs), read as the kubelet reads it.

The rules are those of sigs.k8s.io/yaml, which turns YAML into JSON with the scanner and the words of go-yaml v2
(scannerc.go, parserc.go, resolve.go). Nodes have no YAML library, and one that has PyYAML would read `yes`, `010` or
`1e3` differently. What can have two meanings is refused: anchors, aliases, merge keys, tags, directives, keys with `?`,
keys that are there twice or are not text, text after the document's value.
"""

from __future__ import annotations

import json
import re
from typing import Any, Iterator, Pattern

from .yaml_scalars import as_json, block_scalar, double_quoted, folded, resolved, single_quoted

_LINE_BREAK = re.compile("\r\n?|\x85")
_FORBIDDEN = re.compile(r"[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_DOCUMENT = re.compile(r"^(?:---|\.\.\.)(?=[ \t\n]|\Z)", re.MULTILINE)
_VERSION = re.compile(r"(?<!.)%YAML[ \t]+1\.1[ \t]*(?:#[^\n]*)?(?:\n *(?:#[^\n]*)?)*\n(?=---(?:[ \t\n]|\Z))")

# Blanks, comments and line breaks before the next token. Tabs indent nothing: they are skipped within a line and in
# brackets, and not where a nested list or map may begin.
_WITHIN_LINE = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n *(?:#[^\n]*)?)*")
_BEFORE_BLOCK = re.compile(r" *(?:#[^\n]*)?(?:\n *(?:#[^\n]*)?)*")
_IN_BRACKETS = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n[ \t]*(?:#[^\n]*)?)*")
_BLANKS = re.compile(r"[ \t]*")
_GAP = re.compile(r"[ \t\n]*")
_SPACES = re.compile(" *")

# One line of a scalar without quotes: a colon before a blank ends it, a `#` after one, and in brackets their marks.
_PLAIN = re.compile(r"(?:[^ \t\n:#]|:(?![ \t\n]|\Z)|(?<![ \t\n])#|[ \t]+(?![ \t\n#]|:[ \t\n]|:?\Z))*")
_PLAIN_IN_BRACKETS = re.compile(
    r"(?:[^ \t\n:#,?\[\]{}]|:(?![ \t\n]|\Z)|(?<![ \t\n])#|[ \t]+(?![ \t\n#,?\[\]{}]|:[ \t\n]|:?\Z))*"
)
_SINGLE = re.compile(r"'([^']*(?:''[^']*)*)'")
_DOUBLE = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
_HEADER = re.compile(r"[|>](?:([-+])([1-9])?|([1-9])([-+])?)?[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_EMPTY_LINES = re.compile(r"(?: *\n)* *")
_LINE = re.compile(r"[^\n]*\n?")

_IN_QUOTES = {"'": (_SINGLE, single_quoted), '"': (_DOUBLE, double_quoted)}
_BRACKETS = {"[": "]", "{": "}"}
_LONGEST_KEY = 1024

_QUOTE = "put it in quotes if it is text"
_WRONG_STARTS = {
    "&": "the anchor<> can have two meanings: write the value out where it is used",
    "*": "the alias<> can have two meanings: write the value out",
    "!": "the tag<> can have two meanings: leave it out, and put text in quotes",
    "?": f"the mark<> begins a key of another form: write `key: value`, or {_QUOTE}",
    "%": f"the directive or mark<> is not allowed: leave the line out, or {_QUOTE}",
    "\t": "a tab is used where YAML requires spaces: indent with spaces",
}


class Unreadable(ValueError):
    """The text is not YAML of one meaning. The message names the line, the cause and the remedy.

    `unquoted`: the message for a text with secrets, without what it quotes of the text.
    """

    def __init__(self, line: int, cause: str, quoted: str = "") -> None:
        self.unquoted = f"line {line}: {cause.replace('<>', '')}"
        shown = f" `{quoted}`" if quoted else ""
        super().__init__(f"line {line}: {cause.replace('<>', shown, 1)}")


def load(text: str) -> Any:
    """Return the first document, as JSON has it: the kubelet ignores the others. Raises Unreadable."""
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text, object_pairs_hook=_unambiguous, parse_constant=_refused)
        except (ValueError, RecursionError):
            pass  # The kubelet too takes it for YAML then.
    reader = _Reader(_LINE_BREAK.sub("\n", text[text.startswith("\ufeff") :]))
    try:
        return reader.document()
    except RecursionError:
        raise reader.wrong("it is nested too deeply: check that this is the right file") from None


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _refused(what: str) -> Any:
    raise ValueError(what)


class _Reader:
    """A position in the text. `indent`: the column of the innermost list or map without brackets, -1 outside."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.indent = -1

    def wrong(self, cause: str, quoted: str = "", at: int | None = None) -> Unreadable:
        """Return the error for a place, by default the present one. A `<>` in its cause stands for what is quoted."""
        if at is None:
            at = self.at
        first_word = "".join(quoted.split()[:1])
        return Unreadable(self.text.count("\n", 0, at) + 1, cause, first_word[:40])

    def document(self) -> Any:
        """Read the first document up to the next `---` or `...`."""
        unprintable = _FORBIDDEN.search(self.text)
        if unprintable:
            code = f"U+{ord(unprintable.group()):04X}"
            raise self.wrong(f"the invisible character {code} is not allowed: remove it", at=unprintable.start())
        self._skip(_BEFORE_BLOCK)
        self.at += len(_matched(_VERSION, self.text, self.at))
        start = _matched(_DOCUMENT, self.text, self.at)
        if start == "...":
            raise self.wrong("the document ends before it begins: remove the line")
        self.at += len(start)
        end = _DOCUMENT.search(self.text, self.at)
        if end:
            self.text = self.text[: end.start()]
        value = self._block(-1, nested=self._starts_line())
        if self._next_line() >= 0:
            raise self.wrong("this line belongs to nothing above it: check its indentation")
        return value

    # Places.

    def _skip(self, blanks: Pattern[str]) -> None:
        self.at += len(_matched(blanks, self.text, self.at))

    def _char(self) -> str:
        return self.text[self.at : self.at + 1]

    def _is_mark(self, *marks: str) -> bool:
        """Return whether one of these characters is next, with a blank or nothing behind it."""
        return self._char() in marks and not self.text[self.at + 1 : self.at + 2].strip(" \t\n")

    def _column(self) -> int:
        """Return the column of the next token from 0, -1 at the end."""
        if self.at >= len(self.text):
            return -1
        return self.at - self.text.rfind("\n", 0, self.at) - 1

    def _starts_line(self) -> bool:
        return not self.text[self.text.rfind("\n", 0, self.at) + 1 : self.at].strip(" ")

    def _next_line(self) -> int:
        """Skip to the line after a value and return its column."""
        self._skip(_BEFORE_BLOCK if self._starts_line() else _WITHIN_LINE)
        if not self._starts_line() and self._column() >= 0:
            raise self.wrong(f"the value ends before<>: {_QUOTE}, all of it", self.text[self.at :])
        return self._column()

    # Lists and maps by indentation.

    def _block(self, outer: int, nested: bool, dashes: bool = False) -> Any:
        """Read the value that belongs to column `outer`; None if the next line is not indented more than that.

        `nested`: whether a list or map may begin on this line. `dashes`: whether a list may begin at `outer` itself.
        """
        self._skip(_BEFORE_BLOCK if nested else _WITHIN_LINE)
        column, on_its_line = self._column(), self._starts_line()
        nested = nested or on_its_line
        dash, scalar = self._is_mark("-"), self._char() in ("|", ">")
        least = outer + 1
        if scalar or (dash and dashes):
            least = outer
        if column < 0 or (on_its_line and column < least):
            return None
        if dash:
            if not nested:
                raise self.wrong(f"a list does not begin on the line of its key: begin a new line, or {_QUOTE}")
            return self._list(column)
        if scalar:
            return self._block_scalar()
        return self._scalar_or_map(column, nested)

    def _scalar_or_map(self, column: int, nested: bool) -> Any:
        begin = self.at
        value = self._atom()
        if not self._at_colon(begin):
            return as_json(value)
        if not nested:
            raise self.wrong(f"a value holds a colon before a blank: {_QUOTE}, or begin the inner map on a new line")
        return self._map(column, begin, value)

    def _list(self, column: int) -> list[Any]:
        outer, self.indent = self.indent, column
        found = []
        while self._column() == column and self._is_mark("-"):
            self.at += 1
            found.append(self._block(column, nested=True))
            self._next_line()
        self.indent = outer
        return found

    def _map(self, column: int, begin: int, key: Any) -> dict[str, Any]:
        """Read a map whose first key was read: it is at `begin`, and the colon behind it comes next."""
        outer, self.indent = self.indent, column
        found: dict[str, Any] = {}
        while True:
            name = self._name(begin, key, found)
            self.at += 1
            found[name] = self._block(column, nested=False, dashes=True)
            if self._next_line() < column:
                break
            if self._column() > column:
                raise self.wrong("its indentation matches no line above it: correct it")
            begin = self.at
            key = self._atom()
            if not self._at_colon(begin):
                raise self.wrong("the line is not `key: value`: add the colon and a blank", at=begin)
        self.indent = outer
        return found

    def _at_colon(self, begin: int) -> bool:
        """Return whether what was read from `begin` is a key, with its colon next."""
        self._skip(_BLANKS)
        if not self._is_mark(":"):
            return False
        self._check_key(begin)
        return True

    def _check_key(self, begin: int) -> None:
        if self.at - begin > _LONGEST_KEY or "\n" in self.text[begin : self.at]:
            cause = "what stands before the colon is longer than a line or 1024 characters: "
            raise self.wrong(cause + "check indentation, quotes and brackets above it")

    def _name(self, begin: int, key: Any, found: dict[str, Any]) -> str:
        """Return a key as JSON has it. Raises Unreadable when readers disagree about it."""
        quoted = self.text[begin : self.at]
        if quoted.startswith("<<") and key == "<<":
            raise self.wrong("the merge key<> can have two meanings: write the keys out", quoted)
        if isinstance(key, bool):
            key = str(key).lower()
        elif isinstance(key, int) and abs(key) < 2**63:
            key = str(key)
        if not isinstance(key, str):
            raise self.wrong("the key<> is not text: put it in quotes, or resolve its template", quoted)
        if key in found:
            raise self.wrong("the key<> is there twice: keep one", quoted)
        return key

    # Lists and maps in brackets.

    def _brackets(self) -> Any:
        end = _BRACKETS[self._char()]
        items: list[Any] = []
        named: dict[str, Any] = {}
        self._after_mark()
        while self._char() != end:
            begin = self.at
            value = self._atom(brackets=True)
            self._skip(_IN_BRACKETS)
            if end == "}":
                self._pair(begin, value, end, named)
            elif self._char() == ":":
                items.append(self._pair(begin, value, end, {}))
            else:
                items.append(as_json(value))
            if self._char() == ",":
                self._after_mark()
            elif self._char() != end:
                after_value = len(self.text[: self.at].rstrip())
                raise self.wrong(f"a `,` or `{end}` is missing: add it, or {_QUOTE}", at=after_value)
        self.at += 1
        return named if end == "}" else items

    def _pair(self, begin: int, key: Any, end: str, found: dict[str, Any]) -> dict[str, Any]:
        """Add a key, which was read from `begin`, with the value behind its colon, if it has one; return the map."""
        if self._char() == ":":
            self._check_key(begin)
        name = self._name(begin, key, found)
        found[name] = None
        if self._char() == ":":
            self._after_mark()
            if self._char() not in (",", end):
                found[name] = as_json(self._atom(brackets=True))
                self._skip(_IN_BRACKETS)
        return found

    def _after_mark(self) -> None:
        self.at += 1
        self._skip(_IN_BRACKETS)

    # Scalars.

    def _atom(self, brackets: bool = False) -> Any:
        """Read a scalar on one or more lines, or what is in brackets."""
        char = self._char()
        if char in _BRACKETS:
            return self._brackets()
        if char in _IN_QUOTES:
            return self._quoted(char)
        marked = self._is_mark("-", "?", ":") or (brackets and char in ("?", ":"))
        if char in _WRONG_STARTS and (marked or char != "?"):
            raise self.wrong(_WRONG_STARTS[char], self.text[self.at :])
        if not char:
            raise self.wrong("the text ends within brackets: close them")
        if marked or char in "#,]}|>@`":
            raise self.wrong("no value can begin with<>: put text in quotes", char)
        return self._plain(brackets)

    def _plain(self, brackets: bool) -> Any:
        line = _PLAIN_IN_BRACKETS if brackets else _PLAIN
        text, between, begin = "", "", self.at
        word = _matched(line, self.text, self.at)
        while word:
            text += between + word
            self.at += len(word)
            gap = _matched(_GAP, self.text, self.at)
            if "\n" not in gap:
                break
            indents = gap.split("\n")[1:]
            if any("\t" in indent[: self.indent + 1] for indent in indents):
                raise self.wrong(_WRONG_STARTS["\t"], at=self.at + 1)
            self.at += len(gap)
            between = folded(gap)
            if not brackets and len(indents[-1]) <= self.indent:
                break
            word = _matched(line, self.text, self.at)
        if brackets and text.endswith(":"):
            raise self.wrong(f"the colon after<> needs a blank: add one, or {_QUOTE}", text, begin)
        try:
            return resolved(text)
        except ValueError:
            raise self.wrong(f"no configuration can hold the number<>: {_QUOTE}", text, begin) from None

    def _quoted(self, mark: str) -> str:
        pattern, meaning = _IN_QUOTES[mark]
        found = pattern.match(self.text, self.at)
        if not found:
            raise self.wrong(f"the text in {mark} does not end in this document: close it")
        try:
            text = meaning(found.group(1))
        except ValueError as error:
            cause = "the escape<> does not exist: double the backslash, or use single quotes"
            raise self.wrong(cause, str(error)) from None
        self.at = found.end()
        return text

    def _block_scalar(self) -> str:
        """Read a literal (`|`) or folded (`>`) scalar (yaml_parser_scan_block_scalar)."""
        header = _HEADER.match(self.text, self.at)
        if not header:
            raise self.wrong("only a sign, a digit and a comment can follow<>: put text in quotes", self._char())
        folds = self._char() == ">"
        keeps = header.group(1) or header.group(4)
        digit = header.group(2) or header.group(3)
        self.at = header.end()
        return block_scalar(self._block_lines(self._width(digit)), folds, keeps or "")

    def _width(self, digit: str | None) -> int:
        """Return the indentation of a block scalar: that of the digit in its header, else that of its first lines."""
        if digit:
            return max(self.indent, 0) + int(digit)
        blank = _matched(_EMPTY_LINES, self.text, self.at)
        if self.text.startswith("\t", self.at + len(blank)):
            raise self.wrong(_WRONG_STARTS["\t"])
        return max(self.indent + 1, 1, *(len(line) for line in blank.split("\n")))

    def _block_lines(self, width: int) -> Iterator[str]:
        """Read lines without so much indentation, with their line breaks, up to one with text and less of it."""
        while self.at < len(self.text):
            begin = self.at + len(_matched(_SPACES, self.text, self.at, self.at + width))
            line = _matched(_LINE, self.text, begin)
            if begin < self.at + width and line.startswith("\t"):
                raise self.wrong(_WRONG_STARTS["\t"])
            if begin < self.at + width and line.strip("\n"):
                return
            self.at = begin + len(line)
            yield line


def _matched(pattern: Pattern[str], text: str, *span: int) -> str:
    found = pattern.match(text, *span)
    return found.group() if found else ""
