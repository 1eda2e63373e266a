# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node whose kubelet is a unit of systemd."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unit
from tests.support.node.systemd_model import Systemd


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemd:
    monkeypatch.setattr(unit, "LOG_SECONDS", 0.0)
    return Systemd(tmp_path)
