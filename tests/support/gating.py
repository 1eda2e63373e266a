# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A call of the gate before a batch, with the options that most tests have."""

from __future__ import annotations

import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import gate

OPTIONS: dict[str, t.Any] = {
    "max_unavailable": "1",
    "allow_unready": False,
    "pause_configmap": "livenodes-kubelet-rollout",
    "namespace": "kube-system",
    "pause": False,
    "started": False,
    "timeout": 0,
    "lease": None,
    "pods": False,
    "allow_pod_loss": "0",
    "drained": [],
    "window": None,
}


def look(
    session: t.Any, group: list[str], batch: t.Iterable[str], check: bool = False, **options: t.Any
) -> dict[str, t.Any]:
    """Ask whether a batch of a group may begin; return the result. `session`: a Session or what stands in for one."""
    return gate.gate(session, {**OPTIONS, "nodes": list(batch), "group_nodes": group, **options}, check)
