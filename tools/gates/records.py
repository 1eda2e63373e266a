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

from tools.gates import steps


def keep(outcomes: t.Sequence[steps.Outcome], gates: t.Collection[str]) -> None:
    """Record the gates that passed, and the commit that they passed on."""
    record = read()
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    commit, edited = _git("rev-parse", "HEAD"), bool(_git("status", "--porcelain"))
    for outcome in outcomes:
        if outcome.verdict == "passed" and outcome.name in gates:
            row = {"time": now, "commit": commit, "edited": edited, "seconds": round(outcome.seconds)}
            record[outcome.name] = row
    place().write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def table(gates: t.Iterable[str]) -> str:
    """Return a line for each gate: when it last passed in the long tier, and on which commit."""
    record = read()
    lines = ["\nLast passed in the long tier"]
    for name in gates:
        shown = _shown(record[name]) if name in record else "not recorded"
        lines.append(f"  {name:<18} {shown}")
    return "\n".join(lines)


def _shown(row: dict[str, t.Any]) -> str:
    since = _git("rev-list", "--count", f"{row['commit']}..HEAD")
    age = f"{since} commits before HEAD" if since else "not in this history"
    if row["edited"]:
        age = f"with uncommitted changes, {age}"
    return f"{row['time']}  {row['seconds']:6,} s  {row['commit'][:10]}, {age}"


def read() -> dict[str, dict[str, t.Any]]:
    """Return the record by gate: `time`, `commit`, `edited` (uncommitted changes) and `seconds`."""
    try:
        found = json.loads(place().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return t.cast("dict[str, dict[str, t.Any]]", found)


def place() -> Path:
    """Return the path of the record; in the checkout itself where that is no clone."""
    return steps.ROOT / _git("rev-parse", "--git-common-dir") / "test-long.json"


def _git(*words: str) -> str:
    """Return what git prints, or an empty string where it fails."""
    done = subprocess.run(["git", *words], cwd=steps.ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode else done.stdout.strip()
