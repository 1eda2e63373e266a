# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, complete_config

from .. import kubelet_model as model


@pytest.mark.parametrize("row", model.LEAVES, ids=lambda row: row["name"])
def test_every_field_survives_dump_and_push_with_zero_and_without_a_value(row: dict[str, Any]) -> None:
    for config in ({}, _only(row["name"], model.ZERO[row["type"]])):
        live = model.configz(config)
        assert model.configz(complete_config.restore(live)) == live


@given(model.configs(most=40))
def test_any_configuration_survives_dump_and_push(config: dict[str, Any]) -> None:
    live = model.configz(config)
    assert model.configz(complete_config.restore(live)) == live


@given(model.configs(most=40))
def test_what_the_kubelet_shows_means_what_was_written(config: dict[str, Any]) -> None:
    assert compare.changes(complete_config.restore(model.configz(config)), config, 20) == []


def test_explicit_empties_are_restored_and_named() -> None:
    live = model.configz({"evictionHard": {}, "enforceNodeAllocatable": []})
    assert "evictionHard" not in live
    assert complete_config.restore(live) == {**model.HEADER, **live, "evictionHard": {}, "enforceNodeAllocatable": []}
    assert complete_config.restored(live) == ["enforceNodeAllocatable", "evictionHard"]
    assert complete_config.restored(model.configz({})) == []


def test_the_live_object_is_not_shared() -> None:
    live = model.configz({})
    complete_config.restore(live)["authentication"]["webhook"]["enabled"] = False
    assert live["authentication"]["webhook"]["enabled"] is True


def test_machine_specific_fields_are_named_but_not_addresses_of_no_machine() -> None:
    assert complete_config.machine_specific(
        {"resolvConf": "/x", "providerID": "", "address": "0.0.0.0", "healthzBindAddress": "10.0.0.7", "maxPods": 5}
    ) == ["healthzBindAddress", "resolvConf"]
    assert complete_config.machine_specific({"address": "n1.example", "healthzBindAddress": "127.0.0.1"}) == ["address"]


def _only(path: str, value: Any) -> dict[str, Any]:
    config: dict[str, Any] = {}
    model.put(config, path, value)
    return config
