# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Add the section Evidence to the sources of the documentation site: the pages that results of tests fill.

    python -m tools.site.evidence FOLDER

FOLDER has the guides. The results are those of the reports in .nox/reports.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.environments import REPORTS
from tools.generated import table
from tools.site import contract, faults, reports

ADDED = """
The results
-----------

.. toctree::
  :maxdepth: 1

  evidence_faults
  evidence_contract
"""
NONE = """
This site was built without results: no gate had left a report. The pages list every case, and no outcome.
``make test`` and ``make test-long`` leave reports for the next ``make site``.
"""
SOME = """
This site was built with these reports, each of the last run of its gate. A run by hand may have had a part of its tests
only.
"""


def write(folder: Path, runs: reports.Runs) -> None:
    """Write the pages, and add their list and the runs to the guide."""
    (folder / "evidence_faults.rst").write_text(faults.page(runs), encoding="utf-8")
    (folder / "evidence_contract.rst").write_text(contract.page(runs), encoding="utf-8")
    results = SOME + overview(runs) if runs else NONE
    with (folder / "guide_evidence.rst").open("a", encoding="utf-8") as guide:
        guide.write(ADDED + results)


def overview(runs: reports.Runs) -> str:
    """Return a table of the runs."""
    rows = [["gate", "runs on", "day", "with", "passed", "failed"]]
    for gate, run in runs.items():
        passed = sum(point.passed for point in run.points)
        failed = len(run.points) - passed
        versions = ", ".join(map(" ".join, sorted(run.versions.items())))
        rows.append([gate, reports.GATES[gate], run.day, versions, str(passed), str(failed)])
    return table(rows)


if __name__ == "__main__":
    write(Path(sys.argv[1]), reports.read(REPORTS))
