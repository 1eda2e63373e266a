# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of unit files, which of them has a word of the command line, and what is masked of them."""

from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unitfile


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[Unit]\nA=no\n[Service]\nA=b\n[Install]\nA=no\n", [("A", "b", 4)]),
        ("\ufeff[Service]\nA=b\n", [("A", "b", 2)]),
        ("[Service]\r\n  A = b c \r\n", [("A", "b c", 2)]),
        ("[Service]\nA=b \\\n# c\n;d\n  e \\\n f\nB=\n", [("A", "b    e   f", 2), ("B", "", 7)]),
        ("[Service]\nA=b \\\\\nB=c\n", [("A", "b \\\\", 2), ("B", "c", 3)]),
        ("[Service]\nA=b \\", [("A", "b", 2)]),
        ("[Service]\nno equals\n", []),
    ],
)
def test_settings_are_read_as_systemd_reads_them(text: str, found: list[tuple[str, str, int]]) -> None:
    assert [(one.key, one.value, one.line) for one in unitfile.settings(text, "/f")] == found


def test_an_empty_assignment_resets_a_list() -> None:
    found = list(unitfile.settings("[Service]\nA=a\nB=x\nA=\nA=b\nA=c\n", "/f"))
    assert [one.value for one in unitfile.effective(found, "A")] == ["b", "c"]


UNIT = """[Service]
# --max-pods=61
Environment="A=--v=2 --hostname-override=%H" B=--node-labels=a=b
ExecStart=/usr/bin/kubelet $A \\
  --max-pods=61 --config /etc/k.yaml \\
  --node-ip=${IP} "--x=a b"
"""


@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("--max-pods=61", ("/unit", 5)),
        ("--max-pods=6", None),
        ("--max-pods=99", None),
        ("max-pods=61", None),
        ("/usr/bin/kubelet", ("/unit", 4)),
        ("--config", ("/unit", 5)),
        ("--hostname-override=n1", ("/unit", 3)),
        ("--node-ip=10.0.0.1", ("/unit", 6)),
        ("--x=a b", ("/unit", 6)),
        ("--v=2", ("/env", 2)),
        ("--v=3", None),
        ("--node-labels=a=b", ("/unit", 3)),
        ("--q=1 2", ("/env", 3)),
        ("", None),
    ],
)
def test_the_place_of_a_word(word: str, place: tuple[str, int] | None) -> None:
    assert unitfile.place(word, [("/unit", UNIT), ("/env", "; --v=2\nC='--v=2'\nD=\"--q='1 2'\"\n")]) == place


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("kubelet --v=2 --max-pods=61", "kubelet --v=2 --max-pods=61"),
        ("a --manifest-url-header=A:b --v=2\nnext", "a --manifest-url-header=******** --v=2\nnext"),
        ("a --manifest-url-header A:b", "a --manifest-url-header ********"),
        ("a --manifest_url_header=A:b", "a --manifest_url_header=********"),
        ('a "--manifest-url-header=A:b c" --v=2', 'a "--manifest-url-header=******** --v=2'),
        ("a --manifest-url-header='A:b \"c\" d' --v=2", "a --manifest-url-header=******** --v=2"),
        ("a --manifest-url-header \\\n  'A:b c' \\\n  --v=2", "a --manifest-url-header ******** --v=2"),
        (
            "a --manifest-url-header=A:b --manifest-url-header=C:d --manifest-url=http://x --v=2",
            "a --manifest-url-header=******** --manifest-url-header=******** --manifest-url=******** --v=2",
        ),
    ],
)
def test_values_of_secret_flags_are_masked(text: str, shown: str) -> None:
    assert unitfile.masked(text) == shown
