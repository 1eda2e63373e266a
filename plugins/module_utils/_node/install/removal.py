# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module `kubelet_guard` does for a reset: bring the guard up to date before it, remove it afterwards."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Sequence

from ..guard import observe
from ..store import installed
from ..system import files
from ..system.store_error import StoreError
from ..unit import dropin_folder, unit_override
from ..unit.unit import Unit, UnitError
from . import guard_install, guard_module, metrics_file


def updated(config_dir: str, unit: Unit, check: bool, metrics: str | None = None) -> dict[str, Any]:
    """Bring an installed guard to this version; also return which kubelet runs and whether it is healthy.

    `metrics` is the folder for its metrics from now on: empty for none, None for the one that it has. Where no guard is
    installed nothing is changed, and the kubelet's unit never is. Raises UnitError, files.FileError.
    """
    changed = False
    warnings: list[str] = []
    settings = installed.settings(config_dir)
    if settings and unit.installed() is not None:
        former = metrics_file.folder_of(settings)
        folder = former if metrics is None else metrics
        settings = metrics_file.with_folder(settings, folder)
        try:
            changes = guard_install.changes(config_dir, settings)
            changed = bool(changes if check else guard_install.present(config_dir, unit, settings))
            warnings += [] if check else metrics_file.present(config_dir, former, folder)
        except StoreError as error:
            # A reset must be possible on such a node, too.
            warnings.append(f"the guard is not brought up to date: {error}")
    return {"changed": changed, "warnings": warnings, **guard_module.kubelet(unit)}


def removed(
    config_dir: str, unit: Unit, seconds: float, check: bool, state_files: Sequence[str] = ()
) -> dict[str, Any]:
    """Remove the drop-in, restart the kubelet and verify it as `restarted` does, then remove the guard.

    The kubelet is restarted if the drop-in was there, or if it still runs a configuration of the store. When it fails,
    the drop-in is restored. Raises UnitError, StoreError.
    """
    dropin = unit.installed()
    links = {link: os.readlink(link) for link in guard_module.links(config_dir)}
    shown = guard_module.removal_diff(unit, dropin, list(links))
    runs = unit_override.config_of(observe.argv(unit.pid()))
    # The guard goes last: while it knows the folder, the kubelet may not have been restarted without the link.
    layered = bool(links) or bool(installed.settings(config_dir).get("folder"))
    restart = dropin is not None or layered or runs.startswith(os.path.join(config_dir, ""))
    found: dict[str, Any] = {}
    if restart and not check:
        try:
            for link in links:
                dropin_folder.remove(link)
            unit.remove()
            found = guard_module.restarted(unit, seconds, False, state_files)
        except (UnitError, StoreError) as error:
            if dropin is None and not links:
                raise
            for link, target in links.items():
                files.swap_link(link, target)
            if dropin is not None:
                unit.restore(dropin)
            raise UnitError(f"{error} {_again(unit, seconds)}") from error
    gone = guard_module.absent(config_dir, unit, check)
    if not check:
        # It holds nothing but the link, unless an operator has put a file there.
        with contextlib.suppress(OSError):
            os.rmdir(dropin_folder.ours(config_dir))
    return {**found, **gone, "changed": restart or gone["changed"], "diff": shown}


def _again(unit: Unit, seconds: float) -> str:
    """Start the kubelet with the drop-in again; return what came of it."""
    try:
        guard_module.restarted(unit, seconds, False)
    except UnitError as error:
        return f"The drop-in was restored, and the kubelet does not run with it either: {error}"
    return "The drop-in was restored, and the kubelet runs with it again. Correct the cause, then reset the node again."
