# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of the long tier."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tools.gates import records
from tools.gates.steps import Outcome


def git(place: Path, *words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *identity, *words], cwd=place, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_what_passed_is_kept_with_its_commit(reports: Path) -> None:
    git(reports, "init", "--quiet")
    git(reports, "commit", "--quiet", "--allow-empty", "--message", "One")
    first = git(reports, "rev-parse", "HEAD")
    outcomes = [
        Outcome("e2e", "passed", 1234.5, "", 9),
        Outcome("e2e_node", "failed", 5, "why", 0, 1),
        Outcome("lab up", "passed", 3, "", 1),
    ]
    records.keep(outcomes, ["e2e", "e2e_node"])
    assert records.place() == reports / ".git/test-long.json"
    git(reports, "commit", "--quiet", "--allow-empty", "--message", "Two")
    records.keep([Outcome("e2e", "failed", 5, "why", 0, 1)], ["e2e", "e2e_node"])
    assert {name: (row["commit"], row["seconds"]) for name, row in records.read().items()} == {"e2e": (first, 1234)}
    lines = records.table(["e2e", "e2e_node"]).splitlines()
    assert f"1,234 s  {first[:10]}, 1 commits before HEAD" in lines[-2] and lines[-1].endswith("not recorded")


def test_uncommitted_changes_are_named(reports: Path) -> None:
    git(reports, "init", "--quiet")
    git(reports, "commit", "--quiet", "--allow-empty", "--message", "One")
    (reports / "file").write_text("new")
    records.keep([Outcome("e2e", "passed", 1, "", 1)], ["e2e"])
    assert "with uncommitted changes, 0 commits before HEAD" in records.table(["e2e"])


def test_a_damaged_record_counts_as_none(reports: Path) -> None:
    git(reports, "init", "--quiet")
    records.place().write_text("{")
    assert records.read() == {}
