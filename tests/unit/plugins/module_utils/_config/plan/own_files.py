# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Config files of nodes, what their kubelets run with them, and what the preflight returns of them."""

from __future__ import annotations

from typing import Any

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import merged_dropins
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document

HEADER = {"kind": document.KIND, "apiVersion": document.API_VERSION}
PATH = "/var/lib/kubelet/config.yaml"
OWN: dict[str, Any] = {
    **HEADER,
    "clusterDNS": ["10.96.0.10"],
    "maxPods": 100,
    "staticPodPath": "/etc/kubernetes/manifests",
}
SOURCE = {"namespace": "kube-system", "name": "c", "kubeletConfigKey": "kubelet"}


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


def assigned(record: dict[str, Any]) -> dict[str, Any]:
    reference = {"configMap": {**SOURCE, "uid": "u", "resourceVersion": "1"}}
    status = {"assigned": reference, "active": reference, "lastKnownGood": reference}
    return {"delivery": "checkpoint", "source": SOURCE, "status": status, "own": record}


def changes(made: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {change["path"]: (change["before"], change["after"]) for change in made["nodes"]["n1"]["changes"]}
