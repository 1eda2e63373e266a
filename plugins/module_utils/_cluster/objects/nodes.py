# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node objects, reduced to the fields in use, and their config status."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._config import delivery as deliveries
from ..._config.delivery import AUTO, CHECKPOINT, NATIVE, NONE
from ..._config.minors import source_form
from ..._config.plan import own_values
from ..._config.values import annotation, following, paths
from ..._config.values import reference as references
from ..._config.values.forms import LATER, SourceForm
from ..._config.values.reference import same_place
from ..._config.values.short_texts import minor_of

describe = references.describe

SYNC = "failed to sync: "
# The minors whose kubelet follows Node.spec.configSource.
_FOLLOWING = deliveries.of(NATIVE).minors
# Labels with the roles of a node, as kubectl reads them (pkg/printers of kubectl, findNodeRoles).
_ROLE_PREFIX, _ROLE = "node-role.kubernetes.io/", "kubernetes.io/role"
# The annotations that are decoded where they are asked for.
_READERS: dict[str, t.Callable[[t.Mapping[str, t.Any]], t.Any]] = {
    annotation.OWN: lambda notes: own_values.read(notes.get(annotation.OWN)),
    following.FOLLOW: following.orders,
    following.FOLLOWER: following.answer,
}


@dataclasses.dataclass(frozen=True)
class SourceAndStatus:
    """A node as one delivery sees it: the reference it should run (None: its local config), and its status.

    The status has the shape of Node.status.config; None means that it was never reported.
    """

    source: dict[str, str] | None = None
    status: dict[str, t.Any] | None = None

    def part(self, name: str) -> dict[str, str] | None:
        """Return the reference under `assigned`, `active` or `lastKnownGood` of the status, None for local."""
        found: dict[str, dict[str, str]] = (self.status or {}).get(name) or {}
        return found.get("configMap")

    def parts(self) -> list[dict[str, str] | None]:
        """Return the three references of the status."""
        return list(map(self.part, annotation.PARTS))


