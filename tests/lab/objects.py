# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node objects in the API: which are Ready, and thousands of bare ones for tests of scale."""

from __future__ import annotations

import datetime
import hashlib
from typing import Any

from .api import Api
from .console import LabError

LABEL = "livenodes.lab/bare"


def ready_nodes(api: Api) -> set[str]:
    items = api.call("GET", f"/api/v1/nodes?labelSelector=%21{LABEL.replace('/', '%2F')}")["items"]
    return {
        item["metadata"]["name"]
        for item in items
        if any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in item.get("status", {}).get("conditions", ())
        )
    }


def is_kubelet_alive(api: Api, name: str) -> bool:
    """Return whether the node's kubelet itself reports that it is healthy.

    A Node's condition does not change when its kubelet dies: the lab has no node controller.
    """
    return api.request("GET", f"/api/v1/nodes/{name}/proxy/healthz")[0] == 200


def complete(api: Api, name: str, pod_network: str, annotations: dict[str, str]) -> bool:
    """Set on a Node what `kubeadm join` and the controller manager set; return whether that is done.

    `kubeadm upgrade node` finds the container runtime by the annotation. A kubelet that first sees its pod network
    reports its state immediately; otherwise its next report comes 10 s later. In its first second a kubelet would
    report that it has not checked its pods yet, so this function waits that long.
    """
    status, answer = api.request("GET", f"/api/v1/nodes/{name}")
    if status == 404:
        return False
    if answer.get("spec", {}).get("podCIDR"):
        return True
    made = datetime.datetime.fromisoformat(answer["metadata"]["creationTimestamp"].replace("Z", "+00:00"))
    if (datetime.datetime.now(datetime.UTC) - made).total_seconds() < 2.5:
        return False
    spec = {"podCIDR": pod_network, "podCIDRs": [pod_network]}
    body = {"metadata": {"annotations": annotations}, "spec": spec}
    status, answer = api.request("PATCH", f"/api/v1/nodes/{name}", body, "application/merge-patch+json")
    if status != 200:
        raise LabError(f"completing Node {name}: {status} {answer.get('message')}")
    return True


def add_nodes(api: Api, count: int, prefix: str) -> list[str]:
    """Create bare Node objects over one connection; existing ones are not changed."""
    names = [f"{prefix}{number:05d}" for number in range(count)]
    for name in names:
        api.ensure("/api/v1/nodes", bare_node(name, labels(prefix)))
    return names


def remove_nodes(api: Api, prefix: str) -> None:
    """Remove the bare nodes of a prefix in one request."""
    answer = api.call("DELETE", f"/api/v1/nodes?labelSelector={selector(prefix)}")
    if answer.get("kind") == "Status" and answer.get("status") == "Failure":
        raise LabError(f"removing bare nodes {prefix}*: {answer.get('message')}")


def labels(prefix: str) -> dict[str, str]:
    return {LABEL: hashlib.sha256(prefix.encode()).hexdigest()[:16]}


def selector(prefix: str) -> str:
    """Return these labels as a label selector, quoted for a URL."""
    return "".join(f"{name.replace('/', '%2F')}%3D{value}" for name, value in labels(prefix).items())


def bare_node(name: str, more_labels: dict[str, str], version: str = "v1.20.2") -> dict[str, Any]:
    """Return about 10 KB, like a node in service: 35 images with two names each, conditions, addresses, system data."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    capacity = {"cpu": "16", "memory": "65842232Ki", "ephemeral-storage": "263174212Ki", "pods": "110"}
    capacity |= {"hugepages-1Gi": "0", "hugepages-2Mi": "0"}
    moments = dict.fromkeys(("lastHeartbeatTime", "lastTransitionTime"), "2026-01-01T00:00:00Z")
    conditions = [
        {"type": kind, "status": status, "reason": reason, "message": reason, **moments}
        for kind, status, reason in (
            ("NetworkUnavailable", "False", "RouteCreated"),
            ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            ("PIDPressure", "False", "KubeletHasSufficientPID"),
            ("Ready", "True", "KubeletReady"),
        )
    ]
    images = []
    for number in range(35):
        image = f"registry.invalid/team/service-{number:02d}"
        names = [f"{image}@sha256:{digest}", f"{image}:v1.{number}.0"]
        images.append({"names": names, "sizeBytes": 100000000 + number})
    info = {"architecture": "amd64", "operatingSystem": "linux", "osImage": "Debian GNU/Linux 12 (bookworm)"}
    info |= {"kernelVersion": "6.1.0-18-amd64", "containerRuntimeVersion": "containerd://1.6.20"}
    info |= {"bootID": digest[:32], "machineID": digest[:32], "systemUUID": digest[32:]}
    info |= {"kubeletVersion": version, "kubeProxyVersion": version}
    own = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    own |= {"topology.kubernetes.io/zone": "zone-1"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**more_labels, **own}},
        "spec": {"podCIDR": "10.244.0.0/24", "providerID": f"lab://{name}"},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}, {"type": "Hostname", "address": name}],
            # A kubelet with dynamic configuration reports an empty status before the first assignment.
            "config": {},
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": conditions,
            "images": images,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": info,
        },
    }
