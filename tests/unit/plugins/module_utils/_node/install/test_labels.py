# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import labels


def test_labels_are_restored_where_selinux_is_enabled(tmp_path: Path) -> None:
    asked: list[list[str]] = []
    code, words = 0, ""

    def run(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        asked.append(list(argv))
        return subprocess.CompletedProcess(list(argv), code, "", words)

    enabled = tmp_path / "enforce"
    assert labels.restore(["/store"], run, str(enabled)) == "" and asked == []
    enabled.touch()
    assert labels.restore(["/store", "/unit"], run, str(enabled)) == ""
    assert asked == [["restorecon", "-R", "/store", "/unit"]]
    code, words = 255, "restorecon: cannot access /store\n"
    assert labels.restore(["/store"], run, str(enabled)) == (
        "the SELinux labels of /store were not restored: restorecon: cannot access /store. Run restorecon -R on them"
    )
    code, words = 127, ""
    assert "not restored: exit 127" in labels.restore(["/store"], run, str(enabled))
