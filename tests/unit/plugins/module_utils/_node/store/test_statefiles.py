# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State files of the kubelet's managers: what a trial saves and restores, what gives way to another policy, and the
copies for a kubelet that ends twice after its revert.

They are restored also on a real file system that is full: tmpfs and ext4, without a free block or a free inode.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import kept_files, statefiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.kept_files import Kept, KeptFiles, Reverted
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import FileError

BEFORE, SINCE = b'{"policyName":"none"}\xff', b'{"policyName":"static"}'


@pytest.fixture
def kept(tmp_path: Path) -> list[dict[str, t.Any]]:
    """What a trial saved: one file that existed, and one that did not."""
    (tmp_path / "cpu_manager_state").write_bytes(BEFORE)
    return statefiles.take([str(tmp_path / "cpu_manager_state"), str(tmp_path / "memory_manager_state")])


def content(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in place.iterdir()}


def test_what_is_saved(tmp_path: Path, kept: list[dict[str, t.Any]]) -> None:
    """Byte for byte, as text that a JSON file can hold; and that a file was absent."""
    assert kept == [
        {"path": str(tmp_path / "cpu_manager_state"), "data": base64.b64encode(BEFORE).decode()},
        {"path": str(tmp_path / "memory_manager_state"), "data": None},
    ]
    assert content(tmp_path) == {"cpu_manager_state": BEFORE}


@pytest.mark.parametrize("cpu", [BEFORE, SINCE, None])
def test_a_revert_restores_what_is_known(tmp_path: Path, kept: list[dict[str, t.Any]], cpu: bytes | None) -> None:
    """A file that did not exist before may fit all the same."""
    write(tmp_path, cpu, SINCE)
    statefiles.restore(kept)
    assert content(tmp_path) == {"cpu_manager_state": BEFORE, "memory_manager_state": SINCE}


def test_a_trial_that_does_not_revert_to_what_has_written_the_files() -> None:
    belonging = [{"path": "/b", "data": "first"}, {"path": "/c", "data": None}]
    taken = [{"path": "/d", "data": "second"}, {"path": "/b", "data": "second"}, {"path": "/a", "data": "second"}]
    assert statefiles.of_another(belonging, taken) == [
        {"path": "/a", "data": "second"},
        {"path": "/b", "data": "first"},
        {"path": "/c", "data": None},
        {"path": "/d", "data": "second"},
    ]


STATIC, NONE = SINCE, b'{"policyName":"none"}'


@pytest.mark.parametrize(
    ("config", "argv", "there", "copy", "left"),
    [
        ({}, [], NONE, STATIC, NONE),
        ({"cpuManagerPolicy": "static"}, [], STATIC, None, STATIC),
        ({"cpuManagerPolicy": "static"}, [], NONE, STATIC, STATIC),
        ({"cpuManagerPolicy": "static"}, [], NONE, None, None),
        ({"cpuManagerPolicy": "static"}, [], NONE, BEFORE, None),
        ({"cpuManagerPolicy": "static"}, ["kubelet", "--cpu-manager-policy=none"], NONE, STATIC, NONE),
        ({}, [], STATIC, None, None),
        # The kubelet itself names what is wrong with such a file.
        ({}, [], BEFORE, NONE, BEFORE),
        ({}, [], b'{"policyName":5}', NONE, b'{"policyName":5}'),
        # On a full disk it could make no new one.
        ({}, [], None, NONE, NONE),
        ({}, [], None, STATIC, None),
        ({}, [], None, None, None),
    ],
)
def test_a_state_file_of_another_policy_gives_way(
    tmp_path: Path, config: dict[str, str], argv: list[str], there: bytes | None, copy: bytes | None, left: bytes | None
) -> None:
    """To its spare copy, if that is of the policy; else the kubelet makes a new one."""
    write(tmp_path, there, None)
    path = tmp_path / "cpu_manager_state"
    if copy is not None:
        Path(statefiles.spare(str(path))).write_bytes(copy)
    statefiles.fit(statefiles.unfit(str(tmp_path), config, argv))
    assert (path.read_bytes() if path.exists() else None) == left


