# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import node_delivery, plan

from . import tables

NATIVE = {"delivery": "native", "source": tables.reference(), "status": tables.status("other")}


@pytest.mark.parametrize(
    ("requested", "row", "minor", "chosen"),
    [
        (None, {}, 31, "checkpoint"),
        ("auto", {"delivery": "native"}, 20, "native"),
        (None, {"delivery": "checkpoint"}, 33, "dropin"),
        (None, {"delivery": "checkpoint", "source": None}, 33, "dropin"),
        (None, {"delivery": "checkpoint", "source": {"name": "a"}}, 33, "checkpoint"),
        ("checkpoint", {"delivery": "native"}, 20, "checkpoint"),
    ],
)
def test_the_delivery_of_a_row(requested: str | None, row: dict[str, Any], minor: int, chosen: str) -> None:
    assert node_delivery.chosen(requested, row, minor) == chosen


@pytest.mark.parametrize(
    ("version", "row", "delivery", "message", "remedy"),
    [
        (
            "v1.9.7",
            {},
            "checkpoint",
            "kubelet v1.9.7 reads no config file, which the delivery checkpoint needs: kubelets from 1.10 on do",
            "Set kubelet_config_delivery to auto or native for the node.",
        ),
        (
            "v1.29.3",
            {},
            "dropin",
            "kubelet v1.29.3 does not read drop-ins, which the delivery dropin needs: kubelets from 1.30 on do",
            "Set kubelet_config_delivery to auto or checkpoint for the node.",
        ),
        (
            "v1.30.1",
            NATIVE,
            "dropin",
            "the node has a source by the delivery native, which would override the drop-in",
            "Migrate the node with the playbook migrate, or set kubelet_config_delivery to auto.",
        ),
    ],
)
def test_a_delivery_that_a_node_cannot_get_refuses_its_change_only(
    version: str, row: dict[str, Any], delivery: str, message: str, remedy: str
) -> None:
    table = tables.table({**tables.LIVE}, kubelet_version=version, **row)
    made = plan.make_plan(table, {"maxPods": 50}, deliveries={"n0": delivery})
    found = [problem for problem in made["nodes"]["n0"]["problems"] if problem["rule"] == "delivery"]
    assert found == [
        {"severity": "refusal", "path": "", "message": message, "remedy": remedy, "rule": "delivery"},
    ]
    unchanged = plan.make_plan(table, deliveries={"n0": delivery})
    assert (tables.rules(unchanged), unchanged["nodes"]["n0"]["own"]) == ([], None)
