# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file for node_exporter: whole, readable, and never written through a link that another user planted."""

from __future__ import annotations

import errno
import os
import stat
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import textfile
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import FileError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "textfile"
    place.mkdir()
    return place


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o000])
def test_the_file_is_readable_for_all_whatever_the_umask(folder: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        textfile.write(str(folder), "a 1\n")
    finally:
        os.umask(before)
    path = folder / textfile.NAME
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("a 1\n", 0o644)
    assert names(folder) == [textfile.NAME]


def test_only_the_finished_file_has_a_name_that_node_exporter_reads(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    textfile.write(str(folder), "old\n")
    seen = []
    rename = os.rename

    def watched(source: str, target: str, **folders: int) -> None:
        seen.append((names(folder), (folder / source).read_text(), (folder / target).read_text()))
        assert stat.S_IMODE((folder / source).stat().st_mode) == 0o644
        rename(source, target, **folders)

    monkeypatch.setattr(os, "rename", watched)
    textfile.write(str(folder), "new\n")
    assert seen == [([textfile.TEMPORARY, textfile.NAME], "new\n", "old\n")]
    assert not textfile.TEMPORARY.endswith(".prom")
    assert (folder / textfile.NAME).read_text() == "new\n"


@pytest.mark.parametrize("name", [textfile.NAME, textfile.TEMPORARY])
@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe"])
def test_what_is_planted_under_its_names_is_replaced_and_not_followed(folder: Path, name: str, kind: str) -> None:
    victim = folder.parent / "victim"
    if kind == "link":
        victim.write_text("root's\n")
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to(victim)
    textfile.write(str(folder), "a 1\n")
    assert names(folder) == [textfile.NAME] and not (folder / textfile.NAME).is_symlink()
    assert (folder / textfile.NAME).read_text() == "a 1\n"
    assert (victim.read_text() == "root's\n") if kind == "link" else not victim.exists()


@pytest.mark.parametrize("name", [textfile.NAME, textfile.TEMPORARY])
def test_a_folder_under_its_names_is_an_error_and_stays(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    with pytest.raises(FileError, match=f"^{folder}/{textfile.NAME}: cannot write: "):
        textfile.write(str(folder), "a 1\n")
    assert names(folder) == [name]


def test_a_folder_that_is_a_link_is_refused(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    for act in (lambda: textfile.write(str(link), "a 1\n"), lambda: textfile.remove(str(link))):
        with pytest.raises(FileError, match=f"^{link}: is a link or no folder; name the folder itself$"):
            act()
    assert names(folder) == []


def test_a_folder_that_is_swapped_for_a_link_while_we_write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = folder.parent / "other"
    other.mkdir()
    unlink = os.unlink

    def swapped(*given: t.Any, **more: t.Any) -> None:
        if not folder.is_symlink():
            folder.rename(folder.parent / "moved")
            folder.symlink_to(other)
        unlink(*given, **more)

    monkeypatch.setattr(os, "unlink", swapped)
    textfile.write(str(folder), "a 1\n")
    assert names(other) == [] and names(folder.parent / "moved") == [textfile.NAME]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nowhere", "does not exist; create this folder, or name another one"),
        ("file", "is a link or no folder"),
        ("nowhere/deeper", "does not exist"),
    ],
)
def test_a_folder_that_is_none(tmp_path: Path, path: str, words: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match=words):
        textfile.write(str(tmp_path / path), "a 1\n")
    assert not textfile.exists(str(tmp_path / path))


def test_a_path_that_depends_on_the_working_folder_is_refused() -> None:
    with pytest.raises(FileError, match="is not an absolute path"):
        textfile.write("textfile", "a 1\n")


@pytest.mark.parametrize("call", ["fchmod", "fsync", "rename"])
def test_a_full_disk_leaves_the_former_file(folder: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    textfile.write(str(folder), "old\n")

    def full(*_given: object, **_more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(FileError, match="cannot write: No space left on device; free some space"):
            textfile.write(str(folder), "new\n")
    assert names(folder) == [textfile.NAME] and (folder / textfile.NAME).read_text() == "old\n"


def test_what_is_no_text_is_written_as_question_marks(folder: Path) -> None:
    textfile.write(str(folder), "a\udc80\n")
    assert (folder / textfile.NAME).read_bytes() == b"a?\n"


def test_removal(folder: Path) -> None:
    textfile.write(str(folder), "a 1\n")
    (folder / textfile.TEMPORARY).touch()
    (folder / "other.prom").touch()
    for _time in range(2):
        textfile.remove(str(folder))
        assert names(folder) == ["other.prom"]
    textfile.remove(str(folder.parent / "nowhere"))
