# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner of the gates: what it must not get wrong is the verdict."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tools import gates

ROOT = Path(__file__).resolve().parents[3]


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


def test_one_that_is_not_in_a_hurry_stands_back() -> None:
    """Within its session, and as a session where those share the processor."""
    program = "import os; print(os.nice(0), open('/proc/self/autogroup').read() if os.path.exists('/proc/self/autogroup') else 'nice 19')"
    # The priority is set after the start.
    slow = ["sh", "-c", f'sleep 1; exec {sys.executable} -c "{program}"']
    assert gates.run("plain", slow, 30)[2].read_text(encoding="utf-8").split()[0] == str(os.nice(0))
    words = gates.run("idle", slow, 30, idle=True)[2].read_text(encoding="utf-8").split()
    assert (words[0], words[-2:]) == ("19", ["nice", "19"])


def test_cases_are_counted_and_an_absent_report_counts_none(reports: Path) -> None:
    (reports / "unit.xml").write_text(
        '<testsuites><testsuite tests="9" failures="2" errors="0" skipped="1"><testcase classname="tests.a" name="b"/>'
        '<testcase classname="tests.a" name="c"><failure message="one&#10;two"/></testcase></testsuite></testsuites>',
        encoding="utf-8",
    )
    assert gates.count("unit") == (6, 2, 1, ["tests.a::c: one two"])
    assert gates.count("ruff") == (0, 0, 0, [])


def test_a_failed_gate_names_the_cases_that_failed() -> None:
    lines = gates.Outcome("e2e", "failed", 3, "exit status 1", 1, 1, 0, ["tests.a::c: one two"]).line().splitlines()
    assert lines[0].endswith("exit status 1") and lines[1].strip() == "tests.a::c: one two"


def verdicts(work: gates.Run) -> list[tuple[str, str]]:
    return [(one.name, one.verdict) for one in work.outcomes]


def test_a_lab_that_is_required_and_cannot_be_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for required, verdict in (("require", "failed"), ("", "left out")):
        monkeypatch.setenv("LAB", required)
        work = gates.Run({"e2e": ["lab"]})
        work.all()
        assert verdicts(work) == [("e2e", verdict)]
        assert work.outcomes[0].reason


def test_a_lab_that_does_not_come_up_fails_once_and_is_taken_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "no_lab_here", lambda: "")
    monkeypatch.setattr(
        gates, "LAB", [sys.executable, "-c", "import sys; sys.exit(sys.argv[1] not in ('build', 'down'))"]
    )
    work = gates.Run({"e2e": ["lab"], "benchmarks": ["lab", "alone"]})
    work.all()
    assert verdicts(work) == [
        ("lab parts", "passed"),
        ("lab up", "failed"),
        ("e2e", "left out"),
        ("benchmarks", "left out"),
        ("lab down", "passed"),
    ]
    assert work.labs["lab"].down() is None


def test_no_lab_is_tried_without_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "no_lab_here", lambda: "")
    monkeypatch.setattr(gates, "LAB", [sys.executable, "-c", "import sys; sys.exit(sys.argv[1] == 'build')"])
    work = gates.Run({"e2e": ["lab"], "e2e_node": ["lab_static"]})
    work.all()
    assert sorted(verdicts(work)) == [("e2e", "left out"), ("e2e_node", "left out"), ("lab parts", "failed")]
    assert work.outcomes[-1].reason == "what labs are made of could not be built"