@dataclasses.dataclass(frozen=True)
class Node:
    """The fields of a Node object that this collection uses.

    `native` holds spec.configSource and status.config, `noted` the annotations of the other deliveries. `delivery`
    names the one that counts, or is `none` if no configuration was delivered yet.
    """

    name: str
    resource_version: str
    kubelet_version: str
    native: SourceAndStatus
    noted: SourceAndStatus
    delivery: str
    ready: str
    ready_reason: str
    heartbeat: str
    unschedulable: bool
    # Content of the annotation `previous`: None if there is none, without `configMap` for the local config.
    previous: dict[str, t.Any] | None
    # The mark of a cordon by this collection: None if there is none.
    cordoned: dict[str, str] | None
    capacity: dict[str, str]
    labels: dict[str, str]
    taints: list[dict[str, str]]
    addresses: dict[str, str]
    """The first address of each type."""
    os: str
    arch: str
    ready_since: str = ""
    """Since when its condition Ready has its current status."""
    uid: str = ""
    """Another one for a Node that was deleted and created again."""
    machine: dict[str, str] = dataclasses.field(default_factory=dict)
    """The machine and the Node, by the keys of annotation.MACHINE, as far as known."""
    assigned_to: dict[str, str] = dataclasses.field(default_factory=dict)
    """The same, when the source in the annotation was assigned."""
    noted_delivery: str = CHECKPOINT
    """The delivery of the source in the annotation."""
    seeded: bool = False
    """Whether the machine came with the source in the annotation, from a seed."""
    form: SourceForm = LATER
    """How its kubelet reads `native`, and reports."""
    place: str = ""
    """From where its kubelet has its configuration; empty if its form reports no such place."""
    notes: t.Mapping[str, t.Any] = dataclasses.field(default_factory=dict)
    """Its annotations of _READERS. They are decoded for the few callers that need them: a batch reads all nodes of its
    group."""
    misread: dict[str, str] = dataclasses.field(default_factory=dict)
    """What is malformed in its sources, its status and its marks, as in `malformed`."""

    _decoded: dict[str, t.Any] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)

    def _read(self, name: str) -> t.Any:
        """Return what an annotation of _READERS holds, and what is malformed in it."""
        if name not in self._decoded:
            self._decoded[name] = _READERS[name](self.notes)
        return self._decoded[name]

    @property
    def own(self) -> dict[str, t.Any] | None:
        """The record of its own values (own_values.py), None if there is none."""
        return t.cast("dict[str, t.Any] | None", self._read(annotation.OWN)[0])

    @property
    def orders(self) -> following.Orders:
        """What its follower is asked for; the defaults without that annotation."""
        return t.cast("following.Orders", self._read(following.FOLLOW)[0])

    @property
    def follower(self) -> following.Answer | None:
        """What its follower reports, None without one."""
        return t.cast("following.Answer | None", self._read(following.FOLLOWER)[0])

    @property
    def malformed(self) -> dict[str, str]:
        """What is malformed and how to repair it, by annotation or field; such values are absent from all else."""
        of_follower = _faults(self._read(following.FOLLOW)[1], self._read(following.FOLLOWER)[1])
        return {**self.misread, **self._read(annotation.OWN)[1], **of_follower}

    @property
    def roles(self) -> list[str]:
        """The roles that `kubectl get nodes` shows, an empty list for <none>."""
        found = {self.labels.get(_ROLE, "")}
        found.update(key[len(_ROLE_PREFIX) :] for key in self.labels if key.startswith(_ROLE_PREFIX))
        return sorted(filter(None, found))

    @property
    def control_plane(self) -> bool:
        """Whether it is a control-plane node; kubeadm before 1.24 used the role `master`."""
        return not {"control-plane", "master"}.isdisjoint(self.roles)

    @property
    def on_node(self) -> bool:
        """Whether its delivery is one whose source is copied to the node."""
        return deliveries.of(self.delivery).on_node

    @property
    def minor(self) -> int:
        """The minor version of the kubelet, 0 if it is unknown."""
        return minor_of(self.kubelet_version) or 0

    @property
    def listening(self) -> bool:
        """Whether its kubelet follows Node.spec.configSource.

        A kubelet with --dynamic-config-dir always reports its status, at least an empty one; others never do.
        """
        return self.native.status is not None and (not self.minor or self.minor in _FOLLOWING)

    @property
    def left_over(self) -> bool:
        """Whether spec.configSource and status.config are left over from an older kubelet, if they exist.

        No kubelet follows, updates or clears them since 1.24 (kubernetes PR 106932).
        """
        return self.minor >= _FOLLOWING.stop

    @property
    def reimaged(self) -> bool:
        """Whether its source was assigned to another machine, so that this one does not have it on its disk.

        With native delivery, every kubelet fetches the source itself.
        """
        return self.on_node and annotation.is_another(self.assigned_to, self.machine)

    def side(self, delivery: str) -> SourceAndStatus:
        """Return the node as one delivery sees it, including what is left over."""
        if deliveries.of(delivery).on_node:
            return self.noted
        return self.native

    def named(self, delivery: str) -> bool:
        """Return whether its source is there for this delivery, and not for the other one with an annotation."""
        return not deliveries.of(delivery).on_node or self.noted_delivery == delivery

    @property
    def source(self) -> dict[str, str] | None:
        """What the node should run, None for its local config."""
        return self._current.source

    @property
    def status(self) -> dict[str, t.Any] | None:
        """The status it reports, None if it never did."""
        return self._current.status

    @property
    def _current(self) -> SourceAndStatus:
        if not self.on_node and self.left_over:
            return SourceAndStatus()
        return self.side(self.delivery)

    @property
    def fault(self) -> str:
        """What is malformed in its source or status, so that neither shows what it runs; empty if nothing is."""
        if not self.on_node and self.left_over:
            return ""
        return self.source_fault(self.delivery) or self.misread.get(deliveries.of(self.delivery).status_at, "")

    def source_fault(self, delivery: str) -> str:
        """Return what is malformed in its source as one delivery sees it, empty if nothing is."""
        return self.misread.get(deliveries.of(delivery).source_at, "")

    def part(self, name: str) -> dict[str, str] | None:
        """Return the reference under `assigned`, `active` or `lastKnownGood` of its status, None for local."""
        return self._current.part(name)

    @property
    def error(self) -> str:
        """The error in its status, empty if there is none."""
        return (self.status or {}).get("error") or ""

    @property
    def references(self) -> list[dict[str, str]]:
        """All ConfigMap references of the node, of every delivery."""
        found = [(self.previous or {}).get("configMap")]
        for side in (self.native, self.noted):
            found += [side.source, *side.parts()]
        return [reference for reference in found if reference and reference.get("name")]

    @property
    def uids(self) -> set[str]:
        """The uids of all ConfigMaps that the node has, also of those whose name it does not report."""
        if not self.form.by_uid:
            return set()
        return {part["uid"] for part in self.native.parts() if part and part.get("uid")}

    def as_reported(self, reference: dict[str, str]) -> dict[str, str]:
        """Return a full reference as the kubelet reports it."""
        if self.on_node:
            return reference
        return self.form.as_reported(reference)

    @property
    def by_follower(self) -> bool:
        """Whether a follower takes its source to the node."""
        return self.on_node and self.follower is not None and self.orders.transport == following.API

    @property
    def reads_by_role(self) -> bool:
        """Whether the node needs a Role to read its source: for its follower, and before the Node authorizer."""
        return self.by_follower or (self.form.by_role and not self.on_node)

    def with_delivery(self, delivery: str) -> Node:
        """Return the node with `delivery` as the one that counts; `auto` changes nothing."""
        if delivery in (AUTO, self.delivery):
            return self
        return dataclasses.replace(self, delivery=delivery)


