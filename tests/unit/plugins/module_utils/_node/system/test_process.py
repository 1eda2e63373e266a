# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines of processes: any process may have any bytes in its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import observe
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import host_checks
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import process


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"kubelet\0--config=/x\0\0", ["kubelet", "--config=/x", ""]),
        (b"", []),
        # A process may write its own title, without an end.
        (b"nginx: worker", ["nginx: worker"]),
        (b"kubelet\0--config=/\xff\r\n/k\0", ["kubelet", "--config=/\udcff\r\n/k"]),
    ],
)
def test_every_byte_is_kept(tmp_path: Path, data: bytes, words: list[str]) -> None:
    place = tmp_path / "proc/7"
    place.mkdir(parents=True)
    (place / "cmdline").write_bytes(data)
    assert process.command_line(7, str(tmp_path)) == words
    assert process.command_line(8, str(tmp_path)) == []
    if words:
        assert host_checks.running(os.path.basename(words[0]), str(tmp_path)) == words


def test_the_guard_finds_the_files_that_a_command_line_names() -> None:
    """Their names need not be UTF-8."""
    with subprocess.Popen(["sh", "-c", "read line", b"--config=/\xff"], stdin=subprocess.PIPE) as found:
        words = observe.argv(found.pid)
        found.kill()
    assert os.fsencode(words[-1]) == b"--config=/\xff"
