# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small API objects as an API server returns them."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation

HEADER = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
Reference = dict[str, str]


def text(**fields: t.Any) -> str:
    """Return a complete KubeletConfiguration as text."""
    return json.dumps({**HEADER, **fields})


def live(**fields: t.Any) -> dict[str, t.Any]:
    """Return /configz of a kubelet that runs such a configuration, including the defaults that it shows."""
    eviction = {
        "imagefs.available": "15%",
        "memory.available": "100Mi",
        "nodefs.available": "10%",
        "nodefs.inodesFree": "5%",
    }
    return {"enforceNodeAllocatable": ["pods"], "evictionHard": eviction, **fields}


def place(name: str = "config-a", key: str = "kubelet") -> Reference:
    """Return a source as in spec.configSource.configMap."""
    return {"namespace": "kube-system", "name": name, "kubeletConfigKey": key}


def reference(name: str = "config-a", revision: str = "7", key: str = "kubelet") -> Reference:
    """Return a source as a kubelet reports it in its status."""
    return {**place(name, key), "uid": f"uid-{name}", "resourceVersion": revision}


def status(
    assigned: Reference | None = None, active: Reference | None = None, good: Reference | None = None, error: str = ""
) -> dict[str, t.Any]:
    """Return a status.config; like the API, it omits the parts that are local."""
    parts = {"assigned": assigned, "active": active, "lastKnownGood": good}
    return {
        **{name: {"configMap": part} for name, part in parts.items() if part},
        **({"error": error} if error else {}),
    }


def node(
    name: str = "n1",
    source: Reference | None = None,
    config: dict[str, t.Any] | None = None,
    version: str = "v1.20.2",
    revision: str = "1",
    ready: str = "True",
    marked: Reference | None = None,
    reported: dict[str, t.Any] | None = None,
    previous: Reference | None = None,
    labels: dict[str, str] | None = None,
    cordoned: dict[str, t.Any] | None = None,
    own: dict[str, t.Any] | None = None,
    delivery: str = "",
    **spec: t.Any,
) -> dict[str, t.Any]:
    """Return a Node object. `config` is status.config, None for a kubelet that does not listen.

    `marked` and `reported` are the corresponding annotations, `previous` is the source that the node ran before,
    `cordoned` the annotation of the collection's own cordon, `own` the record of the node's own values. `delivery` is
    what `marked` names beside its source.
    """
    named = {"delivery": delivery} if delivery else {}
    notes = {
        **({annotation.SOURCE: annotation.text({"configMap": marked, **named})} if marked else {}),
        **({annotation.STATUS: annotation.text(reported)} if reported is not None else {}),
        **({annotation.PREVIOUS: annotation.text({"configMap": previous})} if previous else {}),
        **({annotation.CORDONED: annotation.text(cordoned)} if cordoned is not None else {}),
        **({annotation.OWN: annotation.text(own)} if own is not None else {}),
    }
    return {
        "metadata": {
            "name": name,
            "resourceVersion": revision,
            **({"annotations": notes} if notes else {}),
            "labels": {"kubernetes.io/hostname": name, **(labels or {})},
        },
        "spec": {**({"configSource": {"configMap": source}} if source else {}), **spec},
        "status": {
            "nodeInfo": {"kubeletVersion": version},
            "conditions": [
                {"type": "MemoryPressure", "status": "False"},
                {
                    "type": "Ready",
                    "status": ready,
                    "reason": "KubeletReady",
                    "message": "posting",
                    "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                },
            ],
            **({"config": config} if config is not None else {}),
        },
    }


def configmap(
    name: str = "config-a", content: str | None = None, revision: str = "7", **fields: t.Any
) -> dict[str, t.Any]:
    """Return a ConfigMap object of this collection with one key."""
    return {
        "metadata": {
            "namespace": "kube-system",
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": revision,
            "labels": {"app.kubernetes.io/managed-by": "livenodes.kubelet"},
        },
        "data": {"kubelet": text() if content is None else content},
        **fields,
    }


def pod(
    name: str,
    node: str = "n1",
    namespace: str = "default",
    ready: bool = True,
    restarts: dict[str, int] | None = None,
    static: bool = False,
    owner: tuple[str, str] | None = None,
    **labels: str,
) -> dict[str, t.Any]:
    """Return a Pod object that runs on a node; `restarts` by container."""
    return {
        "metadata": {
            "namespace": namespace,
            "name": name,
            "uid": f"uid-{name}",
            "labels": labels,
            **({"annotations": {"kubernetes.io/config.mirror": "hash"}} if static else {}),
            **({"ownerReferences": [{"kind": owner[0], "name": owner[1], "controller": True}]} if owner else {}),
        },
        "spec": {"nodeName": node},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": str(ready)}],
            "containerStatuses": [
                {"name": container, "restartCount": count} for container, count in (restarts or {"main": 0}).items()
            ],
        },
    }


def workload(
    name: str = "a",
    *requests: dict[str, str],
    qos: str = "BestEffort",
    created: str = "",
    annotations: dict[str, str] | None = None,
    **spec: t.Any,
) -> dict[str, t.Any]:
    """Return a Pod object with one container per request; without requests, one container that requests nothing."""
    return {
        "metadata": {
            "namespace": "default",
            "name": name,
            "uid": f"uid-{name}",
            **({"creationTimestamp": created} if created else {}),
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": {
            "containers": [
                {"name": f"c{number}", "resources": {"requests": asked}}
                for number, asked in enumerate(requests or ({},))
            ],
            **spec,
        },
        "status": {"phase": "Running", "qosClass": qos},
    }


def items(*objects: dict[str, t.Any], more: str = "") -> dict[str, t.Any]:
    """Return a LIST of objects, or one page of it."""
    return {"metadata": {"continue": more} if more else {}, "items": list(objects)}
