# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast import forecast_text


def _row(pod: str | None, reason: str = "OutOfpods", detail: str = "2 allocatable") -> dict[str, Any]:
    return {"namespace": "default" if pod else None, "pod": pod, "uid": "u", "reason": reason, "detail": detail}


def _node(**kinds: list[Any]) -> dict[str, list[Any]]:
    return {"evicted": [], "refused": [], "unknown": [], "notes": [], **kinds}


def _plan(*effects: str | None) -> dict[str, Any]:
    return {
        "nodes": {
            f"n{number}": {"action": "assign" if effect else "none", "effect": effect}
            for number, effect in enumerate(effects)
        }
    }


NODES = {
    "n0": _node(
        refused=[_row(f"p{number}") for number in range(7)],
        evicted=[_row("e", "evictionHard memory.available 4Gi is more than is available", "1Gi")],
    ),
    "n1": _node(
        refused=[_row("q", detail="3 allocatable")],
        unknown=[_row(None, "no statistics", "no answer")],
        notes=["it stays so"],
    ),
    "n2": _node(unknown=[_row("u", "the CPU manager", "")], notes=["it stays so"]),
    "n3": _node(unknown=[_row("v", "the CPU manager", "")]),
}
COUNTS = {
    "nodes_to_restart": 5,
    "nodes_to_drain": 2,
    "nodes_at_risk": 2,
    "nodes_unknown": 1,
    "pods_evicted": 1,
    "pods_refused": 8,
    "pods_unknown": 2,
}
EVICTED = (
    "1 pod (default/e) would be evicted on 1 node (n0): "
    "evictionHard memory.available 4Gi is more than is available (n0: 1Gi)"
)
REFUSED = (
    "8 pods (default/p0, default/p1, default/p2, default/p3, default/p4 and 3 more) would be refused "
    "at this restart or the next on 2 nodes (n0, n1): OutOfpods (n0: 2 allocatable)"
)
NOTE = "2 nodes (n1, n2): it stays so"


def test_summary() -> None:
    assert forecast_text.summary(NODES, _plan("disrupt", "drain", "reboot", "safe", "safe", None)) == COUNTS
    assert set(forecast_text.summary({}, _plan(None)).values()) == {0}


def test_lines() -> None:
    """A line for each reason, with the nodes and pods it holds for."""
    assert forecast_text.lines(NODES, COUNTS) == [
        "forecast: 5 nodes to restart, 2 to drain, 9 pods at risk (1 evicted, 8 refused), 2 pods not known",
        f"  {EVICTED}",
        f"  {REFUSED}",
        "  warning: not known on 1 node (n1): no statistics (n1: no answer)",
        "  warning: 2 pods (default/u, default/v) not known on 2 nodes (n2, n3): the CPU manager",
        f"  warning: {NOTE}",
    ]


def test_refusal() -> None:
    lines = forecast_text.refusal(NODES, COUNTS, 2).split("\n")
    assert lines[:-1] == [
        "the forecast is refused. Nothing was written: 9 pods at risk, 2 allowed.",
        EVICTED,
        REFUSED,
        NOTE,
    ]
    assert "kubelet_config_forecast: warn" in lines[-1]
