# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast import allocatable
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import EffectiveConfig

from ..plan.tables import LIVE, table

GI = 2**30
CAPACITY = {"cpu": Fraction(4), "memory": Fraction(8 * GI), "ephemeral-storage": Fraction(100 * GI)}


def _room(capacity: dict[str, Fraction] | None = None, **config: Any) -> dict[str, Fraction]:
    return allocatable.allocatable(
        EffectiveConfig({"evictionHard": {}, **config}, 20), CAPACITY if capacity is None else capacity
    )


def test_what_is_reserved_and_the_hard_thresholds_are_not_for_pods() -> None:
    room = _room(
        kubeReserved={"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "10Gi"},
        systemReserved={"cpu": "250m", "memory": "1Gi"},
        evictionHard={"memory.available": "512Mi", "nodefs.available": "10%", "imagefs.available": "50%"},
        evictionSoft={"memory.available": "4Gi"},
        evictionSoftGracePeriod={"memory.available": "1m"},
    )
    assert room == {"pods": 110, "cpu": Fraction(13, 4), "memory": 5.5 * GI, "ephemeral-storage": 80 * GI}


def test_defaults_count() -> None:
    assert allocatable.allocatable(EffectiveConfig({}, 20), CAPACITY)["memory"] == 8 * GI - 100 * 2**20


def test_huge_pages_reduce_memory_and_no_amount_is_negative() -> None:
    assert _room({**CAPACITY, "hugepages-2Mi": Fraction(GI)})["memory"] == 7 * GI
    assert _room(kubeReserved={"memory": "9Gi"})["memory"] == 0


def test_what_the_node_has_not_is_not_counted() -> None:
    assert set(_room({"cpu": Fraction(1)})) == {"pods", "cpu"}
    assert set(_room({"memory": Fraction(1)})) == {"pods", "memory"}


@pytest.mark.parametrize(
    ("config", "pods"),
    [
        ({"maxPods": 50}, 50),
        ({"maxPods": 0}, 110),
        ({"podsPerCore": 10}, 40),
        ({"podsPerCore": 1}, 4),
        ({"podsPerCore": 0}, 110),
        ({"podsPerCore": 100, "maxPods": 60}, 60),
    ],
)
def test_pods(config: dict[str, Any], pods: int) -> None:
    assert _room(**config)["pods"] == pods


@pytest.mark.parametrize(("cpus", "left"), [("0", 3), ("0-1", 2), ("0,2-3", 1), ("0-1,1-2", 1)])
def test_reserved_cpus_take_the_place_of_other_reservations(cpus: str, left: int) -> None:
    assert _room(reservedSystemCPUs=cpus, kubeReserved={"cpu": "3"})["cpu"] == left


def test_values_that_no_kubelet_accepts_are_left_to_their_own_rules() -> None:
    assert _room(kubeReserved={"memory": "lots"})["memory"] == 8 * GI
    assert _room(maxPods="lots", podsPerCore="lots")["pods"] == 0


HAS = {"cpu": "4", "memory": "64Gi", "ephemeral-storage": "100Gi", "pods": "110"}
RULE = "beyond-capacity"


def beyond(layer: dict[str, Any], live: dict[str, Any] = LIVE, flags: Any = None, **row: Any) -> list[tuple[str, str]]:
    """Return path and message of the refusals for this reason, of a node on 1.30 unless the row has another version."""
    row = {"kubelet_version": "v1.30.1", "capacity": HAS, **row}
    made = plan.make_plan(
        plan.Request(table(live, **row), layer, flags={"n0": flags} if flags else None, deliveries={"n0": "dropin"})
    )
    found = [problem for problem in made["nodes"]["n0"]["problems"] if problem["rule"] == RULE]
    assert all(problem["severity"] == "refusal" for problem in found)
    assert made["refused"] or not found
    return [(problem["path"], problem["message"]) for problem in found]


@pytest.mark.parametrize(
    ("layer", "path", "words"),
    [
        ({"kubeReserved": {"memory": "80Gi"}}, "kubeReserved", "keep back 80.1Gi of memory, and the node has 64Gi"),
        ({"systemReserved": {"cpu": "4001m"}}, "systemReserved", "keep back 4.001 of cpu, and the node has 4"),
        (
            {"kubeReserved": {"cpu": "2"}, "systemReserved": {"cpu": "3"}},
            "kubeReserved",
            "keep back 5 of cpu, and the node has 4",
        ),
        ({"reservedSystemCPUs": "0-7"}, "reservedSystemCPUs", "keep back 8 of cpu, and the node has 4"),
        ({"evictionHard": {"memory.available": "80Gi"}}, "evictionHard", "keep back 80Gi of memory"),
        ({"evictionHard": {"nodefs.available": "1Ti"}}, "evictionHard", "keep back 1Ti of ephemeral-storage"),
        (
            {"evictionHard": {"memory.available": "60%"}, "kubeReserved": {"memory": "30Gi"}},
            "evictionHard",
            "keep back 68.4Gi of memory",
        ),
    ],
)
def test_more_than_the_node_has(layer: dict[str, Any], path: str, words: str) -> None:
    [(found, message)] = beyond(layer)
    assert (found, words in message) == (path, True), message


@pytest.mark.parametrize(
    ("layer", "more"),
    [
        ({"systemReserved": {"cpu": "4"}}, {}),
        ({"kubeReserved": {"pid": "99999999"}}, {}),
        ({"evictionHard": {"imagefs.available": "1Ti"}}, {}),
        ({"evictionSoft": {"memory.available": "80Gi"}}, {}),
        ({"kubeReserved": {"ephemeral-storage": "1Ti"}, "localStorageCapacityIsolation": False}, {}),
        # The percentage is rounded.
        ({"evictionHard": {"memory.available": "50%"}, "kubeReserved": {"memory": "32Gi"}}, {}),
        # Not known.
        ({"kubeReserved": {"memory": "80Gi"}}, {"capacity": None}),
        ({"kubeReserved": {"memory": "80Gi"}}, {"capacity": {"memory": 5}}),
        ({"kubeReserved": {"memory": "80Gi"}}, {"capacity": {"memory": "lots"}}),
        # A flag decides.
        ({"kubeReserved": {"memory": "80Gi"}}, {"flags": ["--kube-reserved=memory=1Gi"]}),
        ({"evictionHard": {"memory.available": "80Gi"}}, {"flags": ["--experimental-allocatable-ignore-eviction"]}),
        # The node runs with it already.
        ({"kubeReserved": {"memory": "90Gi"}}, {"live": {**LIVE, "kubeReserved": {"memory": "80Gi"}}}),
        ({"maxPods": 5}, {"live": {**LIVE, "kubeReserved": {"memory": "80Gi"}}}),
    ],
)
def test_what_the_node_has_or_may_have(layer: dict[str, Any], more: dict[str, Any]) -> None:
    assert beyond(layer, **more) == []


def test_each_node_has_its_own_limit() -> None:
    current = table(LIVE, {**LIVE, "maxPods": 5}, kubelet_version="v1.30.1")
    for name, memory in (("n0", "64Gi"), ("n1", "16Gi")):
        current["nodes"][name]["capacity"] = {**HAS, "memory": memory}
    layer = {"kubeReserved": {"memory": "32Gi"}}
    made = plan.make_plan(plan.Request(current, layer, deliveries={"n0": "dropin", "n1": "dropin"}))
    refused = [name for name, row in made["nodes"].items() if any(one["rule"] == RULE for one in row["problems"])]
    assert refused == ["n1"]