def test_a_copy_of_another_policy_is_kept_beside_the_new_one(tmp_path: Path) -> None:
    """The policy before several trials: a revert may lead back to it, on a full disk."""
    path = tmp_path / "cpu_manager_state"
    for data in (NONE, STATIC, STATIC):
        statefiles.prepare(str(path), data)
    inodes = {os.stat(copy).st_ino for copy in tmp_path.iterdir()}
    statefiles.fit(statefiles.unfit(str(tmp_path), {}, []), on_trial=True)
    assert not path.exists(), "what is on trial may reserve other CPUs than what ran with this policy before"
    statefiles.fit(statefiles.unfit(str(tmp_path), {}, []))
    assert path.read_bytes() == NONE and os.stat(path).st_ino in inodes
    statefiles.fit(statefiles.unfit(str(tmp_path), {"cpuManagerPolicy": "static"}, []))
    assert path.read_bytes() == STATIC and os.stat(path).st_ino in inodes
    statefiles.prepare(str(path), b'{"policyName": "../x"}')
    statefiles.prepare(str(path), NONE)
    statefiles.discard(str(tmp_path))
    assert [place.name for place in tmp_path.iterdir()] == [path.name]
    statefiles.discard(str(path))
    Path(statefiles.spare(str(path))).mkdir()
    statefiles.discard(str(tmp_path))


@pytest.mark.parametrize(("there", "left"), [(BEFORE, None), (STATIC, None), (NONE, NONE), (None, None)])
def test_a_file_that_the_switch_gives_up_stays_only_if_it_fits(
    tmp_path: Path, there: bytes | None, left: bytes | None
) -> None:
    """It may be the only one that there is on a full disk."""
    write(tmp_path, there, None)
    path = tmp_path / "cpu_manager_state"
    statefiles.fit(statefiles.unfit(str(tmp_path), {}, [], {str(path)}))
    assert (path.read_bytes() if path.exists() else None) == left


def test_a_folder_in_the_place_of_a_state_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cpu_manager_state").mkdir()
    with pytest.raises(FileError, match="cpu_manager_state"):
        statefiles.take([str(tmp_path / "cpu_manager_state")])


def write(place: Path, cpu: bytes | None, memory: bytes | None) -> None:
    """Make the state files of a folder these."""
    for name, data in (("cpu_manager_state", cpu), ("memory_manager_state", memory)):
        (place / name).unlink(missing_ok=True)
        if data is not None:
            (place / name).write_bytes(data)


FIRST = Reverted("b1", 100.0, 5)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a kubelet's root folder with state files, and settings of a guard that name it."""
    root = tmp_path / "kubelet"
    for folder in (root / "device-plugins", root / "pods_state", tmp_path / "guard", tmp_path / "store"):
        folder.mkdir(parents=True)
    (root / "cpu_manager_state").write_text("none")
    (root / "allocated_pods_state").write_text("{}")
    (root / "device-plugins/kubelet_internal_checkpoint").write_text("devices")
    (root / "link_state").symlink_to(root / "cpu_manager_state")
    argv = ["/usr/bin/kubelet", f"--root-dir={root}"]
    (tmp_path / "guard/settings.json").write_text(json.dumps({"argv": argv}))
    return root


@pytest.fixture
def record(tmp_path: Path) -> KeptFiles:
    return KeptFiles(str(tmp_path))


def texts(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in root.glob("*_state") if path.is_file() and not path.is_symlink()}


