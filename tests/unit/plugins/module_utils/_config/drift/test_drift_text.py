# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift import drift_rows

ROW = {
    "path": "maxPods",
    "declared": 60,
    "pushed": 60,
    "assigned": 60,
    "disk": None,
    "live": 61,
    "kubeadm": None,
    "cause": "flag",
    "message": "why",
    "remedy": "Do.",
}
WHOLE = {
    **dict.fromkeys(ROW),
    "path": "(config source)",
    "assigned": "a",
    "cause": "fell back",
    "message": "it did",
    "remedy": "Mend.",
}


def node(*rows: dict[str, Any], host: str = "") -> dict[str, Any]:
    return {"drift": list(rows), "host": host}


def test_nodes_with_the_same_drift_stand_together_and_long_lists_are_cut() -> None:
    nodes = {
        **{f"n{number}": node(ROW) for number in range(40)},
        "m1": node(),
        "m2": node(WHOLE, ROW, host="not looked at on the node: unreachable"),
        "m3": node(host="looked at"),
    }
    text = drift_rows.lines(nodes)
    assert text == [
        "40 nodes (n0, n1, n2, n3, n4 and 35 more):",
        "  maxPods: declared 60, pushed 60, assigned 60, live 61; flag: why. Do.",
        "1 node (m2): not looked at on the node: unreachable",
        "  (config source): fell back: it did. Mend.",
        "  maxPods: declared 60, pushed 60, assigned 60, live 61; flag: why. Do.",
        "drift: 43 nodes, 41 drifted, 42 differences (flag 41, fell back 1)",
    ]
    assert drift_rows.summary(nodes) == {
        "nodes": 43,
        "drifted": 41,
        "differences": 42,
        "causes": {"flag": 41, "fell back": 1},
        "not_looked_at": ["m2"],
    }


def test_no_drift_is_one_line() -> None:
    assert drift_rows.lines({"n1": node(), "n2": node(host="looked at")}) == [
        "drift: 2 nodes, 0 drifted, 0 differences"
    ]
    gone = {**ROW, **dict.fromkeys(("declared", "pushed", "assigned", "live"))}
    assert "maxPods: set nowhere; flag" in drift_rows.lines({"n1": node(gone)})[1]
