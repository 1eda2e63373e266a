# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders of their own for the tests of the gates."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.gates import steps


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the reports of the run that runs these tests."""
    monkeypatch.setattr(steps, "REPORTS", tmp_path)
    monkeypatch.setattr(steps, "ROOT", tmp_path)
    for name in ("LAB", "LAB_KUBERNETES"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path
