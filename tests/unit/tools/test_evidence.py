# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every fault case has a test, every mark names a case, some gate runs each, and the pages show what reports have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.collection_tree import ROOT
from tools.site import contract, evidence, faults, reports

CASES, MARKED = faults.cases(), faults.marked()
SIM_NODES = """<testsuites><testsuite timestamp="2026-01-02T03:04:05+00:00" tests="4">
<properties><property name="ansible-core" value="2.19.0"/></properties>
<testcase classname="tests.sim_nodes.test_a" name="test_one[1]" time="1"/>
<testcase classname="tests.sim_nodes.test_a" name="test_one[2]" time="1"><failure message="no"/></testcase>
<testcase classname="tests.sim_nodes.test_a" name="test_two" time="1"/>
<testcase classname="tests.sim_nodes.test_a" name="test_three" time="0"><skipped/></testcase>
</testsuite></testsuites>"""
CONTRACT = """<testsuites><testsuite timestamp="2026-01-03T03:04:05+00:00">
<testcase classname="tests.contract.test_edges" name="test_some[pause]" time="1.26"/>
<testcase classname="tests.contract.test_edges" name="test_skipped"><skipped/></testcase>
<testcase classname="tests.contract.test_edges" name="test_former" time="1"/>
</testsuite></testsuites>"""
MODERN = """<testsuites><testsuite timestamp="2026-01-03T03:04:05+00:00">
<testcase classname="tests.contract.test_dropins" name="test_json[v1.33.13]"><failure/></testcase>
<testcase classname="tests.contract.test_dropins" name="test_json[v1.36.2]" time="3"/>
</testsuite></testsuites>"""


@pytest.fixture
def runs(tmp_path: Path) -> reports.Runs:
    """The reports of three gates, of one whose results no page shows, and half a report."""
    for gate, text in (("sim_nodes", SIM_NODES), ("contract", CONTRACT), ("e2e_modern", MODERN), ("awx", CONTRACT)):
        (tmp_path / f"{gate}.xml").write_text(text, encoding="utf-8")
    (tmp_path / "e2e.xml").write_text(CONTRACT[:40], encoding="utf-8")
    return reports.read(tmp_path)


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
    pages = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    written = sum(path.read_text(encoding="utf-8").count("mark.fault") for path in pages)
    assert written == sum(len(numbers) for path in pages for numbers in faults.marks(path).values())


@pytest.mark.parametrize("name", sorted({name for names in MARKED.values() for name in names}))
def test_a_gate_runs_each_test(name: str) -> None:
    """Or the page would name no command."""
    assert faults.placed(name, {})


def test_the_contract_runs_in_two_places() -> None:
    one, two = faults.placed("tests/contract/test_rollout.py::test_one", {})
    assert (one.kind, one.gates) == ("real kubelets", ["e2e_rollout"])
    assert (two.kind, two.gates) == ("simulation", ["contract"])


def test_results_are_those_of_a_report(runs: reports.Runs) -> None:
    assert list(runs) == ["e2e_modern", "contract", "sim_nodes"]
    assert runs["sim_nodes"].versions == {"ansible-core": "2.19.0"}
    found = faults.counts(runs)
    name = "tests/sim_nodes/test_a.py::test_"
    (one,), (two,), (three,) = (faults.placed(name + word, found) for word in ("one", "two", "three"))
    assert one.shown(runs) == "1 of 2 passed in sim_nodes, 2026-01-02"
    assert two.shown(runs) == "passed in sim_nodes, 2026-01-02"
    assert three.shown(runs) == "not run here"
    assert faults.total([one, two, three]) == "1 of 2 passed, 1 not run here"


def test_a_lab_does_not_take_the_result_of_the_simulation() -> None:
    name = "tests/contract/test_rollout.py::test_one"
    real, simulated = faults.placed(name, {name: {"contract": (1, 0)}})
    assert (real.results, simulated.results) == ({}, {"contract": (1, 0)})


def test_the_contract_shows_cases_that_exist(runs: reports.Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """With seconds, or a failure of any version; the rest stays empty."""
    listed: dict[str, list[str]] = {group: [] for group in contract.GROUPS}
    listed["contract/test_edges"] = ["some: pause", "skipped"]
    listed["contract/test_dropins"] = ["json"]
    monkeypatch.setattr(contract, "cases", lambda: listed)
    monkeypatch.setattr(contract, "FACTS", Path("none"))
    text = contract.page(runs)
    assert "  * - case\n    - contract\n  * - some: pause\n    - 1.3 s\n  * - skipped\n    -\n" in text
    assert "  * - case\n    - e2e_modern\n  * - json\n    - failed\n" in text
    assert "former" not in text


def test_a_file_without_a_heading_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "GROUPS", {"contract/test_gate": "The gate before a batch"})
    with pytest.raises(ValueError, match="has no heading in the page"):
        contract.cases()


def test_without_results_every_case_is_listed(tmp_path: Path) -> None:
    """And the guide states that there are none."""
    (tmp_path / "guide_evidence.rst").write_text("before\n", encoding="utf-8")
    evidence.write(tmp_path, reports.read(tmp_path))
    guide, shown, shared = (
        (tmp_path / f"{name}.rst").read_text(encoding="utf-8")
        for name in ("guide_evidence", "evidence_faults", "evidence_contract")
    )
    assert guide.startswith("before\n") and "built without results" in guide
    assert " passed" not in shown and shown.count("\n* A second run: ") == len(CASES)
    assert all(f"\n{heading}\n---" in shared for heading in contract.GROUPS.values())
    assert "- recorded\n" in shared and not [line for line in shared.splitlines() if line.endswith(" s")]


def test_the_guide_lists_the_runs(runs: reports.Runs) -> None:
    text = evidence.overview(runs)
    assert "  * - sim_nodes\n    - simulation\n    - 2026-01-02\n    - ansible-core 2.19.0\n    - 2\n    - 1\n" in text
