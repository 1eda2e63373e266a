# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the store keeps, refuses and falls back to, on real files."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store, Trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import OS, StoreError
from tests.support.node.stored import LOCAL, NOW, A, B, C, Owners, assign, source, under


def test_layout_and_modes(store: Store) -> None:
    """Ours alone; sha256sum understands the digests; the folder the kubelet reads has its files only."""
    for folder, folders, names in os.walk(store.folder):
        assert stat.S_IMODE(os.lstat(folder).st_mode) == 0o700, (folder, folders)
        assert {stat.S_IMODE(os.lstat(os.path.join(folder, name)).st_mode) for name in names} <= {0o600}
    assert sorted(os.listdir(under(store, "active"))) == ["ca.crt", "kubelet"]
    assert os.readlink(store.active) == "store/checkpoints/uid-a/7"
    words = ["sha256sum", "--check", "--strict", "../7.sha256"]
    assert subprocess.run(words, cwd=under(store, "active"), check=False, capture_output=True).returncode == 0
    assert Path(store.meta, "last-known-good").read_bytes() == Path(store.meta, "assigned").read_bytes()
    assert store.graduated_with() == "v1.20.2"
    under(store, "store", "trial").write_bytes(b"{")
    assert store.resolve() == (A, "store/checkpoints/uid-a/7", ()), "what graduated needs no trial"
    for text in ("[" * 200_000, "{", "[]", '{"source": 1}'):
        under(store, "store", "graduated").write_text(text)
        assert store.graduated_with() == ""


def test_staging_again_changes_nothing(store: Store) -> None:
    place = under(store, "store", "checkpoints", "uid-b", "7")
    before = os.lstat(place / "kubelet").st_ino
    assert store.stage(B, {"kubelet": "# b\n", "ca.crt": "x"}) == str(place)
    assert os.lstat(place / "kubelet").st_ino == before


