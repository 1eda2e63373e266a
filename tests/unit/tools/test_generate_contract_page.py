# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the contract lists exactly its cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import generate_contract_page as page

REPORT = """<testsuites><testsuite>
<testcase classname="tests.contract.test_edges" name="test_edges[some edges]" time="1.26"/>
<testcase classname="tests.contract.test_edges" name="test_skipped"><skipped/></testcase>
<testcase classname="tests.e2e_modern.test_dropin_contract" name="test_json_is_taken"><failure/></testcase>
<testcase classname="tests.e2e.test_names" name="test_name_is_kubectls[yaml]" time="2"/>
</testsuite></testsuites>"""


def test_the_page_has_all_cases_and_no_other() -> None:
    found = page.differences(page.cases(), page.read(page.TARGET.read_text(encoding="utf-8")))
    assert found == [], "run tools/generate_contract_page.py with the newest reports"


def test_missing_and_former_cases_are_named() -> None:
    wanted: dict[str, list[str]] = {group: [] for group in page.GROUPS}
    wanted["contract/test_gate"] = ["pause", "requests"]
    have = page.Page([], {group: {} for group in page.GROUPS})
    have.tables["contract/test_gate"] = {"pause": {}, "former": {}}
    assert page.differences(wanted, have) == [
        "The gate before a batch: requests: not on the page",
        "The gate before a batch: former: there is no such case",
    ]


def test_a_page_is_read_as_it_was_written() -> None:
    table = {"one": {"simulation": "1.0 s"}, "two: \\*.conf": {"simulation": "2.0 s", "1.20.2": "3.0 s"}, "three": {}}
    text = page.section(page.GROUPS["contract/test_gate"], table, ["simulation", "1.20.2"]) + page.section(
        page.GROUPS["contract/test_lease"], {"four": {"1.20.2": "4.0 s"}}, ["simulation", "1.20.2"]
    )
    found = page.read(text)
    cells = {
        case: {name: cell for name, cell in row.items() if cell}
        for case, row in found.tables["contract/test_gate"].items()
    }
    assert cells == table and found.columns == ["simulation", "1.20.2"]
    assert found.tables["contract/test_lease"] == {"four": {"1.20.2": "4.0 s"}}


def test_results_of_a_report(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT, encoding="utf-8")
    assert page.results(report) == [
        ("contract/test_edges", "edges: some edges", "1.3 s"),
        ("contract/test_edges", "skipped", ""),
        ("contract/test_dropins", "json is taken", "failed"),
    ]


def test_a_file_without_a_heading_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "GROUPS", {"contract/test_gate": "The gate before a batch"})
    with pytest.raises(ValueError, match="has no heading in the page"):
        page.cases()
