# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a gate's reports add up to, and the summary: what it must not get wrong is the verdict."""

from __future__ import annotations

from pathlib import Path

from tools.gates.outcome import Outcome, count, summary

REPORT = """<testsuites><testsuite tests="9" failures="2" errors="0" skipped="1">
<testcase classname="tests.a" name="b"/>
<testcase classname="tests.a" name="c"><failure message="one&#10;two"/></testcase>
<testcase classname="tests.a" name="d"><skipped type="pytest.skip" message="needs root"/></testcase>
</testsuite></testsuites>"""


def test_cases_are_counted_and_an_absent_report_counts_none(reports: Path) -> None:
    (reports / "unit.xml").write_text(REPORT, encoding="utf-8")
    assert count("unit") == (6, 2, 1, ["tests.a::c: one two", "skipped: tests.a::d: needs root"])
    assert count("ruff") == (0, 0, 0, [])


def test_a_gate_names_the_cases_that_failed_or_were_skipped() -> None:
    cases = ["tests.a::c: one two", "skipped: tests.a::d: needs root"]
    lines = Outcome("e2e", "failed", 3, "exit status 1", 1, 1, 1, cases).line().splitlines()
    assert lines[0].endswith("exit status 1") and [line.strip() for line in lines[1:]] == cases


def test_the_summary_has_each_gates_share_the_budget_and_the_counts() -> None:
    outcomes = [Outcome("e2e", "failed", 1350, "exit status 1", 1, 1), Outcome("unit", "passed", 270, "", 9)]
    lines = summary(outcomes, 2345.4, 2700).splitlines()
    assert lines[1] == "Summary (2345 s)"
    assert lines[2] == "  passed    unit                270.0 s    10%  9 tests"
    assert lines[3] == "  failed    e2e                1350.0 s    50%  exit status 1"
    assert lines[-2:] == ["2,345 s of 2,700 s", "10 passed, 1 failed"]


def test_a_run_over_the_budget_is_reported_and_does_not_count_as_a_failure() -> None:
    lines = summary([Outcome("awx", "left out", 0, "why", skipped=1)], 2945, 2700).splitlines()
    assert lines[-2:] == ["2,945 s of 2,700 s, over the budget by 245 s", "0 passed, 0 failed, 1 skipped"]


def test_a_tier_without_a_budget_has_no_shares() -> None:
    lines = summary([Outcome("e2e", "passed", 1350, "", 2)], 1400, None).splitlines()
    assert lines[2:] == ["  passed    e2e                1350.0 s  2 tests", "2 passed, 0 failed"]
