# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may be changed on a node without a login: root decides it at the installation of its follower.

The limits are in the settings of the guard, a file of root. No annotation can change them.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from ..._config.fields import compare, merged_dropins
from ..._config.fields.field_row import EFFECTS, FORBIDDEN
from ..._config.plan.costs import Costs
from ..._config.values import annotation
from ..store import installed

Config = Mapping[str, Any]
SETTING = "follow"
"""The key of the limits in the settings of the guard."""
_PASSED_ON = ("unit", "dropin_dir", "metrics_dir", "state_files")
_ALLOWED = ("allow_pending_edits", "allow_unchecked", "allow_offline_guard")


class Limits(NamedTuple):
    """The limits, and the options of every switch."""

    namespace: str = "kube-system"
    """The only namespace of which ConfigMaps may be assigned."""
    effect: str = "disrupt"
    """The strongest effect that a change may have."""
    options: Mapping[str, Any] = {}
    """Those of the module kubelet_checkpoint that hold for every switch."""

    def of_source(self, source: Mapping[str, str], labels: Mapping[str, Any]) -> str:
        """Return why a ConfigMap may not be assigned on this node, empty if it may."""
        if source["namespace"] != self.namespace:
            return (
                f"the follower of this node takes ConfigMaps of the namespace {self.namespace} only. Push it there, or "
                "run the playbook follow with another kubelet_config_namespace"
            )
        if labels.get(annotation.MANAGED_LABEL) != annotation.MANAGED_BY:
            return (
                f"the ConfigMap has no label {annotation.MANAGED_LABEL}={annotation.MANAGED_BY}. Push it with the role "
                "push, or add the label"
            )
        return ""

    def of_changes(self, before: Config, after: Config, minor: int) -> list[str]:
        """Return why a configuration may not follow another one on this node, one reason for each value."""
        found = compare.changes(before, after, minor)
        costs = Costs(before, after, minor)
        reasons = []
        for change in found:
            effect, why = costs.of(change)
            if effect != FORBIDDEN and EFFECTS.index(effect) <= EFFECTS.index(self.effect):
                continue
            reasons.append(
                f"{change.path}: the effect of the change is {effect}, and the follower of this node allows "
                f"{self.effect} at most: {why}. Run the playbook follow with another kubelet_config_follow_effect, or "
                "change this node over ssh"
            )
        return reasons


def of_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the setting for the options of the module that installs a follower."""
    passed_on = {name: options[name] for name in (*_PASSED_ON, *_ALLOWED) if options[name] is not None}
    return {"namespace": options["namespace"], "effect": options["effect"], "options": passed_on}


def read(config_dir: str) -> Limits | None:
    """Return the limits of the follower beside a store, None where none is installed or its settings are damaged."""
    known = installed.settings(config_dir).get(SETTING)
    if not isinstance(known, dict) or known.get("effect") not in EFFECTS:
        return None
    namespace, options = known.get("namespace"), known.get("options")
    if not isinstance(namespace, str) or not isinstance(options, dict):
        return None
    return Limits(namespace, known["effect"], options)


def running(facts: Mapping[str, Any], active: Config | None, whole: bool, minor: int) -> dict[str, Any]:
    """Return what a kubelet runs with a source, as far as its files show it; with None, without one.

    C(facts): the result of kubelet_preflight_info. C(whole): whether the source is a whole configuration, and not what
    is laid over the node's own file.
    """
    if whole and active is not None:
        return dict(active)
    path = (facts.get("kubelet") or {}).get("local_config")
    rows: Sequence[Mapping[str, Any]] = facts.get("own") or ()
    own = next((row["content"] for row in rows if row["path"] == path), None)
    layers = [row["content"] for row in rows if row["path"] != path and row["content"]]
    if active is not None:
        layers.append(active)
    return merged_dropins.effective(own or {}, layers, minor)
