# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left of a follower that is removed."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow import follow_install
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_install
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_reporter, textfile


class Installed:
    """A follower on a node without a store, and what its removal has done."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.done: list[t.Any] = []
        (folder / "guard").mkdir(mode=0o700)
        settings = {"argv": ["/kubelet"], "metrics": str(folder), "follow": {}}
        (folder / "guard/settings.json").write_text(json.dumps(settings))
        textfile.write(str(folder), "up 1\n")
        monkeypatch.setattr(follow_install, "SERVICE_PATH", str(folder / "none"))
        monkeypatch.setattr(guard_install, "FOLLOWER_PATH", str(folder / "none"))
        monkeypatch.setattr(status_reporter, "withdraw", lambda *_given: [])
        monkeypatch.setattr(guard_install, "present", lambda *given: self.done.append(given[2]))
        monkeypatch.setattr(guard_install, "absent", lambda *_given: self.done.append("guard"))

    def installed(self) -> None:
        """Return the drop-in of the kubelet's unit: there is none."""

    def run(self, _argv: t.Sequence[str]) -> None:
        """Do nothing."""

    def pid(self) -> int:
        return 0

    def remove(self) -> dict[str, t.Any]:
        return follow_install.absent({"config_dir": str(self.folder)}, False, t.cast("t.Any", self))


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    return Installed(tmp_path, monkeypatch)


def test_the_metrics_go_with_the_guard(node: Installed) -> None:
    """Else node_exporter would show them for ever."""
    assert node.remove() == {"changed": True, "warnings": []}
    assert node.done[-1] == "guard" and not textfile.exists(str(node.folder))


def test_annotations_that_stay_are_removed_by_the_next_run(node: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller would wait for the answers of a follower that is gone. Of an agent, the credentials are in its
    folder.
    """
    path = node.folder / "guard/settings.json"
    known = path.read_text()
    path.write_text(json.dumps({**json.loads(known), "folder": "/r/agent/etc/kubelet.conf.d"}))
    with monkeypatch.context() as away:
        away.setattr(status_reporter, "withdraw", lambda argv, *_given: [f"it stays: {argv[-1]}"])
        assert node.remove()["warnings"] == ["it stays: --kubeconfig=/r/agent/kubelet.kubeconfig"] and node.done == []
    path.write_text(known)
    assert node.remove() == {"changed": True, "warnings": []}
    assert node.done == [{"argv": ["/kubelet"], "metrics": str(node.folder)}, "guard"]
