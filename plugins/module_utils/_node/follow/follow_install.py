# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs and removes the follower of a node: one more service of the guard's program, with limits in its settings."""

from __future__ import annotations

import os
from typing import Any

from ..install import guard_install, guard_steps
from ..store import installed
from ..system import files
from ..unit.unit import Unit
from . import limits

SERVICE = guard_install.FOLLOWER
SERVICE_PATH = guard_install.FOLLOWER_PATH
WANTED_BY = guard_install.FOLLOWER_WANTED_BY


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
    wanted = limits.of_options(options)
    key, metrics = known.get("key", options["key"]), options["metrics_dir"] or ""
    done = guard_steps.prepared(config_dir, unit, key, check, None, metrics, wanted)
    text = service_text(config_dir).encode()
    changed = done["changed"] or files.read(SERVICE_PATH) != text or not os.path.islink(WANTED_BY)
    if changed and not check:
        files.write(SERVICE_PATH, text, 0o644)
        files.swap_link(WANTED_BY, SERVICE_PATH)
        unit.run(["systemctl", "daemon-reload"])
        done["warnings"] += guard_install.restore_labels([SERVICE_PATH], unit.run)
    if not check:
        # Before the first start of a kubelet, its network may not be there yet.
        unit.run(["systemctl", "restart" if changed else "start", "--no-block", SERVICE])
    return {"changed": changed, "warnings": done["warnings"]}


def absent(options: dict[str, Any], check: bool, unit: Unit) -> dict[str, Any]:
    """Remove the follower and its annotation; without a store, also the guard's program. Or only predict that.

    Returns whether that is a change, and warnings. Raises UnitError, StoreError.
    """
    config_dir = options["config_dir"]
    known = installed.settings(config_dir)
    changed = os.path.lexists(SERVICE_PATH) or limits.SETTING in known
    warnings: list[str] = []
    if changed and not check:
        from ..report import status_reporter

        guard_install.stop_follower(unit)
        warnings += status_reporter.withdraw(known.get("argv", []), status_reporter.OF_FOLLOWER)
        if warnings:
            # The limits stay, by which the next run sees that something is left to remove.
            return {"changed": True, "warnings": warnings}
        if limits.SETTING in known:
            del known[limits.SETTING]
            guard_install.present(config_dir, unit, known)
        if unit.installed() is None and not os.path.lexists(os.path.join(config_dir, "store")):
            warnings += guard_steps.metrics_absent(unit, known.get("metrics", ""))
            guard_install.absent(config_dir, unit)
            files.remove(os.path.join(config_dir, "lock"))
            if os.path.isdir(config_dir) and not os.listdir(config_dir):
                files.remove_folder(config_dir)
    return {"changed": changed, "warnings": warnings}
