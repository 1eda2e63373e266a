# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame of HTML pages, and the report of a rollout: self-contained files that run only their own script.
The parts of the report need no script. Every text from outside passes through `escape`.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import pathlib
import re
import typing as t
from html import escape

from .. import events, model, output

_HERE = pathlib.Path(__file__).parent


def write(path: str, report: t.Mapping[str, t.Any]) -> None:
    """Write the HTML report. Raises OSError when the folder cannot be written to."""
    output.write(path, make(report))


def make(report: t.Mapping[str, t.Any]) -> str:
    """Return the page for a report of output.document."""
    return framed(parts(report), _part("js"), _data(report))


def framed(parts: t.Mapping[str, str], script: str = "", data: str = "") -> str:
    """Return a page with these parts, by the names of the placeholders in page.html.

    What page.html marks as scripted is left out without a script.
    """
    template, style = _part("html"), _part("css")
    template = re.sub(r"\{\{#scripted\}\}(.*?)\{\{/scripted\}\}", r"\1" if script else "", template, flags=re.DOTALL)
    known = {**parts, "policy": _policy(style, script), "style": style, "script": script, "data": data}
    # In one pass, so that the name of a node is never read as a placeholder.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: known[match.group(1)], template)


@functools.lru_cache(maxsize=None)
def _part(kind: str) -> str:
    """Return a file of the page: html, css or js."""
    return (_HERE / f"page.{kind}").read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy: it allows the page's own style and script by hash, and nothing else."""
    return (
        f"default-src 'none'; style-src 'sha256-{_sha256(style)}'; script-src 'sha256-{_sha256(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _sha256(words: str) -> str:
    return base64.b64encode(hashlib.sha256(words.encode()).digest()).decode()


def _data(report: t.Mapping[str, t.Any]) -> str:
    """Return the data for the script as JSON that cannot close its element.

    Rows take a third of the space of mappings.
    """
    steps = [*events.STEPS, events.FAILED]
    data = {
        "steps": steps,
        "states": model.STATES,
        "seconds": report["seconds"],
        "nodes": [_row(node, steps) for node in report["nodes"]],
        "batches": [[batch["at"], batch["seconds"]] for batch in report["batches"]],
    }
    words = json.dumps(data, separators=(",", ":"))
    return words.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _row(node: t.Mapping[str, t.Any], steps: t.Sequence[str]) -> list[t.Any]:
    """Return a node as the script reads it; C(steps) in pairs of their index and their time."""
    taken: list[t.Any] = []
    for step, at in node["steps"].items():
        if step in steps:
            taken += [steps.index(step), at]
    row = [node["name"], model.STATES.index(node["state"]), node["batch"] or 0, node["delivery"] or "", taken]
    if "cause" in node:
        row += [node["verdict"] or "", node["cause"], node["remedy"] or ""]
    return row


_OUTCOMES = {
    "done": ("good", "Done", "Every changed node runs its assigned configuration."),
    "failed": (
        "bad",
        "Failed",
        "Nodes failed. The remedies are below. Run the rollout again: it continues where this one stopped.",
    ),
    "refused": ("bad", "Refused", "A rule stopped the rollout before its next step."),
    "paused": ("warn", "Paused", "The rollout is paused and stopped after a batch. Run it again after the pause."),
    "interrupted": (
        "warn",
        "Interrupted",
        "The run was interrupted. Run the rollout again: it continues where it stopped.",
    ),
    "running": (
        "info",
        "Not finished",
        "Written during the rollout. If the rollout was killed, run it again: it continues where it stopped.",
    ),
}
PLANNED = "Nothing was changed: this page shows what a rollout would do."
MOST_CARDS = 40
MOST_NAMES = 12


def parts(report: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return the parts by placeholder name."""
    kind, word, meaning = _OUTCOMES[report["outcome"]]
    title = report["group"] or "all hosts"
    if report["check_mode"] or (report["outcome"] == "done" and model.UNTOUCHED in report["summary"]):
        meaning = PLANNED
    parts = {"failures": _failures(report), "changes": _changes(report), "batches": _batches(report)}
    heads = {"failures": "Failures", "changes": "What changes", "batches": "Batches", "nodes": "Nodes"}
    links = ""
    for name, head in heads.items():
        if parts.get(name) or name == "nodes":
            links += f'<a href="#{name}">{head}</a>'
    return {
        "sections": "\n".join(parts.values()),
        "links": links,
        "over": "Kubelet rollout",
        "title": escape(f"{word}: kubelet rollout, {title}"),
        "group": escape(title),
        "kind": kind,
        "outcome": escape(word),
        "meaning": escape(meaning),
        "facts": _facts(report),
        "tiles": _states(report),
    }


def _facts(report: t.Mapping[str, t.Any]) -> str:
    batches = report["summary"]["batches"]
    facts = [
        output.count(report["summary"]["nodes"], "node"),
        f"{batches:,} {'batch' if batches == 1 else 'batches'}",
        f"took {output.duration(report['seconds'])}",
    ]
    shown = report["started"].replace("T", " ").replace("Z", " UTC")
    began = f'<time datetime="{escape(report["started"])}">{escape(shown)}</time>'
    return " · ".join([began, *map(escape, facts)])


def _states(report: t.Mapping[str, t.Any]) -> str:
    tiles = ""
    for state in model.STATES:
        if state in report["summary"]:
            tiles += f'<li class="tile s-{state}"><b>{report["summary"][state]:,}</b><span>{state}</span></li>'
    return tiles


def _failures(report: t.Mapping[str, t.Any]) -> str:
    groups = _alike(report["nodes"])
    failed = sum(map(len, groups))
    head, note = "Why it stopped", "Stopped"
    if failed:
        head, note = f'Failures <span class="count">{failed:,}</span>', "Summary"
    blocks = []
    if report["paused"]:
        blocks.append(_note("Paused", _paused(report["paused"])))
    blocks += [_note(note, message) for message in report["messages"]]
    blocks += [_card(nodes) for nodes in groups[:MOST_CARDS]]
    if len(groups) > MOST_CARDS:
        blocks.append(f'<p class="quiet">{len(groups) - MOST_CARDS:,} more causes: see the table of nodes.</p>')
    return section("failures", head, "".join(blocks))


def _alike(nodes: t.Iterable[t.Mapping[str, t.Any]]) -> list[list[t.Mapping[str, t.Any]]]:
    """Return the failed nodes in groups of one cause, the largest first. Their own names make no difference."""
    groups: dict[tuple[str, str], list[t.Mapping[str, t.Any]]] = {}
    for node in nodes:
        if "cause" in node:
            alike = re.sub(rf"(?<![\w.-]){re.escape(node['name'])}(?![\w-])", "\0", node["cause"])
            groups.setdefault((node["verdict"] or "", alike), []).append(node)
    return sorted(groups.values(), key=len, reverse=True)


def section(name: str, head: str, words: str) -> str:
    """Return a section of the page, nothing if it has no words."""
    if not words:
        return ""
    return f'<section id="{name}" aria-labelledby="h-{name}"><h2 id="h-{name}">{head}</h2>{words}</section>'


def _note(head: str, words: str) -> str:
    return f'<article class="card warn"><h3>{head}</h3><p class="cause">{escape(words)}</p></article>'


def _paused(paused: t.Mapping[str, t.Any]) -> str:
    parts = []
    for word, key in (("since", "since"), ("by", "by"), ("because:", "reason")):
        if paused.get(key):
            parts.append(f"{word} {paused[key]}")
    return ". ".join(filter(None, [", ".join(parts), str(paused.get("message") or "")]))


def _card(nodes: list[t.Mapping[str, t.Any]]) -> str:
    first = nodes[0]
    state = first["verdict"] or first["state"]
    names = "".join(map(_name, nodes[:MOST_NAMES]))
    if len(nodes) > MOST_NAMES:
        # At most 500 more names; the table shows all of them.
        more = "".join(map(_name, nodes[MOST_NAMES : MOST_NAMES + 500]))
        names += f"<details><summary>{len(nodes) - MOST_NAMES:,} more</summary>{more}</details>"
    reverted = sum(node["state"] == model.REVERTED for node in nodes)
    counted = output.count(len(nodes), "node")
    note, remedy = "", ""
    if reverted:
        note = f'<p class="quiet">{reverted:,} of {counted} reverted to the previous configuration.</p>'
    if first["remedy"]:
        remedy = f'<p class="remedy"><b>Remedy</b> {escape(first["remedy"])}</p>'
    return (
        f'<article class="card bad"><h3><span class="chip s-{escape(first["state"])}">{escape(state)}</span> '
        f"{counted}</h3>"
        f'<p class="cause">{escape(first["cause"])}</p>{remedy}{note}<div class="names">{names}</div></article>'
    )


def _name(node: t.Mapping[str, t.Any]) -> str:
    name = escape(node["name"])
    return f'<button type="button" class="name" data-node="{name}">{name}</button>'


def _changes(report: t.Mapping[str, t.Any]) -> str:
    planned = [entry for entry in report["changes"] if entry["nodes"]]
    entries = sorted(planned, key=lambda entry: -entry["nodes"])
    blocks = [_change(entry, index == 0) for index, entry in enumerate(entries[:MOST_CARDS])]
    if len(entries) > MOST_CARDS:
        blocks.append(f'<p class="quiet">{len(entries) - MOST_CARDS:,} more kinds of change: see the JSON report.</p>')
    if report["forecast"]:
        lines = "\n".join(report["forecast"]["text"])
        blocks.append(
            f'<details class="plan" open><summary>Forecast for pods</summary><pre>{escape(lines)}</pre></details>'
        )
    return section("changes", "What changes", "".join(blocks))


def _change(entry: t.Mapping[str, t.Any], shown: bool) -> str:
    variants = entry["variants"]
    named = entry["text"] or "no variant"
    if variants:
        named = str(variants[0])
    if len(variants) > 1:
        named += f" and {len(variants) - 1:,} more variants"
    head = f'{output.count(entry["nodes"], "node")} {_effect(entry)} <code class="quiet">{escape(named)}</code>'
    is_open = " open" if shown else ""
    return (
        f'<details class="plan"{is_open}><summary>{head}</summary>'
        f"{_changed_fields(entry)}{_problems(entry['problems'])}</details>"
    )


def _changed_fields(entry: t.Mapping[str, t.Any]) -> str:
    rows = "".join(_changed_field(row) for row in entry["changes"] if isinstance(row, dict))
    if rows:
        return (
            '<div class="scroll"><table><thead><tr><th scope="col">Field</th><th scope="col">Before</th>'
            f'<th scope="col">After</th><th scope="col">Effect</th></tr></thead><tbody>{rows}</tbody></table></div>'
        )
    if entry["text"] or entry["problems"]:
        # The plan of a rollback does not list the fields that change.
        return ""
    return '<p class="quiet">No field changes; only the source does.</p>'


def _changed_field(row: t.Mapping[str, t.Any]) -> str:
    return (
        f'<tr><th scope="row"><code>{escape(str(row.get("path", "")))}</code></th>'
        f'<td class="before"><code>{_value(row.get("before"))}</code></td>'
        f'<td class="after"><code>{_value(row.get("after"))}</code></td>'
        f"<td>{_effect(row)} {escape(str(row.get('reason') or ''))}{_shadowed(row)}</td></tr>"
    )


def _problems(rows: t.Sequence[t.Any]) -> str:
    items = ""
    for row in rows:
        if isinstance(row, dict):
            severity = escape(str(row.get("severity")))
            words = " ".join(str(row.get(key) or "") for key in ("path", "message", "remedy"))
            items += f'<li class="p-{severity}"><b>{severity}</b> {escape(words)}</li>'
    return f"<ul>{items}</ul>" if items else ""


def _effect(row: t.Mapping[str, t.Any]) -> str:
    effect = escape(str(row.get("effect") or ""))
    return f'<span class="chip e-{effect}">{effect}</span>' if effect else ""


def _shadowed(row: t.Mapping[str, t.Any]) -> str:
    return f" <b>No effect: {escape(str(row['shadowed_by']))}</b>" if row.get("shadowed_by") else ""


def _value(value: t.Any) -> str:
    if value is None:
        return '<span class="quiet">not set</span>'
    if isinstance(value, str) and value:
        return escape(value)
    return escape(json.dumps(value, ensure_ascii=False))


def _batches(report: t.Mapping[str, t.Any]) -> str:
    rows = "".join(map(_batch, report["batches"]))
    if not rows:
        return ""
    table = (
        '<div class="scroll tall" tabindex="0" role="region" aria-labelledby="h-batches"><table class="numbers">'
        '<thead><tr><th scope="col">Batch</th><th scope="col">Nodes</th><th scope="col">Done</th>'
        '<th scope="col">Failed</th><th scope="col">Began after</th><th scope="col">Took</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
    return section("batches", "Batches", table)


def _batch(batch: t.Mapping[str, t.Any]) -> str:
    failed = model.failed(batch)
    worst = " class=worst" if failed else ""
    return (
        f'<tr><th scope="row">{batch["number"]}</th><td>{batch["nodes"]:,}</td><td>{batch.get(model.DONE, 0):,}</td>'
        f"<td{worst}>{failed:,}</td><td>{escape(output.duration(batch['at']))}</td>"
        f"<td>{escape(output.duration(batch['seconds']))}</td></tr>"
    )
