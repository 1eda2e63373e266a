# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writing files: order of the calls, what remains after a failure, what is refused. One holder of a lock at a time."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import files
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.lock import LockError, locked
from tests.support.node.disk import Disk


def names(disk: Disk) -> list[str]:
    return [call.split(" ")[0] for call in disk.calls]


def test_a_file_is_durable_before_it_has_its_name() -> None:
    disk = Disk()
    files.write("/f", b"x" * 100, fs=disk)
    assert [name for name in names(disk) if name != "write"] == ["create", "sync", "rename", "sync_folder"]
    assert names(disk).count("write") > 1, "the disk takes a part of the data at a time"
    assert disk.load("/f") == b"x" * 100


def test_a_folder_is_durable_before_it_has_its_name() -> None:
    disk = Disk()
    files.write_folder("/d", {"a": (b"1", 0o600), "s/b": (b"2", 0o600)}, fs=disk)
    assert names(disk)[-5:] == ["sync", "sync_folder", "sync_folder", "rename", "sync_folder"]
    assert disk.tree() == {"/d": "folder", "/d/a": "1", "/d/s": "folder", "/d/s/b": "2"}


def test_a_power_cut_leaves_a_rename_whole_or_undone() -> None:
    """Of the disk in memory: with half a rename, a link that a full disk needs would be gone under both names."""
    disk = Disk()
    disk.mkdir("/d", 0o755)
    disk.symlink("old", "/d/active")
    disk.symlink("new", "/d/revert")
    for folder in ("/", "/d"):
        disk.sync_folder(folder)
    disk.rename("/d/revert", "/d/active")
    left = [after.tree() for after in disk.after_power_cut()]
    assert left == [
        {"/d": "folder", "/d/active": "-> old", "/d/revert": "-> new"},
        {"/d": "folder", "/d/active": "-> new"},
    ]


def test_real_files(tmp_path: Path) -> None:
    folder = tmp_path / "one" / "two"
    files.make_folder(str(folder))
    files.make_folder(str(folder))
    path = folder / "f"
    files.write(str(path), b"1")
    files.write(str(path), b"2" * 100_000)
    assert path.read_bytes() == b"2" * 100_000
    assert [stat.S_IMODE(os.stat(item).st_mode) for item in (folder.parent, folder, path)] == [0o700, 0o700, 0o600]
    files.swap_link(str(folder / "l"), "f")
    files.swap_link(str(folder / "l"), "g")
    assert os.readlink(folder / "l") == "g"
    assert files.remove(str(folder / "l"))
    assert not files.remove(str(folder / "l"))
    assert files.read(str(folder / "none")) is None
    elsewhere = tmp_path / "elsewhere"
    files.write_folder(str(elsewhere), {"f": (b"x", 0o600)})
    for link in (folder / "link", tmp_path / "link"):
        link.symlink_to(elsewhere)
    for removed in (folder, folder, tmp_path / "link"):
        files.remove_folder(str(removed))
    assert sorted(item.name for item in tmp_path.rglob("*")) == ["elsewhere", "f", "one"], "no link is followed"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
@pytest.mark.fault(case=78)
def test_modes_are_those_asked_for_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    made = tmp_path / "a" / "b"
    before = os.umask(umask)
    try:
        files.make_folder(str(made), mode=0o755)
        files.write(str(made / "f"), b"1", 0o644)
        files.write(str(made / "f"), b"2", 0o640)
        files.write(str(made / "g"), b"1", 0o664)
        files.write_folder(str(made / "d"), {"s/f": (b"1", 0o600), "f": (b"1", 0o444)}, mode=0o750)
    finally:
        os.umask(before)
    modes = {str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes.pop("a") == modes.pop("a/b") == 0o755
    inside = {"f": 0o640, "g": 0o664, "d": 0o750, "d/f": 0o444, "d/s": 0o750, "d/s/f": 0o600}
    assert modes == {f"a/b/{name}": mode for name, mode in inside.items()}


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "No space left on device; free some space"),
        (errno.EROFS, "Read-only file system; .*remount it writable"),
        (errno.EACCES, "Permission denied; run as root"),
        (errno.EIO, "Input/output error; the disk fails"),
        (errno.EMFILE, "Too many open files$"),
    ],
)
def test_errors_name_path_cause_and_remedy(number: int, words: str) -> None:
    disk = Disk()
    disk.failure = lambda _index, name: number if name == "write" else 0
    with pytest.raises(files.FileError, match=f"^/f: cannot write: {words}") as caught:
        files.write("/f", b"x", fs=disk)
    assert (caught.value.path, caught.value.number) == ("/f", number)
    assert disk.tree() == {}


