# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import finding


def test_what_stops_a_kubelet_comes_first_and_order_does_not_depend_on_input() -> None:
    rows = [
        finding.Finding(severity, kind, name, "why", "Do.")
        for severity in finding.SEVERITIES
        for kind in finding.KINDS
        for name in ("a", "b")
    ]
    shuffled = [*rows[1::2], *rows[::2]]
    assert sorted(shuffled, key=finding.order) == rows
