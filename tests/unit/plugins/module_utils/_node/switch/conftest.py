# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node whose store the module changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import checkpoint_module
from tests.support.node.guard_node import Node, guard_answers, installed_guard


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a guard, as the module sees it."""
    monkeypatch.setattr(checkpoint_module, "GUARD", installed_guard(tmp_path))
    monkeypatch.setattr(checkpoint_module, "execute", guard_answers)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state file of the policy before the first change."""
    path = tmp_path / "cpu_manager_state"
    path.write_text("none")
    return path
