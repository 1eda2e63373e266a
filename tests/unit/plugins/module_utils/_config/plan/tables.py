# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dumps and files of nodes, what their kubelets run with them, and what plans make of both."""

from __future__ import annotations

from typing import Any

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields, merged_dropins
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from tests.support.api import objects

from .. import kubelet_model as model

LIVE = fields.restore(model.configz({}))
CHECKPOINTS = {"n0": "checkpoint"}


def table(*configs: dict[str, Any], **row: Any) -> dict[str, Any]:
    nodes = {
        f"n{position}": {
            "variant": document.variant(config),
            "kubelet_version": "v1.20.2",
            "source": None,
            "status": None,
            **row,
        }
        for position, config in enumerate(configs)
    }
    return {"variants": {document.variant(config): config for config in configs}, "nodes": nodes}


def of_n1(live: dict[str, Any], **row: Any) -> dict[str, Any]:
    """Return the dump of the node n1 alone, of 1.36 unless the row has another version."""
    first = {"variant": document.variant(live), "kubelet_version": "v1.36.2", "source": None, "status": None, **row}
    return {"variants": {first["variant"]: live}, "nodes": {"n1": first}}


def planned(*given: Any, **options: Any) -> dict[str, Any]:
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
            live = fields.restore(model.configz(made["variants"][planned["variant"]]))
            source, status = reference(planned["configmap"]), running(planned["configmap"])
        variants[document.variant(live)] = live
        own = planned.get("own") or row.get("own")
        nodes[name] = {**row, "variant": document.variant(live), "source": source, "status": status, "own": own}
    return {"variants": variants, "nodes": nodes}


def reference(name: str = "other") -> dict[str, Any]:
    return objects.place(name)


def running(active: str = "other", assigned: str = "", error: str = "") -> dict[str, Any]:
    """Return the status of a kubelet that runs a source; by default it is also the assigned one."""
    return objects.status(objects.reference(assigned or active), objects.reference(active), error=error)


def record(source: str = "c", **own: list[Any]) -> dict[str, Any]:
    return {"complete": True, "source": source, "absent": [], "own": own}


HEADER = {"kind": document.KIND, "apiVersion": document.API_VERSION}
PATH = "/var/lib/kubelet/config.yaml"
"""The node's own config file."""
OWN: dict[str, Any] = {
    **HEADER,
    "clusterDNS": ["10.96.0.10"],
    "maxPods": 100,
    "staticPodPath": "/etc/kubernetes/manifests",
}
SOURCE = reference("c")


def facts(own: Any, read: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "kubelet": {"local_config": PATH},
        "own": [{"path": PATH, "content": own}, {"path": "/d/10-x.conf", "content": {"maxPods": 5}}],
        "disk": {
            "path": "/x",
            "content": read or own,
            "checkpoint": {"uid": "u", "resourceVersion": "7"} if read else None,
        },
    }


def of_36(config: dict[str, Any], *dropins: dict[str, Any]) -> dict[str, Any]:
    return {**merged_dropins.effective(config, dropins or None, 36), **HEADER}


def facts_36(own: Any, read: dict[str, Any], **dropins: dict[str, Any] | None) -> dict[str, Any]:
    rows = [{"path": f"/d/{name}.conf", "content": content} for name, content in dropins.items()]
    place = {"folder": "/d/", "link": "/d/90-livenodes-kubelet.conf"}
    return {**facts(own, read), "own": [{"path": PATH, "content": own}, *rows], "dropin": place}


def assigned(record: dict[str, Any], delivery: str = "checkpoint", name: str = "c") -> dict[str, Any]:
    """Return what the dump of a node has that runs a source of this name."""
    return {"delivery": delivery, "source": reference(name), "status": running(name), "own": record}


def changes(made: dict[str, Any], name: str = "n1") -> dict[str, tuple[Any, Any]]:
    return {change["path"]: (change["before"], change["after"]) for change in made["nodes"][name]["changes"]}


def variant(made: dict[str, Any], name: str = "n1") -> Any:
    """Return the configuration that a node gets."""
    return made["variants"][made["nodes"][name]["variant"]]
