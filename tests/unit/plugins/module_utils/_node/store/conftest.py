# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The store of most tests: a is known good and active, and b and c are staged."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from tests.support.node.stored import Owners, stored


@pytest.fixture
def owners() -> Owners:
    return Owners()


@pytest.fixture
def store(tmp_path: Path, owners: Owners) -> Store:
    return stored(tmp_path, owners)
