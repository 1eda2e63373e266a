# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lanes of a run and the labs around them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools.gates import labs
from tools.gates.__main__ import Run
from tools.gates.gate import Gate

ROOT = Path(__file__).resolve().parents[4]


def run(**lanes_of: str) -> Run:
    """A run of gates, each with its lane and perhaps the word `alone`."""
    return Run("short", {name: gate(*words.split()) for name, words in lanes_of.items()})


def gate(lane: str, alone: str = "") -> Gate:
    """A gate without a body, since nox is stood in for."""
    return Gate(lane, {"short": 600}, print, bool(alone))


def verdicts(work: Run) -> list[tuple[str, str]]:
    return [(one.name, one.verdict) for one in work.outcomes]


def test_a_lab_that_is_required_and_cannot_be_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for required, verdict in (("require", "failed"), ("", "left out")):
        monkeypatch.setenv("LAB", required)
        work = run(e2e="lab")
        work.all()
        assert verdicts(work) == [("e2e", verdict)]
        assert work.outcomes[0].reason


def test_a_lab_that_does_not_come_up_fails_once_and_is_taken_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labs, "no_lab_here", lambda: "")
    monkeypatch.setattr(
        labs, "LAB", [sys.executable, "-c", "import sys; sys.exit(sys.argv[1] not in ('build', 'down'))"]
    )
    work = run(e2e="lab", benchmarks="lab alone")
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
    monkeypatch.setattr(labs, "no_lab_here", lambda: "")
    monkeypatch.setattr(labs, "LAB", [sys.executable, "-c", "import sys; sys.exit(sys.argv[1] == 'build')"])
    work = run(e2e="lab", e2e_node="lab_static")
    work.all()
    assert sorted(verdicts(work)) == [("e2e", "left out"), ("e2e_node", "left out"), ("lab parts", "failed")]
    assert work.outcomes[-1].reason == "the parts of the labs could not be built"


