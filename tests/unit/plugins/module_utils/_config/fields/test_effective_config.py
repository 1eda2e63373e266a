# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.effective_config import EffectiveConfig


def test_defaults_are_filled_in_for_the_table_s_minor_only() -> None:
    assert EffectiveConfig({}, 20).number("maxPods") == 110
    assert EffectiveConfig({}, 33).number("maxPods") is None


def test_values_of_another_type_are_invisible() -> None:
    config = EffectiveConfig({"maxPods": True, "cgroupDriver": 1, "runOnce": "yes", "clusterDNS": [1, "10.0.0.10"]}, 33)
    assert (config.number("maxPods"), config.text("cgroupDriver"), config.truth("runOnce")) == (None, "", None)
    assert config.texts("clusterDNS") == ["10.0.0.10"]
    assert (config.pairs("clusterDNS"), config.nanoseconds("cgroupDriver")) == ({}, None)


@pytest.mark.parametrize(
    ("gates", "minor", "on"), [({}, 20, False), ({}, 21, True), ({"GracefulNodeShutdown": False}, 21, False)]
)
def test_a_gate_has_the_default_of_the_minor(gates: dict[str, bool], minor: int, on: bool) -> None:
    assert EffectiveConfig({"featureGates": gates}, minor).gate("GracefulNodeShutdown") is on


@pytest.mark.parametrize(
    ("gates", "known"),
    [(None, True), ({"AllBeta": False}, False), ({"AllAlpha": True, "GracefulNodeShutdown": False}, True), ("x", True)],
)
def test_whether_a_gate_is_known(gates: object, known: bool) -> None:
    assert EffectiveConfig({"featureGates": gates}, 33).knows_gate("GracefulNodeShutdown") is known
