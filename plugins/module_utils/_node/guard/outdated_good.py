# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A last-known-good that another kubelet version verified: the installed kubelet may refuse it."""

from __future__ import annotations

from typing import Sequence

from ..store.store import Store
from ..system import command
from ..system.store_error import StoreError


def forget_outdated(store: Store, argv: Sequence[str], run: command.Run) -> None:
    """Forget a last-known-good that another kubelet version verified and the kubelet of this command line refuses.

    A revert then skips it. Raises StoreError when it cannot be forgotten.
    """
    try:
        good = store.last_known_good()
    except StoreError:
        return
    verified_with = store.graduated_with()
    if not good or not verified_with or not argv:
        return
    # Asking the binary is large and rare: a guard that only waits does not load it.
    from ..system import binary

    if binary.version(argv[0], run) in (None, verified_with):
        return
    try:
        text = store.data(good)[good["kubeletConfigKey"]].decode()
    except (StoreError, KeyError, UnicodeDecodeError):
        return
    if text and binary.check(text, argv, run=run).verdict == "invalid":
        store.forget_good()
