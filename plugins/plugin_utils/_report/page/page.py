# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame of HTML pages, and the report of a rollout: self-contained files that run only their own script."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import pathlib
import re
import typing as t

from .. import events, model, report_document
from . import sections

_HERE = pathlib.Path(__file__).parent


def write(path: str, report: t.Mapping[str, t.Any]) -> None:
    """Write the HTML report. Raises OSError when the folder cannot be written to."""
    report_document.write(path, make(report))


def make(report: t.Mapping[str, t.Any]) -> str:
    """Return the page for a report of report_document.make."""
    return framed(sections.make(report), _part("js"), _data(report))


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
