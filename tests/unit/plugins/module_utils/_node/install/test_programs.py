# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's program is what its mains import. After a power cut at every single call that changes the disk, the
node has one whole program, the old or the new one.
"""

from __future__ import annotations

import ast
import errno
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_install
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import files
from tests.support.node.disk import FILLING, Disk, Folder, PowerCut
from tests.support.plays.ansible import ROOT

PLACE = "/c/guard"
FORMER = {"a.py": b"former a", "b.py": b"former b"}
LOADER = "import current  # " + "x" * 80


def program(name: str) -> dict[str, bytes]:
    return {
        f"{guard_install.PACKAGE}/__init__.py": b"",
        f"{guard_install.PACKAGE}/a.py": f"{name} a {'-' * 80}".encode(),
        f"{guard_install.PACKAGE}/inner/__init__.py": b"",
        f"{guard_install.PACKAGE}/inner/b.py": f"{name} b".encode(),
        **({f"{guard_install.PACKAGE}/inner/new.py": b"new"} if name == "new" else {}),
    }


def install(disk: Disk, name: str) -> None:
    guard_install.install_program(PLACE, program(name), LOADER.encode(), disk)


def empty() -> Disk:
    disk = Disk(Folder(0o755))
    disk.mkdir("/c", 0o700)
    disk.sync_folder("/")
    return disk


def folders() -> Disk:
    """Return a node as guards before 2026-11-25 were installed: a folder for each version, with byte code."""
    disk = empty()
    files.make_folder(f"{PLACE}/programs", disk)
    files.make_folder(f"{PLACE}/__pycache__", disk)
    content = {f"{guard_install.PACKAGE}/{name}": (data, 0o600) for name, data in FORMER.items()}
    files.write_folder(f"{PLACE}/programs/1", content, disk)
    files.swap_link(f"{PLACE}/current", "programs/1", disk)
    files.write(f"{PLACE}/__main__.py", LOADER.encode(), fs=disk)
    return disk.copy()


def with_program(name: str) -> Disk:
    disk = empty()
    install(disk, name)
    return disk.copy()


def started(disk: Disk) -> str:
    """Return which program starts; fail for one that is not whole. Empty: none is installed yet."""
    try:
        main = disk.load(f"{PLACE}/__main__.py").decode()
    except FileNotFoundError:
        return ""
    assert main == LOADER
    target = os.path.join(PLACE, disk.readlink(f"{PLACE}/current"))
    if not target.endswith(".zip"):
        assert {name: disk.load(f"{target}/{guard_install.PACKAGE}/{name}") for name in FORMER} == FORMER
        return "former"
    return next(name for name in ("old", "new") if guard_install.packed(program(name)) == disk.load(target))


@pytest.mark.parametrize(("before", "starts"), [(empty, ""), (folders, "former"), (lambda: with_program("old"), "old")])
@pytest.mark.fault(case=49)
def test_a_power_cut_never_mixes_two_programs(before: t.Callable[[], Disk], starts: str) -> None:
    cut = 0
    while True:
        disk = before()
        disk.cut_after = cut
        try:
            install(disk, "new")
            break
        except PowerCut:
            pass
        for left in disk.after_power_cut():
            assert started(left) in (starts, "new")
            # The next run of Ansible completes it, and leaves no trace of the cut.
            install(left, "new")
            assert started(left) == "new" and not guard_install.outdated(PLACE, program("new"), LOADER.encode(), left)
            install(left, "new")
            assert set(left.listdir(PLACE)) == {"__main__.py", "current", "programs"}
            assert len(left.listdir(f"{PLACE}/programs")) == 1
        cut += 1
    assert started(disk) == "new" and cut > 10


@pytest.mark.parametrize(("before", "starts"), [(empty, ""), (folders, "former"), (lambda: with_program("old"), "old")])
def test_a_full_disk_leaves_the_former_program(before: t.Callable[[], Disk], starts: str) -> None:
    for number in range(30):
        disk = before()
        disk.failure = lambda index, name, first=number: errno.ENOSPC if index >= first and name in FILLING else 0
        try:
            install(disk, "new")
        except files.FileError:
            assert started(disk) in (starts, "new")


def test_the_former_program_stays_until_the_next_run() -> None:
    """A step of the kubelet's unit may still run it."""
    disk = with_program("old")
    install(disk, "new")
    assert len(disk.listdir(f"{PLACE}/programs")) == 2
    install(disk, "new")
    assert disk.listdir(f"{PLACE}/programs") == [os.path.basename(guard_install.place(program("new")))]


