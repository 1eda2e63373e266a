# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import upgrade_text
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade.finding import Finding

STOP = Finding("stops", "gate", "A", "it is gone", "Remove it.", "/f")
CHANGE = Finding("changes", "default", "b", "1 -> 2", "Declare it.")
LOST = Finding("unknown", "version", "", "unreachable", "Run again.")


def node(*rows: Finding, version: str | None = "v1.28.7") -> dict[str, t.Any]:
    return {"kubelet_version": version, "findings": [row._asdict() for row in rows]}


def test_nodes_with_the_same_findings_stand_together() -> None:
    nodes = {
        **{f"n{number}": node(STOP, CHANGE) for number in range(40)},
        "m1": node(),
        "m2": node(CHANGE),
        "m3": node(LOST, version=None),
        "m4": node(STOP, LOST),
    }
    assert upgrade_text.lines(nodes, 36) == [
        "40 nodes (n0, n1, n2, n3, n4 and 35 more) (v1.28.7):",
        "  stops: gate A (/f): it is gone. Remove it.",
        "  changes: default b: 1 -> 2. Declare it.",
        "1 node (m2) (v1.28.7):",
        "  changes: default b: 1 -> 2. Declare it.",
        "1 node (m3) (unknown version):",
        "  unknown: version: unreachable. Run again.",
        "1 node (m4) (v1.28.7):",
        "  stops: gate A (/f): it is gone. Remove it.",
        "  unknown: version: unreachable. Run again.",
        "upgrade to 1.36: 44 nodes, 41 would stop, 1 unknown, 41 would change",
    ]
    counts = upgrade_text.summary(nodes, 36)
    assert (counts["target"], counts["nodes"], counts["unknown"], counts["ready"]) == ("1.36", 44, ["m3"], False)
    assert "m4" in counts["would_stop"] and "m2" in counts["changed"]


def test_only_what_stops_and_what_is_unknown_prevents_an_upgrade() -> None:
    assert upgrade_text.summary({"n1": node(CHANGE), "n2": node()}, 36)["ready"]
    assert not upgrade_text.summary({"n1": node(LOST)}, 36)["ready"]


def test_a_target_beyond_the_tables_is_said_once() -> None:
    newest = fields.NEWEST_MINOR
    assert len(upgrade_text.lines({"n1": node()}, newest)) == 1
    text = upgrade_text.lines({"n1": node(), "n2": node()}, newest + 1)
    assert len(text) == 2 and f"The tables end with 1.{newest}" in text[0]
