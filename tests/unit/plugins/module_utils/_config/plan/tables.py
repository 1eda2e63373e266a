# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dumps, and what plans make of them."""

from __future__ import annotations

from typing import Any

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import complete_config
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import identity

from .. import kubelet_model as model

LIVE = complete_config.restore(model.configz({}))
CHECKPOINTS = {"n0": "checkpoint"}


def table(*configs: dict[str, Any], **row: Any) -> dict[str, Any]:
    nodes = {
        f"n{position}": {
            "variant": identity.variant(config),
            "kubelet_version": "v1.20.2",
            "source": None,
            "status": None,
            **row,
        }
        for position, config in enumerate(configs)
    }
    return {"variants": {identity.variant(config): config for config in configs}, "nodes": nodes}


def planned(*given: Any, **options: Any) -> dict[str, Any]:
    """Return the plan for a request."""
    return plan.make_plan(plan.Request(*given, **options))


def rules(made: dict[str, Any], name: str = "n0") -> list[tuple[str, str, str]]:
    return [(problem["severity"], problem["rule"], problem["path"]) for problem in made["nodes"][name]["problems"]]


def applied(table: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
    """Return the dumped table after kubelets activated the sources of the plan."""
    nodes, variants = {}, {}
    for name, row in table["nodes"].items():
        planned = made["nodes"][name]
        live, source, status = table["variants"][row["variant"]], row["source"], row["status"]
        if planned["action"] == "assign":
            live = complete_config.restore(model.configz(made["variants"][planned["variant"]]))
            source = {"namespace": "kube-system", "name": planned["configmap"], "kubeletConfigKey": "kubelet"}
            full = {"configMap": {**source, "uid": "u", "resourceVersion": "1"}}
            status = {"assigned": full, "active": full, "lastKnownGood": None}
        variants[identity.variant(live)] = live
        own = planned.get("own") or row.get("own")
        nodes[name] = {**row, "variant": identity.variant(live), "source": source, "status": status, "own": own}
    return {"variants": variants, "nodes": nodes}


def reference(name: str = "other") -> dict[str, Any]:
    return {"namespace": "kube-system", "name": name, "kubeletConfigKey": "kubelet"}


def status(active: str | None, assigned: str | None = None, error: str | None = None) -> dict[str, Any]:
    def full(name: str | None) -> dict[str, Any] | None:
        return {"configMap": {**reference(name), "uid": "u", "resourceVersion": "1"}} if name else None

    return {"assigned": full(assigned or active), "active": full(active), "error": error}