# Stands in for tests.lab: a folder is the lab. `status` is 3 without it, and `up` writes its options into it.
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
# Stands in for nox: a gate appends its name, its lab and the times of its begin and its end to a list. It waits for the
# begin of the gates that run beside it.
NOX = """
import os, pathlib, sys, time
begin, diary = time.monotonic(), pathlib.Path(os.environ["DIARY"])
diary.with_name(sys.argv[-1] + ".begun").touch()
groups = [word.split("=") for word in os.environ.get("BESIDE", "").split()]
others = [name for group in groups if sys.argv[-1] in group for name in group]
while not all(diary.with_name(name + ".begun").exists() for name in others):
    if time.monotonic() > begin + 60:
        sys.exit(1)
    time.sleep(0.1)
time.sleep(float(os.environ["SECONDS"]))
with diary.open("a") as stream:
    stream.write(f"{sys.argv[-1]} {os.environ['LIVENODES_LAB_DIR']} {begin} {time.monotonic()}\\n")
"""
WANTED = {
    "unit": "quick",
    "docs": "quick",
    "galaxy": "single",
    "sanity": "slow",
    "roles": "beside",
    "e2e": "lab",
    "e2e_node": "lab_static",
    "molecule_lab": "lab_static",
    "e2e_guard": "lab_guard",
    "e2e_rollout": "lab_second",
    "benchmarks": "lab alone",
}


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The folders of four labs, and the list that the gates write."""
    found = {name: tmp_path / name for name in ("lab", "lab_static", "lab_guard", "lab_second", "diary")}
    monkeypatch.setattr(labs, "no_lab_here", lambda: "")
    monkeypatch.setattr(labs, "LAB", [sys.executable, "-c", LAB])
    (tmp_path / "nox.py").write_text(NOX, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("LIVENODES_LAB_DIR", str(found["lab"]))
    monkeypatch.setenv("LIVENODES_LAB2_DIR", str(found["lab_static"]))
    monkeypatch.setenv("LIVENODES_LAB4_DIR", str(found["lab_second"]))
    monkeypatch.setenv("LIVENODES_LAB5_DIR", str(found["lab_guard"]))
    monkeypatch.setenv("DIARY", str(found["diary"]))
    return found


def test_lanes_side_by_side_then_what_is_alone(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    beside = [("docs", "galaxy", "sanity"), ("e2e", "e2e_node")]
    monkeypatch.setenv("BESIDE", " ".join(map("=".join, beside)))
    monkeypatch.setenv("SECONDS", "0")
    work = run(**WANTED)
    work.all()
    assert {one.verdict for one in work.outcomes} == {"passed"}
    diary = {
        line[0]: (line[1], float(line[2]), float(line[3]))
        for line in map(str.split, places["diary"].read_text(encoding="utf-8").splitlines())
    }
    assert {name: place for name, (place, _begin, _end) in diary.items()} == {
        name: str(places.get(words, places["lab"])) for name, words in WANTED.items()
    }
    begin, end = ({name: row[index] for name, row in diary.items()} for index in (1, 2))
    # Not before the first, which fills the environment that they share.
    assert end["unit"] < min(begin[name] for name in WANTED if name != "unit")
    assert max(end["docs"], end["galaxy"]) < min(begin["e2e"], begin["e2e_node"], begin["roles"])
    for group in beside:
        assert max(begin[name] for name in group) < min(end[name] for name in group)
    assert end["e2e_node"] < begin["molecule_lab"]
    assert end["e2e_guard"] < begin["e2e_rollout"]
    assert begin["benchmarks"] > max(end["e2e"], end["e2e_rollout"])
    names = [one.name for one in work.outcomes if one.verdict == "passed"]
    ups_and_downs = [
        f"{lab} {what}" for lab in ("lab", "static lab", "guard lab", "second lab") for what in ("up", "down")
    ]
    assert sorted(names) == sorted([*WANTED, "lab parts", *ups_and_downs])
    assert names.index("static lab down") < names.index("benchmarks") < names.index("lab down")
    assert not any(place.exists() for name, place in places.items() if name != "diary")


def test_a_lab_that_was_up_stays_up(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDS", "0")
    places["lab"].mkdir()
    work = run(**WANTED)
    work.all()
    assert [one.reason for one in work.outcomes if one.name == "lab up"] == ["was up, stays up"]
    assert places["lab"].exists() and not places["lab_static"].exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all_lanes_and_takes_their_labs_down(
    places: dict[str, Path], tmp_path: Path, number: signal.Signals
) -> None:
    lab_gates = {name: words for name, words in WANTED.items() if words.startswith("lab")}
    program = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from tools.gates import labs, steps
from tools.gates.__main__ import main
from tools.gates.gate import Gate
steps.REPORTS = steps.ROOT = Path({str(tmp_path)!r})
labs.LAB = [sys.executable, "-c", {LAB!r}]
labs.no_lab_here = lambda: ""
gates = {{}}
for name, words in {lab_gates}.items():
    gates[name] = Gate(words.split()[0], {{"short": 600}}, print, "alone" in words)
sys.exit(main("short", gates))
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        text=True,
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "SECONDS": "600"},
    ) as running:
        until = time.monotonic() + 90
        up = [places[name] for name in ("lab", "lab_static", "lab_guard")]
        while not all((place / "options").exists() for place in up):
            assert time.monotonic() < until
            time.sleep(0.1)
        assert (places["lab"] / "options").read_text(encoding="utf-8") == "--nodes 3"
        assert (places["lab_static"] / "options").read_text(encoding="utf-8") == "--nodes 2 --no-dynamic"
        time.sleep(1)
        running.send_signal(number)
        # A second Ctrl-C.
        time.sleep(0.2)
        running.send_signal(number)
        output = running.communicate(timeout=120)[0].splitlines()
    assert running.returncode == 130
    assert not any(place.exists() for place in [*up, places["diary"]])
    # The parts, and each lab up and down.
    assert output[-1] == "7 passed, 1 failed"
    assert any("(interrupted)" in line for line in output)


@pytest.mark.parametrize(("variable", "verdict"), [("", "left out"), ("LAB", "left out"), ("LAB_KUBERNETES", "failed")])
def test_a_gate_without_its_binaries_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, verdict: str
) -> None:
    """A required lab is not enough: the binaries of other versions are not part of it."""
    monkeypatch.setattr(labs, "no_lab_here", lambda: "")
    monkeypatch.setattr(labs, "LAB", [sys.executable, "-c", "import sys; sys.exit(sys.argv[1] != 'build')"])
    monkeypatch.setenv("LIVENODES_LAB_BINARIES", str(tmp_path / "binaries"))
    if variable:
        monkeypatch.setenv(variable, "require")
    work = run(e2e_modern="lab_modern")
    work.all()
    assert verdicts(work) == [("lab parts", "passed"), ("e2e_modern", verdict)]
    reason = work.outcomes[-1].reason
    assert "no binaries of Kubernetes v1.36" in reason and "tests/lab/README.md" in reason
    assert "recorded from v1.20.2 and v1.28.15 and v1.28.7 and v1.33.13 and v1.36.2" in reason
