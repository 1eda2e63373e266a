# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report and the page of a compliance check."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster import comply
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import output
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.page import compliance, page
from tests.support.report.played_rollout import Played


@pytest.mark.parametrize(
    "evil", ["</script><script>x()</script>", "<!--<script>", "<b>", "&lt;", '" onclick="x()', "{{data}}", "\\u003c"]
)
def test_text_from_outside_never_is_markup(evil: str) -> None:
    made = Played(3, {evil: (evil, evil)}, [evil, "n2", "n3"]).rollout
    made.group = evil
    made.end(made.ended)
    usual = Played(3, {"n1": ("n1", "n1")}, ["n1", "n2", "n3"]).rollout
    plain, odd = page.make(output.document(usual)), page.make(output.document(made))
    assert odd.count("<script") == plain.count("<script") and odd.count("</script") == plain.count("</script")
    assert odd.count("<!--") == plain.count("<!--")
    assert "<b>&" not in odd and "onclick=" not in odd.replace("&quot; onclick=", "").replace('\\" onclick=', "")
    data = json.loads(odd.partition('id="data">')[2].partition("</script>")[0])
    assert evil in [row[0] for row in data["nodes"]]


def test_failures_that_differ_in_the_name_only_are_one_card() -> None:
    names = [f"n{number}" for number in range(1, 31)]
    made = Played(30, {name: ("differs", f"Node {name}: a flag wins") for name in names}, names).rollout
    made.end(made.ended)
    words = page.make(output.document(made))
    assert words.count('<article class="card bad">') == 1
    assert "18 more" in words


TERMS = {"owner": "platform team", "until": "2027-03-31", "reason": "no CA yet"}


class Texts(HTMLParser):
    """The text of each section, by its id, and all tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.sections: dict[str, str] = {}
        self.tags: list[str] = []
        self._now = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "section":
            self._now = dict(attrs)["id"] or ""

    def handle_data(self, data: str) -> None:
        self.sections[self._now] = self.sections.get(self._now, "") + data


def row(item: str, verdict: str, value: str = "1", exception: Any = None) -> dict[str, Any]:
    texts = {"title": f"title of {item}", "message": f"{item} is {value}. Set it", "value": value, "origin": "default"}
    return {"profile": "cis-1.12", "item": item, "verdict": verdict, "exception": exception, **texts}


def result(nodes: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    rows = {name: {"kubelet_version": "v1.36.2", "rows": given} for name, given in nodes.items()}
    return {"nodes": rows, "summary": {"checked": "2026-11-27T05:00:00Z", **comply.summary(rows)}}


def test_failures_first_then_exceptions_and_all_items() -> None:
    rows = [row("4.2.3", "pass"), row("4.2.4", "fail", "10255"), row("4.2.9", "excepted", exception=TERMS)]
    made = compliance.make(result({"n1": rows, "n2": [row("4.2.3", "pass")]}))
    found = Texts(made)
    assert list(found.sections) == ["", "failures", "exceptions", "items"]
    assert "cis-1.12 Not compliant" in found.sections[""] and "2026-11-27 05:00:00 UTC · 2 nodes" in found.sections[""]
    assert "4.2.4 is 10255. Set it" in found.sections["failures"] and "4.2.3" not in found.sections["failures"]
    for section, parts in (("exceptions", [*TERMS.values(), "n1"]), ("items", ["title of 4.2.3", "4.2.4", "4.2.9"])):
        assert [part for part in parts if part not in found.sections[section]] == []
    assert "script" not in found.tags and "default-src 'none'" in made


def test_an_exception_is_shown_with_its_own_terms_and_nodes_only() -> None:
    """Nodes that pass are one row of all items, whether they have an exception or not."""
    nodes = {
        "n1": [row("4.2.9", "pass")],
        "n2": [row("4.2.9", "pass", exception=TERMS)],
        "n3": [row("4.2.9", "pass", exception={**TERMS, "owner": "edge team"})],
    }
    found = Texts(compliance.make(result(nodes))).sections
    ends = "2027-03-31no CA yetpass"
    assert f"4.2.9platform team{ends}n24.2.9edge team{ends}n3" in found["exceptions"]
    assert "n1" not in found["exceptions"] and "n1, n2, n3" in found["items"]


def test_a_group_without_failures_is_compliant() -> None:
    found = Texts(compliance.make(result({"n1": [row("4.2.3", "pass")]})))
    assert list(found.sections) == ["", "items"] and "cis-1.12 Compliant" in found.sections[""]


@pytest.mark.parametrize(
    "evil", ["</script><script>x()</script>", "<img src=x>", '" onclick="x()', "{{style}}", "{{#scripted}}"]
)
def test_text_from_outside_is_no_markup_of_a_compliance_page(evil: str) -> None:
    plain = Texts(compliance.make(result({"n1": [row("4.2.4", "fail", "v", {**TERMS})]})))
    rows = [row("4.2.4", "fail", evil, {**TERMS, "owner": evil})]
    odd = Texts(compliance.make(result({evil: rows})))
    assert odd.tags == plain.tags and evil in odd.sections["items"]


def test_many_failures_and_names_are_shortened() -> None:
    names = [f"n{number}" for number in range(100)]
    rows = [row(f"4.{number}", "fail") for number in range(60)]
    made = compliance.make(result(dict.fromkeys(names, rows)))
    found = Texts(made)
    assert "20 more: see the table" in found.sections["failures"] and "88 more" in found.sections["failures"]
    assert made.count('<article class="card bad">') == 40
