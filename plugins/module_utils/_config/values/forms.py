# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The forms that differ between kubelets: of their fields, and of the source in their Node.

The classes here are the forms of all kubelets but the first; `../minors.py` knows which kubelet has another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping

from . import annotation
from .document import API_VERSION
from .reference import same_place


@dataclass(frozen=True)
class FieldForm:
    """The names and types of fields: those of the tables."""

    api_version: str = API_VERSION
    omits_empties: bool = True
    """Whether /configz omits an explicitly empty list or map whose absence means the default."""

    def judge(self, name: str, value: Any) -> tuple[str, str] | None:
        """Return what is wrong with a field of the first level, and the remedy; both empty if it is right.

        None: the tables decide.
        """
        return None


@dataclass(frozen=True)
class SourceForm:
    """How a Node names the source of its kubelet, and how the kubelet reports what it runs, with native delivery.

    The form here is `configMap` and Node.status.config.
    """

    by_uid: bool = False
    """Whether the kubelet follows the uid of a ConfigMap, and knows no revision of it."""
    by_path: bool = False
    """Whether its status names a ConfigMap by its path alone, so that one of the same name seems to be it."""
    by_role: bool = False
    """Whether it may read its ConfigMap only by a Role: the Node authorizer does not know sources."""
    has_lease: bool = True
    """Whether its API server has Leases of nodes."""
    explains_errors: bool = False
    """Whether its errors name their cause, so that `meaning_of_error` knows what to do."""
    clears_sync_error: bool = False
    """Whether it clears a sync error itself, so that its disk still has the source that it had."""
    status_name: str = annotation.CONFIG
    """Where it reports, in words."""
    needs: str = "--dynamic-config-dir and the feature gate DynamicKubeletConfig"
    """What it needs to follow a source."""
    to_start: str = (
        " (a new kubelet does so within 15 s). Start it with --dynamic-config-dir=DIR and the feature gate "
        "DynamicKubeletConfig (off by default from 1.22), or set kubelet_config_delivery to auto or checkpoint for it"
    )
    """How to make one report that does not; follows on `it reports no status.config`."""
    to_restart: str = (
        "is alive but has not restarted: set Restart=always in the unit. If --dynamic-config-dir was removed, the "
        "status is old: set kubelet_config_delivery to checkpoint"
    )
    """What keeps one from a restart, and the remedy; follows on `its kubelet`."""
    gate_off: str = "(default from 1.22, removed in 1.26)"
    """When the feature gate is off in kube-apiserver, or what else drops the source."""
    assigned_file: str = "store/meta/assigned"
    """The file below --dynamic-config-dir that names its source (kubernetes PR 59692)."""
    fallbacks: Mapping[str, str] = field(default_factory=dict)
    """In words what a kubelet has reverted to, by the place that it reports, where that is not a ConfigMap."""
    old_proxy: str = ""
    """A path of the API that its API server may serve instead of the proxy of a Node: `{}` stands for the name."""
    old_proxy_permission: str = ""
    """What that path needs."""

    def records(
        self, notes: Mapping[str, Any], spec: Mapping[str, Any], status: Mapping[str, Any]
    ) -> tuple[annotation.NodeRecords, str]:
        """Return what a Node with these annotations, this spec and this status records, in the shape of this class.

        The text is the place from which the kubelet has its configuration; empty if it reports none.
        """
        return annotation.records(notes, spec.get("configSource"), status.get("config")), ""

    def config_source(self, source: Mapping[str, str]) -> dict[str, Any]:
        """Return the spec.configSource for a source."""
        return {"configMap": source}

    def as_reported(self, reference: dict[str, str]) -> dict[str, str]:
        """Return a full reference as the kubelet reports it."""
        return reference

    def same(self, one: Mapping[str, str] | None, other: Mapping[str, str] | None) -> bool:
        """Return whether two sources are the same to the kubelet; None stands for the local config."""
        return same_place(one, other)

    def unfit(self, reports: bool, key: str, version: str) -> str | None:
        """Return why a kubelet of this version cannot run a key of a ConfigMap; None if it can.

        `reports`: it reports its status.
        """
        return None if reports else f"its kubelet is not listening: it reports no {self.status_name}{self.to_start}"

    def is_sync_error(self, error: str) -> bool:
        """Return whether an error with its cause means that the kubelet still runs what it ran."""
        return False

    def is_explained(self, error: str) -> bool:
        """Return whether a sync error names its cause already."""
        return False

    def meaning_of_error(self, error: str) -> str:
        """Return what an error with its cause means and what to do, empty for any other."""
        return ""


TABLES = FieldForm()
LATER = SourceForm()
"""The form of kubelets of an unknown minor, too."""
