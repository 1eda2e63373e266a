# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a node cannot get a source by its delivery, and what must not stand in a drop-in, although the same is right in
a kubelet's config file.

Seen on kubelets 1.33 and 1.36; the reasons are in mergeKubeletConfigurations (cmd/kubelet/app/server.go).
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from .. import delivery
from ..fields import fields, merged_dropins, overlay
from ..rules import types
from ..rules.problem import REFUSAL, WARNING, Problem
from ..values import paths

_MERGE = "mergeDefaultEvictionSettings"


def unfit(
    row: Mapping[str, Any], wanted: delivery.Delivery, minor: int, replaces_checkpoint: bool
) -> Iterator[Problem]:
    """Yield why a node cannot get a source by a delivery, which may take the place of the node's checkpoint."""
    if wanted.too_new_for(minor):
        cause = (
            f"kubelet {row['kubelet_version']} {wanted.lack}, which the delivery {wanted.name} needs: kubelets from "
            f"1.{wanted.minors.start} on do"
        )
        yield Problem(REFUSAL, "", cause, f"Set kubelet_config_delivery to {wanted.instead} for the node.", "delivery")
        return
    keeps_source = row.get("source") is not None and not replaces_checkpoint
    if keeps_source and not wanted.whole and row.get("delivery") not in (wanted.name, None):
        cause = f"the node has a source by the delivery {row['delivery']}, which would override the drop-in"
        remedy = "Migrate the node with the playbook migrate, or set kubelet_config_delivery to auto."
        yield Problem(REFUSAL, "", cause, remedy, "delivery")


def check(declared: Mapping[str, Any], minor: int) -> Iterator[Problem]:
    """Yield the problems of what is declared for a drop-in of a kubelet of this minor."""
    if merged_dropins.EVICTION in declared and declared[merged_dropins.EVICTION] is None:
        cause = "null in a drop-in leaves no eviction threshold at all, not the defaults"
        remedy = "Set the thresholds that you want, each by its key. To remove one, set its key to null."
        yield Problem(REFUSAL, merged_dropins.EVICTION, cause, remedy, "dropin-null")
    if "resolvConf" in declared and delivery.of(delivery.DROPIN).minors.start <= minor < delivery.RESOLV_CONF_MINOR:
        cause = f"kubelets 1.{minor} ignore the field in a drop-in"
        remedy = "Set kubelet_config_delivery to checkpoint for the node, or omit the field."
        yield Problem(REFUSAL, "resolvConf", cause, remedy, "dropin-field")
    if declared.get(_MERGE) is not None:
        cause = "the kubelet reads the field in its own config file only, so it has no effect in a drop-in"
        remedy = "Set it in the node's own file. In a drop-in, keys of evictionHard are always merged."
        yield Problem(WARNING, _MERGE, cause, remedy, "dropin-field")
    for path, value in overlay.written(declared, True):
        yield from _value(path, value, minor)


def forgotten(live: Mapping[str, Any], declared: Mapping[str, Any], minor: int) -> Iterator[Problem]:
    """Yield a warning for each empty list or map of the node's own that a kubelet with a drop-in folder forgets.

    ``live`` is the configuration of a kubelet that may have no such folder yet.
    """
    for name in merged_dropins.forgotten(live, minor):
        if name not in declared:
            cause = (
                "a kubelet with a drop-in folder takes an empty value of its config file for unset, and uses the "
                "default"
            )
            yield Problem(WARNING, name, cause, "Declare the empty value, which holds in a drop-in.", "dropin-empty")


def _value(path: paths.Path, value: Any, minor: int) -> Iterator[Problem]:
    shown, field = paths.show(path), fields.owner(path)
    # types.py checks values, and a null is none.
    if value is None and field is None:
        yield types.unknown(path, minor)
    elif value is None and field is not None and not field.exists_at(minor):
        yield Problem(
            REFUSAL, shown, f"kubelet 1.{minor} does not have this field", "Remove it for this node.", "unknown-field"
        )
    if field is not None and field.path_ref and isinstance(value, str) and value and not value.startswith("/"):
        cause = f"{value} is a relative path, which a kubelet resolves in its working directory if it is in a drop-in"
        yield Problem(REFUSAL, shown, cause, "Set an absolute path.", "dropin-path")
