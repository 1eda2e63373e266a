# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import rows

REVERTED = "its kubelet still runs its previous configuration"


@pytest.mark.parametrize(
    ("reasons", "more", "expected"),
    [
        ("Node n1: refused. Nothing was changed.", {}, "Node n1: refused. Nothing was changed"),
        (
            ["Node n1: refused. Nothing was changed."],
            {"then": REVERTED, "untouched": ["n2", "n3"]},
            f"Node n1: refused. Nothing was changed; {REVERTED}. Untouched hosts: n2, n3",
        ),
        (["Node host-1 cannot be reached: no route."], {"host": "host-1"}, "Node n1 cannot be reached: no route"),
        (["Node n1: n1: Node n1 was reverted", ""], {}, "Node n1 was reverted"),
        (
            ["Node n1.example: no heartbeat of Node n1.example, but of n1.example.net"],
            {"host": "n1.example"},
            "Node n1: no heartbeat of the Node, but of n1.example.net",
        ),
        (["silent", None, "was reverted: silent"], {}, "Node n1 was reverted: silent"),
        (["was reverted: silent", "silent."], {}, "Node n1 was reverted: silent"),
        (
            ["no heartbeat of Node n1 since 9:00", "Node n10: other"],
            {},
            "Node n1: no heartbeat of the Node since 9:00; Node n10: other",
        ),
        ([], {}, f"Node n1: {rows.UNKNOWN}"),
        (None, {}, f"Node n1: {rows.UNKNOWN}"),
        (["wasted time", "was"], {}, "Node n1: wasted time"),
        (["Node n1: a\n  b"], {"node": ""}, "a b"),
    ],
)
def test_a_message_names_its_node_once(reasons: t.Any, more: dict[str, t.Any], expected: str) -> None:
    assert rows.node_message(reasons, "n1", **more) == expected


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(["Node n1: ", "n1: ", "Node n1 ", "Node host-1: ", ""]), max_size=3),
            st.sampled_from(["refused.", "Nothing was changed.", "was reverted to another one", "a; b. c", ""]),
        ),
        max_size=4,
    ),
    st.sampled_from(["", "running its previous configuration again", "Node n1: running."]),
)
def test_no_combination_of_reasons_repeats_a_name_or_a_mark(reasons: list[tuple[list[str], str]], then: str) -> None:
    found = rows.node_message(["".join(before) + text for before, text in reasons], "n1", "host-1", then)
    assert found.startswith(("Node n1: ", "Node n1 was ")) and found.count("n1") == 1 and "host-1" not in found
    assert ".;" not in found and ".." not in found and "; ;" not in found and not found.endswith((".", ";", " "))


def test_a_message_has_nothing_that_a_terminal_would_obey() -> None:
    assert rows.node_message("bad\x1b[31m value\x07", "n1") == "Node n1: bad value"