def trim(node: dict[str, t.Any]) -> Node:
    """Return the Node for a Node object of the API. Never raises, whatever its annotations contain."""
    meta, spec, status = node["metadata"], _mapping(node, "spec"), _mapping(node, "status")
    notes, system = _mapping(meta, "annotations"), _mapping(status, "nodeInfo")
    ready = _ready(status)
    kubelet_version = _text(system, "kubeletVersion")
    form = source_form(minor_of(kubelet_version) or 0)
    records, place = form.records(notes, spec, status)
    noted = deliveries.noted(records.delivery)
    found = Node(
        name=meta["name"],
        resource_version=_text(meta, "resourceVersion"),
        kubelet_version=kubelet_version,
        native=SourceAndStatus(records.spec, records.config),
        noted=SourceAndStatus(records.source, records.status),
        noted_delivery=noted,
        seeded=records.seeded,
        delivery=noted if annotation.SOURCE in notes or annotation.STATUS in notes else NONE,
        previous=records.previous,
        ready=_text(ready, "status") or "Unknown",
        ready_reason=": ".join(filter(None, (ready.get("reason"), ready.get("message")))),
        heartbeat=_text(ready, "lastHeartbeatTime"),
        ready_since=_text(ready, "lastTransitionTime"),
        unschedulable=bool(spec.get("unschedulable")),
        labels=_mapping(meta, "labels"),
        cordoned=records.cordoned,
        taints=spec.get("taints") or [],
        # Reversed: of several addresses of one type, the first counts.
        addresses={item["type"]: item["address"] for item in reversed(status.get("addresses") or [])},
        os=_text(system, "operatingSystem"),
        arch=_text(system, "architecture"),
        uid=_text(meta, "uid"),
        machine=annotation.machine(meta, system),
        assigned_to=records.machine,
        capacity=_mapping(status, "capacity"),
        form=form,
        place=place,
        notes=paths.only(notes, _READERS),
        misread=records.malformed,
    )
    if _is_native(found):
        return found.with_delivery(NATIVE)
    return found


def _faults(of_orders: str, of_follower: str) -> dict[str, str]:
    """Return what is malformed in the annotations of a follower, by annotation."""
    found = {}
    if of_orders:
        found[following.FOLLOW] = f"its annotation {following.FOLLOW} is malformed: {of_orders}. Assign a source again"
    if of_follower:
        found[following.FOLLOWER] = (
            f"its annotation {following.FOLLOWER} is malformed: {of_follower}. Run the playbook follow, "
            "which starts the follower again"
        )
    return found


def _ready(status: dict[str, t.Any]) -> dict[str, str]:
    """Return the first condition Ready, empty if there is none."""
    for item in status.get("conditions") or []:
        if item.get("type") == "Ready":
            return t.cast("dict[str, str]", item)
    return {}


def _is_native(found: Node) -> bool:
    """Return whether native delivery counts: without our annotations, or with a source and none that can be read."""
    unread = found.noted.source is None and (found.noted.status is None or annotation.STATUS in found.misread)
    return found.listening and (found.delivery == NONE or bool(unread and found.native.source))


def _mapping(holder: dict[str, t.Any], key: str) -> dict[str, t.Any]:
    return holder.get(key) or {}


def _text(holder: dict[str, t.Any], key: str) -> str:
    return holder.get(key) or ""


def settled(node: Node) -> bool:
    """Return whether the kubelet runs what the node should run, without an error and as far as can be read."""
    return (
        not node.error
        and not node.fault
        and not node.reimaged
        and same_place(node.source, node.part("assigned"))
        and node.part("assigned") == node.part("active")
    )


def fell_back(node: Node) -> bool:
    """Return whether a node has refused its source for good, and runs what it fell back to.

    Its error stays as the evidence. A kubelet that could not take up its source tries again.
    """
    return (
        bool(node.error)
        and not is_sync_error(node)
        and not node.fault
        and not node.reimaged
        and same_place(node.source, node.part("assigned"))
        and not same_place(node.part("active"), node.part("assigned"))
    )


def is_sync_error(node: Node) -> bool:
    """Return whether a kubelet reports that it cannot take up its source, so that it still runs what it ran."""
    return node.error.startswith(SYNC) or node.form.is_sync_error(node.error)
