# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When, and on which commit, each gate of the long tier last passed.

The record lies in the folder that git keeps for the clone and all its worktrees, so `make clean` does not remove it.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import typing as t
from pathlib import Path

from tools.gates import process
from tools.gates.outcome import Outcome


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=process.ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def place() -> Path:
    """Return the path of the record; under .nox where this is no clone."""
    folder = _git("rev-parse", "--git-common-dir")
    return (process.ROOT / folder if folder else process.REPORTS.parent) / "test-long.json"


def read() -> dict[str, dict[str, t.Any]]:
    """Return the record by gate: `time`, `commit`, `edited` (uncommitted changes) and `seconds`."""
    try:
        found = json.loads(place().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return t.cast("dict[str, dict[str, t.Any]]", found)


def keep(outcomes: t.Sequence[Outcome], gates: t.Collection[str]) -> None:
    """Record the gates that passed, and the commit that they passed on."""
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    commit, edited = _git("rev-parse", "HEAD"), bool(_git("status", "--porcelain"))
    passed = {
        outcome.name: {"time": now, "commit": commit, "edited": edited, "seconds": round(outcome.seconds)}
        for outcome in outcomes
        if outcome.verdict == "passed" and outcome.name in gates
    }
    place().write_text(json.dumps({**read(), **passed}, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def table(gates: t.Iterable[str]) -> str:
    """Return a line for each gate: when it last passed in the long tier, and on which commit."""
    known = read()
    lines = [f"  {name:<18} {_row(known[name]) if name in known else 'not recorded'}" for name in gates]
    return "\n".join(["\nLast passed in the long tier", *lines])


def _row(row: dict[str, t.Any]) -> str:
    commit = str(row["commit"])
    since = _git("rev-list", "--count", f"{commit}..HEAD") if commit else ""
    age = f"{since} commits before HEAD" if since else "not in this history"
    edited = ", with uncommitted changes" if row["edited"] else ""
    return f"{row['time']}  {row['seconds']:6,} s  {commit[:10]}{edited}, {age}"
