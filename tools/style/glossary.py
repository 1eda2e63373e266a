# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the words to replace from the glossary, the only page that contains them."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/docsite/rst/glossary.rst"


@dataclasses.dataclass(frozen=True)
class Word:
    """A word or phrase of the left column, and what the right column has instead."""

    left: str
    right: str

    @property
    def pattern(self) -> str:
        """A regular expression, for Python and JavaScript: whole words, over the ends of lines and of comments too."""
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
