# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.effective_config import EffectiveConfig


@pytest.mark.parametrize(
    ("minor", "pods", "qps"),
    [(19, None, None), (20, 110, 5), (26, 110, 5), (27, 110, 50), (36, 110, 50), (37, None, None)],
)
def test_the_defaults_are_those_of_the_minor(minor: int, pods: int | None, qps: int | None) -> None:
    config = EffectiveConfig({}, minor)
    assert (config.number("maxPods"), config.number("kubeAPIQPS")) == (pods, qps)


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
