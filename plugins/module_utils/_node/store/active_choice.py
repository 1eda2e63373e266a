# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet should run, found from whatever the disk holds."""

from __future__ import annotations

import typing as t

from ..system.store_error import StoreError
from .meta import Source
from .trial import Trial

if t.TYPE_CHECKING:
    from .store import Store

LOCAL_TARGET = "store/local/config"
T = t.TypeVar("T")


class Resolution(t.NamedTuple):
    """What the kubelet should run.

    `source` None is the local config. `target` is what `active` should point to; None when not even the local config is
    remembered, so that only the unit's own files are left. `reasons` say why it is not what was assigned; empty when it
    is.
    """

    source: Source | None
    target: str | None
    reasons: tuple[str, ...]


def resolve(store: Store, failed: Trial | None = None) -> Resolution:
    """Return what the kubelet should run; raises for nothing that is on the disk. `failed` is a trial to go by instead
    of the stored one.
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


def quietly(read: t.Callable[[], T]) -> T | None:
    """Return what can be read, None for what cannot: whoever needs to know the difference asks itself."""
    try:
        return read()
    except StoreError:
        return None


def _candidates(store: Store, reasons: list[str], failed: Trial | None) -> t.Iterator[Source]:
    """Yield what may be run before the local config, best first. Why something is passed over is added to `reasons`."""
    assigned = None
    try:
        assigned = store.assigned()
        if assigned is None:
            return
        armed = failed or store.trial()
        if armed is not None and armed.to == assigned and armed.failed:
            reasons.append(armed.failed)
            if armed.back is not None and armed.back != assigned:
                yield armed.back
        else:
            yield assigned
    except StoreError as error:
        if assigned is not None and assigned == quietly(store.last_known_good):
            # Only the trial is unreadable: what has graduated needs none.
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
