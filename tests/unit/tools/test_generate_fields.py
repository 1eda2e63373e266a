# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The generated tables are those that the generator writes, formatted by ruff."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.ansible import ROOT


def test_the_table_is_what_the_generator_writes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "generate_fields.py"), "--check"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_stale_table_is_shown_as_a_difference(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "data").symlink_to(ROOT / "tools" / "data")
    (tmp_path / "ruff.toml").symlink_to(ROOT / "ruff.toml")
    (tmp_path / "plugins/module_utils/_config/upgrade").mkdir(parents=True)
    (tmp_path / "tools" / "generate_fields.py").write_text(
        (ROOT / "tools" / "generate_fields.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    table = tmp_path / "plugins" / "module_utils" / "_config" / "fields" / "fields_table.py"
    table.parent.mkdir(parents=True)
    table.write_text(
        (ROOT / "plugins" / "module_utils" / "_config" / "fields" / "fields_table.py")
        .read_text(encoding="utf-8")
        .replace("default=110", "default=111"),
        encoding="utf-8",
    )
    command = [sys.executable, str(tmp_path / "tools" / "generate_fields.py")]
    done = subprocess.run([*command, "--check"], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert [line[0] for line in lines if "default=111" in line] == ["-"]
    assert [line[0] for line in lines if "default=110" in line] == ["+"]
    assert "is stale" in done.stderr
    subprocess.run(command, check=True)
    subprocess.run([*command, "--check"], check=True)
