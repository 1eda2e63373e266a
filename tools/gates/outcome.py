# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a gate ended, and the summary of a run."""

from __future__ import annotations

import dataclasses
import json
import sys
import textwrap
import typing as t
import xml.etree.ElementTree

from tools.gates import process


@dataclasses.dataclass
class Outcome:
    """How a gate ended: `passed`, `failed` or `left out`, with the reason of the last two."""

    name: str
    verdict: str
    seconds: float = 0
    reason: str = ""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    cases: list[str] = dataclasses.field(default_factory=list)
    """The cases that failed or were skipped, each with the first line of its reason; else the end of a failure."""

    def line(self, budget: float | None = None) -> str:
        """Return one line for people, with the share of the budget if there is one, and one for each case."""
        tests = ""
        if self.passed + self.failed > 1:
            tests = f"{self.passed + self.failed} tests"
        if tests and self.skipped:
            tests += f", {self.skipped} skipped"
        share = f"{self.seconds / budget:5.0%}  " if budget else ""
        first = f"{self.verdict:<8}  {self.name:<18} {self.seconds:6.1f} s  {share}{self.reason or tests}".rstrip()
        return "\n".join([first, *(f"            {case}" for case in self.cases)])


def count(name: str) -> tuple[int, int, int, list[str]]:
    """Return the passed, failed and skipped test cases of a gate, and a line for each case that failed or was skipped.

    Zeros for a gate without a JUnit report.
    """
    report = process.REPORTS / f"{name}.xml"
    if not report.exists():
        return 0, 0, 0, []
    root = xml.etree.ElementTree.parse(report).getroot()
    total = failed = skipped = 0
    for suite in root.iter("testsuite"):
        total += int(suite.get("tests", 0))
        failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped += int(suite.get("skipped", 0))
    cases = []
    for tag, kind in (("failure", ""), ("error", ""), ("skipped", "skipped: ")):
        for case in root.iter("testcase"):
            for mark in case.iter(tag):
                reason = " ".join((mark.get("message") or "").split())
                cases.append(f"{kind}{case.get('classname')}::{case.get('name')}: {reason}"[:200])
    return max(0, total - failed - skipped), failed, skipped, cases


def run_step(name: str, command: list[str], limit: float, **options: t.Any) -> Outcome:
    """Run a command with the options of process.run, and show the end of its log if it fails. Raises Interrupted."""
    status, seconds, log = process.run(name, command, limit, **options)
    if status == 0:
        return Outcome(name, "passed", seconds, passed=1)
    process.show(log)
    reason = f"exit status {status}, see {log.relative_to(process.ROOT)}"
    if status is None:
        reason = f"not done within {limit:.0f} s"
    return Outcome(name, "failed", seconds, reason, failed=1, cases=process.last_lines(log))


def run_gate(name: str, limit: float, environment: t.Mapping[str, str] | None = None, idle: bool = False) -> Outcome:
    """Run one gate through nox, and count its test cases; one if it counts none. Raises Interrupted."""
    report = process.REPORTS / f"{name}.json"
    for old in (report, report.with_suffix(".xml")):
        old.unlink(missing_ok=True)
    command = [sys.executable, "-m", "nox", "--report", str(report), "--session", name]
    outcome = run_step(name, command, limit, environment=environment, idle=idle)
    if outcome.passed and report.exists():
        reported = json.loads(report.read_text(encoding="utf-8"))["sessions"][0]
        if reported.get("result") == "skipped":
            reason = str(reported.get("reason") or "no reason given")
            return Outcome(name, "left out", outcome.seconds, reason, skipped=1)
    passed, failed, skipped, cases = count(name)
    if outcome.failed:
        failed, cases = failed or 1, cases or outcome.cases
    elif not skipped:
        passed = passed or 1
    return dataclasses.replace(outcome, passed=passed, failed=failed, skipped=skipped, cases=cases)


def summary(outcomes: t.Sequence[Outcome], seconds: float, budget: float | None) -> str:
    """Return the summary of a run: a line for each gate, the budget, and the counts, which are the last line."""
    lines = [f"\nSummary ({seconds:.0f} s)"]
    # What failed comes last, where a log that was cut still shows it.
    ordered = sorted(outcomes, key=lambda outcome: outcome.verdict == "failed")
    lines += [textwrap.indent(outcome.line(budget), "  ") for outcome in ordered]
    if budget:
        over = f", over the budget by {seconds - budget:,.0f} s" if seconds > budget else ""
        lines.append(f"{seconds:,.0f} s of {budget:,.0f} s{over}")
    keys = ("passed", "failed", "skipped")
    passed, failed, skipped = (sum(getattr(outcome, key) for outcome in outcomes) for key in keys)
    return "\n".join([*lines, f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")])
