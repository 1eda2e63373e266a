# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the gates that noxfile.py declares, one after the other, and say how each went.

Usage: python tools/gates.py [GATE ...]      without names: all gates

A failing gate does not stop the others. Gates with the tag `lab` need the lab of tests/lab, which is brought up before the first of them and taken
down at the end if this run brought it up. Every gate has a time limit, and what it leaves running is ended with it.

LAB=require  leaving the lab gates out is a failure
LAB=skip     leave them out
(otherwise)  leave them out where there can be no lab, and say why

The last line is `N passed, N failed`, perhaps followed by `, N skipped`: test cases where the runner counts them, else one for the gate.
Exit status: 0 when nothing failed, 1 otherwise, 130 after an interrupt.
"""
from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / ".nox" / "reports"
LAB = [sys.executable, "-m", "tests.lab"]

# Seconds a gate may take, by tag; the first run fills the environments and, for the lab, compiles Kubernetes.
LIMITS = {"quick": 600, "slow": 900, "lab": 2400}
LAB_UP = 1500
LAB_DOWN = 180
ALL = 75 * 60
HEARTBEAT = 30


@dataclasses.dataclass
class Outcome:
    """How a gate went: `passed`, `failed` or `left out`, with the reason of the last two."""

    name: str
    verdict: str
    seconds: float = 0
    reason: str = ""
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def line(self) -> str:
        """Return one line for people."""
        cases = f"{self.passed + self.failed} tests" if self.passed + self.failed > 1 else ""
        cases += f", {self.skipped} skipped" if cases and self.skipped else ""
        return f"{self.verdict:<8}  {self.name:<18} {self.seconds:6.1f} s  {self.reason or cases}".rstrip()


def say(text: str) -> None:
    """Print a line at once, also into a pipe."""
    print(text, flush=True)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and what is left of its group: asked first, so that tests can clean up, then made to."""
    for number, patience in ((signal.SIGINT, 20), (signal.SIGTERM, 5), (signal.SIGKILL, 0)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        until = time.monotonic() + patience
        while time.monotonic() < until:
            # A process that nobody has waited for yet still counts as a member of its group.
            process.poll()
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)


def run(name: str, command: list[str], limit: float, leave: bool = False) -> tuple[int | None, float, Path]:
    """Run a command quietly in a process group of its own; return its exit status (None: out of time), its seconds and its log.

    What it started and left running is ended too, unless it is to `leave` that.
    """
    log = REPORTS / f"{name}.log"
    started = time.monotonic()
    with log.open("w") as sink:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True)
    status: int | None = None
    try:
        while time.monotonic() - started < limit:
            try:
                status = process.wait(timeout=max(0.1, min(HEARTBEAT, limit - (time.monotonic() - started))))
                break
            except subprocess.TimeoutExpired:
                say(f"   ...    {name:<18} {time.monotonic() - started:6.0f} s  {last_line(log)}")
    finally:
        if status is None or not leave:
            end_group(process)
            process.wait()
    return status, time.monotonic() - started, log


def last_line(log: Path) -> str:
    """Return the last line of a log, cut to what fits beside a gate's name."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].strip()[:110] if lines else ""


def show(log: Path, lines: int = 60) -> None:
    """Print the end of a failed gate's log."""
    text = log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
    for line in text[-lines:]:
        say(f"    | {line}")
    if len(text) > lines:
        say(f"    the whole output is in {log.relative_to(ROOT)}")


def count(name: str) -> tuple[int, int, int]:
    """Return passed, failed and skipped test cases of a gate that left a JUnit report, (0, 0, 0) for the others."""
    report = REPORTS / f"{name}.xml"
    if not report.exists():
        return 0, 0, 0
    total = failed = skipped = 0
    for suite in xml.etree.ElementTree.parse(report).getroot().iter("testsuite"):
        total += int(suite.get("tests", 0))
        failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped += int(suite.get("skipped", 0))
    return max(0, total - failed - skipped), failed, skipped


def gate(name: str, limit: float) -> Outcome:
    """Run one gate through nox."""
    report = REPORTS / f"{name}.json"
    for old in (report, REPORTS / f"{name}.xml"):
        old.unlink(missing_ok=True)
    command = [sys.executable, "-m", "nox", "--report", str(report), "--session", name]
    status, seconds, log = run(name, command, limit)
    told = json.loads(report.read_text(encoding="utf-8"))["sessions"][0] if report.exists() else {}
    if status == 0 and told.get("result") == "skipped":
        return Outcome(name, "left out", seconds, str(told.get("reason") or "no reason given"), skipped=1)
    passed, failed, skipped = count(name)
    if status == 0:
        return Outcome(name, "passed", seconds, "", passed or (0 if skipped else 1), failed, skipped)
    show(log)
    reason = f"not done within {limit:.0f} s" if status is None else f"exit status {status}, see {log.relative_to(ROOT)}"
    return Outcome(name, "failed", seconds, reason, passed, failed or 1, skipped)


