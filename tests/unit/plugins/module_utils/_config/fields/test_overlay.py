# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import copy
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
    with pytest.raises(overlay.OverlayError) as error:
        overlay.merge({field: {"memory.available": "1"}}, {field: {"memory.available": None}})
    assert str(error.value) == (
        f'{field}["memory.available"] is null, but {field} is replaced as a whole, so there is nothing to remove it '
        f"from. List every key that {field} should have, or set {field} itself to null."
    )


@pytest.mark.parametrize("combine", [overlay.merge, lambda base, layer: overlay.compose([base, layer])])
@pytest.mark.parametrize(
    ("base", "layer", "message"),
    [
        (
            {"maxPods": 5},
            {"maxPods": {"a": 1}},
            "maxPods is a mapping in the new layer and a number below it. "
            "Give a number, or set it to null in this layer to remove it.",
        ),
        *(
            (
                {"x": value},
                {"x": {}},
                f"x is a mapping in the new layer and {words} below it. "
                f"Give {words}, or set it to null in this layer to remove it.",
            )
            for value, words in ((True, "a boolean"), ("a", "a string"), (1.5, "a number"))
        ),
        (
            {"authentication": {"webhook": {"enabled": True}}},
            {"authentication": {"webhook": ["yes"]}},
            "authentication.webhook is a list in the new layer and a mapping below it. "
            "Give a mapping, or set it to null in this layer to remove it.",
        ),
    ],
)
def test_a_mapping_does_not_fit_over_a_value_nor_the_reverse(
    combine: Any, base: dict[str, Any], layer: dict[str, Any], message: str
) -> None:
    with pytest.raises(overlay.OverlayError) as error:
        combine(base, layer)
    assert str(error.value) == message


def _fill(value: Any) -> None:
    """Change everything inside a value."""
    for inner in list(value.values() if isinstance(value, dict) else value):
        if isinstance(inner, (dict, list)):
            _fill(inner)
    if isinstance(value, dict):
        value["new"] = 9
    else:
        value.append(9)


@pytest.mark.parametrize("combine", [overlay.merge, lambda base, layer: overlay.compose([base, layer])])
def test_neither_side_is_changed_or_shared(combine: Any) -> None:
    base: dict[str, Any] = {"a": {"b": [1]}, "m": {"o": {"p": [6]}}}
    layer: dict[str, Any] = {"c": [{"d": 2}], "evictionHard": {"e": [3]}, "m": {"n": [5]}}
    before = copy.deepcopy((base, layer))
    _fill(combine(base, layer))
    assert (base, layer) == before


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
    ],
)
def test_layers_that_are_not_one(layers: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(overlay.OverlayError, match=message):
        overlay.compose(layers)


def test_by_key_no_map_is_written_as_a_whole() -> None:
    layer = {"evictionHard": {"a": "1", "b": None}, "kind": "x", "apiVersion": "y"}
    assert dict(overlay.written(layer, True)) == {("evictionHard", "a"): "1", ("evictionHard", "b"): None}
    assert dict(overlay.written(layer)) == {("evictionHard",): layer["evictionHard"]}


@pytest.mark.parametrize(
    ("path", "names", "covered"),
    [
        ("maxPods", {"maxPods"}, True),
        ("maxPods", {"kubeAPIQPS"}, False),
        ("maxPods", set(), False),
        ("authentication.webhook.enabled", {"authentication.webhook"}, True),
        ("authentication.webhook", {"authentication.webhook.enabled"}, False),
        ('evictionHard["memory.available"]', {"evictionHard"}, True),
        ("evictionHardest", {"evictionHard"}, False),
    ],
)
def test_what_a_name_covers(path: str, names: set[str], covered: bool) -> None:
    assert overlay.is_set(path, names) is covered
    assert overlay.overlaps(path, names) is (covered or path == "authentication.webhook")