DAMAGE: list[t.Callable[[Path, Owners], object]] = [
    lambda path, _owners: (path / "kubelet").write_bytes(b""),
    lambda path, _owners: (path / "kubelet").unlink(),
    lambda path, _owners: (path / "extra").write_bytes(b"x"),
    lambda path, _owners: (path / "ca.crt").write_bytes(b"y"),
    lambda path, _owners: path.with_name("7.sha256").unlink(),
    lambda path, _owners: path.with_name("7.sha256").write_bytes(b""),
    lambda path, _owners: ((path / "kubelet").unlink(), (path / "kubelet").symlink_to("/etc/passwd")),
    lambda path, _owners: (path / "kubelet").chmod(0o666),
    lambda path, owners: owners.give(path / "kubelet"),
    lambda path, owners: owners.give(path),
    lambda path, _owners: ((path / "kubelet").unlink(), os.mkfifo(path / "kubelet")),
    lambda path, _owners: (path / "extra").mkdir(),
    # What a repair of the file system leaves need not be UTF-8.
    lambda path, _owners: Path(os.fsdecode(os.fsencode(path) + b"/\xff\n\xc2\x85")).write_bytes(b"x"),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_checkpoint(store: Store, owners: Owners, damage: t.Callable[[Path, Owners], object]) -> None:
    """It is skipped in favour of last-known-good, never run, and repaired by staging again."""
    assign(store, B)
    place = under(store, "store", "checkpoints", "uid-b", "7")
    damage(place, owners)
    assert not store.usable()
    found = store.resolve()
    assert found.source == A
    assert "uid-b/7" in found.reasons[0]
    assert store.error() == "; ".join(found.reasons)
    assert store.settle() == found
    assert store.active_source() == A
    if str(place) not in owners.given:
        store.stage(B, {"kubelet": "# b\n", "ca.crt": "x"})
        assert store.resolve() == (B, "store/checkpoints/uid-b/7", ())
    else:
        with pytest.raises(StoreError, match="belongs to user 12345"):
            store.stage(B, {"kubelet": "# b\n", "ca.crt": "x"})


@pytest.mark.parametrize(
    ("assigned", "good", "trial", "expected"),
    [
        (b"\0\0\0", None, None, "a"),
        (b"\n", None, None, "a"),
        (b"", None, None, None),
        (b"\0", b"\0", None, None),
        (None, b"\0", None, "b"),
        (b"\0", b"", None, None),
        (None, None, b"{", "a"),
        (None, b"", b"{", None),
        (None, b"\0", b"{", None),
    ],
)
def test_unreadable_files(
    store: Store, assigned: bytes | None, good: bytes | None, trial: bytes | None, expected: str | None
) -> None:
    """assigned, else last-known-good, else local; an unreadable trial verifies nothing. There is always a result, and
    never an exception.
    """
    assign(store, B)
    for path, data in ((("meta", "assigned"), assigned), (("meta", "last-known-good"), good), (("trial",), trial)):
        if data is not None:
            under(store, "store", *path).write_bytes(data)
    found = store.settle()
    assert (found.source["name"] if found.source else None) == expected
    assert found.target is not None
    assert store.usable()
    assert bool(found.reasons) == (expected != "b" and assigned != b"")


def test_revert(store: Store) -> None:
    """What failed stays assigned, with the reason, and is tried again only when it is assigned anew."""
    assign(store, B)
    assert store.revert("it crashed") == (A, "store/checkpoints/uid-a/7", ("it crashed",))
    assert (store.assigned(), store.active_source(), store.last_known_good(), store.error()) == (B, A, A, "it crashed")
    with pytest.raises(StoreError, match="was reverted"):
        store.graduate(B, "v1.20.2")
    store.forget(A)
    assert store.resolve().target == "store/local/config" and store.last_known_good() is None
    assign(store, B)
    assert (store.active_source(), store.error()) == (B, "")
    store.graduate(B, "v1.20.2")
    assert store.trial() is None


@pytest.mark.parametrize(
    ("act", "reverted"),
    [
        (lambda store: None, False),
        (lambda store: store.revert("it crashed"), True),
        # The link of the revert stays: only the local configuration was whole.
        (lambda store: store.point("store/local/config"), False),
        # A switch that was interrupted before it made B active.
        (lambda store: (store.point(store.target(A)), store.links.prepare(store.target(C))), False),
        (lambda store: os.unlink(store.active), False),
        # A trial that was disarmed, and one of a first configuration.
        (lambda store: os.unlink(store.links.prepared), False),
        (lambda store: (store.links.prepare("store/local/config"), store.point("store/local/config")), True),
    ],
)
def test_a_revert_shows_without_its_trial(store: Store, act: t.Callable[[Store], object], reverted: bool) -> None:
    assign(store, B)
    act(store)
    under(store, "store", "trial").write_bytes(b"{")
    assert store.reverted() == reverted and "store/trial is not JSON text" in store.error()


def test_revert_without_a_trial(store: Store) -> None:
    store.switch(B)
    for found in (store.revert("by hand"), store.settle()):
        assert (found.source, found.reasons) == (A, ("by hand",))
    store.reset()
    assert store.revert("by hand") == (None, "store/local/config", ())


@pytest.mark.fault(case=28)
def test_garbage(store: Store) -> None:
    """Everything in use stays; leftovers are removed; nothing is removed while a file is unreadable."""
    store.stage(source("d"), {"kubelet": "# d\n"})
    store.stage(source("b", resourceVersion="8"), {"kubelet": "# old b\n"})
    assign(store, B)
    store.revert("no")
    (under(store, "store", "checkpoints", "uid-b") / "tmp_8.x").mkdir()
    under(store, "store", "meta", "tmp_assigned.x").write_bytes(b"x")
    under(store, "tmp_active.x").symlink_to("store")
    under(store, "store", "trial").rename(under(store, "trial"))
    under(store, "store", "trial").write_bytes(b"{")
    with pytest.raises(StoreError, match="trial"):
        store.collect_garbage()
    assert store.data(C)
    under(store, "trial").rename(under(store, "store", "trial"))
    removed = store.collect_garbage([source("d")])
    assert [os.path.relpath(path, store.checkpoints) for path in removed] == ["uid-b/8", "uid-c/7"]
    assert sorted(os.listdir(store.checkpoints)) == ["uid-a", "uid-b", "uid-d"]
    assert sorted(os.listdir(under(store, "store", "checkpoints", "uid-b"))) == ["7", "7.sha256"]
    assert not list(Path(store.config_dir).rglob("tmp_*"))
    for item in (A, B, source("d")):
        store.verify(item)


WITH_A_PATH = [{"a/b": "x", "kubelet": "x"}, {"..": "x", "kubelet": "x"}]


@pytest.mark.parametrize("data", [*WITH_A_PATH, {"other": "x"}, {"kubelet": ""}, {"kubelet": " \n"}, {}])
def test_unfit_data(store: Store, data: dict[str, str]) -> None:
    before = sorted(os.listdir(store.checkpoints))
    with pytest.raises(StoreError):
        store.stage(source("e"), data)
    assert sorted(os.listdir(store.checkpoints)) == before


def test_no_switch_without_a_saved_local_config(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "config"))
    store.stage(A, {"kubelet": "# a\n"})
    for act in (lambda: store.switch(A), lambda: store.arm(Trial(A, None, NOW)), lambda: store.switch(None)):
        with pytest.raises(StoreError, match="save it first"):
            act()
    store.reset()
    assert store.running() is None


