# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The row of a node."""

from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import node_row
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.node_row import Row


def test_a_row_has_all_keys_and_those_of_its_stage() -> None:
    assert Row(True, "active").shown(differences=[]) == {
        "ok": True,
        "state": "active",
        "message": "",
        "changed": False,
        "delivery": "none",
        "source": None,
        "error": "",
        "differences": [],
    }


@pytest.mark.parametrize(
    ("rows", "stops"),
    [
        ([], False),
        ([Row(True, "drained")], False),
        ([Row(False, node_row.GONE), Row(False, node_row.REPLACED), Row(True, "drained")], False),
        ([Row(False, "not_drained"), Row(True, "drained")], True),
        ([Row(False, "not_drained"), Row(False, node_row.GONE)], True),
    ],
)
def test_what_ends_a_batch(rows: list[Row], stops: bool) -> None:
    assert node_row.stops({str(index): row.shown() for index, row in enumerate(rows)}) is stops


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\nlines\tand umlauts: äöü", "two\nlines\tand umlauts: äöü"),
        ("\x1b[2J\x1b[31mred\x1b[0m", " red "),
        ("\x1b]0;title\x07bell\x9b1m", " ]0;title bell 1m"),
        ("a\rb\x00c\x7f", "a b c "),
    ],
)
def test_what_a_terminal_would_obey_is_removed(text: str, shown: str) -> None:
    """Also from an error, and from the rows of a result."""
    assert node_row.printable(text) == shown == ClusterError(text).message
    row = node_row.Row(False, "failed", text, error=text).shown()
    assert (row["message"], row["error"]) == (shown, shown)


@pytest.mark.parametrize(
    ("count", "noun", "shown"),
    [
        (1, "node", "1 node (n0)"),
        (5, "pod", "5 pods (n0, n1, n2, n3, n4)"),
        (7, "node", "7 nodes (n0, n1, n2, n3, n4 and 2 more)"),
    ],
)
def test_nodes_in_words(count: int, noun: str, shown: str) -> None:
    assert node_row.shown_nodes([f"n{number}" for number in range(count)], noun) == shown


@pytest.mark.parametrize(("most", "shown"), [(3, "a; b; c"), (2, "a; b; and 1 more"), (1, "a; and 2 more")])
def test_the_first_words_and_how_many_more(most: int, shown: str) -> None:
    assert node_row.first_of(["a", "b", "c"], most, "; ", "; and ") == shown


def test_failures_by_node() -> None:
    rows = {"n1": {"ok": True, "message": "a"}, "n2": {"ok": False, "message": "b"}}
    assert node_row.failures(rows) == {"n2": "b"}
