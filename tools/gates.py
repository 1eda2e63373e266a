# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the gates that noxfile.py declares and say how each went.

Usage: python tools/gates.py [GATE ...]      without names: all gates

A failing gate does not stop the others. The quick ones run one after the other, while what a lab is made of is built
beside them. Those that need a lab of tests/lab come after them, in lanes side by side: they mostly wait for kubelets.
The tag says which lane, and so which lab; `alone` says to wait until all lanes are empty. The slow ones have a lane of
their own from the second gate on, with what the others leave them of the machine.

lab         the lab that LIVENODES_LAB_* names, three nodes whose kubelets have dynamic configuration
lab_static  the lab that LIVENODES_LAB2_DIR, LIVENODES_LAB2_BRIDGE and LIVENODES_LAB2_SUBNET name, two nodes whose kubelets read a file only
lab_fleet   the lab that LIVENODES_LAB3_DIR, LIVENODES_LAB3_BRIDGE and LIVENODES_LAB3_SUBNET name, seven nodes

A lab is brought up before its first gate and taken down after its last if this run brought it up. Every gate has a time
limit, and what it leaves running is ended with it.

LAB=require  leaving the lab gates out is a failure
LAB=skip     leave them out
(otherwise)  leave them out where there can be no lab, and say why

The last line is `N passed, N failed`, perhaps followed by `, N skipped`: test cases where the runner counts them, else
one for the gate. Exit status: 0 when nothing failed, 1 otherwise, 130 after an interrupt.
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
import textwrap
import threading
import time
import xml.etree.ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / ".nox" / "reports"
LAB = [sys.executable, "-m", "tests.lab"]

# Seconds a gate may take, by tag; the first run fills the environments and, for the lab, compiles Kubernetes.
LIMITS = {"quick": 600, "slow": 3000, "lab": 4500}
LAB_PARTS = 1500
LAB_UP = 300
LAB_DOWN = 180
ALL = 95 * 60
HEARTBEAT = 30

INTERRUPTED = threading.Event()
_PRINTING = threading.Lock()


class Interrupted(Exception):
    """Somebody wants this to end; what ran has been ended."""


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
    failures: list[str] = dataclasses.field(default_factory=list)
    """The cases that failed and the first line of why."""

    def line(self) -> str:
        """Return one line for people, and one for each case that failed."""
        cases = f"{self.passed + self.failed} tests" if self.passed + self.failed > 1 else ""
        cases += f", {self.skipped} skipped" if cases and self.skipped else ""
        first = f"{self.verdict:<8}  {self.name:<18} {self.seconds:6.1f} s  {self.reason or cases}".rstrip()
        return "\n".join([first, *(f"            {failure}" for failure in self.failures)])


def say(text: str) -> None:
    """Print a line, or some that belong together, at once, also into a pipe; never into a line of the other lane."""
    with _PRINTING:
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