def no_lab_here() -> str:
    """Return why this machine cannot run the lab, or an empty string."""
    if os.environ.get("LAB") == "skip":
        return "LAB=skip"
    if not Path("/etc/debian_version").exists():
        return "the lab is made of Debian's packages and this is not Debian"
    if os.geteuid() != 0:
        return "the lab needs root (network namespaces, systemd containers)"
    if not shutil.which("apt-get"):
        return "no apt-get"
    return ""


class Lab:
    """The lab around the gates that need it."""

    def __init__(self) -> None:
        self.ours = False

    def up(self, limit: float) -> Outcome:
        """Bring the lab up, unless it is up."""
        if subprocess.run([*LAB, "status"], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0:
            return Outcome("lab up", "passed", reason="was up, stays up", passed=1)
        self.ours = True
        status, seconds, log = run("lab up", [*LAB, "up"], limit, leave=True)
        if status == 0:
            return Outcome("lab up", "passed", seconds, passed=1)
        show(log)
        return Outcome("lab up", "failed", seconds, "not up in time" if status is None else f"exit status {status}", failed=1)

    def down(self) -> Outcome | None:
        """Take the lab down if this run brought it up."""
        if not self.ours:
            return None
        status, seconds, log = run("lab down", [*LAB, "down"], LAB_DOWN)
        self.ours = False
        if status == 0:
            return Outcome("lab down", "passed", seconds, passed=1)
        show(log)
        return Outcome("lab down", "failed", seconds, "something of the lab may be left: `make lab-down`", failed=1)


def declared() -> dict[str, list[str]]:
    """Return the gates of noxfile.py in their order, with their tags. Raises SystemExit when nox cannot read it."""
    done = subprocess.run([sys.executable, "-m", "nox", "--list", "--json"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"nox cannot read noxfile.py:\n{done.stderr}")
    return {one["session"]: one["tags"] for one in json.loads(done.stdout)}


def run_all(wanted: dict[str, list[str]], lab: Lab, outcomes: list[Outcome]) -> None:
    """Run the gates, the lab's last; each outcome is told and noted as it comes."""
    deadline = time.monotonic() + ALL

    def note(outcome: Outcome) -> Outcome:
        outcomes.append(outcome)
        say(outcome.line())
        return outcome

    for name, tags in wanted.items():
        if "lab" not in tags:
            limit = next((LIMITS[tag] for tag in tags if tag in LIMITS), LIMITS["quick"])
            note(gate(name, min(limit, deadline - time.monotonic())))
    in_lab = [name for name, tags in wanted.items() if "lab" in tags]
    reason = no_lab_here()
    if in_lab and not reason and note(lab.up(min(LAB_UP, deadline - time.monotonic()))).verdict == "failed":
        reason = "the lab did not come up"
    for name in in_lab:
        if reason:
            required = os.environ.get("LAB") == "require"
            note(Outcome(name, "failed" if required else "left out", 0, reason, failed=int(required), skipped=int(not required)))
        else:
            note(gate(name, min(LIMITS["lab"], deadline - time.monotonic())))


def main(names: list[str]) -> int:
    """Run the named gates, or all, and print the summary."""
    known = declared()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"no such gate: {', '.join(unknown)}; there are {', '.join(known)}")
    REPORTS.mkdir(parents=True, exist_ok=True)
    # Also SIGINT: a shell starts what runs in its background with that ignored, and the gates would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    lab, outcomes, interrupted = Lab(), [], False
    started = time.monotonic()
    try:
        run_all({name: known[name] for name in names} if names else known, lab, outcomes)
    except KeyboardInterrupt:
        interrupted = True
        outcomes.append(Outcome("(interrupted)", "failed", time.monotonic() - started, "the gates after this did not run", failed=1))
    finally:
        # A second interrupt must not leave half a lab behind.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        closing = lab.down()
        if closing:
            outcomes.append(closing)
            say(closing.line())
    say(f"\nSummary ({time.monotonic() - started:.0f} s)")
    for outcome in outcomes:
        say(f"  {outcome.line()}")
    passed, failed, skipped = (sum(getattr(outcome, key) for outcome in outcomes) for key in ("passed", "failed", "skipped"))
    say(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 130 if interrupted else int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
