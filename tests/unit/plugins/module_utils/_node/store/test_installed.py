# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of an installed guard: damaged ones count as none."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.records import json_file
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import installed

KNOWN = {"unit": "k.service", "argv": ["kubelet", "--v=2"], "config": "/k.yaml", "key": "kubelet", "later": 1}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "guard").mkdir()
    return Path(installed.path(str(tmp_path)))


def test_what_was_written_is_read(tmp_path: Path, file: Path) -> None:
    assert installed.settings(str(tmp_path)) == {}
    file.write_bytes(json_file.encode(KNOWN))
    assert installed.settings(str(tmp_path)) == KNOWN


@pytest.mark.parametrize("wrong", [{"argv": "kubelet"}, {"argv": [1]}, {"unit": None}, {"metrics": 5}, {"folder": []}])
def test_other_types_are_damage(tmp_path: Path, file: Path, wrong: dict[str, object]) -> None:
    file.write_bytes(json_file.encode({**KNOWN, **wrong}))
    assert installed.settings(str(tmp_path)) == {}


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b"null"])
def test_other_content_is_damage(tmp_path: Path, file: Path, data: bytes) -> None:
    file.write_bytes(data)
    assert installed.settings(str(tmp_path)) == {}
