# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as plain values."""

from __future__ import annotations

import json

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import report_document
from tests.support.played_rollout import DIFFERS, Played, example


def test_nodes_with_the_same_to_do_share_an_entry() -> None:
    report = report_document.make(example(100))
    assert [entry["nodes"] for entry in report["changes"]] == [82, 16]
    assert report["summary"] == {"nodes": 100, "batches": 11, "failed": 2, "reverted": 2, "done": 94, "unchanged": 2}
    assert [node["state"] for node in report["nodes"][:5]] == ["failed", "failed", "reverted", "reverted", "done"]


def test_the_report_is_plain_and_has_no_configuration() -> None:
    played = Played(3, {"worker-0001.example.com": DIFFERS})
    report = json.loads(json.dumps(report_document.make(played.rollout)))
    assert report["outcome"] == "running" and report["ended"] >= report["started"]
    assert "nodefs.inodesFree" not in json.dumps(report), "a field that does not change"