def test_no_switch_to_what_is_not_whole(store: Store) -> None:
    under(store, "store", "checkpoints", "uid-b", "7", "kubelet").write_bytes(b"")
    trials = [lambda: store.arm(Trial(B, A, NOW)), lambda: store.arm(Trial(C, B, NOW))]
    for act in (lambda: store.switch(B), *trials, lambda: store.graduate(B, "")):
        with pytest.raises(StoreError):
            act()
    assert (store.assigned(), store.active_source(), store.trial()) == (A, A, None)


def test_a_revert_to_a_damaged_copy_of_local_makes_it_anew(store: Store) -> None:
    """The last write before a power cut was that of the copy: what failed must not stay active."""
    store.forget_good()
    store.arm(Trial(B, None, NOW))
    store.switch(B)
    under(store, "store", "local", "config", "kubelet").write_bytes(b"")
    with pytest.raises(StoreError, match="not the local configuration"):
        store.verify_local()
    assert store.revert("it crashed").target == "store/local/config"
    assert under(store, "active", "kubelet").read_bytes() == LOCAL and store.error() == "it crashed"


def test_a_folder_in_the_place_of_a_file_is_named_with_a_remedy(store: Store) -> None:
    path = under(store, "store", "meta", "assigned")
    path.unlink()
    path.mkdir(mode=0o700)
    words = rf"^{path}: cannot read: Is a directory; a folder is in the place of a file of ours: move it away$"
    for act in (store.assigned, store.reset):
        with pytest.raises(StoreError, match=words):
            act()
    path.rmdir()
    store.reset()
    assert store.active_source() is None


def test_removal(store: Store) -> None:
    with pytest.raises(StoreError, match="reset first"):
        store.remove()
    store.reset()
    assert (store.assigned(), store.last_known_good(), store.trial(), store.graduated_with()) == (None, None, None, "")
    Path(store.config_dir, "lock").touch()
    assert store.remove()
    assert not os.path.lexists(store.config_dir)
    assert not store.remove()


def test_a_folder_that_is_a_file_system_of_its_own_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(self: OS, path: str, target: str) -> None:
        if path == store.config_dir:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
        os.rename(path, target)

    monkeypatch.setattr(OS, "rename", rename)
    store.reset()
    assert store.remove()
    assert os.listdir(store.config_dir) == []
