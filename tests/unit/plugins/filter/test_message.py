# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.filter import message


def test_names_as_playbooks_use_them() -> None:
    made = message.FilterModule().filters()
    assert {name: one(["Node n1: late"], "n1") for name, one in made.items()} == {"node_message": "Node n1: late"}
