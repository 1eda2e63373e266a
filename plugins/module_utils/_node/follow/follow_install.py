# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What root does for the follower of a node: it installs and removes it, one more service of the guard's program, and
limits what may be changed there without a login.

The limits are in the settings of the guard, a file of root. No annotation can change them.
"""

from __future__ import annotations

import os
from typing import Any, Mapping, NamedTuple, Sequence

from ..._config.fields import compare, merged_dropins
from ..._config.fields.field_row import EFFECTS, FORBIDDEN
from ..._config.plan.costs import Costs
from ..._config.values import annotation
from ..install import guard_install, guard_steps
from ..store import installed
from ..system import files
from ..unit import dropin_folder
from ..unit.unit import Unit

Config = Mapping[str, Any]
SERVICE = guard_install.FOLLOWER
SERVICE_PATH = guard_install.FOLLOWER_PATH
WANTED_BY = guard_install.FOLLOWER_WANTED_BY
_SETTING = "follow"
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


def service_text(config_dir: str) -> str:
    """Return the text of the follower's service."""
    return f"""# Written by livenodes.kubelet. Follows the configuration that the Node names.
[Unit]
Description=Follower of the kubelet's configuration
RequiresMountsFor={config_dir}
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={guard_install.command(config_dir)} follow
Restart=always
RestartSec=5
MemoryMax=512M

[Install]
WantedBy=multi-user.target
"""


def present(options: dict[str, Any], check: bool, unit: Unit) -> dict[str, Any]:
    """Install or update the follower and start it; or only predict that. Also in the middle of a trial.

    Returns whether that is a change, and warnings. Raises UnitError, StoreError.
    """
    config_dir = options["config_dir"]
    known = installed.settings(config_dir)
    wanted = limits_setting(options)
    key, metrics = known.get("key", options["key"]), options["metrics_dir"] or ""
    done = guard_steps.prepared(config_dir, unit, key, check, None, metrics, wanted)
    changed = done["changed"] or not _has_service(config_dir)
    if changed and not check:
        done["warnings"] += _write_service(config_dir, unit)
    if not check:
        # Before the first start of a kubelet, its network may not be there yet.
        unit.run(["systemctl", "restart" if changed else "start", "--no-block", SERVICE])
    return {"changed": changed, "warnings": done["warnings"]}


def restored(config_dir: str, unit: Unit, check: bool) -> dict[str, Any]:
    """Write the service of an installed follower again if a person has edited or removed it; or only predict that.

    Returns whether that is a change, and warnings: a change over ssh needs no follower. Lost limits are not restored,
    since only the settings of its installation have them.
    """
    if _SETTING not in installed.settings(config_dir):
        return {"changed": False, "warnings": _without_limits(config_dir)}
    warnings: list[str] = []
    try:
        if _has_service(config_dir):
            return {"changed": False, "warnings": []}
        if not check:
            warnings += _write_service(config_dir, unit)
            unit.run(["systemctl", "restart", "--no-block", SERVICE])
    except files.FileError as error:
        return {"changed": False, "warnings": [f"the follower is not restored: {error}"]}
    return {"changed": True, "warnings": warnings}


def no_limits(config_dir: str) -> str:
    """Return why a follower changes nothing while its limits are missing or damaged, and what to do."""
    return (
        f"the settings of the follower are missing or damaged ({installed.path(config_dir)}), so it changes nothing "
        "on the node: run the playbook follow again"
    )


def _without_limits(config_dir: str) -> list[str]:
    return [no_limits(config_dir)] if os.path.lexists(SERVICE_PATH) else []


def _has_service(config_dir: str) -> bool:
    """Return whether the service is as it was installed. Raises StoreError."""
    return files.read(SERVICE_PATH) == service_text(config_dir).encode() and os.path.islink(WANTED_BY)


def _write_service(config_dir: str, unit: Unit) -> list[str]:
    """Write the service; return warnings. Raises StoreError."""
    files.write(SERVICE_PATH, service_text(config_dir).encode(), 0o644)
    files.swap_link(WANTED_BY, SERVICE_PATH)
    unit.run(["systemctl", "daemon-reload"])
    return guard_install.restore_labels([SERVICE_PATH], unit.run)


def absent(options: dict[str, Any], check: bool, unit: Unit) -> dict[str, Any]:
    """Remove the follower and its annotation; without a store, also the guard's program. Or only predict that.

    Returns whether that is a change, and warnings. Raises UnitError, StoreError.
    """
    config_dir = options["config_dir"]
    known = installed.settings(config_dir)
    changed = os.path.lexists(SERVICE_PATH) or _SETTING in known
    warnings: list[str] = []
    if changed and not check:
        from ..report import status_reporter

        guard_install.stop_follower(unit)
        words = dropin_folder.with_kubeconfig(known.get("argv", []), known)
        warnings += status_reporter.withdraw(words, unit.pid(), status_reporter.OF_FOLLOWER)
        if warnings:
            # The limits stay, by which the next run sees that something is left to remove.
            return {"changed": True, "warnings": warnings}
        if _SETTING in known:
            del known[_SETTING]
            guard_install.present(config_dir, unit, known)
        if unit.installed() is None and not os.path.lexists(os.path.join(config_dir, "store")):
            warnings += guard_steps.metrics_absent(unit, known.get("metrics", ""))
            guard_install.absent(config_dir, unit)
            files.remove(os.path.join(config_dir, "lock"))
            if os.path.isdir(config_dir) and not os.listdir(config_dir):
                files.remove_folder(config_dir)
    return {"changed": changed, "warnings": warnings}


def limits_setting(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the setting for the options of the module that installs a follower."""
    passed_on = {name: options[name] for name in (*_PASSED_ON, *_ALLOWED) if options[name] is not None}
    return {"namespace": options["namespace"], "effect": options["effect"], "options": passed_on}


def read_limits(config_dir: str) -> Limits | None:
    """Return the limits of the follower beside a store, None where none is installed or its settings are damaged."""
    known = installed.settings(config_dir).get(_SETTING)
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
