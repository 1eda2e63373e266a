# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left of a follower whose Node cannot be told that it is gone."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow import follow_install
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_install
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_reporter


class FakeUnit:
    """The unit of a kubelet without our drop-in."""

    def installed(self) -> None:
        return None

    def run(self, _argv: t.Sequence[str]) -> None:
        """Do nothing."""


def test_annotations_that_stay_are_removed_by_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller would wait for the answers of a follower that is gone."""
    (tmp_path / "guard").mkdir(mode=0o700)
    (tmp_path / "guard/settings.json").write_text(json.dumps({"argv": ["/kubelet"], "follow": {}}))
    monkeypatch.setattr(follow_install, "SERVICE_PATH", str(tmp_path / "none"))
    monkeypatch.setattr(guard_install, "FOLLOWER_PATH", str(tmp_path / "none"))
    removed: list[t.Any] = []
    monkeypatch.setattr(guard_install, "present", lambda *given: removed.append(given[2]))
    monkeypatch.setattr(guard_install, "absent", lambda *_given: removed.append("guard"))

    def absent() -> dict[str, t.Any]:
        return follow_install.absent({"config_dir": str(tmp_path)}, False, t.cast("t.Any", FakeUnit()))

    monkeypatch.setattr(status_reporter, "withdraw", lambda _argv, _names: ["it stays"])
    assert absent() == {"changed": True, "warnings": ["it stays"]} and removed == []
    monkeypatch.setattr(status_reporter, "withdraw", lambda _argv, _names: [])
    assert absent() == {"changed": True, "warnings": []} and removed == [{"argv": ["/kubelet"]}, "guard"]
