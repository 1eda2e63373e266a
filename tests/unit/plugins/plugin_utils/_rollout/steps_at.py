# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A batch of two nodes, n1 on the host h1 and n2 on h2, at a step."""

from __future__ import annotations

from typing import Any

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.batch import At, Batch, Found, Play

LEASE = {"name": "l"}
ROLLOUT = {"names": ["n1", "n2", "n3"], "failed": {"n9": "why"}, "max_failed": 1, "hosts": ["h1", "h2", "h3"]}
WAIT, PODS, NODE, SOAK = 170, 110, 80, 35
"""Seconds; none is a default of a role, so a step that passes one on has read it."""
VARIABLES = {
    "kubelet_config_max_unavailable": "2",
    "kubelet_config_unready_first": "yes",
    "kubelet_config_pause": "false",
    "kubelet_config_gate_timeout": 60,
    "kubelet_config_allow_pod_loss": "0",
    "kubelet_config_window_minutes": 0,
    "kubelet_config_drain_timeout": 600,
    "kubelet_config_drain_emptydir": False,
    "kubelet_config_drain_force": "true",
    "kubelet_config_wait_timeout": WAIT,
    "kubelet_config_pods_timeout": PODS,
    "kubelet_config_node_seconds": NODE,
}


def place(name: str) -> dict[str, str]:
    return {"namespace": "kube-system", "name": name, "kubeletConfigKey": "kubelet"}


def row(ok: bool = True, delivery: str = "native", name: str = "a", **more: Any) -> dict[str, Any]:
    """Return a row as a module returns it."""
    known = {"ok": ok, "state": "active", "message": "" if ok else "refused", "changed": False, "error": ""}
    return {**known, "delivery": delivery, "source": place(name), **more}


BAD = {"ok": False, "state": "gone", "message": "refused", "changed": False}


def at(
    batch: dict[str, Any] | None = None,
    on_hosts: dict[str, dict[str, Any]] | None = None,
    variables: dict[str, Any] | None = None,
    present: tuple[str, ...] = ("h1", "h2"),
    check_mode: bool = False,
    dump: dict[str, Any] | None = None,
    **found: Any,
) -> At:
    """Return what a step reads. `batch`, `variables`: what differs from the usual. `on_hosts`: variables by host."""
    known: dict[str, Any] = {
        "hosts": {"h1": "n1", "h2": "n2"},
        "names": ["n1", "n2"],
        "sources": {"n1": place("a"), "n2": place("a")},
        "expected": {"n1": place("a"), "n2": place("a")},
        "texts": {},
        "soak": SOAK,
        "lease": LEASE,
        "name": "r1",
        "undoes": None,
        "steps": "switch",
        "before": {"n1": {"variant": "v"}},
        "group": "workers",
        "done": 2,
    }
    values, left = {**VARIABLES, **(variables or {})}, on_hosts or {}
    play = Play(
        variable=values.get,
        of_host=lambda host, name: left.get(host, {}).get(name),
        dump=dump or {},
        host="h1",
        present=present,
        untouched=["h3"],
        check_mode=check_mode,
        forks=5,
    )
    return At(Batch(**{**known, **(batch or {})}), Found(**found), play, ROLLOUT)
