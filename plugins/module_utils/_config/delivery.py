# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a source reaches a kubelet: what the deliveries differ in, and which one a node gets.

Rows, options and annotations have the name of a delivery; of() returns what it means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from . import minors
from .values import annotation

AUTO, NATIVE, CHECKPOINT, DROPIN, NONE = "auto", "native", "checkpoint", "dropin", "none"
LINK = "90-livenodes-kubelet.conf"
"""The name of our drop-in in the kubelet's folder."""
RESOLV_CONF_MINOR = 32
"""The first minor whose kubelet takes `resolvConf` from a drop-in."""
_DEFAULT_DROPIN_MINOR = 32
"""The first minor for which `auto` chooses drop-ins."""


@dataclass(frozen=True)
class Delivery:
    """What a delivery differs in from the others."""

    name: str
    on_node: bool
    """Whether the role `checkpoint` copies the source to the node and an annotation names it. Else the kubelet fetches
    what its Node.spec.configSource names.
    """
    whole: bool
    """Whether the source holds a whole configuration, not only what is declared."""
    minors: range
    """The minors whose kubelet can have it."""
    file_minor: int = 0
    """From this minor on, a plan reads the node's own config file, on which a checkpoint is built and over which
    a drop-in is laid; 0: never.
    """
    lack: str = ""
    """What kubelets before these minors do not do."""
    instead: str = ""
    """The deliveries that these kubelets can have."""

    @property
    def replaces_file(self) -> bool:
        """Whether the kubelet reads the source from the node's disk, in place of the node's own config file."""
        return self.on_node and self.whole

    @property
    def source_at(self) -> str:
        """The place of the source in the Node."""
        return annotation.SOURCE if self.on_node else annotation.SPEC

    @property
    def source_place(self) -> str:
        """The place of the source in words."""
        return f"the annotation {self.source_at}" if self.on_node else self.source_at

    @property
    def status_at(self) -> str:
        """The place of the status in the Node."""
        return annotation.STATUS if self.on_node else annotation.CONFIG

    def needs_file(self, minor: int) -> bool:
        """Return whether the plan of a node with a kubelet of this minor reads its own config file."""
        return bool(self.file_minor) and minor >= self.file_minor

    def too_new_for(self, minor: int) -> bool:
        """Return whether the kubelets of a known minor lack what it needs on the node."""
        return self.on_node and 0 < minor < self.minors.start


_LATER = 1 << 30
_ALL = {
    delivery.name: delivery
    for delivery in (
        # Until kubernetes PR 106932.
        Delivery(NATIVE, on_node=False, whole=True, minors=range(minors.FIRST_NATIVE, 24)),
        Delivery(
            CHECKPOINT,
            on_node=True,
            whole=True,
            minors=range(minors.FIRST_WITH_FILE, _LATER),
            file_minor=24,
            lack="reads no config file",
            instead="auto or native",
        ),
        # A drop-in folder without an environment variable (KEP-3983).
        Delivery(
            DROPIN,
            on_node=True,
            whole=False,
            minors=range(30, _LATER),
            file_minor=24,
            lack="does not read drop-ins",
            instead="auto or checkpoint",
        ),
    )
}
NAMES = tuple(_ALL)
"""Of all deliveries."""
REQUESTS = (AUTO, *NAMES)
"""What operators may set for a node."""
ON_NODE = tuple(name for name in NAMES if _ALL[name].on_node)
"""Those that the role `checkpoint` copies to the node."""
_NO_DELIVERY = Delivery(NONE, on_node=False, whole=True, minors=range(0))


def of(name: Any) -> Delivery:
    """Return the delivery of a name; without one, what counts for a node that no source was delivered to."""
    return _ALL.get(name, _NO_DELIVERY)


def noted(name: Any) -> str:
    """Return the name of the delivery on a node whose annotation has this one: that of a checkpoint has none there."""
    return name if of(name).on_node else CHECKPOINT


def checked(requested: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the requested deliveries by node name. Raises ValueError for one that does not exist."""
    for name, delivery in (requested or {}).items():
        if delivery not in REQUESTS:
            raise ValueError(
                f"deliveries: node {name} has the unknown delivery {delivery!r}: use {', '.join(REQUESTS)}"
            )
    return dict(requested or {})


def chosen(requested: str, current: str, minor: int, has_source: bool) -> str:
    """Return the name of the delivery by which a node gets its next source: a request, else its own.

    ``current`` is its delivery now, ``has_source`` whether it has a source by that. ``minor`` is 0 if it is unknown. A
    node with a checkpoint keeps this delivery until it is migrated. A kubelet that reads no config file has no other
    delivery than ``native``.
    """
    if requested != AUTO:
        return requested
    if current == NATIVE or (of(current).on_node and has_source):
        return current
    if of(CHECKPOINT).too_new_for(minor):
        return NATIVE
    return DROPIN if minor >= _DEFAULT_DROPIN_MINOR else CHECKPOINT


def of_row(requested: str | None, row: Mapping[str, Any], minor: int) -> Delivery:
    """Return the delivery by which the node of a row gets its next source; rows of older dumps name none."""
    return of(chosen(requested or AUTO, row.get("delivery") or NONE, minor, row.get("source") is not None))
