# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the prose of a file: paragraphs of guides and READMEs, documentation of plugins and roles, task names, messages.

Code, literals and Jinja expressions become the word `X`. Each character of a paragraph keeps the line it comes from.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import typing as t
from pathlib import Path

import yaml

SENTENCE = re.compile(r"\w+,? [a-z]+,? [\w-]+,? [\w-]+")
DOCUMENTED = ("DOCUMENTATION", "RETURN")
DESCRIPTIONS = {"description", "short_description", "notes", "details", "requirements", "why", "alternative"}
TASK_TEXTS = {"name", "msg", "fail_msg", "success_msg"}
LISTS = re.compile(r"^(?:[*-]|\d+\.|#\.)\s+")


@dataclasses.dataclass
class Paragraph:
    """A paragraph in one line of text, and for each of its characters the line of the file."""

    text: str
    lines: list[int]

    def replace(self, pattern: str, replacement: str) -> None:
        """Replace a pattern; the lines follow. `replacement` may refer to groups."""
        text, lines, end = "", [], 0
        for match in re.finditer(pattern, self.text, re.DOTALL):
            new = match.expand(replacement)
            text += self.text[end : match.start()] + new
            lines += self.lines[end : match.start()] + [self.lines[match.start()]] * len(new)
            end = match.end()
        self.text, self.lines = text + self.text[end:], lines + self.lines[end:]

    def line(self, column: int) -> int:
        """Return the line of the file that a column of the text comes from; columns begin with 0."""
        return self.lines[min(column, len(self.lines) - 1)]


def joined(rows: t.Iterable[tuple[int, str]]) -> Paragraph:
    """Return the paragraph that these numbered lines make."""
    text, lines = "", []
    for number, row in rows:
        row = f" {row.strip()}" if text else row.strip()
        text += row
        lines += [number] * len(row)
    return Paragraph(text, lines)


def paragraphs(rows: t.Iterable[tuple[int, str]]) -> t.Iterator[Paragraph]:
    """Split numbered lines at empty ones, at items of lists and where the indentation changes."""
    held: list[tuple[int, str]] = []
    indent = 0
    for number, row in rows:
        body = row.lstrip()
        depth = len(row) - len(body)
        starts = False
        while LISTS.match(body):
            starts = True
            width = t.cast("re.Match[str]", LISTS.match(body)).end()
            body, depth = body[width:], depth + width
        if held and (starts or not body or depth != indent):
            yield joined(held)
            held = []
        if body:
            held.append((number, body))
            indent = depth
    if held:
        yield joined(held)


def of_rst(text: str) -> t.Iterator[Paragraph]:
    """Yield the paragraphs of a reStructuredText page, without blocks of code, pictures, comments and options."""
    rows: list[tuple[int, str]] = []
    skipped: int | None = None
    table = False
    for number, row in enumerate(text.splitlines(), 1):
        if re.fullmatch(r"\s*=+(?: +=+)+", row):
            table = True
            continue
        table = table and bool(row.strip())
        if table:
            for cell in re.split(r" {2,}", row.strip()):
                rows += [(number, cell), (number, "")]
            continue
        depth = len(row) - len(row.lstrip())
        if skipped is not None and (not row.strip() or depth > skipped):
            rows.append((number, ""))
            continue
        skipped = None
        directive = re.match(r"\s*\.\.(?: ([\w-]+)::| |$)", row)
        if directive or re.fullmatch(r"\s*(?:([=~^\"'#*-])\1{3,}|:[\w-]+:.*)", row):
            rows.append((number, ""))
            if directive and directive.group(1) not in ("list-table", "note", "warning", "tip", "seealso", "important"):
                skipped = depth
            continue
        rows.append((number, row))
    for found in paragraphs(rows):
        found.replace(r"``.+?``", "X")
        found.replace(r":[\w:]+:`([^`<]+?)(?: <[^`]+>)?`", "X")
        found.replace(r"`([^`<]+?)(?: <[^`]+>)?`_+", r"\1")
        found.replace(r"\*\*?([^*]+)\*\*?", r"\1")
        yield found


