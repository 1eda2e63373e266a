# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `--check` shows of a generated table that is stale. The gate `fields` runs it on the tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.plays.ansible import ROOT


def test_a_stale_table_is_shown_as_a_difference(tmp_path: Path) -> None:
    for name in ("tools/data", "ruff.toml", "plugins/module_utils/_config/fields/field_row.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("generate_fields", "generated"):
        (tmp_path / f"tools/{name}.py").write_bytes((ROOT / f"tools/{name}.py").read_bytes())
    name = "plugins/module_utils/_config/fields/fields_table.py"
    text = (ROOT / name).read_text(encoding="utf-8")
    (tmp_path / name).write_text(text.replace("default=110", "default=111"), encoding="utf-8")
    command = [sys.executable, str(tmp_path / "tools" / "generate_fields.py")]
    done = subprocess.run([*command, "--check"], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert [line[0] for line in lines if "default=111" in line] == ["-"]
    assert [line[0] for line in lines if "default=110" in line] == ["+"]
    assert "is stale" in done.stderr
    subprocess.run(command, check=True)
    subprocess.run([*command, "--check"], check=True)
