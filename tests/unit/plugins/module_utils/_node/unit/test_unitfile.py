# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit files and environment files are read by systemd's rules."""

from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import (
    unitfile,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A=b\n#c\n;d\nB='x y'\n", {"A": "b", "B": "x y"}),
        ('A="b \\"c\\" \\$d \\x"  \n', {"A": 'b "c" $d \\x'}),
        ("A=b\\\nc\n", {"A": "bc"}),
        ("A=b \\\n  c  \n", {"A": "b   c"}),
        ("export A=b\nA B=c\n1A=b\nC=\n", {"C": ""}),
        ("A=--x='y z'\n", {"A": "--x='y z'"}),
        ("A='b'\"c\" d\n", {"A": "bcd"}),
        ("A=1\nA=2", {"A": "2"}),
        ("# c \\\nA=b\nB=c\n", {"B": "c"}),
        ("A='b\\'\n", {"A": "b\\"}),
        ('A="b\nc"\n', {"A": "b\nc"}),
        ("no equals\nA=b\n", {"A": "b"}),
        ("A", {}),
    ],
)
def test_environment_files_are_read_as_systemd_reads_them(text: str, found: dict[str, str]) -> None:
    assert {variable.name: variable.value for variable in unitfile.environment_file(text)} == found


def test_variables_know_their_line() -> None:
    text = "# one\nA=b\\\nc\n\nB='x\ny'\nC=d\n"
    assert [(variable.name, variable.line) for variable in unitfile.environment_file(text)] == [
        ("A", 2),
        ("B", 5),
        ("C", 7),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" a  b ", ["a", "b"]),
        ('"a b" \'c "d\'', ["a b", 'c "d']),
        ("a\\x20b \\101\\ts", ["a b", "A\ts"]),
        ('--x="y z"q', ["--x=y zq"]),
        ("", []),
        ('""', [""]),
    ],
)
def test_settings_are_split_as_systemd_splits_them(text: str, words: list[str]) -> None:
    assert [token.text for token in unitfile.split(text)] == words


@pytest.mark.parametrize("text", ['"a', "a\\q", "b\\xzz", "a\\"])
def test_what_systemd_refuses_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):
        unitfile.split(text)


def test_quoting_is_undone_by_reading() -> None:
    for word in ("a b", 'a"b', "a\\b", "a\nb\tc", "plain", "it's"):
        assert [token.text for token in unitfile.split(unitfile.quoted(word))] == [word]
    assert unitfile.quoted("100%") == '"100%%"'
