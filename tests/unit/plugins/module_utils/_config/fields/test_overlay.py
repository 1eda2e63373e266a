# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import overlay

from .. import kubelet_model as model


@given(model.configs())
def test_an_empty_layer_changes_nothing(config: dict[str, Any]) -> None:
    assert overlay.merge(config, {}) == config
    assert overlay.merge({}, config) == config


@given(model.configs(), model.configs())
def test_the_same_layer_twice_is_the_layer_once(base: dict[str, Any], layer: dict[str, Any]) -> None:
    once = overlay.merge(base, layer)
    assert overlay.merge(once, layer) == once


@given(model.configs())
def test_null_removes_and_removing_twice_is_fine(config: dict[str, Any]) -> None:
    nothing = dict.fromkeys(config)
    assert overlay.merge(config, nothing) == {}
    assert overlay.merge({}, nothing) == {}


@given(model.configs(), model.configs())
def test_fields_of_the_layer_win_and_the_others_stay(base: dict[str, Any], layer: dict[str, Any]) -> None:
    merged = overlay.merge(base, layer)
    assert {key: merged[key] for key in base if key not in layer} == {
        key: value for key, value in base.items() if key not in layer
    }
    assert all(merged[key] == value for key, value in layer.items() if not isinstance(value, dict))


def test_maps_merge_lists_are_replaced_keys_are_removed() -> None:
    base = {"kubeReserved": {"cpu": "1", "memory": "1Gi"}, "clusterDNS": ["10.0.0.1", "10.0.0.2"]}
    assert overlay.merge(base, {"kubeReserved": {"cpu": None, "pid": "5"}, "clusterDNS": ["10.0.0.3"]}) == {
        "kubeReserved": {"memory": "1Gi", "pid": "5"},
        "clusterDNS": ["10.0.0.3"],
    }


@pytest.mark.parametrize("field", ["evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"])
def test_eviction_maps_are_replaced_as_a_whole(field: str) -> None:
    assert overlay.merge(
        {field: {"memory.available": "1", "nodefs.available": "2"}}, {field: {"memory.available": "3"}}
    ) == {field: {"memory.available": "3"}}
    assert overlay.merge({field: {"memory.available": "1"}}, {field: {}}) == {field: {}}
    with pytest.raises(overlay.OverlayError, match=rf'{field}\["memory.available"\] is null.*replaced as a whole'):
        overlay.merge({field: {"memory.available": "1"}}, {field: {"memory.available": None}})


def test_a_mapping_does_not_fit_over_a_value_nor_the_reverse() -> None:
    with pytest.raises(overlay.OverlayError, match=r"maxPods is a mapping in the new layer and a int below it"):
        overlay.merge({"maxPods": 5}, {"maxPods": {"a": 1}})
    with pytest.raises(overlay.OverlayError, match=r"authentication\.webhook is a str"):
        overlay.merge({"authentication": {"webhook": {"enabled": True}}}, {"authentication": {"webhook": "yes"}})


def test_neither_side_is_changed_or_shared() -> None:
    base, layer = {"a": {"b": [1]}}, {"c": {"d": [2]}}
    merged = overlay.merge(base, layer)
    merged["a"]["b"].append(9)
    merged["c"]["d"].append(9)
    assert (base, layer) == ({"a": {"b": [1]}}, {"c": {"d": [2]}})


@pytest.mark.parametrize(
    ("layers", "composed"),
    [
        ([], {}),
        ([{"maxPods": 7}, {"maxPods": 8}], {"maxPods": 8}),
        # A null removes what the node's own file has, so it stays.
        ([{"maxPods": 7}, {"maxPods": None}], {"maxPods": None}),
        ([{"maxPods": None}, {"maxPods": 7}], {"maxPods": 7}),
        ([{"evictionHard": {"a": "1"}}, {"evictionHard": {"b": "2"}}], {"evictionHard": {"a": "1", "b": "2"}}),
        ([{"evictionHard": {"a": "1"}}, {"evictionHard": {"a": None}}], {"evictionHard": {"a": None}}),
        ([{"evictionHard": {"a": "1"}}, {"evictionHard": None}], {"evictionHard": None}),
        ([{"clusterDNS": ["a", "b"]}, {"clusterDNS": ["c"]}], {"clusterDNS": ["c"]}),
    ],
)
def test_several_layers_become_one(layers: list[dict[str, Any]], composed: dict[str, Any]) -> None:
    assert overlay.compose(layers) == composed


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([{"evictionHard": None}, {"evictionHard": {"a": "1"}}], "evictionHard is null in one layer"),
        ([{"evictionHard": {"a": "1"}}, {"evictionHard": "x"}], "evictionHard is a str in the new layer"),
    ],
)
def test_layers_that_are_not_one(layers: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(overlay.OverlayError, match=message):
        overlay.compose(layers)


def test_by_key_no_map_is_written_as_a_whole() -> None:
    layer = {"evictionHard": {"a": "1", "b": None}, "kind": "x"}
    assert dict(overlay.written(layer, True)) == {("evictionHard", "a"): "1", ("evictionHard", "b"): None}
    assert dict(overlay.written(layer)) == {("evictionHard",): layer["evictionHard"]}
