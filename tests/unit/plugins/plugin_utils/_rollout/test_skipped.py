# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes of a play are skipped."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import rows

HOSTS = {f"n{number}": f"h{number}" for number in range(1, 5)}


def info(*away: str, gone: int = 0) -> dict[str, t.Any]:
    """Return a result of node_config_info; the first `gone` nodes do not exist."""
    return {
        "nodes": {name: {} for name in list(HOSTS)[gone:]},
        "away": {name: {"message": f"away since {name}"} for name in away},
    }


@pytest.mark.parametrize(
    ("found", "limit", "expected"),
    [
        (info(), "0", []),
        (info("n1"), "1", ["n1"]),
        (info("n1"), 1, ["n1"]),
        (info("n1", "n2"), None, ["n1", "n2"]),
        (info("n1", "n2"), "", ["n1", "n2"]),
        (info("n1", "n2"), "50%", ["n1", "n2"]),
        # Not a node of the play.
        (info("n1", "other"), "1", ["n1"]),
        (info("n1"), "0", "1 of 4 nodes cannot take part, and at most 0 may be skipped"),
        (info("n1"), "0%", "and at most 0 may be skipped"),
        (info("n1", "n2"), "1", "n1: away since n1\nn2: away since n2"),
        # A percentage counts the Nodes that exist.
        (info("n1", "n2", gone=2), "50%", "at most 1 may be skipped"),
        (info(*HOSTS), None, "4 of 4 nodes cannot take part, so there is nothing to do"),
        (info("n1"), "few", "kubelet_config_max_skipped is 'few'"),
    ],
)
def test_how_many_may_be_skipped(found: t.Any, limit: t.Any, expected: list[str] | str) -> None:
    """More than the limit are refused, and each of them is named."""
    if isinstance(expected, str):
        with pytest.raises(ValueError) as error:
            rows.of_play(found, HOSTS, limit)
        assert expected in str(error.value)
    else:
        assert list(rows.of_play(found, HOSTS, limit)) == expected
