# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports as files."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import report_document


def test_files_are_whole_and_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report_document.write(str(tmp_path / "r"), "old")
    with monkeypatch.context() as patch, pytest.raises(OSError):
        patch.setattr(report_document.os, "replace", lambda *_paths: (dummy for dummy in ()).throw(OSError("no")))
        report_document.write(str(tmp_path / "r"), "new")
    assert (tmp_path / "r").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) & 0o600 == 0o600


def test_half_of_a_surrogate_pair_does_not_cost_the_report(tmp_path: Path) -> None:
    """A module can return one, as in the path of a file whose name is no UTF-8."""
    report_document.write(str(tmp_path / "r"), "a\udcff")
    assert (tmp_path / "r").read_text() == "a\\udcff"
