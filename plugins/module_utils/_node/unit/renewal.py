# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our systemd drop-in repeats a command of the kubelet's unit. It is made anew when that unit changes.

A package upgrade may bring a unit with other flags. With the command of the former unit, a new kubelet would start
with flags that it no longer knows, and without those that it needs.
"""

from __future__ import annotations

from ..system.files import StoreError
from .unit import Unit, UnitError
from .unit_override import REFUSED, Layer, extra_lines, mounts, repeated


def renew(unit: Unit, active: str, folder: str = "") -> bool:
    """Make the drop-in anew if the unit has another command now; return whether it had. Called before a start.

    `active`: the config file of our store. `folder`: the drop-in folder of a kubelet with delivery `dropin`, else
    empty. systemd reads the drop-in at once and starts the kubelet with it. Edits that wait for
    `systemctl daemon-reload` are not taken up. Raises StoreError, with the former drop-in in place.
    """
    before = unit.installed()
    if before is None or not repeated(before):
        return False
    reads = Layer(folder if f"--config-dir={folder}" in before else "") if folder else active
    try:
        if unit.show(fresh=True).get("NeedDaemonReload") == "yes" or unit.repeats(before, reads):
            return False
        text = unit.dropin(reads, extra_lines(before), mounts(before))
        if text == before:
            return False
        unit.restore(text)
        after = unit.form(bool(folder))
        if after.kind == REFUSED:
            unit.restore(before)
            raise UnitError(after.reason)
    except UnitError as error:
        raise StoreError(f"the command of the kubelet's unit has changed, and ours stays as it was: {error}") from error
    return True
