# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the style gate reads as prose, and from which lines."""

from __future__ import annotations

import sys
import typing as t
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/style"))

import check  # noqa: E402  # found only after the line above
import prose  # noqa: E402


def rows(found: t.Iterable[prose.Paragraph]) -> list[tuple[int, str]]:
    """The paragraphs with the number of their first line."""
    return [(one.lines[0], one.text) for one in found]


def test_a_guide() -> None:
    """Paragraphs, items and cells; no code, no options, no literals."""
    text = """.. _label:

Title
=====

First ``line``
second line with :ref:`a page <label>`.

.. code-block:: yaml

    not: prose

* An item
  in two lines
* another

.. list-table::
  :header-rows: 1

  * - cell one
    - cell two

====  =======
name  meaning
====  =======
"""
    assert rows(prose.of_rst(text)) == [
        (3, "Title"),
        (6, "First X second line with X."),
        (13, "An item in two lines"),
        (15, "another"),
        (20, "cell one"),
        (21, "cell two"),
        (24, "name"),
        (24, "meaning"),
    ]


def test_a_readme() -> None:
    """Headings, cells of tables, links; no fences, no comments."""
    text = (
        "<!-- none\nnone -->\n# Title\n\nSee [the page](page.md)\nand `code`.\n\n```sh\nmake\n```\n| a | `b` |\n|---|\n"
    )
    assert [row for row in rows(prose.of_markdown(text)) if "-" not in row[1]] == [
        (3, "Title"),
        (5, "See the page and X."),
        (11, "a"),
        (11, "X"),
    ]


def test_a_module() -> None:
    """Documentation by key with its lines, messages with X for what they contain; no docstrings, no examples."""
    text = '''"""None of this."""
DOCUMENTATION = r"""
---
options:
  one:
    description:
      - First line
        and O(one) second.
    default: not a text
"""
EXAMPLES = """
- name: none
"""


def f(name):
    """None of this either."""
    return f"{name}: the kubelet of {name} did not start"
'''
    assert rows(prose.of_python(text, documented=False)) == [
        (7, "First line and X second."),
        (18, "X: the kubelet of X did not start"),
    ]


def test_tasks() -> None:
    """Names and messages of tasks; expressions are X."""
    text = "- name: Stop the rollout of {{ nodes }}\n  fail:\n    msg: >-\n      The lease\n      is lost.\n"
    assert rows(prose.of_yaml(text, prose.TASK_TEXTS)) == [(1, "Stop the rollout of X"), (4, "The lease is lost.")]


def test_a_column_has_its_line() -> None:
    """Also behind a replaced literal."""
    (found,) = prose.of_rst("one ``long literal`` two\nthree\n")
    assert found.text == "one X two three"
    assert [found.line(found.text.index(word)) for word in ("one", "two", "three")] == [1, 1, 2]


@pytest.mark.parametrize("name", ["README.md", "docs/docsite/rst/guide_start.rst", "plugins/modules/node_drain.py"])
def test_every_kind_of_file_has_prose(name: str) -> None:
    """The gate reads these files, and finds sentences in them."""
    assert name in check.tracked()
    assert len(prose.of_file(ROOT / name, ROOT)) > 5


def test_the_glossary_is_left_out_and_read() -> None:
    """Its left column becomes textlint's patterns."""
    assert "docs/docsite/rst/glossary.rst" not in check.tracked()
    patterns = t.cast("dict[str, t.Any]", check.settings()["rules"])["@textlint-rule/pattern"]["patterns"]
    assert len(patterns) > 60
