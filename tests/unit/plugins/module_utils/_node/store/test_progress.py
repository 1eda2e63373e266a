# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is remembered of a trial: a round trip, no file without content, and damage that counts as absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Progress, ProgressFile

SOME = Progress(name="t", failures=1, verdict="it ended")


@pytest.fixture
def file(tmp_path: Path) -> ProgressFile:
    (tmp_path / "store").mkdir()
    return ProgressFile(str(tmp_path))


def test_round_trip_and_no_file_without_content(file: ProgressFile) -> None:
    file.write(SOME)
    assert file.read() == SOME
    file.write(Progress())
    assert not Path(file.path).exists() and file.read() == Progress()


@pytest.mark.parametrize(
    "text",
    [
        "torn",
        "[]",
        "null",
        '{"name": "t", "format": 2}',
        "\0",
        '{"failures": "1"}',
        '{"healthy_since": [3]}',
        '{"due": NaN}',
        '{"verdict": null}',
    ],
)
def test_damage_counts_as_absent(file: ProgressFile, text: str) -> None:
    Path(file.path).write_text(text)
    assert file.read() == Progress()