def test_all_state_files_are_copied(record: KeptFiles, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert record.read() is None and record.save("b1", False)
    kept = record.read()
    assert kept and sorted(kept.data) == ["allocated_pods_state", "cpu_manager_state"]
    assert os.stat(record.path).st_mode & 0o777 == 0o600
    (root / "cpu_manager_state").write_text("static")
    record.save("b1", True)
    assert record.read() == kept, "a second change reverts to what the first one reverts to"
    monkeypatch.setattr(kept_files, "LARGEST_FILE", 3)
    record.save("b1", False)
    kept = record.read()
    assert kept and kept.data["cpu_manager_state"] is None
    (root / "cpu_manager_state").write_text("changed")
    assert kept_files.restore(kept, "b1") == [], "what was too large for a copy is never changed"
    record.remove()
    assert record.read() is None


def test_what_belongs_to_neither_configuration_is_removed_with_a_restore(record: KeptFiles, root: Path) -> None:
    record.save("b1", False, {"cpu_manager_state"})
    kept = record.read()
    assert kept and sorted(kept.data) == ["allocated_pods_state"]
    spare = Path(statefiles.spare(str(root / "cpu_manager_state")))
    assert spare.read_bytes() == (root / "cpu_manager_state").read_bytes(), "what a full disk may need"
    assert kept_files.restore(kept, "b1") == [str(root / "cpu_manager_state")]
    assert texts(root) == {"allocated_pods_state": "{}"}


@pytest.mark.parametrize("settings", [None, "", "[]", "{}", "{", '{"argv": [5]}', '{"argv": 5}'])
def test_nothing_is_copied_without_a_guard(tmp_path: Path, record: KeptFiles, root: Path, settings: str | None) -> None:
    place = tmp_path / "guard/settings.json"
    place.unlink()
    if settings is not None:
        place.write_text(settings)
    assert not record.save("b1", False) and record.read() is None


@pytest.mark.parametrize(("boot", "cpu"), [("b1", {"cpu_manager_state": "none"}), ("b2", {})])
@pytest.mark.fault(case=12)
def test_restored_or_after_a_reboot_removed(record: KeptFiles, root: Path, boot: str, cpu: dict[str, str]) -> None:
    record.save("b1", False)
    kept = record.read()
    assert kept
    (root / "cpu_manager_state").write_text("static")
    (root / "dra_manager_state").write_text("new")
    (root / "device-plugins/kubelet_internal_checkpoint").write_text("more devices")
    changed = [str(root / name) for name in ("cpu_manager_state", "dra_manager_state")]
    assert kept_files.restore(kept, boot) == changed
    assert texts(root) == {"allocated_pods_state": "{}", **cpu}
    assert (root / "device-plugins/kubelet_internal_checkpoint").read_text() == "more devices"
    if boot == "b1":
        (root / "allocated_pods_state").unlink()
        assert kept_files.restore(kept, boot) == [str(root / "allocated_pods_state")]
        assert kept_files.restore(kept, boot) == []


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"root": "/"}'),
        '{"root": "/", "boot": "", "data": {}, "format": 2}',
        '{"root": 1, "boot": "", "data": {}}',
        '{"root": "/", "boot": "", "data": []}',
        '{"root": "/", "boot": "", "data": {"cpu_manager_state": 5}}',
        '{"root": "/", "boot": "", "data": {"cpu_manager_state": "no base64"}}',
        '{"root": "/", "boot": "", "data": {"passwd": "YQ=="}}',
        '{"root": "/", "boot": "", "data": {"../a_state": "YQ=="}}',
        '{"root": "/", "boot": "", "data": {}, "reverted": 5}',
        '{"root": "/", "boot": "", "data": {}, "reverted": ["b1", "now", 0]}',
        '{"root": "/", "boot": "", "data": {}, "reverted": ["b1", 1.0]}',
    ],
)
def test_an_unreadable_record_counts_as_absent(record: KeptFiles, root: Path, text: str) -> None:
    Path(record.path).write_text(text)
    Path(record.path).chmod(0o600)
    assert record.read() is None
    kept = Kept(str(root), "b1", {}, FIRST)
    record.write(kept)
    assert record.read() == kept


