# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports as files."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import report_files


def test_files_are_whole_and_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report_files.write(str(tmp_path / "r"), "old")
    with monkeypatch.context() as patch, pytest.raises(OSError):
        patch.setattr(report_files.os, "replace", lambda *_paths: (dummy for dummy in ()).throw(OSError("no")))
        report_files.write(str(tmp_path / "r"), "new")
    assert (tmp_path / "r").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) & 0o600 == 0o600


def test_text_that_is_no_unicode(tmp_path: Path) -> None:
    """A node may return half a surrogate pair, which ansible-core below 2.19 passes on."""
    report_files.write(str(tmp_path / "r"), "cause: \ud800, ü")
    assert (tmp_path / "r").read_text(encoding="utf-8") == "cause: \\ud800, ü"
