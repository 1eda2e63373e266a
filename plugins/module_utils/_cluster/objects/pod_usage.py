# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The usage of a node: its pods from the API server, and the statistics of its kubelet."""

from __future__ import annotations

import dataclasses
import typing as t
from fractions import Fraction

from ..._config.forecast.node_usage import NodeUsage, Observed, Pod
from ..._config.rules import eviction
from ..._config.values import amounts
from ..api import kubelet_endpoint
from ..api.errors import ApiError
from ..api.parallel import HOPELESS
from ..api.session import Session
from . import pods
from .kubelets import PATIENCE
from .nodes import Node

_Json = t.Mapping[str, t.Any]
_MALFORMED = "its /stats/summary is malformed; is this a kubelet?"


def read(session: Session, node: Node) -> NodeUsage:
    """Return the unfinished pods of a node and their usage (one LIST, one GET).

    If the statistics cannot be read, the result states why. Raises ApiError if the pods cannot be listed.
    """
    query = [("fieldSelector", f"spec.nodeName={node.name},status.phase!=Succeeded,status.phase!=Failed")]
    try:
        found = session.request("GET", pods.PODS, query).get("items") or []
    except ApiError as error:
        raise ApiError(
            error.status,
            f"its pods cannot be listed ({error.message}); grant the verb list on pods, or omit the forecast",
            error.reason,
            transient=error.transient,
        ) from error
    capacity = _amounts(node.capacity)
    try:
        usage = parse(capacity, found, kubelet_endpoint.read(session, node.name, "stats/summary", PATIENCE))
    except ApiError as error:
        if error.status in HOPELESS:
            raise
        usage = _unread(capacity, found, error.message)
    misplaced = {}
    for one, item in zip(usage.pods, found):
        text = pods.misplaced(item, node.labels)
        if text:
            misplaced[one.key] = text
    return dataclasses.replace(usage, misplaced=misplaced)


def _unread(capacity: t.Mapping[str, Fraction], items: t.Sequence[_Json], why: str) -> NodeUsage:
    return NodeUsage(capacity, tuple(pod(item, {}) for item in items), unread=why)


def parse(capacity: t.Mapping[str, Fraction], items: t.Sequence[_Json], summary: _Json) -> NodeUsage:
    """Return the usage for a capacity, Pod objects and an answer of /stats/summary. If that is malformed, the result
    states it: what one kubelet answers must not end the forecast for the others.

    Source: staging/src/k8s.io/kubelet/pkg/apis/stats/v1alpha1 of Kubernetes.
    """
    try:
        return _parsed(capacity, items, summary)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return _unread(capacity, items, _MALFORMED)


def _parsed(capacity: t.Mapping[str, Fraction], items: t.Sequence[_Json], summary: _Json) -> NodeUsage:
    about = summary.get("node") or {}
    root, images = about.get("fs") or {}, (about.get("runtime") or {}).get("imageFs") or {}
    usage = {_place(item["podRef"]): _usage(item, _one_disk(root, images)) for item in summary.get("pods") or []}
    found = tuple(pod(item, usage.get(_place(item["metadata"]), {})) for item in items)
    group: _Json = next((item for item in about.get("systemContainers") or [] if item.get("name") == "pods"), {})
    memory = _number((group.get("memory") or {}).get("workingSetBytes"))
    return NodeUsage(capacity, found, _signals(about, root, images), memory)


def _place(about: _Json) -> tuple[str, str]:
    return about["namespace"], about["name"]


def pod(item: _Json, usage: t.Mapping[str, Fraction]) -> Pod:
    """Return the Pod for a Pod object of the API."""
    about, spec, status = item["metadata"], item["spec"], item.get("status") or {}
    allocated = _allocated(status)
    asked = [_requests(container, allocated) for container in spec["containers"]]
    resources = set().union(*asked)
    return Pod(
        about["namespace"],
        about["name"],
        about.get("uid") or "",
        about.get("creationTimestamp") or "",
        spec.get("priority") or 0,
        # The API shows a static pod as a mirror pod.
        pods.MIRROR in (about.get("annotations") or {}),
        status.get("qosClass") or "BestEffort",
        _total(spec, asked, allocated),
        any(one.get("cpu") and one["cpu"].denominator == 1 for one in asked),
        any("/" in name and not name.split("/")[0].endswith("kubernetes.io") for name in resources),
        usage,
    )


def _allocated(status: _Json) -> dict[str, _Json]:
    """Return what the node has allocated, by container. After a resize it may not be what the spec requests by now."""
    containers = [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]
    return {one["name"]: one.get("allocatedResources") or {} for one in containers}


def _requests(asking: _Json, allocated: t.Mapping[str, _Json]) -> dict[str, Fraction]:
    """Return the requests of a container, or of the spec of a pod itself; a restarted kubelet takes what is allocated.

    Source: pkg/kubelet/allocation UpdatePodFromAllocation.
    """
    given = (asking.get("resources") or {}).get("requests") or {}
    return _amounts({**given, **allocated.get(asking.get("name") or "", {})})