# Stands in for tests.lab: a folder is the lab. `status` is 3 without it, and up and down write into it what they were
# told.
LAB = """
import os, pathlib, shutil, sys
place = pathlib.Path(os.environ["LIVENODES_LAB_DIR"])
if sys.argv[1] == "status":
    sys.exit(0 if place.exists() else 3)
if sys.argv[1] == "up":
    place.mkdir()
    (place / "options").write_text(" ".join(sys.argv[2:]))
if sys.argv[1] == "down":
    shutil.rmtree(place)
"""
# Stands in for nox: a gate appends its name, its lab and the moments of its begin and its end to a list.
NOX = """
import os, sys, time
begin = time.monotonic()
time.sleep(float(os.environ["SECONDS"]))
with open(os.environ["DIARY"], "a") as diary:
    diary.write(f"{sys.argv[-1]} {os.environ['LIVENODES_LAB_DIR']} {begin} {time.monotonic()}\\n")
"""
WANTED = {
    "unit": ["quick"],
    "docs": ["quick"],
    "sanity": ["slow"],
    "e2e": ["lab"],
    "e2e_node": ["lab_static"],
    "molecule_lab": ["lab_static"],
    "benchmarks": ["lab", "alone"],
}


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The folders of two labs, and the list that the gates write."""
    found = {"lab": tmp_path / "one", "lab_static": tmp_path / "two", "diary": tmp_path / "diary"}
    monkeypatch.setattr(gates, "no_lab_here", lambda: "")
    monkeypatch.setattr(gates, "LAB", [sys.executable, "-c", LAB])
    (tmp_path / "nox.py").write_text(NOX, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("LIVENODES_LAB_DIR", str(found["lab"]))
    monkeypatch.setenv("LIVENODES_LAB2_DIR", str(found["lab_static"]))
    monkeypatch.setenv("DIARY", str(found["diary"]))
    return found


def test_lanes_side_by_side_then_what_is_alone(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDS", "3")
    work = gates.Run(WANTED)
    work.all()
    diary = {
        line[0]: (line[1], float(line[2]), float(line[3]))
        for line in map(str.split, places["diary"].read_text(encoding="utf-8").splitlines())
    }
    assert {name: place for name, (place, _begin, _end) in diary.items()} == {
        name: str(places["lab_static" if "lab_static" in tags else "lab"]) for name, tags in WANTED.items()
    }
    begin, end = ({name: row[index] for name, row in diary.items()} for index in (1, 2))
    # Not before the first, which fills the environment that they share.
    assert end["unit"] < min(begin[name] for name in WANTED if name != "unit")
    assert end["docs"] < min(begin["e2e"], begin["e2e_node"])
    for beside in (("docs", "sanity"), ("e2e", "e2e_node")):
        assert max(begin[name] for name in beside) < min(end[name] for name in beside)
    assert end["e2e_node"] < begin["molecule_lab"]
    assert begin["benchmarks"] > max(end["e2e"], end["molecule_lab"])
    names = [one.name for one in work.outcomes if one.verdict == "passed"]
    assert sorted(names) == sorted([*WANTED, "lab parts", "lab up", "lab down", "static lab up", "static lab down"])
    assert names.index("static lab down") < names.index("benchmarks") < names.index("lab down")
    assert not places["lab"].exists() and not places["lab_static"].exists()


def test_a_lab_that_was_up_stays_up(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDS", "0")
    places["lab"].mkdir()
    work = gates.Run(WANTED)
    work.all()
    assert [one.reason for one in work.outcomes if one.name == "lab up"] == ["was up, stays up"]
    assert places["lab"].exists() and not places["lab_static"].exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_both_lanes_and_takes_both_labs_down(
    places: dict[str, Path], tmp_path: Path, number: signal.Signals
) -> None:
    program = f"""
import json, sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from tools import gates
gates.REPORTS = gates.ROOT = Path({str(tmp_path)!r})
gates.LAB = [sys.executable, "-c", {LAB!r}]
gates.no_lab_here = lambda: ""
gates.declared = lambda: {WANTED!r}
sys.exit(gates.main(["e2e", "e2e_node", "molecule_lab", "benchmarks"]))
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        text=True,
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "SECONDS": "600"},
    ) as process:
        until = time.monotonic() + 20
        while not all((place / "options").exists() for place in (places["lab"], places["lab_static"])):
            assert time.monotonic() < until
            time.sleep(0.1)
        assert (places["lab"] / "options").read_text(encoding="utf-8") == "--nodes 3"
        assert (places["lab_static"] / "options").read_text(encoding="utf-8") == "--nodes 2 --no-dynamic"
        time.sleep(1)
        process.send_signal(number)
        # A person's second and third Ctrl-C.
        time.sleep(0.2)
        process.send_signal(number)
        said = process.communicate(timeout=30)[0].splitlines()
    assert process.returncode == 130
    assert not places["lab"].exists() and not places["lab_static"].exists() and not places["diary"].exists()
    assert said[-1] == "5 passed, 1 failed"
    assert any("(interrupted)" in line for line in said)


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
            pool.submit(lambda letter=letter: [gates.say(letter * 9) for _turn in range(20)])
    assert sorted(sink.getvalue().splitlines()) == ["a" * 9] * 20 + ["b" * 9] * 20