def test_a_second_run_writes_nothing_and_a_damaged_program_is_repaired() -> None:
    disk = with_program("new")
    install(disk, "new")
    assert not disk.calls
    file = f"{PLACE}/{guard_install.place(program('new'))}"
    files.write(file, b"torn", fs=disk)
    assert guard_install.outdated(PLACE, program("new"), LOADER.encode(), disk) == [file]
    install(disk, "new")
    assert started(disk) == "new"


def test_the_version_is_that_of_names_and_contents() -> None:
    assert guard_install.place({"a": b"bc"}) != guard_install.place({"ab": b"c"})
    assert guard_install.place({"a": b"1", "b": b"2"}) == guard_install.place({"b": b"2", "a": b"1"})


@pytest.mark.parametrize(
    ("words", "printed"), [(["watch", "x"], "guard.guard_main watch x"), (["follow"], "follow.watching follow")]
)
def test_the_loader_starts_the_program_behind_the_link(tmp_path: Path, words: list[str], printed: str) -> None:
    place = tmp_path / "guard"
    place.mkdir()
    main = b"def main(folder, words):\n    print(folder, __name__.partition('_node.')[2], *words)\n    return 3\n"
    rooms = ("", "_node/", "_node/guard/", "_node/follow/")
    files_of = {f"{guard_install.PACKAGE}/{room}__init__.py": b"" for room in rooms}
    mains = {f"{guard_install.PACKAGE}/{name.replace('.', '/')}.py": main for name in guard_install._MAINS}
    guard_install.install_program(str(place), {**files_of, **mains})
    done = subprocess.run(
        [sys.executable, "-I", str(place), *words], cwd="/", check=False, text=True, capture_output=True
    )
    assert (done.returncode, done.stdout) == (3, f"{place} {printed}\n"), done.stderr


SOURCES = ROOT / "plugins/module_utils"


def file_of(name: str) -> Path | None:
    path = SOURCES / name.replace(".", "/")
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def reach(name: str, found: set[str]) -> None:
    """Add a module, its packages and all that it imports of ours, functions included."""
    file = file_of(name)
    if name in found or file is None:
        return
    found.add(name)
    above = name if file.name == "__init__.py" else name.rpartition(".")[0]
    reach(name.rpartition(".")[0], found)
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            parts = above.split(".")
            base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [node.module])])
            for each in (base, *(f"{base}.{alias.name}" for alias in node.names)):
                reach(each, found)


def test_the_program_is_what_it_imports() -> None:
    found: set[str] = set()
    for main in guard_install._MAINS:
        reach(main, found)
    files = {f"{guard_install.PACKAGE}/{path.relative_to(SOURCES).as_posix()}" for path in map(file_of, found) if path}
    assert set(guard_install.program()) == files | {f"{guard_install.PACKAGE}/__init__.py"}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("from .decide import Unit", [("_node.guard.decide", ["Unit"])]),
        ("from . import decide, observe", [("_node.guard", ["decide", "observe"])]),
        ("        from ..system import binary  # late", [("_node.system", ["binary"])]),
        ("from ..system import (\n    files,\n    lock,\n)", [("_node.system", ["files", "lock"])]),
        ("from ..._config.values.short_texts import minor_of", [("_config.values.short_texts", ["minor_of"])]),
        ("from ..._config.delivery import DROPIN", [("_config.delivery", ["DROPIN"])]),
        ("import os", []),
    ],
)
def test_an_import_is_seen(line: str, names: list[tuple[str, list[str]]]) -> None:
    """What is imported from a folder is a module; test_the_program_is_what_it_imports shows which are folders."""
    assert list(guard_install._imports("_node.guard.guard", f"{line}\n")) == names
