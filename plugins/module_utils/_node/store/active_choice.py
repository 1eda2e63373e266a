# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet should run, chosen from what the disk holds."""

from __future__ import annotations

import typing as t

from ..system.store_error import StoreError
from .links import LOCAL_TARGET
from .meta import Source
from .store_reader import StoreReader, quietly
from .trial import Trial


class Resolution(t.NamedTuple):
    """What the kubelet should run.

    `source` None is the local config. `target` is what `active` should point to; None when not even the local config is
    saved, so that only the unit's own files are left. `reasons`: why this is not the assigned source; empty when it is.
    """

    source: Source | None
    target: str | None
    reasons: tuple[str, ...]


def resolve(store: StoreReader, failed: Trial | None = None) -> Resolution:
    """Return what the kubelet should run. No disk content makes it raise.

    `failed` is a trial to use instead of the stored one.
    """
    reasons: list[str] = []
    for source in _candidates(store, reasons, failed):
        try:
            store.verify(source)
            return Resolution(source, store.target(source), tuple(reasons))
        except StoreError as error:
            reasons.append(str(error))
    try:
        store.verify_local()
    except StoreError as error:
        unused = not reasons and quietly(store.running) is None
        return Resolution(None, None, () if unused else (*reasons, str(error)))
    return Resolution(None, LOCAL_TARGET, tuple(reasons))


def _candidates(store: StoreReader, reasons: list[str], failed: Trial | None) -> t.Iterator[Source]:
    """Yield what may run instead of the local config, best first. `reasons` collects why a source is skipped."""
    assigned = None
    try:
        # A crash may have emptied the file: what failed was assigned.
        assigned = failed.to if failed else store.assigned()
        armed = failed or (quietly(store.trial) if assigned is None else store.trial())
        if armed is not None and armed.to == assigned and armed.failed:
            reasons.append(armed.failed)
            if armed.revert_to is not None and armed.revert_to != assigned:
                yield armed.revert_to
        elif assigned is None:
            return
        else:
            yield assigned
    except StoreError as error:
        if assigned is not None and assigned == quietly(store.last_known_good):
            # Only the trial is unreadable: a last-known-good source needs none.
            yield assigned
        else:
            reasons.append(str(error))
    try:
        good = store.last_known_good()
    except StoreError as error:
        reasons.append(str(error))
        return
    if good is not None and good != assigned:
        yield good
