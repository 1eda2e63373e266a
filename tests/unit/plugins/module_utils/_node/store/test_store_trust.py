# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links and files of other users in the store: nothing is read through them, and nothing they lead to changes."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import (
    Store,
    StoreError,
)
from tests.support.node.stored import A, B, Owners, under


@pytest.mark.parametrize(
    "place",
    [("store",), ("store", "meta"), ("store", "checkpoints"), ("store", "checkpoints", "uid-b"), ("store", "local")],
)
def test_links_out_of_the_store(store: Store, tmp_path: Path, place: tuple[str, ...]) -> None:
    """A folder that was replaced by a link is refused, in reading and in writing; nothing is written behind it."""
    path = under(store, *place)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    before = sorted(os.walk(tmp_path / "elsewhere"))
    with pytest.raises(StoreError, match="is a symbolic link or a file in the place of a folder of ours"):
        store.stage(B, {"kubelet": "# b\n", "ca.crt": "x"})
        store.switch(B)
    store.resolve()
    with contextlib.suppress(StoreError):
        store.reset()
        store.remove()
    assert sorted(os.walk(tmp_path / "elsewhere")) == before


def test_active_that_leads_elsewhere(store: Store) -> None:
    under(store, "active").unlink()
    under(store, "active").symlink_to("../other")
    with pytest.raises(StoreError, match="out of the store"):
        store.running()
    assert not store.usable()
    store.settle()
    assert store.active_source() == A


def test_foreign_owner(store: Store, owners: Owners) -> None:
    """A file that another user could have written is not trusted; every reader trusts root's files."""
    owners.give(under(store, "store", "meta", "assigned"))
    with pytest.raises(StoreError, match="belongs to user 12345"):
        store.assigned()
    assert store.resolve().source == A
    assert Store(store.config_dir, Owners(user=4711)).last_known_good() == A
