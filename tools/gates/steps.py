# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a command with a limit of time, its output in .nox/reports; how it ended, in a line and in the summary."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import typing as t
import xml.etree.ElementTree
from pathlib import Path

from tools.collection_tree import ROOT
from tools.environments import REPORTS

HEARTBEAT = 30
WIDTH = 200

INTERRUPTED = threading.Event()
_PRINTING = threading.Lock()


class Interrupted(Exception):
    """The run was interrupted; the command that ran has been ended."""


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
        share = about = ""
        if budget:
            share = f"{self.seconds / budget:5.0%}  "
        if self.passed + self.failed > 1:
            about = f"{self.passed + self.failed} tests"
            if self.skipped:
                about += f", {self.skipped} skipped"
        first = f"{self.verdict:<8}  {self.name:<18} {self.seconds:6.1f} s  {share}{self.reason or about}".rstrip()
        return "\n            ".join([first, *self.cases])


def summary(outcomes: t.Sequence[Outcome], seconds: float, budget: float | None) -> str:
    """Return the summary of a run: a line for each gate, the budget, and the counts, which are the last line."""
    lines = [f"\nSummary ({seconds:.0f} s)"]
    passed = failed = skipped = 0
    # What failed comes last, where a log that was cut still shows it.
    for outcome in sorted(outcomes, key=lambda outcome: outcome.verdict == "failed"):
        lines.append(textwrap.indent(outcome.line(budget), "  "))
        passed += outcome.passed
        failed += outcome.failed
        skipped += outcome.skipped
    if budget:
        lines.append(f"{seconds:,.0f} s of {budget:,.0f} s")
        if seconds > budget:
            lines[-1] += f", over the budget by {seconds - budget:,.0f} s"
    lines.append(f"{passed} passed, {failed} failed")
    if skipped:
        lines[-1] += f", {skipped} skipped"
    return "\n".join(lines)


def run_gate(name: str, limit: float, environment: t.Mapping[str, str], idle: bool = False) -> Outcome:
    """Run one gate through nox, and count its test cases; one if it counts none. Raises Interrupted."""
    report, junit = REPORTS / f"{name}.json", REPORTS / f"{name}.xml"
    for old in (report, junit):
        old.unlink(missing_ok=True)
    command = [sys.executable, "-m", "nox", "--report", str(report), "--session", name]
    outcome = run_step(name, command, limit, environment=environment, idle=idle)
    if outcome.passed and report.exists():
        reported = json.loads(report.read_text(encoding="utf-8"))["sessions"][0]
        if reported.get("result") == "skipped":
            reason = str(reported.get("reason") or "no reason given")
            return Outcome(name, "left out", outcome.seconds, reason, skipped=1)
    if junit.exists():
        count(junit, outcome)
    return outcome


def count(junit: Path, outcome: Outcome) -> None:
    """Replace the counts of a gate by those of its test cases, and name the cases that failed or were skipped."""
    root = xml.etree.ElementTree.parse(junit).getroot()
    total = bad = skipped = 0
    for suite in root.iter("testsuite"):
        total += int(suite.get("tests", 0))
        bad += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped += int(suite.get("skipped", 0))
    passed = max(0, total - bad - skipped)
    if outcome.failed:
        bad = bad or 1
    elif not skipped:
        passed = passed or 1
    outcome.passed, outcome.failed, outcome.skipped = passed, bad, skipped
    outcome.cases = _cases(root) or outcome.cases


def _cases(root: xml.etree.ElementTree.Element) -> list[str]:
    cases = []
    for tag, kind in (("failure", ""), ("error", ""), ("skipped", "skipped: ")):
        for case in root.iter("testcase"):
            for mark in case.iter(tag):
                reason = _reason(mark)
                cases.append(f"{kind}{case.get('classname')}::{case.get('name')}: {reason}"[:WIDTH])
    return cases


def _reason(mark: xml.etree.ElementTree.Element) -> str:
    """Return the message of a case on one line; of the output of a playbook, the first task that failed.

    pytest shortens a long message, and has the whole of it in the text.
    """
    message = " ".join((mark.get("message") or "").split())
    for line in (mark.text or "").splitlines():
        words = line.removeprefix("E").strip()
        if words.startswith(("[ERROR]: ", "fatal: [")):
            return f"{message.partition(': ')[0]}: {words}"
    return message


def run_step(name: str, command: list[str], limit: float, **options: t.Any) -> Outcome:
    """Run a command with the options of `run`, and show the end of its log if it fails. Raises Interrupted."""
    status, seconds, log = run(name, command, limit, **options)
    if status == 0:
        return Outcome(name, "passed", seconds, passed=1)
    lines = _lines(log)
    shown = [f"    | {line}" for line in lines[-60:]]
    if len(lines) > len(shown):
        shown.append(f"    the whole output is in {log.relative_to(ROOT)}")
    emit("\n".join(shown))
    reason = f"exit status {status}, see {log.relative_to(ROOT)}"
    if status is None:
        reason = f"not done within {limit:.0f} s"
    return Outcome(name, "failed", seconds, reason, failed=1, cases=last_lines(lines))


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()


def last_lines(lines: list[str], most: int = 4) -> list[str]:
    """Return the last lines of a failed command's log without those of nox, cut."""
    return [line.rstrip()[:WIDTH] for line in lines if line.strip() and not line.startswith("nox > ")][-most:]


def run(
    name: str,
    command: list[str],
    limit: float,
    leave: bool = False,
    environment: t.Mapping[str, str] | None = None,
    idle: bool = False,
) -> tuple[int | None, float, Path]:
    """Run a command quietly; return its exit status (None: out of time), its seconds and its log.

    Processes that it leaves behind are ended too, unless `leave` is set. `environment` is added to that of this
    process. With `idle` it runs at the lowest priority. Raises Interrupted.
    """
    log = REPORTS / f"{name}.log"
    started = reported = time.monotonic()
    with log.open("w") as sink:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
    if idle:
        lower_priority(process)
    status: int | None = None
    try:
        while status is None and time.monotonic() - started < limit:
            # Short, so that an interrupt is noticed: only the main thread gets the signal.
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(timeout=0.5)
            if INTERRUPTED.is_set():
                raise Interrupted
            if status is None and time.monotonic() - reported >= HEARTBEAT:
                reported = time.monotonic()
                last = "".join(_lines(log)[-1:]).strip()[:110]
                emit(f"   ...    {name:<18} {reported - started:6.0f} s  {last}")
    finally:
        if status is None or not leave:
            end_group(process)
            process.wait()
    return status, time.monotonic() - started, log


def emit(text: str) -> None:
    """Print one or several lines at once, also into a pipe; never into a line of another lane."""
    with _PRINTING:
        print(text, flush=True)


def lower_priority(process: subprocess.Popen[bytes]) -> None:
    """Let the other processes have the processor first.

    Where sessions share it evenly (sched(7), autogroup), a process's own nice value counts within its session only.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process.pid, 19)
        Path(f"/proc/{process.pid}/autogroup").write_text("19", encoding="ascii")


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and the rest of its group: interrupt it, so that tests can clean up, then kill it."""
    for number, patience in ((signal.SIGINT, 20), (signal.SIGTERM, 5), (signal.SIGKILL, 0)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        until = time.monotonic() + patience
        while time.monotonic() < until:
            # A process that was not waited for yet still counts as a member of its group.
            process.poll()
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)
