# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a source reaches a kubelet, and which delivery a node gets."""

from __future__ import annotations

from typing import Any, Mapping

AUTO, NATIVE, CHECKPOINT, DROPIN, NONE = "auto", "native", "checkpoint", "dropin", "none"
REQUESTS = (AUTO, NATIVE, CHECKPOINT, DROPIN)
"""What operators may set for a node."""
ON_NODE = (CHECKPOINT, DROPIN)
"""The deliveries whose source is an annotation of the Node and whose files the role `checkpoint` copies to it."""
LINK = "90-livenodes-kubelet.conf"
"""The name of our drop-in in the kubelet's folder."""
OWN_FILE_MINOR = 24
"""From this minor on, a checkpoint holds the node's own config file and what is declared."""
CONFIG_FILE_MINOR = 10
"""The first minor whose kubelet reads a --config file, which a checkpoint is."""
DROPIN_MINOR = 30
"""The first minor whose kubelet reads a drop-in folder without an environment variable (KEP-3983)."""
RESOLV_CONF_MINOR = 32
"""The first minor whose kubelet takes `resolvConf` from a drop-in."""
DEFAULT_DROPIN_MINOR = 32
"""The first minor for which `auto` chooses drop-ins."""


def checked(requested: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the requested deliveries by node name. Raises ValueError for one that does not exist."""
    for name, delivery in (requested or {}).items():
        if delivery not in REQUESTS:
            raise ValueError(
                f"deliveries: node {name} has the unknown delivery {delivery!r}: use {', '.join(REQUESTS)}"
            )
    return dict(requested or {})


def chosen(requested: str, current: str, minor: int, has_source: bool) -> str:
    """Return the delivery by which a node gets its next source: a request, else its own.

    ``current`` is its delivery now, ``has_source`` whether it has a source by that. ``minor`` is 0 if it is unknown. A
    node with a checkpoint keeps this delivery until it is migrated. A kubelet that reads no config file has no other
    delivery than ``native``.
    """
    if requested != AUTO:
        return requested
    if current == NATIVE or (current in ON_NODE and has_source):
        return current
    if 0 < minor < CONFIG_FILE_MINOR:
        return NATIVE
    return DROPIN if minor >= DEFAULT_DROPIN_MINOR else CHECKPOINT


def too_old(delivery: str, minor: int) -> bool:
    """Return whether the kubelets of a known minor cannot read drop-ins, which the delivery needs."""
    return delivery == DROPIN and 0 < minor < DROPIN_MINOR


def reads_no_file(delivery: str, minor: int) -> bool:
    """Return whether the kubelets of a known minor cannot read the config file that a checkpoint is."""
    return delivery == CHECKPOINT and 0 < minor < CONFIG_FILE_MINOR
