# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's metrics, when the guard is installed or removed. In between the guard writes them.

What goes wrong here is a warning: nothing that a kubelet needs depends on the metrics.
"""

from __future__ import annotations

import time
from typing import Any, Mapping

from ..guard import base, guard_main
from ..report import textfile
from ..store.store import Store
from ..system.files import StoreError
from ..system.lock import locked
from ..unit.unit import Unit


def folder_of(settings: Mapping[str, Any]) -> str:
    """Return the folder that the settings of an installed guard name, empty for none."""
    return str(settings.get("metrics") or "")


def with_folder(settings: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Return the settings with this folder, which is empty for none."""
    known = {name: value for name, value in settings.items() if name != "metrics"}
    return {**known, "metrics": folder} if folder else known


def present(config_dir: str, former: str, folder: str, wait: int = 30) -> list[str]:
    """Write the metrics if they are not there, and remove those in the `former` folder; return warnings.

    Both may be empty. The installed guard must know `folder` already. `wait`: seconds for the store's lock.
    """
    warnings = _removed(former) if former != folder else []
    # A guard that knows the folder has written them, with what only it knows about an error.
    if folder and (former != folder or not textfile.exists(folder)):
        store = Store(config_dir)
        try:
            with locked(config_dir, wait):
                textfile.write(folder, textfile.metrics(base.status_of(store, base.error_of(store), "", time.time())))
        except StoreError as error:
            warnings.append(f"the guard cannot write its metrics, and works without them: {error}")
    return warnings


def absent(unit: Unit, folder: str) -> list[str]:
    """Stop the guard and remove its metrics, where it has any; return warnings."""
    if folder:
        unit.run(["systemctl", "stop", guard_main.SERVICE])
    return _removed(folder)


def _removed(folder: str) -> list[str]:
    try:
        if folder:
            textfile.remove(folder)
    except StoreError as error:
        return [f"the guard's metrics are not removed, so node_exporter keeps showing them: {error}"]
    return []
