# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import WARNING, Problem


def test_a_row_is_a_plain_mapping() -> None:
    row = {"severity": WARNING, "path": "a", "message": "m", "remedy": "r", "rule": "x"}
    assert Problem(**row).row() == row
    assert Problem(**row, value="-1").row() == {**row, "value": "-1"}
