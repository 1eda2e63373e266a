# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A last-known-good of another kubelet version is forgotten only when the installed kubelet refuses it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.outdated_good import forget_outdated
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import File, Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import binary

SOURCE = {"namespace": "kube-system", "name": "c", "uid": "u1", "resourceVersion": "1", "kubeletConfigKey": "kubelet"}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a store whose last-known-good was verified by a kubelet of v1.20.2."""
    store = Store(str(tmp_path / "config"))
    store.remember_local({"/k.yaml": File(b"kind: KubeletConfiguration\n")}, "/k.yaml")
    store.stage(SOURCE, {"kubelet": "{}"})
    store.switch(SOURCE)
    store.graduate(SOURCE, "v1.20.2")
    return store


@pytest.mark.parametrize(
    ("argv", "version", "verdict", "kept"),
    [
        (["/usr/bin/kubelet"], "v1.20.2", "invalid", True),
        (["/usr/bin/kubelet"], None, "invalid", True),
        (["/usr/bin/kubelet"], "v1.21.0", "valid", True),
        (["/usr/bin/kubelet"], "v1.21.0", "not checked", True),
        (["/usr/bin/kubelet"], "v1.21.0", "invalid", False),
        ([], "v1.21.0", "invalid", True),
    ],
)
def test_only_a_refused_one_of_another_version_is_forgotten(
    store: Store, argv: list[str], version: str | None, verdict: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary, "version", lambda *_arguments, **_more: version)
    monkeypatch.setattr(binary, "check", lambda *_arguments, **_more: binary.Verdict(verdict, [], []))
    forget_outdated(store, argv, lambda words: subprocess.CompletedProcess(list(words), 1, "", ""))
    assert store.last_known_good() == (SOURCE if kept else None)


def test_unreadable_files_change_nothing(store: Store) -> None:
    good = Path(store.meta, "last-known-good")
    good.write_bytes(b"torn")
    forget_outdated(store, ["/usr/bin/kubelet"], lambda words: subprocess.CompletedProcess(list(words), 1, "", ""))
    assert good.read_bytes() == b"torn"