def test_what_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    (tmp_path / "link").symlink_to("f")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "open").write_text("x")
    (tmp_path / "open").chmod(0o602)
    reasons = {
        "link": "a symbolic link is in the place",
        "pipe": "not a regular file",
        "open": "others may write to it",
    }
    for name, words in {**reasons, ".": "cannot read"}.items():
        with pytest.raises(files.FileError, match=words):
            files.read(str(tmp_path / name))


class Guessed(files.OS):
    """Temporary names that another process has guessed."""

    def token(self) -> str:
        return "guessed"


@pytest.mark.parametrize("planted", ["link", "dangling", "file", "folder"])
@pytest.mark.parametrize("act", ["write", "write_folder", "swap_link"])
def test_what_is_planted_at_a_temporary_name_is_neither_written_nor_followed(
    tmp_path: Path, planted: str, act: str
) -> None:
    victim, place = tmp_path / "victim", tmp_path / "store/tmp_one.guessed"
    place.parent.mkdir()
    victim.mkdir() if planted == "link" and act == "write_folder" else victim.write_text("theirs")
    if planted == "folder":
        place.mkdir()
    elif planted == "file":
        place.write_text("theirs")
    else:
        place.symlink_to(victim if planted == "link" else tmp_path / "none")
    path = str(tmp_path / "store/one")
    with pytest.raises(files.FileError, match="File exists; something else has this name"):
        if act == "write":
            files.write(path, b"ours", fs=Guessed())
        elif act == "write_folder":
            files.write_folder(path, {"kubelet": (b"ours", 0o600)}, Guessed())
        else:
            files.swap_link(path, "checkpoints/a", Guessed())
    assert not os.path.lexists(path) and not (tmp_path / "none").exists()
    assert (list(victim.iterdir()) == []) if victim.is_dir() else victim.read_text() == "theirs"
    files.write(path, b"ours")
    assert Path(path).stat().st_mode & 0o777 == 0o600


HOLD = """
import sys, time
sys.path[:0] = {path!r}
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.lock import locked
with locked({folder!r}, 5):
    print("held", flush=True)
    time.sleep({seconds})
    open({folder!r} + "/ended", "w").close()
"""


@pytest.fixture
def hold(tmp_path: Path) -> t.Iterator[t.Callable[[float], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def holder(seconds: float) -> subprocess.Popen[str]:
        script = HOLD.format(path=sys.path, folder=str(tmp_path / "store"), seconds=seconds)
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield holder
    for process in started:
        process.kill()
        process.wait()


def test_the_second_fails_naming_the_first(tmp_path: Path, hold: t.Callable[[float], subprocess.Popen[str]]) -> None:
    process = hold(60)
    with (
        pytest.raises(LockError, match=rf"process {process.pid} \(.*python.* for 0.2 s"),
        locked(str(tmp_path / "store"), 0.2),
    ):
        pass


def test_the_second_waits(tmp_path: Path, hold: t.Callable[[float], subprocess.Popen[str]]) -> None:
    hold(0.5)
    with locked(str(tmp_path / "store"), 60):
        assert (tmp_path / "store/ended").exists()


def test_a_killed_holder_holds_nothing(tmp_path: Path, hold: t.Callable[[float], subprocess.Popen[str]]) -> None:
    process = hold(60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with locked(str(tmp_path / "store"), 0):
        assert (tmp_path / "store" / "lock").read_text() == str(os.getpid())


def test_free_again_after_an_error_and_no_link_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(str(tmp_path), 0):
        raise KeyError
    with locked(str(tmp_path), 0):
        assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
    (tmp_path / "lock").unlink()
    (tmp_path / "lock").symlink_to("/etc/passwd")
    with pytest.raises(files.FileError, match="a symbolic link is in the place"), locked(str(tmp_path), 0):
        pass


def test_a_store_that_was_removed_meanwhile(tmp_path: Path) -> None:
    """The holder removes the store with its lock file: the next one gets a lock that others see."""
    folder = tmp_path / "store"
    with locked(str(folder), 0):
        (folder / "lock").unlink()
        folder.rmdir()
    with locked(str(folder), 0), pytest.raises(LockError), locked(str(folder), 0):
        pass
