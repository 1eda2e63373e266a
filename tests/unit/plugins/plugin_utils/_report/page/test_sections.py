# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the page that need no script."""

from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import report_document
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.page import page
from tests.support.played_rollout import Played


def test_failures_that_differ_in_the_name_only_are_one_card() -> None:
    names = [f"n{number}" for number in range(1, 31)]
    made = Played(30, {name: ("differs", f"Node {name}: a flag wins") for name in names}, names).rollout
    made.end(made.ended)
    words = page.make(report_document.make(made))
    assert words.count('<article class="card bad">') == 1
    assert "18 more" in words