def _amounts(given: t.Mapping[str, t.Any] | None) -> dict[str, Fraction]:
    return {name: amounts.parse_quantity(str(amount)) for name, amount in (given or {}).items()}


def _total(
    spec: _Json, asked: t.Sequence[t.Mapping[str, Fraction]], allocated: t.Mapping[str, _Json]
) -> dict[str, Fraction]:
    """Return the requests of a pod: the sum of its containers and sidecars, or those of an init container if higher,
    in their place those of the pod itself, plus the overhead.

    Source: k8s.io/component-helpers/resource PodRequests; sidecars are init containers with restartPolicy Always, from
    1.28 on. A pod has requests of its own from 1.34 on, for cpu, memory and huge pages alone.
    """
    sidecars: dict[str, Fraction] = {}
    most: dict[str, Fraction] = {}
    for container in spec.get("initContainers") or []:
        at_once = _combined(sum, sidecars, _requests(container, allocated))
        most = _combined(max, most, at_once)
        if container.get("restartPolicy") == "Always":
            sidecars = at_once
    running = _combined(sum, *asked, sidecars)
    requests = {**_combined(max, running, most), **_requests(spec, {})}
    return _combined(sum, requests, _amounts(spec.get("overhead")))


def _combined(combine: t.Callable[[list[Fraction]], t.Any], *parts: t.Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Return for each name of the parts the sum or maximum of their amounts."""
    combined = {}
    for name in set().union(*parts):
        combined[name] = combine([part.get(name, Fraction(0)) for part in parts])
    return combined


def _signals(about: _Json, root: _Json, images: _Json) -> dict[str, Observed]:
    """Return the eviction signals as makeSignalObservations computes them (pkg/kubelet/eviction/helpers.go)."""
    memory, processes = about.get("memory") or {}, about.get("rlimit") or {}
    free = memory.get("availableBytes")
    held = {
        "memory.available": (free, _sum_of(free, memory.get("workingSetBytes"))),
        "nodefs.available": (root.get("availableBytes"), root.get("capacityBytes")),
        "nodefs.inodesFree": (root.get("inodesFree"), root.get("inodes")),
        "imagefs.available": (images.get("availableBytes"), images.get("capacityBytes")),
        "imagefs.inodesFree": (images.get("inodesFree"), images.get("inodes")),
        "pid.available": (_sum_of(processes.get("maxpid"), processes.get("curproc"), -1), processes.get("maxpid")),
    }
    signals = {}
    for signal, (available, capacity) in held.items():
        if available is not None and capacity is not None:
            signals[signal] = Observed(Fraction(available), Fraction(capacity))
    return signals


def _one_disk(root: _Json, images: _Json) -> bool:
    """Return whether images are on the same disk as the node's root file system.

    The kubelet compares devices; the statistics have only sizes and free space, measured some seconds apart.
    """
    size = root.get("capacityBytes") or 0
    free = abs((root.get("availableBytes") or 0) - (images.get("availableBytes") or 0))
    return size == (images.get("capacityBytes") or 0) and free <= size / 100


def _usage(item: _Json, one_disk: bool) -> dict[str, Fraction]:
    """Return by how much each signal rises when a pod ends; signals without statistics are absent."""
    memory = _number((item.get("memory") or {}).get("workingSetBytes"))
    if memory is None:
        memory = _over_containers(item, "memory", "workingSetBytes")
    held = {
        "memory.available": memory,
        eviction.ALLOCATABLE_MEMORY: memory,
        "pid.available": _number((item.get("process_stats") or {}).get("process_count")),
        **_disks(item, "available", "usedBytes", one_disk),
        **_disks(item, "inodesFree", "inodesUsed", one_disk),
    }
    return {signal: amount for signal, amount in held.items() if amount is not None}


def _disks(item: _Json, signal: str, statistic: str, one_disk: bool) -> dict[str, Fraction | None]:
    """Return what a pod uses of the node's disk and of the image disk, by signal."""
    total = _number((item.get("ephemeral-storage") or {}).get(statistic))
    if one_disk:
        return {f"nodefs.{signal}": total, f"imagefs.{signal}": total}
    # Writable layers are on the disk of the images; all other data of the pod is on the node's disk.
    layers = _over_containers(item, "rootfs", statistic)
    rest = total
    if total is not None and layers is not None:
        rest = total - layers
    return {f"nodefs.{signal}": rest, f"imagefs.{signal}": layers}


def _number(value: t.Any) -> Fraction | None:
    if value is None:
        return None
    return Fraction(value)


def _over_containers(item: _Json, part: str, statistic: str) -> Fraction | None:
    """Return the sum of a statistic over the containers of a pod, None if no container has it."""
    values = [(one.get(part) or {}).get(statistic) for one in item.get("containers") or []]
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Fraction(sum(known))


def _sum_of(one: int | None, other: int | None, sign: int = 1) -> int | None:
    if one is None or other is None:
        return None
    return one + sign * other
