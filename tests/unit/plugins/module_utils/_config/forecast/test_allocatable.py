# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast import allocatable
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import EffectiveConfig

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
