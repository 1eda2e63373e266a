# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands with a log and a time limit; how they ended, the summary, and the record of the long tier."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tools.gates import records, steps
from tools.gates.steps import Outcome, count, summary

REPORT = """<testsuites><testsuite tests="9" failures="2" errors="0" skipped="1">
<testcase classname="tests.a" name="b"/>
<testcase classname="tests.a" name="c"><failure message="one&#10;two"/></testcase>
<testcase classname="tests.a" name="d"><skipped type="pytest.skip" message="needs root"/></testcase>
</testsuite></testsuites>"""


def test_run_returns_the_status_and_keeps_the_output() -> None:
    status, _seconds, log = steps.run("three", [sys.executable, "-c", "print('output'); raise SystemExit(3)"], 30)
    assert (status, log.read_text(encoding="utf-8")) == (3, "output\n")


def test_the_end_of_a_failed_command_without_the_lines_of_nox() -> None:
    log = ["nox > Running session style", "one", "", "guide.rst:3: two", "1 findings", "nox > Session style failed."]
    assert steps.last_lines(log, 2) == ["guide.rst:3: two", "1 findings"]


def test_run_ends_what_takes_too_long_with_its_children() -> None:
    program = "import subprocess, time; print(subprocess.Popen(['sleep', '600']).pid, flush=True); time.sleep(600)"
    started = time.monotonic()
    status, _seconds, log = steps.run("slow", [sys.executable, "-c", program], 1)
    assert status is None
    assert time.monotonic() - started < 300
    child = int(log.read_text(encoding="utf-8").split()[0])
    state = Path(f"/proc/{child}/stat")
    # Where no process reaps orphans, an ended one stays as a zombie.
    assert not state.exists() or state.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] == "Z"


def test_an_idle_command_has_the_lowest_priority() -> None:
    """Within its session, and as a session where those share the processor."""
    place = "/proc/self/autogroup"
    program = f"import os; print(os.nice(0), open('{place}').read() if os.path.exists('{place}') else 'nice 19')"
    # The priority is set after the start.
    slow = ["sh", "-c", f'sleep 1; exec {sys.executable} -c "{program}"']
    assert steps.run("plain", slow, 30)[2].read_text(encoding="utf-8").split()[0] == str(os.nice(0))
    words = steps.run("idle", slow, 30, idle=True)[2].read_text(encoding="utf-8").split()
    assert (words[0], words[-2:]) == ("19", ["nice", "19"])


class SlowSink(io.StringIO):
    """Lets other threads in between two writes."""

    def write(self, text: str) -> int:
        time.sleep(0.001)
        return super().write(text)


def test_lines_of_two_lanes_do_not_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = SlowSink()
    monkeypatch.setattr(sys, "stdout", sink)
    with ThreadPoolExecutor(2) as pool:
        for letter in "ab":
            pool.submit(lambda letter=letter: [steps.emit(letter * 9) for _turn in range(20)])
    assert sorted(sink.getvalue().splitlines()) == ["a" * 9] * 20 + ["b" * 9] * 20


def test_cases_are_counted(reports: Path) -> None:
    (reports / "unit.xml").write_text(REPORT, encoding="utf-8")
    outcome = Outcome("unit", "passed", 3, passed=1)
    count(reports / "unit.xml", outcome)
    cases = ["tests.a::c: one two", "skipped: tests.a::d: needs root"]
    assert outcome == Outcome("unit", "passed", 3, "", 6, 2, 1, cases)


def test_a_playbook_is_named_by_its_task_that_failed(reports: Path) -> None:
    """What ran well before it would fill the line, and pytest shortens the message."""
    text = "&#10;".join(
        ["E   AssertionError:", "E     ok: [n1]", "E     [ERROR]: Node n1: refused", "E     fatal: [n1]"]
    )
    failure = f'<failure message="AssertionError: PLAY [Plan] ...">{text}</failure>'
    case = f'<testsuite tests="1" failures="1"><testcase classname="a" name="b">{failure}</testcase></testsuite>'
    (reports / "e2e.xml").write_text(case, encoding="utf-8")
    outcome = Outcome("e2e", "failed", 3)
    count(reports / "e2e.xml", outcome)
    assert outcome.cases == ["a::b: AssertionError: [ERROR]: Node n1: refused"]


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
