# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words that the glossary replaces occur nowhere else: documentation, messages, comments, names of tests."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/docsite/rst/glossary.rst"

# File -> why it may contain them.
EXCEPTIONS = {
    "LICENSE": "the text of the GPL",
    "docs/docsite/rst/glossary.rst": "the table of the words",
}
# A line that matches -> why it may contain them: texts of other programs, quoted.
QUOTED: dict[str, str] = {}


@dataclasses.dataclass(frozen=True)
class Word:
    """A word or phrase of the left column, and what the right column has instead."""

    left: str
    right: str

    @property
    def pattern(self) -> str:
        """A regular expression: whole words, over the ends of lines and of comments too."""
        parts = [r"[\w'-]+" if part == "..." else re.escape(part) for part in self.left.split()]
        return r"\b" + r"[\s#]+".join(parts) + r"\b"


def words() -> list[Word]:
    """Return the words to replace. Raises ValueError when the table is not where it is expected."""
    _before, title, table = PAGE.read_text(encoding="utf-8").partition("\nWords to replace\n")
    found = []
    for row in re.split(r"^  \* - ", table, flags=re.MULTILINE)[2:]:
        left, right, _meaning = re.split(r"^    - ", row, flags=re.MULTILINE)
        found += [Word(literal, " ".join(right.split())) for literal in re.findall(r"``(.+?)``", left)]
    if not title or len(found) < 30:
        raise ValueError(f"{PAGE} has no table of words to replace")
    return found


def texts() -> dict[str, str]:
    """Every text file that git tracks, by name."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    found = {}
    for name in listed.decode().split("\0"):
        path = ROOT / name
        if name in EXCEPTIONS or not path.is_file():
            continue
        content = path.read_bytes()
        if b"\0" not in content:
            found[name] = content.decode("utf-8")
    return found


def hits(text: str, pattern: re.Pattern[str]) -> list[tuple[int, str]]:
    """What the pattern matches in a text, with the numbers of the lines."""
    return [(text.count("\n", 0, match.start()) + 1, match.group()) for match in pattern.finditer(text)]


def test_no_word_of_the_left_column() -> None:
    """Each hit is reported as FILE:LINE: WORD."""
    left = words()
    pattern = re.compile("|".join(word.pattern for word in left), re.IGNORECASE)
    found = []
    for name, text in texts().items():
        rows = text.splitlines()
        for line, hit in hits(text, pattern):
            if not any(re.search(quoted, rows[line - 1]) for quoted in QUOTED):
                use = next(word.right for word in left if re.fullmatch(word.pattern, hit, re.IGNORECASE))
                found.append(f"{name}:{line}: {hit!r} (use {use})")
    assert found == []


@pytest.mark.parametrize(
    "left, text, lines",
    [
        ("fly away", "to Fly away,", [1]),
        ("fly away", "dragonfly awaying", []),
        ("fly away", "# they fly\n# away", [1]),
        ("fly ... away", "which\nmust fly it away", [2]),
        ("fly ... away", "fly it far away", []),
    ],
)
def test_what_counts_as_the_word(left: str, text: str, lines: list[int]) -> None:
    """Whole words, over line ends too; three dots stand for one word."""
    found = hits(text, re.compile(Word(left, "").pattern, re.IGNORECASE))
    assert [line for line, _hit in found] == lines


def test_the_table_is_read() -> None:
    """Every row is found, with its right column."""
    found = words()
    assert {"roll back, revert", "in sync", "must, will, should"} <= {word.right for word in found}
    assert len({word.left for word in found}) == len(found)


def test_the_readme_is_short() -> None:
    """At most 900 words; more belongs into the guides."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900


def test_the_readme_links_to_every_guide() -> None:
    """And to no file that does not exist."""
    links = set(re.findall(r"\]\(((?!https?:)[^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs/docsite/rst").glob("*.rst")} <= links
    assert [link for link in links if not (ROOT / link).is_file()] == []
