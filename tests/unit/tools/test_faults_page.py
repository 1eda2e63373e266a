# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every fault case has a test, every mark names a case, and every gate that the page names runs what it names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools import generate_faults_page as faults
from tools.gates import selections

CASES, MARKED = faults.cases(), faults.marked()
REPORT = """<testsuites><testsuite timestamp="2026-01-02T03:04:05+00:00" tests="4">
<properties><property name="ansible-core" value="2.19.0"/></properties>
<testcase classname="tests.sim_nodes.test_a" name="test_one[1]" time="1"/>
<testcase classname="tests.sim_nodes.test_a" name="test_one[2]" time="1"><failure message="no"/></testcase>
<testcase classname="tests.sim_nodes.test_a" name="test_two" time="1"/>
<testcase classname="tests.sim_nodes.test_a" name="test_three" time="0"><skipped/></testcase>
</testsuite></testsuites>"""


def test_the_cases_are_numbered() -> None:
    assert list(CASES) == list(range(1, len(CASES) + 1))
    for case in CASES.values():
        assert {"node", "status", "user", "lost", "again", "title"} <= set(case), case


def test_a_number_has_one_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "CASES", [*faults.CASES, faults.CASES[0]])
    with pytest.raises(ValueError, match="two fault cases have one number"):
        faults.cases()


@pytest.mark.parametrize("number", CASES)
def test_a_case_has_a_test(number: int) -> None:
    """Or the list states that it has none."""
    assert MARKED.get(number) or CASES[number].get("open")


def test_every_mark_names_a_case() -> None:
    assert set(MARKED) - set(CASES) == set()


def test_every_mark_is_found() -> None:
    """The page reads marks from the source: none may be elsewhere than above a test, nor in another form."""
    pages = [path for path in (faults.ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    written = sum(path.read_text(encoding="utf-8").count("mark.fault") for path in pages)
    assert written == sum(len(numbers) for path in pages for numbers in faults.marks(path).values())


def test_the_page_is_generated() -> None:
    done = subprocess.run(
        [sys.executable, str(faults.ROOT / "tools/generate_faults_page.py"), "--check"],
        check=False,
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_gates_exist_and_run_the_tests() -> None:
    gates = selections.tests(long=True)
    for name in {name for names in MARKED.values() for name in names}:
        for test in faults.placed(name):
            for gate in test.gates:
                assert selections.runs(gates[gate], name.partition("::")[0]), test


def test_results_are_those_of_a_report(tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    path.write_text(REPORT)
    found = faults.read([f"simulation={path}"])
    name = "tests/sim_nodes/test_a.py::test_one"
    assert set(found) == {name, name.replace("one", "two")}
    assert found[name]["simulation"] == {
        "passed": 1,
        "failed": 1,
        "date": "2026-01-02",
        "tools": {"ansible-core": "2.19.0"},
    }
    one, two, three = (faults.placed(name.replace("one", word))[0] for word in ("one", "two", "three"))
    assert faults.shown(faults.outcomes(one, found), one.kind) == "1 of 2 passed, 2026-01-02"
    assert faults.shown(faults.outcomes(three, found), three.kind) == "not run here"
    assert faults.total([one, two, three], found) == "1 of 2 passed, 1 not run here"
    # A test of the lab does not take the result of the simulation.
    assert faults.outcomes(one._replace(kind=faults.REAL), found) == {}