@pytest.mark.parametrize(
    ("reverted", "boot", "now", "restarts", "expected"),
    [
        (None, "b1", 100, 7, kept_files.BEGIN),
        (FIRST, "b1", 110, 5, kept_files.WAIT),
        (FIRST, "b1", 120, 6, kept_files.WAIT),
        (FIRST, "b1", 130, 7, kept_files.RESTORE),
        (FIRST, "b1", 130, 1, kept_files.WAIT),
        (FIRST, "b1", 130, 2, kept_files.RESTORE),
        (FIRST, "b1", 280, 7, kept_files.RESTORE),
        (FIRST, "b1", 281, 7, kept_files.OVER),
        (FIRST, "b2", 130, 7, kept_files.OVER),
    ],
)
def test_only_a_kubelet_that_ends_soon_after_its_revert_is_helped(
    reverted: Reverted | None, boot: str, now: float, restarts: int, expected: str
) -> None:
    assert kept_files.step(reverted, boot, now, restarts) == expected


NAMES = ["cpu_manager_state", "memory_manager_state", "dra_manager_state", "allocated_pods_state"]
TOOLS = ("mkfs.ext4", "mount", "umount")


@pytest.fixture(params=["tmpfs", "ext4"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> t.Iterator[Path]:
    """Return the root of a small file system."""
    place, image = tmp_path / "disk", tmp_path / "image"
    place.mkdir()
    if request.param == "tmpfs":
        command = ["mount", "-t", "tmpfs", "-o", "size=256k,nr_inodes=64", "tmpfs", str(place)]
    else:
        image.write_bytes(b"\0" * (1 << 20))
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", "-N", "64", str(image)], check=True)
        command = ["mount", "-o", "loop", str(image), str(place)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this machine cannot mount {request.param}: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def fill(place: Path, what: str) -> None:
    """Leave no free block, or no free inode."""
    with contextlib.suppress(OSError):
        if what == "blocks":
            with open(place / "filler", "wb", buffering=0) as stream:
                while True:
                    stream.write(b"\0" * 512)
        number = 0
        while what == "inodes":
            (place / f"filler-{number}").touch(exist_ok=False)
            number += 1
    with pytest.raises(OSError, match="No space left"):
        (place / "one_more").write_bytes(b"1" * 8192)
    (place / "one_more").unlink(missing_ok=True)


@pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, TOOLS)), reason="mounting a file system needs root and mkfs.ext4"
)
@pytest.mark.parametrize("what", ["blocks", "inodes"])
@pytest.mark.parametrize("changed", NAMES)
@pytest.mark.parametrize("first", [True, False], ids=["policy", "ended twice"])
@pytest.mark.fault(case=11)
@pytest.mark.fault(case=69)
def test_restored_on_a_full_disk(tmp_path: Path, disk: Path, what: str, changed: str, first: bool) -> None:
    """`first`: at the first start after the revert, as the files of a policy; else after two ends."""
    for name in NAMES:
        (disk / name).write_text(f"{name} before" * 300)
    config = tmp_path / "config"
    for folder in ("guard", "store"):
        (config / folder).mkdir(parents=True)
    (config / "guard/settings.json").write_text(json.dumps({"argv": ["/usr/bin/kubelet", f"--root-dir={disk}"]}))
    record = KeptFiles(str(config))
    assert record.save("b1", False)
    taken = statefiles.take([str(disk / changed)])
    # As the kubelet on trial does: its own file is a new one.
    (disk / changed).unlink()
    (disk / changed).write_text("{}")
    fill(disk, what)
    if first:
        statefiles.restore(taken)
    else:
        kept = record.read()
        assert kept and kept_files.restore(kept, "b1") == [str(disk / changed)]
    assert {name: (disk / name).read_text() for name in NAMES} == {name: f"{name} before" * 300 for name in NAMES}
    record.remove()
    assert not list(disk.glob("*.livenodes-kubelet"))
