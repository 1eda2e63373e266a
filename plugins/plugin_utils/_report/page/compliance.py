# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a compliance check, in the style of the report of a rollout: self-contained, and without a script."""

from __future__ import annotations

import typing as t
from html import escape

from ....module_utils._cluster import comply
from ....module_utils._cluster.comply import Group
from ....module_utils._config.profiles import EXCEPTED, FAIL, MANUAL, NOT_CHECKED, PASS, VERDICTS
from .. import output
from . import page
from .page import MOST_CARDS, MOST_NAMES, section

_COLOURS = {PASS: "s-done", FAIL: "s-failed", EXCEPTED: "s-reverted", MANUAL: "s-running", NOT_CHECKED: ""}
"""The classes of page.css that have the colour of a verdict."""


def make(result: t.Mapping[str, t.Any]) -> str:
    """Return the page for a result of kubelet_compliance_check."""
    summary, found = result["summary"], comply.groups(result["nodes"])
    outcome, kind, meaning = "Compliant", "good", "No item fails on any node."
    if not summary["compliant"]:
        outcome, kind = "Not compliant", "bad"
        meaning = "Items fail. Each card names the cause and the remedy."
    failed = [group for group in found if group.row["verdict"] == FAIL]
    excepted = comply.groups(result["nodes"], excepted=True)
    parts = {
        "failures": ("Failures", _failures(failed)),
        "exceptions": ("Exceptions", _exceptions(excepted)),
        "items": ("All items", _items(found)),
    }
    tiles = ""
    for verdict in VERDICTS:
        if summary[verdict]:
            tiles += f'<li class="tile {_COLOURS[verdict]}"><b>{summary[verdict]:,}</b><span>{verdict}</span></li>'
    facts = [summary["checked"].replace("T", " ").replace("Z", " UTC"), output.count(summary["nodes"], "node")]
    profiles = ", ".join(dict.fromkeys(group.row["profile"] for group in found))
    return page.framed(
        {
            "over": "Kubelet compliance",
            "title": escape(f"{outcome}: kubelet compliance, {profiles}"),
            "group": escape(profiles),
            "outcome": outcome,
            "kind": kind,
            "meaning": meaning,
            "facts": escape(" · ".join(facts)),
            "tiles": tiles,
            "links": "".join(f'<a href="#{name}">{head}</a>' for name, (head, words) in parts.items() if words),
            "sections": "\n".join(section(name, head, words) for name, (head, words) in parts.items()),
        }
    )


def _failures(failed: t.Sequence[Group]) -> str:
    blocks = []
    for row, names in failed[:MOST_CARDS]:
        blocks.append(
            f'<article class="card bad"><h3><span class="chip s-failed">{escape(row["item"])}</span> '
            f"{escape(row['title'])}</h3>"
            f'<p class="cause">{escape(row["message"])}</p><div class="quiet">{_names(names)}</div></article>'
        )
    if len(failed) > MOST_CARDS:
        blocks.append(f'<p class="quiet">{len(failed) - MOST_CARDS:,} more: see the table of all items.</p>')
    return "".join(blocks)


def _names(names: t.Sequence[str]) -> str:
    shown = escape(", ".join(names[:MOST_NAMES]))
    if len(names) > MOST_NAMES:
        more = escape(", ".join(names[MOST_NAMES:]))
        shown += f"<details><summary>{len(names) - MOST_NAMES:,} more</summary>{more}</details>"
    return shown


def _exceptions(excepted: t.Sequence[Group]) -> str:
    rows = []
    for row, names in excepted:
        terms = row["exception"]
        cells = (row["item"], terms["owner"], terms["until"], terms["reason"])
        rows.append([*map(escape, cells), _chip(row["verdict"]), _names(names)])
    return _table(("Item", "Owner", "Until", "Reason", "Verdict", "Nodes"), rows)


def _items(found: t.Sequence[Group]) -> str:
    rows = []
    for row, names in found:
        value = f"<code>{escape(row['value'])}</code>"
        cells = [escape(row["title"]), _chip(row["verdict"]), value, escape(row["origin"])]
        rows.append([escape(row["item"]), *cells, _names(names)])
    return _table(("Item", "What it asks for", "Verdict", "Value", "From", "Nodes"), rows)


def _chip(verdict: str) -> str:
    return f'<span class="chip {_COLOURS[verdict]}">{verdict}</span>'


def _table(heads: t.Sequence[str], rows: t.Sequence[t.Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = ""
    for first, *others in rows:
        body += f'<tr><th scope="row">{first}</th>{"".join(map("<td>{}</td>".format, others))}</tr>'
    return (
        f'<div class="plan"><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></div>"
    )
