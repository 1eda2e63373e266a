# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reports that gates leave in .nox/reports, and where a test runs."""

from __future__ import annotations

import contextlib
import typing as t
from pathlib import Path
from xml.etree import ElementTree

from tools.gates import declared

REAL = "real kubelets"
SIMULATION = "simulation"
MODEL = "Python"
# The gates whose results are shown; the others run the same tests with other versions.
GATES = {
    "e2e": REAL,
    "e2e_rollout": REAL,
    "e2e_node": REAL,
    "e2e_guard": REAL,
    "e2e_fleet": REAL,
    "e2e_modern": REAL,
    "e2e_node_modern": REAL,
    "e2e_guard_modern": REAL,
    "contract": SIMULATION,
    "sim_nodes": SIMULATION,
    "roles": SIMULATION,
    "unit": MODEL,
}


class Point(t.NamedTuple):
    """One test with one set of parameters, which ran."""

    file: str
    name: str
    passed: bool
    seconds: float

    @property
    def test(self) -> str:
        """Return the name of the test for pytest, without parameters."""
        return f"{self.file}::{self.name.partition('[')[0]}"


class Run(t.NamedTuple):
    """The last run of a gate. `versions`: of Python and its packages."""

    day: str
    versions: dict[str, str]
    points: list[Point]


Runs = dict[str, Run]
"""By gate."""


def read(folder: Path) -> Runs:
    """Return the last run of each gate that has a whole report. Skipped tests are left out."""
    found = {}
    for gate in GATES:
        # A gate that runs beside this one may be about to write its report.
        with contextlib.suppress(FileNotFoundError, ElementTree.ParseError):
            found[gate] = _run(ElementTree.parse(folder / f"{gate}.xml").getroot())
    return found


def _run(root: ElementTree.Element) -> Run:
    days = [(suite.get("timestamp") or "")[:10] for suite in root.iter("testsuite")]
    run = Run(max(days, default=""), {}, [])
    for one in root.iter("property"):
        run.versions[one.get("name", "")] = one.get("value", "")
    for case in root.iter("testcase"):
        marks = {mark.tag for mark in case}
        if "skipped" not in marks:
            file = (case.get("classname") or "").replace(".", "/") + ".py"
            passed = marks.isdisjoint(("failure", "error"))
            run.points.append(Point(file, case.get("name") or "", passed, float(case.get("time") or 0)))
    return run


def gates(file: str) -> dict[str, list[str]]:
    """Return the gates that run a file of tests, by what they run it on."""
    found: dict[str, list[str]] = {}
    for gate, kind in GATES.items():
        if declared.GATES[gate].runs(file, long=True):
            found.setdefault(kind, []).append(gate)
    return found
