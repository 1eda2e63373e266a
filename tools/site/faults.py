# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the fault cases: tools/data/faults*.yaml, and the tests with the mark `fault(case=...)`."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import yaml

from tools.collection_tree import ROOT
from tools.generated import table
from tools.site.reports import GATES, MODEL, REAL, SIMULATION, Runs, gates

CASES = sorted((ROOT / "tools" / "data").glob("faults*.yaml"))
NOT_RUN = "not run here"
LABEL = "ansible_collections.livenodes.kubelet.docsite.evidence_faults"
MARK = re.compile(r"^(?:@pytest\.mark\.fault\(case=(\d+)\)|def (test_\w+))", re.MULTILINE)
"""A mark, or the test below it."""
KEYS = {
    "node": "The node runs",
    "status": "The status states",
    "user": "You read",
    "lost": "Safety",
    "again": "A second run",
    "open": "Not shown",
}
HEADER = f""".. _{LABEL}:

Faults
======

After this page you know what happens in each of {{count}} faults, and which test shows it. A link leads to a report of
users who met such a fault, mostly with other systems.

*{NOT_RUN}*: the test has no result in the reports that this page was built with.

Each row names the command that runs the tests of one case in one gate. Gates whose name begins with ``e2e`` need the
lab, see ``tests/lab/README.md``. ``make test-long`` runs all of them, and starts the labs itself.

Overview
--------
"""


def cases() -> dict[int, dict[str, t.Any]]:
    """Return the cases of all lists by number, in their order. Raises ValueError for a number with two cases."""
    found: dict[int, dict[str, t.Any]] = {}
    for path in CASES:
        for row in yaml.safe_load(path.read_text(encoding="utf-8")):
            if row["case"] in found:
                raise ValueError("two fault cases have one number")
            found[row["case"]] = row
    return dict(sorted(found.items()))


def marked() -> dict[int, list[str]]:
    """Return the tests of every case that a mark names, as pytest names them."""
    found: dict[int, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name, numbers in marks(path).items():
            for number in numbers:
                found.setdefault(number, []).append(f"{path.relative_to(ROOT).as_posix()}::{name}")
    return found


def marks(path: Path) -> dict[str, list[int]]:
    """Return the cases of each test in a file."""
    found: dict[str, list[int]] = {}
    numbers: list[int] = []
    for number, name in MARK.findall(path.read_text(encoding="utf-8")):
        if number:
            numbers.append(int(number))
        else:
            found[name], numbers = numbers, []
    return found


class Test(t.NamedTuple):
    """A test with a mark, on real kubelets, the simulation or a model. `results`: passed and failed points by gate."""

    name: str
    kind: str
    gates: list[str]
    results: dict[str, tuple[int, int]]

    def shown(self, runs: Runs) -> str:
        """Return the words for its results, one for each gate."""
        words = []
        for gate, (passed, failed) in self.results.items():
            count = f"{passed} of {passed + failed} passed" if failed else "passed"
            words.append(f"{count} in {gate}, {runs[gate].day}")
        return "; ".join(words) or NOT_RUN


Counts = dict[str, dict[str, tuple[int, int]]]
"""By test and gate: how many points passed and failed."""


def counts(runs: Runs) -> Counts:
    """Return the results of all tests that ran."""
    found: Counts = {}
    for gate, run in runs.items():
        for point in run.points:
            passed, failed = found.setdefault(point.test, {}).get(gate, (0, 0))
            found[point.test][gate] = (passed + point.passed, failed + (not point.passed))
    return found


def placed(name: str, found: Counts) -> list[Test]:
    """Return a test once for each place where it runs: those of the contract run in two."""
    tests = []
    for kind, names in gates(name.partition("::")[0]).items():
        results = {gate: count for gate, count in found.get(name, {}).items() if GATES[gate] == kind}
        tests.append(Test(name, kind, names, results))
    return tests


def total(tests: list[Test]) -> str:
    """Return the words for all tests of one case and one kind, empty without any."""
    run = [test for test in tests if test.results]
    if not run:
        return NOT_RUN if tests else ""
    passed = 0
    for test in run:
        passed += not any(failed for _passed, failed in test.results.values())
    text = f"{passed} of {len(run)} passed"
    if len(run) < len(tests):
        text += f", {len(tests) - len(run)} {NOT_RUN}"
    return text


def page(runs: Runs) -> str:
    found, named, results = cases(), marked(), counts(runs)
    kinds = (REAL, SIMULATION, MODEL)
    overview = [["case", "what happens", *kinds]]
    sections = []
    for number, case in found.items():
        tests: list[Test] = []
        for name in named.get(number, []):
            tests += placed(name, results)
        row = [str(number), f":ref:`{case['title']} <{LABEL}_{number}>`"]
        for kind in kinds:
            row.append(total([test for test in tests if test.kind == kind]))
        overview.append(row)
        sections.append(section(number, case, tests, runs))
    return HEADER.format(count=len(found)) + table(overview) + "".join(sections)


def section(number: int, case: dict[str, t.Any], tests: list[Test], runs: Runs) -> str:
    """Return what happens in one case, and its tests."""
    title = f"{number}. {case['title']}"
    lines = ["", f".. _{LABEL}_{number}:", "", title, "-" * len(title), ""]
    for key, words in KEYS.items():
        if case.get(key):
            lines.append(f"* {words}: {case[key]}.")
    if case.get("from"):
        lines.append(f"* Where users met it: {case['from']}")
    rows = [["test", "where", "last result", "command"]]
    for test in tests:
        command = f'``.venv/bin/nox -s {test.gates[0]} -- -m "fault(case={number})"``'
        rows.append([f"``{test.name}``", test.kind, test.shown(runs), command])
    results = table(rows) if tests else "\nThere is no test.\n"
    return "\n".join(lines) + "\n" + results
