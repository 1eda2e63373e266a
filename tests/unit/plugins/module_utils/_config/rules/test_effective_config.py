# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import EffectiveConfig
from tests.support.table_minors import BEYOND


@pytest.mark.parametrize(
    ("minor", "pods", "qps"),
    [(19, None, None), (20, 110, 5), (26, 110, 5), (27, 110, 50), (36, 110, 50), (BEYOND, None, None)],
)
def test_the_defaults_are_those_of_the_minor(minor: int, pods: int | None, qps: int | None) -> None:
    config = EffectiveConfig({}, minor)
    assert (config.number("maxPods"), config.number("kubeAPIQPS")) == (pods, qps)


def test_values_of_another_type_are_invisible() -> None:
    values = {
        "maxPods": True,
        "cgroupDriver": 1,
        "runOnce": "yes",
        "clusterDNS": [1, "10.0.0.10"],
        "clusterDomain": "x",
    }
    config = EffectiveConfig(values, 33)
    assert (config.number("maxPods"), config.text("cgroupDriver"), config.truth("runOnce")) == (None, "", None)
    assert config.texts("clusterDNS") == ["10.0.0.10"]
    assert (config.pairs("clusterDNS"), config.texts("clusterDomain"), config.nanoseconds("cgroupDriver")) == (
        {},
        [],
        None,
    )


def test_values_of_their_type_are_seen() -> None:
    config = EffectiveConfig(
        {
            "clusterDomain": "x",
            "authentication": {"anonymous": {"enabled": True}},
            "kubeReserved": {"cpu": "1", "memory": 5},
            "syncFrequency": "1s",
        },
        33,
    )
    assert (config.text("clusterDomain"), config.truth("authentication.anonymous.enabled")) == ("x", True)
    assert (config.pairs("kubeReserved"), config.nanoseconds("syncFrequency")) == ({"cpu": "1"}, 10**9)


@pytest.mark.parametrize(
    ("path", "zero", "minor", "seen"),
    [
        ("maxPods", 0, 36, 110),
        ("maxPods", 0, BEYOND, None),
        ("maxPods", 0, 19, None),
        ("maxPods", 7, BEYOND, 7),
        ("readOnlyPort", 0, BEYOND, 0),
        # A zero is a value since 1.23.
        ("resolvConf", "", BEYOND, ""),
        ("resolvConf", "", 19, None),
        ("notAField", 0, BEYOND, 0),
    ],
)
def test_a_zero_that_means_an_unknown_default_is_unknown(path: str, zero: object, minor: int, seen: object) -> None:
    assert EffectiveConfig({path: zero}, minor).value(path) == seen


@pytest.mark.parametrize(
    ("gates", "minor", "on"),
    [
        ({}, 20, False),
        ({}, 21, True),
        ({"GracefulNodeShutdown": False}, 21, False),
        ({"GracefulNodeShutdown": True}, 20, True),
    ],
)
def test_a_gate_has_the_default_of_the_minor(gates: dict[str, bool], minor: int, on: bool) -> None:
    assert EffectiveConfig({"featureGates": gates}, minor).gate("GracefulNodeShutdown") is on


@pytest.mark.parametrize(
    ("gates", "known"),
    [
        (None, True),
        ({"NodeSwap": True}, True),
        ({"AllBeta": False}, False),
        ({"AllAlpha": True, "GracefulNodeShutdown": False}, True),
        ("x", True),
    ],
)
def test_whether_a_gate_is_known(gates: object, known: bool) -> None:
    assert EffectiveConfig({"featureGates": gates}, 33).knows_gate("GracefulNodeShutdown") is known
