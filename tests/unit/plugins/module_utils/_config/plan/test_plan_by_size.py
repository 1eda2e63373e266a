# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans for machines of several sizes: the values of each size, and what they leave to pods."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast import allocatable, machine_size

from . import tables
from .tables import LIVE

GI = 2**30
SIZES = ((1, 1), (1, 2), (2, 4), (2, 8), (4, 8), (4, 16), (8, 32), (16, 64), (32, 128), (48, 192), (64, 256), (96, 384))
"""Cores and GiB of twelve types of machine."""


def sized(count: int, sizes: tuple[tuple[int, int], ...] = SIZES, spread: int = 0) -> dict[str, Any]:
    """Return the dump of nodes of these sizes in turn. The memory of each has up to so many KiB less."""
    table = tables.table(*[LIVE] * count)
    for number, row in enumerate(table["nodes"].values()):
        cpu, gib = sizes[number % len(sizes)]
        less = number * 37 % (spread + 1)
        row["capacity"] = {"cpu": str(cpu), "memory": f"{gib * 2**20 - less}Ki", "ephemeral-storage": "100Gi"}
    return table


def by_size(table: dict[str, Any], by: Any, step: str = "1Mi") -> dict[str, Any]:
    """Return the overrides of each node, as the templates of an inventory make them."""
    found = {}
    for name, row in table["nodes"].items():
        machine = machine_size.capacity({**row["capacity"], "pods": "110"})
        found[name] = {"kubeReserved": machine_size.reserved(machine, by, step)}
    return found


@pytest.mark.parametrize(("spread", "step"), [(0, "1Mi"), (20_000, "64Mi")])
def test_many_nodes_of_twelve_sizes_get_twelve_variants(spread: int, step: str) -> None:
    """Machines of one type differ by some MiB. A step that is larger than that gives them one value."""
    table = sized(1200, spread=spread)
    made = tables.planned(table, None, by_size(table, "gke", step))
    assert (made["summary"]["to_change"], made["summary"]["variants"]) == (1200, len(SIZES))


def test_a_block_for_each_size_shows_what_is_left_to_pods() -> None:
    table = sized(4, ((2, 8), (16, 64)))
    made = tables.planned(table, None, by_size(table, "gke"))
    assert [line for line in made["text"] if "allocatable" in line or line.startswith("2 nodes")] == [
        f"2 nodes (n0, n2): assign {made['nodes']['n0']['configmap']}, effect disrupt",
        "  allocatable: cpu 2 -> 1.93 of 2, memory 7.9Gi -> 6.1Gi of 8Gi, ephemeral-storage 90Gi -> 49Gi of 100Gi",
        f"2 nodes (n1, n3): assign {made['nodes']['n1']['configmap']}, effect disrupt",
        "  allocatable: cpu 16 -> 15.89 of 16, memory 63.9Gi -> 58.4Gi of 64Gi, "
        "ephemeral-storage 90Gi -> 49Gi of 100Gi",
    ]
    # The page of GKE has 3920m for a machine of 4 cores; to the byte, 8 GiB less 1844 and 100 MiB.
    assert made["nodes"]["n0"]["allocatable"] == {
        "pods": {"before": "110", "after": "110"},
        "cpu": {"before": "2000m", "after": "1930m", "capacity": "2000m"},
        "memory": {"before": str(8 * GI - 100 * 2**20), "after": str(8 * GI - 1944 * 2**20), "capacity": str(8 * GI)},
        "ephemeral-storage": {"before": str(90 * GI - 160), "after": str(49 * GI - 160), "capacity": str(100 * GI)},
    }


def test_one_change_for_several_sizes_has_a_line_for_each() -> None:
    made = tables.planned(sized(3, ((2, 8), (16, 64))), {"kubeReserved": {"memory": "1Gi"}})
    assert [line for line in made["text"] if "allocatable" in line] == [
        "  allocatable on 2 nodes (n0, n2): memory 7.9Gi -> 6.9Gi of 8Gi",
        "  allocatable on 1 node (n1): memory 63.9Gi -> 62.9Gi of 64Gi",
    ]


@pytest.mark.parametrize(
    ("layer", "flags"),
    [
        # The reservation is as before; a flag decides about it; the kubelet leaves its thresholds out.
        ({"eventBurst": 31}, None),
        ({"kubeReserved": {"memory": "1Gi"}}, {"n0": ["--kube-reserved=memory=2Gi"]}),
        ({"kubeReserved": {"memory": "1Gi"}}, {"n0": ["--experimental-allocatable-ignore-eviction"]}),
    ],
)
def test_what_stays_or_is_not_known_is_not_shown(layer: dict[str, Any], flags: Any) -> None:
    row = tables.planned(sized(1), layer, flags=flags)["nodes"]["n0"]
    assert row["action"] == "assign" and "allocatable" not in row


def test_the_record_of_a_node_has_its_capacity() -> None:
    """Drift compares it with a later one. Equal nodes share their plan, whatever they had before."""
    table = sized(2, ((2, 8), (2, 16)))
    made = tables.planned(table, {"kubeReserved": {"memory": "1Gi"}})
    for name, row in table["nodes"].items():
        assert made["nodes"][name]["own"]["capacity"] == row["capacity"]
    again = tables.planned(tables.applied(table, made), {"kubeReserved": {"memory": "1Gi"}})
    assert again["summary"]["to_change"] == 0


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        ({"memory": "16Gi", "cpu": "4"}, {"memory": "32Gi", "cpu": "8"}, "cpu 4 -> 8, memory 16Gi -> 32Gi"),
        ({"memory": "16384Mi", "cpu": "4"}, {"memory": "16380Mi", "cpu": "4"}, ""),
        ({"memory": "16Gi"}, {"cpu": "4"}, ""),
        (None, {"memory": "16Gi"}, ""),
    ],
)
def test_what_of_a_machine_changed(before: Any, now: Any, words: str) -> None:
    assert allocatable.resized(before, now) == words
