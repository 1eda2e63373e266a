# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter by which a role takes what the one before it has found."""

from __future__ import annotations

from typing import Any

from ansible_collections.livenodes.kubelet.plugins.filter import handed


def test_what_a_role_takes() -> None:
    """What the play gives goes first."""
    context: Any = {"edit_result": {"plan": {"nodes": {}}}}
    assert handed.FilterModule().filters() == {"found_by": handed.found_by}
    assert handed.found_by(context, {}, "edit") == {"nodes": {}}
    assert handed.found_by(context, {"text": []}, "edit") == {"text": []}
    assert handed.found_by(context, {}, "dump") == {}
