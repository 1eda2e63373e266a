# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which folders may hold what root's kubelet and root's guard run."""

from __future__ import annotations

import errno
import os
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import files
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import trust
from tests.support.node.disk import Disk, File, Folder, Link

STORE = "/var/lib/kubelet-config"


@pytest.fixture(autouse=True)
def whole_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "TOP", "/")


@pytest.fixture
def disk() -> Disk:
    """Return a disk with a store, and a second folder `/srv/data`."""
    found = Disk(Folder(0o755))
    for path in ("/var", "/var/lib", "/srv", "/srv/data"):
        found.mkdir(path, 0o755)
    found.mkdir(STORE, 0o700)
    return found


def node(disk: Disk, path: str) -> t.Any:
    return disk._node(path)


def test_folders_of_root_are_trusted_also_as_parents_of_a_store_to_come(disk: Disk) -> None:
    for path in (STORE, f"{STORE}/", "/srv/data/one/two"):
        trust.check_chain(path, disk)
    node(disk, "/srv").uid = 1000
    with pytest.raises(files.FileError, match=r"^/srv: "):
        trust.check_chain("/srv/data/one/two", disk)


@pytest.mark.parametrize("path", ["/", "/var", "/var/lib", STORE])
@pytest.mark.parametrize(
    ("uid", "mode", "words"),
    [
        (1000, 0o755, "belongs to user 1000, not to root (mode 0755): that user"),
        (0, 0o775, "others may write to it (mode 0775): they"),
        (0, 0o757, "others may write to it (mode 0757): they"),
        (0, 0o1777, "others may write to it (mode 1777): they"),
    ],
)
@pytest.mark.fault(case=46)
def test_every_folder_of_the_chain_belongs_to_root_alone(
    disk: Disk, path: str, uid: int, mode: int, words: str
) -> None:
    node(disk, path).uid, node(disk, path).mode = uid, mode
    with pytest.raises(files.FileError) as caught:
        trust.check_chain(STORE, disk)
    assert str(caught.value).startswith(f"{path}: {words} could replace {STORE}; ")
    assert "set another config_dir" in str(caught.value)


def test_links_lead_to_folders_that_are_checked_too(disk: Disk) -> None:
    disk.symlink("../srv/./data", "/var/link")
    disk.symlink("/var/link", "/store")
    trust.check_chain("/store/config", disk)
    for path in ("/srv/data", "/srv", "/var"):
        node(disk, path).mode = 0o777
        with pytest.raises(files.FileError, match=f"^{path}: others may write to it"):
            trust.check_chain("/store/config", disk)
        node(disk, path).mode = 0o755


def test_links_in_a_circle_and_a_file_in_the_place_of_a_folder_are_refused(disk: Disk) -> None:
    node(disk, "/srv").live.update(circle=Link("circle"), data=File(b"", 0o600))
    with pytest.raises(files.FileError, match=r"^/srv/circle/config: cannot examine") as caught:
        trust.check_chain("/srv/circle/config", disk)
    assert caught.value.number == errno.ELOOP
    with pytest.raises(files.FileError, match=r"^/srv/data: is not a folder"):
        trust.check_chain("/srv/data", disk)


def test_a_link_in_the_place_of_the_store_is_refused(disk: Disk) -> None:
    """The store could not be removed: no folder of it may lead out of it."""
    disk.symlink("/srv/data", "/var/store")
    with pytest.raises(files.FileError, match=r"^/var/store: is a symbolic link to /srv/data; set config_dir to that"):
        trust.check_config_dir("/var/store", disk)
    trust.check_config_dir("/var/store/inner", disk)


@pytest.mark.parametrize("path", ["/", "/var/lib/kubelet-config", "/srv/a.b_c+d-e/", "/..a/b.."])
def test_a_store_may_be_where_a_unit_can_name_it(disk: Disk, path: str) -> None:
    trust.check_config_dir(path, disk)


@pytest.mark.parametrize(
    "path",
    ["", "srv/a", "/srv/..", "/srv/../a"]
    + [f"/srv/a{letter}b" for letter in " \t\n'\"%$;\\#&|:@=~*?\0\x1b\x7f\u00e4\udc80"],
)
@pytest.mark.fault(case=79)
def test_a_folder_that_needs_quotes_in_a_unit_holds_no_store(disk: Disk, path: str) -> None:
    with pytest.raises(files.FileError, match=r"a systemd unit cannot name this path as it is.*set another config_dir"):
        trust.check_config_dir(path, disk)


def test_on_a_real_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder for temporary files has the mode 1777 on every machine."""
    monkeypatch.setattr(trust, "TOP", str(tmp_path))
    os.chmod(tmp_path, 0o777)
    (tmp_path / "one").mkdir(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "one")
    trust.check_chain(str(tmp_path / "link" / "store"))
    (tmp_path / "one").chmod(0o1777)
    with pytest.raises(files.FileError, match=f"^{tmp_path}/one: others may write to it \\(mode 1777\\)"):
        trust.check_chain(str(tmp_path / "link" / "store"))
