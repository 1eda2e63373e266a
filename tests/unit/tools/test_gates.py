# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner of the gates: what it must not get wrong is the verdict."""
from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tools import gates


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the reports of the run that runs these tests."""
    monkeypatch.setattr(gates, "REPORTS", tmp_path)
    monkeypatch.setattr(gates, "ROOT", tmp_path)
    monkeypatch.delenv("LAB", raising=False)
    return tmp_path


def test_run_returns_the_status_and_keeps_the_output() -> None:
    status, _seconds, log = gates.run("three", [sys.executable, "-c", "print('said'); raise SystemExit(3)"], 30)
    assert (status, log.read_text(encoding="utf-8")) == (3, "said\n")


def test_run_ends_what_takes_too_long_with_its_children() -> None:
    program = "import subprocess, time; print(subprocess.Popen(['sleep', '600']).pid, flush=True); time.sleep(600)"
    started = time.monotonic()
    status, _seconds, log = gates.run("slow", [sys.executable, "-c", program], 1)
    assert status is None
    assert time.monotonic() - started < 30
    child = int(log.read_text(encoding="utf-8").split()[0])
    state = Path(f"/proc/{child}/stat")
    # Where nobody reaps orphans an ended one stays as a zombie.
    assert not state.exists() or state.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] == "Z"


def test_cases_are_counted_and_an_absent_report_counts_none(reports: Path) -> None:
    (reports / "unit.xml").write_text('<testsuites><testsuite tests="9" failures="2" errors="1" skipped="1"/></testsuites>', encoding="utf-8")
    assert gates.count("unit") == (5, 3, 1)
    assert gates.count("ruff") == (0, 0, 0)


def test_a_lab_that_is_required_and_cannot_be_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for required, verdict in (("require", "failed"), ("", "left out")):
        monkeypatch.setenv("LAB", required)
        outcomes: list[gates.Outcome] = []
        gates.run_all({"e2e": ["lab"]}, gates.Lab(), outcomes)
        assert [(one.name, one.verdict) for one in outcomes] == [("e2e", verdict)]
        assert outcomes[0].reason


def test_a_lab_that_does_not_come_up_fails_once_and_is_taken_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "no_lab_here", lambda: "")
    monkeypatch.setattr(gates, "LAB", [sys.executable, "-c", "import sys; sys.exit(sys.argv[1] != 'down')"])
    lab, outcomes = gates.Lab(), []
    gates.run_all({"e2e": ["lab"], "benchmarks": ["lab"]}, lab, outcomes)
    assert [(one.name, one.verdict) for one in outcomes] == [("lab up", "failed"), ("e2e", "left out"), ("benchmarks", "left out")]
    down = lab.down()
    assert down is not None
    assert down.verdict == "passed"
    assert lab.down() is None
