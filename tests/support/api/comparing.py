# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the stages that compare make of the nodes of a cluster in memory: plan and drift."""

from __future__ import annotations

import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import drift, dump
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan


def found_drift(api: t.Any, *names: str, **more: t.Any) -> dict[str, t.Any]:
    """Return the rows of drift."""
    options = dict.fromkeys(("label_selectors", "deliveries", "kubeadm_configs", "current"))
    given = {**options, "nodes": [*names] or None, "node_configs": {}, "hosts": {}, "flags": {}, **more}
    return t.cast("dict[str, t.Any]", drift.detect(api, given, False)["nodes"])


def planned(api: t.Any, pods: int) -> tuple[t.Any, dict[str, t.Any]]:
    """Return a dump, and what a plan does with its nodes."""
    table = dump.dump(api, {"nodes": None, "label_selectors": None, "facts": False}, False)["kubelet_configz"]
    return table, plan.make_plan(plan.Request(table, {"maxPods": pods}))["nodes"]
