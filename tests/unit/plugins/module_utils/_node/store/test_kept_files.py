# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import kept_files, statefiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.kept_files import Kept, KeptFiles, Reverted

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


def content(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in root.glob("*_state") if path.is_file() and not path.is_symlink()}


def test_all_state_files_are_copied(record: KeptFiles, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert record.read() is None
    assert record.save("b1", False)
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
    assert content(root) == {"allocated_pods_state": "{}"}


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
    assert content(root) == {"allocated_pods_state": "{}", **cpu}
    assert (root / "device-plugins/kubelet_internal_checkpoint").read_text() == "more devices"
    if boot == "b1":
        (root / "allocated_pods_state").unlink()
        assert kept_files.restore(kept, boot) == [str(root / "allocated_pods_state")]
        assert kept_files.restore(kept, boot) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"root": "/"}',
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
