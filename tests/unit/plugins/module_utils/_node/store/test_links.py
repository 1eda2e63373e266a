# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The links of a revert: which targets `active` can get on a full disk. Links and files of other users in the store:
nothing is read through them, and nothing they lead to changes.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store_reader import LOCAL_TARGET, Links
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import FileError, StoreError
from tests.support.node.guard_node import NoRoom
from tests.support.node.stored import A, B, Owners, under

ONE, OTHER = "store/checkpoints/u1/1", "store/checkpoints/u2/1"


@pytest.fixture
def disk() -> NoRoom:
    return NoRoom()


@pytest.fixture
def links(tmp_path: Path, disk: NoRoom) -> Links:
    return Links(str(tmp_path), disk)


@pytest.mark.parametrize(
    ("prepared", "target", "possible"),
    [
        (ONE, ONE, True),
        (ONE, LOCAL_TARGET, True),
        (ONE, OTHER, False),
        (LOCAL_TARGET, LOCAL_TARGET, True),
        (None, LOCAL_TARGET, False),
    ],
)
def test_what_can_become_active_on_a_full_disk(
    links: Links, disk: NoRoom, prepared: str | None, target: str, possible: bool
) -> None:
    links.point("store/checkpoints/u3/1")
    if prepared:
        links.prepare(prepared)
    disk.full = True
    if possible:
        links.point(target)
    else:
        with pytest.raises(FileError, match="No space left"):
            links.point(target)
    assert links.running() == (target if possible else "store/checkpoints/u3/1")


def test_with_room_the_last_resort_stays(links: Links) -> None:
    links.prepare(ONE)
    links.point(LOCAL_TARGET)
    assert links.running() == LOCAL_TARGET and os.readlink(links.last_resort) == LOCAL_TARGET


@pytest.mark.parametrize(
    "target",
    ["/etc", "store", "store/checkpoints/./1", "store/checkpoints/u1/..", "store/checkpoints//7", "store/local/u1/1"],
)
def test_a_link_out_of_the_store_is_an_error(links: Links, target: str) -> None:
    assert links.running() is None
    os.symlink(target, links.active)
    with pytest.raises(StoreError, match="out of the store"):
        links.running()


def test_a_file_in_the_place_of_the_link_is_named(links: Links) -> None:
    Path(links.active).touch()
    with pytest.raises(FileError, match=f"^{links.active}: cannot read the link: Invalid argument"):
        links.running()


@pytest.mark.parametrize("prepared", [True, False])
def test_a_folder_in_the_place_of_active_prevents_no_revert(
    links: Links, disk: NoRoom, tmp_path: Path, prepared: bool
) -> None:
    """A copy of the config folder that has followed its links. It is swept later, as what a power cut has left."""
    links.prepare(ONE)
    Path(links.active).mkdir()
    Path(links.active, "kubelet").write_text("{}")
    disk.full = prepared
    links.point(ONE if prepared else LOCAL_TARGET)
    assert links.running() == (ONE if prepared else LOCAL_TARGET)
    assert [path.read_text() for path in tmp_path.glob("tmp_active.*/kubelet")] == ["{}"]


def test_a_folder_in_the_place_of_active_stays_where_a_full_disk_prevents_its_link(links: Links, disk: NoRoom) -> None:
    Path(links.active).mkdir()
    Path(links.active, "kubelet").write_text("{}")
    disk.full = True
    with pytest.raises(FileError, match="No space left"):
        links.point(ONE)
    assert Path(links.active, "kubelet").read_text() == "{}"


def test_nothing_is_prepared_on_a_full_disk(links: Links, disk: NoRoom) -> None:
    """So a switch is refused that a full disk could not revert."""
    disk.full = True
    with pytest.raises(FileError, match="No space left"):
        links.prepare(ONE)


@pytest.mark.parametrize(("active", "left"), [(None, []), (LOCAL_TARGET, []), (ONE, ["last-resort"])])
def test_the_last_resort_stays_while_a_kubelet_may_need_it(
    links: Links, tmp_path: Path, active: str | None, left: list[str]
) -> None:
    links.prepare(OTHER)
    links.release(active)
    assert os.listdir(tmp_path) == left


def test_the_last_resort_is_for_a_full_disk_only(links: Links, disk: NoRoom, monkeypatch: pytest.MonkeyPatch) -> None:
    links.prepare(ONE)

    def refuse(_target: str, _path: str) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(disk, "symlink", refuse)
    with pytest.raises(FileError, match="Operation not permitted"):
        links.point(LOCAL_TARGET)
    assert links.running() is None and os.readlink(links.last_resort) == LOCAL_TARGET


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