def stand_back(process: subprocess.Popen[bytes]) -> None:
    """Let the others have the processor first. Where sessions share it evenly (sched(7), autogroup), a process's own
    nice value counts within its session.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process.pid, 19)
        Path(f"/proc/{process.pid}/autogroup").write_text("19", encoding="ascii")


def run(
    name: str,
    command: list[str],
    limit: float,
    leave: bool = False,
    environment: dict[str, str] | None = None,
    idle: bool = False,
) -> tuple[int | None, float, Path]:
    """Run a command quietly in a process group of its own; return its exit status (None: out of time), its seconds and
    its log.

    What it started and left running is ended too, unless it is to `leave` that. `environment` comes on top of this
    process's own. One that is `idle` stands back behind the others. Raises Interrupted.
    """
    log = REPORTS / f"{name}.log"
    started = told = time.monotonic()
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
        stand_back(process)
    status: int | None = None
    try:
        while status is None and time.monotonic() - started < limit:
            # Short, so that an interrupt is heard: only the main thread gets the signal itself.
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(timeout=0.5)
            if INTERRUPTED.is_set():
                raise Interrupted
            if status is None and time.monotonic() - told >= HEARTBEAT:
                told = time.monotonic()
                say(f"   ...    {name:<18} {told - started:6.0f} s  {last_line(log)}")
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
    more = [f"    the whole output is in {log.relative_to(ROOT)}"] if len(text) > lines else []
    say("\n".join([f"    | {line}" for line in text[-lines:]] + more))


def count(name: str) -> tuple[int, int, int, list[str]]:
    """Return passed, failed and skipped test cases of a gate that left a JUnit report, and which failed; nothing of all
    that for the others.
    """
    report = REPORTS / f"{name}.xml"
    if not report.exists():
        return 0, 0, 0, []
    root = xml.etree.ElementTree.parse(report).getroot()
    total = failed = skipped = 0
    for suite in root.iter("testsuite"):
        total += int(suite.get("tests", 0))
        failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped += int(suite.get("skipped", 0))
    failures = [
        f"{case.get('classname')}::{case.get('name')}: {' '.join((trouble.get('message') or '').split())}"[:200]
        for case in root.iter("testcase")
        for trouble in case
        if trouble.tag in ("failure", "error")
    ]
    return max(0, total - failed - skipped), failed, skipped, failures


def gate(name: str, limit: float, environment: dict[str, str] | None = None, idle: bool = False) -> Outcome:
    """Run one gate through nox."""
    report = REPORTS / f"{name}.json"
    for old in (report, REPORTS / f"{name}.xml"):
        old.unlink(missing_ok=True)
    command = [sys.executable, "-m", "nox", "--report", str(report), "--session", name]
    status, seconds, log = run(name, command, limit, environment=environment, idle=idle)
    told = json.loads(report.read_text(encoding="utf-8"))["sessions"][0] if report.exists() else {}
    if status == 0 and told.get("result") == "skipped":
        return Outcome(name, "left out", seconds, str(told.get("reason") or "no reason given"), skipped=1)
    passed, failed, skipped, failures = count(name)
    if status == 0:
        return Outcome(name, "passed", seconds, "", passed or (0 if skipped else 1), failed, skipped)
    show(log)
    reason = (
        f"not done within {limit:.0f} s" if status is None else f"exit status {status}, see {log.relative_to(ROOT)}"
    )
    return Outcome(name, "failed", seconds, reason, passed, failed or 1, skipped, failures)


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
    """A lab around the gates that need it: what it is called here, how it is brought up, and the names it goes by in
    the environment.
    """

    def __init__(self, name: str, options: list[str], environment: dict[str, str]) -> None:
        self.name = name
        self.options = options
        self.environment = environment
        self.ours = False
        # Why no gate can run on it: not known before the first one wants to, empty when all is well.
        self.trouble: str | None = None

    def up(self, limit: float) -> Outcome:
        """Bring the lab up, unless it is up."""
        title = f"{self.name} up"
        if (
            subprocess.run(
                [*LAB, "status"],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                env={**os.environ, **self.environment},
            ).returncode
            == 0
        ):
            return Outcome(title, "passed", reason="was up, stays up", passed=1)
        self.ours = True
        status, seconds, log = run(title, [*LAB, "up", *self.options], limit, leave=True, environment=self.environment)
        if status == 0:
            return Outcome(title, "passed", seconds, passed=1)
        show(log)
        return Outcome(
            title, "failed", seconds, "not up in time" if status is None else f"exit status {status}", failed=1
        )

    def down(self) -> Outcome | None:
        """Take the lab down if this run brought it up."""
        if not self.ours:
            return None
        status, seconds, log = run(f"{self.name} down", [*LAB, "down"], LAB_DOWN, environment=self.environment)
        self.ours = False
        if status == 0:
            return Outcome(f"{self.name} down", "passed", seconds, passed=1)
        show(log)
        names = " ".join(f"{name}={value}" for name, value in self.environment.items())
        return Outcome(
            f"{self.name} down",
            "failed",
            seconds,
            f"something of the lab may be left: `{f'{names} make lab-down'.strip()}`",
            failed=1,
        )


def labs() -> dict[str, Lab]:
    """Return the labs by the tag of the gates that need them."""
    return {
        "lab": Lab("lab", ["--nodes", "3"], {}),
        "lab_static": Lab("static lab", ["--nodes", "2", "--no-dynamic"], _names(2)),
        "lab_fleet": Lab("fleet lab", ["--nodes", "7", "--no-dynamic"], _names(3)),
    }


def _names(number: int) -> dict[str, str]:
    """Return what a further lab goes by, unless the environment has other names for it."""
    default = {
        "DIR": f"/var/lib/livenodes-kubelet-lab{number}",
        "BRIDGE": f"lnk-br{number - 1}",
        "SUBNET": f"10.{210 + number}.0.0/24",
    }
    return {
        f"LIVENODES_LAB_{part}": os.environ.get(f"LIVENODES_LAB{number}_{part}", name) for part, name in default.items()
    }


def declared() -> dict[str, list[str]]:
    """Return the gates of noxfile.py in their order, with their tags. Raises SystemExit when nox cannot read it."""
    done = subprocess.run(
        [sys.executable, "-m", "nox", "--list", "--json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"nox cannot read noxfile.py:\n{done.stderr}")
    return {one["session"]: one["tags"] for one in json.loads(done.stdout)}


class Run:
    """One run of the gates; each outcome is told and noted as it comes."""

    def __init__(self, wanted: dict[str, list[str]]) -> None:
        self.wanted = wanted
        self.labs = labs()
        self.outcomes: list[Outcome] = []
        self.deadline = time.monotonic() + ALL

    def note(self, outcome: Outcome) -> Outcome:
        """Tell and keep an outcome."""
        self.outcomes.append(outcome)
        say(outcome.line())
        return outcome

    def left(self, limit: float) -> float:
        """Return the seconds that a step with this limit may take."""
        return min(limit, self.deadline - time.monotonic())

    def all(self) -> None:
        """Run the gates: the quick ones, the lanes, what has to be alone. Raises Interrupted."""
        quick = [name for name, tags in self.wanted.items() if not {*self.labs, "slow"} & set(tags)]
        with ThreadPoolExecutor(len(self.labs) + 2) as pool:
            parts = pool.submit(self.build)
            # The first fills the environment that most gates share, at full speed; an idle one would keep them all
            # waiting for it.
            self.quick(quick[:1])
            slow = pool.submit(self.slow)
            self.quick(quick[1:])
            parts.result()
            for lane in [*(pool.submit(self.lane, tag, False) for tag in self.labs), slow]:
                lane.result()
        for tag in self.labs:
            self.lane(tag, True)

    def quick(self, names: list[str]) -> None:
        """Run gates one after the other. Raises Interrupted."""
        for name in names:
            self.note(gate(name, self.left(LIMITS["quick"])))

    def slow(self) -> None:
        """Run what takes long and is not in a hurry. Raises Interrupted."""
        for name, tags in self.wanted.items():
            if "slow" in tags:
                self.note(gate(name, self.left(LIMITS["slow"]), idle=True))

    def build(self) -> None:
        """Build what the labs are made of, which takes minutes the first time, beside the gates that need none of it.
        Raises Interrupted.
        """
        if not any(tag in tags for tags in self.wanted.values() for tag in self.labs) or no_lab_here():
            return
        status, seconds, log = run("lab parts", ["nice", *LAB, "build"], self.left(LAB_PARTS))
        if status == 0:
            self.note(Outcome("lab parts", "passed", seconds, passed=1))
            return
        show(log)
        self.note(
            Outcome(
                "lab parts",
                "failed",
                seconds,
                "not built in time" if status is None else f"exit status {status}",
                failed=1,
            )
        )
        for lab in self.labs.values():
            lab.trouble = "what labs are made of could not be built"

    def names(self, tag: str, alone: bool) -> list[str]:
        """Return the gates of a lane, without or only those that have to be alone."""
        return [name for name, tags in self.wanted.items() if tag in tags and ("alone" in tags) == alone]

    def lane(self, tag: str, alone: bool) -> None:
        """Run gates on a lab, one after the other, and take it down when no gate needs it any more. Raises Interrupted."""
        lab, names = self.labs[tag], self.names(tag, alone)
        if names and lab.trouble is None:
            lab.trouble = no_lab_here()
            if not lab.trouble and self.note(lab.up(self.left(LAB_UP))).verdict == "failed":
                lab.trouble = f"the {lab.name} did not come up"
        for name in names:
            if lab.trouble:
                required = os.environ.get("LAB") == "require"
                self.note(
                    Outcome(
                        name,
                        "failed" if required else "left out",
                        0,
                        lab.trouble,
                        failed=int(required),
                        skipped=int(not required),
                    )
                )
            else:
                self.note(gate(name, self.left(LIMITS["lab"]), lab.environment))
        if alone or not self.names(tag, True):
            self.close(lab)

    def close(self, lab: Lab) -> None:
        """Take a lab down if this run brought it up."""
        closing = lab.down()
        if closing:
            self.note(closing)


def main(names: list[str]) -> int:
    """Run the named gates, or all, and print the summary."""
    known = declared()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"no such gate: {', '.join(unknown)}; there are {', '.join(known)}")
    REPORTS.mkdir(parents=True, exist_ok=True)
    # Also SIGINT: a shell starts what runs in its background with that ignored, and the gates would inherit it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_signal: INTERRUPTED.set())
    work, interrupted = Run({name: known[name] for name in names} if names else known), False
    started = time.monotonic()
    try:
        work.all()
    except Interrupted:
        interrupted = True
        work.outcomes.append(
            Outcome("(interrupted)", "failed", time.monotonic() - started, "the gates after this did not run", failed=1)
        )
    finally:
        # A second interrupt must not leave half a lab behind.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        INTERRUPTED.clear()
        for lab in work.labs.values():
            work.close(lab)
    outcomes = work.outcomes
    say(f"\nSummary ({time.monotonic() - started:.0f} s)")
    for outcome in outcomes:
        say(textwrap.indent(outcome.line(), "  "))
    passed, failed, skipped = (
        sum(getattr(outcome, key) for outcome in outcomes) for key in ("passed", "failed", "skipped")
    )
    say(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 130 if interrupted else int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
