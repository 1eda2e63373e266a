# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of mutants: counts of a part, survivors, and the reasons why a survivor may stay."""

from __future__ import annotations

import collections
import datetime
import json
import typing as t
from pathlib import Path

import yaml

from tools.collection_tree import ROOT

FIGURES = ROOT / "docs" / "docsite" / "rst" / "figures" / "mutation.json"
ARGUED = ROOT / "tools" / "data" / "survivors.yaml"
NOTICED = ("killed", "timeout")
NOT_TRIED = ("skipped", "not checked")
Figures = dict[str, dict[str, t.Any]]
"""By part: counts, the sample, seconds of the last run, its day, and the survivors."""


def summary(rows: t.Sequence[t.Mapping[str, str]], every: int, seconds: float) -> dict[str, t.Any]:
    """Return the figures of one part from what became of each of its mutants."""
    counts = collections.Counter(row["status"] for row in rows)
    tried = sum(number for status, number in counts.items() if status not in NOT_TRIED)
    return {
        "mutants": len(rows),
        "every": every,
        "tried": tried,
        **{status: counts[status] for status in NOTICED},
        "survived": tried - sum(counts[status] for status in NOTICED),
        "seconds": round(seconds),
        "day": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "survivors": sorted(f"{row['file']} {row['function']}: {row['change']}" for row in rows if "change" in row),
    }


def read(path: Path) -> Figures:
    """Return the figures in a file, none where it does not exist."""
    return t.cast("Figures", json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def keep(path: Path, part: str, row: dict[str, t.Any]) -> None:
    """Replace the figures of one part in a file."""
    text = json.dumps({**read(path), part: row}, indent=1, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def line(part: str, row: t.Mapping[str, t.Any]) -> str:
    """Return a line for people about one part."""
    return (
        f"{part}: {row['mutants']} mutants, {row['tried']} tried, {row['killed']} killed, {row['timeout']} without end,"
        f" {row['survived']} survived, {row['seconds']} s"
    )


class Reason(t.NamedTuple):
    """Why the survivors of a group may stay."""

    text: str
    mutants: tuple[str, ...]


def argued(path: Path = ARGUED) -> list[Reason]:
    """Return the survivors that may stay, by their reason."""
    groups = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    return [Reason(group["reason"], tuple(group["mutants"])) for group in groups]


def unexplained(figures: Figures, reasons: t.Sequence[Reason]) -> list[str]:
    """Return the survivors without a reason."""
    known = {mutant for reason in reasons for mutant in reason.mutants}
    return [mutant for row in figures.values() for mutant in row["survivors"] if mutant not in known]