def of_markdown(text: str) -> t.Iterator[Paragraph]:
    """Yield the paragraphs of a Markdown page, and the cells of its tables, without blocks of code and comments."""
    rows: list[tuple[int, str]] = []
    fenced = comment = False
    for number, row in enumerate(text.splitlines(), 1):
        if row.lstrip().startswith("```"):
            fenced = not fenced
        comment = comment or "<!--" in row
        if fenced or comment or row.lstrip().startswith("```") or (row.startswith("    ") and not rows[-1][1].strip()):
            rows.append((number, ""))
        elif row.lstrip().startswith("|"):
            for cell in re.split(r"(?<!\\)\|", row.strip().strip("|")):
                rows += [(number, cell), (number, "")]
        elif row.startswith("#"):
            rows += [(number, row.lstrip("# ")), (number, "")]
        else:
            rows.append((number, row))
        comment = comment and "-->" not in row
    for found in paragraphs(rows):
        found.replace(r"`[^`]+`", "X")
        found.replace(r"!?\[([^\]]*)\]\([^)]*\)", r"\1")
        found.replace(r"\*\*?([^*]+)\*\*?", r"\1")
        yield found


def scalars(node: yaml.Node, key: str = "") -> t.Iterator[tuple[str, yaml.ScalarNode]]:
    """Yield the texts of a YAML document, each with the key it stands under."""
    if isinstance(node, yaml.ScalarNode):
        yield key, node
    elif isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield from scalars(one, key)
    elif isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield from scalars(value, str(name.value))


def of_yaml(text: str, keys: set[str] | None, first: int = 1) -> t.Iterator[Paragraph]:
    """Yield the texts under the given keys (None: all) of YAML whose first line has the given number."""
    for document in yaml.compose_all(text, Loader=yaml.SafeLoader):
        for key, node in scalars(document) if document else ():
            if keys is not None and key not in keys:
                continue
            raw = text[node.start_mark.index : node.end_mark.index]
            rows = list(enumerate(raw.splitlines(), first + node.start_mark.line))
            block = node.style in ("|", ">")
            rows = rows[1:] if block else [(number, row.strip()) for number, row in rows]
            for found in paragraphs(rows):
                found.replace(r"^['\"]|['\"]$", "")
                found.replace(r"''", "'")
                found.replace(r"\{\{.*?\}\}|\{%.*?%\}", "X")
                found.replace(r"\b[A-Z]+\([^()]*\)|``.+?``|`[^`]+`", "X")
                yield found


def of_python(text: str, documented: bool) -> t.Iterator[Paragraph]:
    """Yield the documentation of a plugin (all texts in capitals if `documented`) and the messages in its code."""
    tree = ast.parse(text)
    texts = list(_assigned_texts(tree))
    documentation = [node for name, node in texts if name in DOCUMENTED or (documented and name.isupper())]
    for node in documentation:
        yield from of_yaml(str(node.value), DESCRIPTIONS, node.lineno)
    examples = [node for name, node in texts if name == "EXAMPLES"]
    ignored = {*documentation, *examples, *_docstrings(tree), *_parts_of_format_strings(tree)}
    for node in ast.walk(tree):
        message = None if node in ignored else _message(node)
        if message and SENTENCE.search(message):
            line = t.cast("ast.expr", node).lineno
            yield Paragraph(" ".join(message.split()), [line] * len(message))


def _assigned_texts(tree: ast.AST) -> t.Iterator[tuple[str, ast.Constant]]:
    """Yield the literal texts that a module assigns to names, each with its name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield getattr(node.targets[0], "id", ""), node.value


def _docstrings(tree: ast.AST) -> t.Iterator[ast.Constant]:
    """Yield the literals that are statements: docstrings and the like."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _parts_of_format_strings(tree: ast.AST) -> t.Iterator[ast.AST]:
    """Yield the nodes in format strings that are no message of their own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield from (part for part in ast.walk(node) if part is not node and not isinstance(part, ast.JoinedStr))
        elif isinstance(node, ast.FormattedValue):
            yield from (part for part in ast.walk(node.value) if isinstance(part, ast.JoinedStr))


def _message(node: ast.AST) -> str | None:
    """Return the text of a literal or format string, None for any other node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
    return None


def of_file(path: Path, root: Path) -> list[Paragraph]:
    """Return the prose of a file of the repository."""
    text = path.read_text(encoding="utf-8")
    place = path.relative_to(root).as_posix()
    if path.suffix == ".rst":
        found = of_rst(text)
    elif path.suffix == ".md":
        found = of_markdown(text)
    elif path.suffix == ".py":
        found = of_python(text, place.startswith("plugins/doc_fragments/"))
    elif place.startswith(("changelogs/fragments/", "tools/data/faults")):
        found = of_yaml(text, None)
    elif place.startswith("plugins/") or path.name == "argument_specs.yml":
        found = of_yaml(text, DESCRIPTIONS)
    else:
        found = of_yaml(text, TASK_TEXTS)
    return [one for one in found if SENTENCE.search(one.text)]
