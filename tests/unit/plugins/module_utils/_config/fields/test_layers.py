# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Layers on a configuration: ours, and what a kubelet makes of drop-ins. tests/support/kubelets/record_facts.py has
recorded what real kubelets did; tests/contract/test_dropins.py asks a real one.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import merged_dropins, overlay
from tests.support.kubelets.table_minors import BEYOND
from tests.support.lab_node import dropin_contract

from .. import kubelet_model as model


@given(model.configs())
def test_null_removes_and_removing_twice_is_fine(config: dict[str, Any]) -> None:
    nothing = dict.fromkeys(config)
    assert overlay.merge(config, nothing) == {}
    assert overlay.merge({}, nothing) == {}


@given(model.configs(), model.configs())
def test_fields_of_the_layer_win_and_the_others_stay(base: dict[str, Any], layer: dict[str, Any]) -> None:
    merged = overlay.merge(base, layer)
    assert all(merged[key] == value for key, value in base.items() if key not in layer)
    assert all(merged[key] == value for key, value in layer.items() if not isinstance(value, dict))


def test_maps_merge_lists_are_replaced_keys_are_removed() -> None:
    base = {"kubeReserved": {"cpu": "1", "memory": "1Gi"}, "clusterDNS": ["10.0.0.1", "10.0.0.2"]}
    assert overlay.merge(base, {"kubeReserved": {"cpu": None, "pid": "5"}, "clusterDNS": ["10.0.0.3"]}) == {
        "kubeReserved": {"memory": "1Gi", "pid": "5"},
        "clusterDNS": ["10.0.0.3"],
    }


@pytest.mark.parametrize("field", ["evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"])
def test_eviction_maps_are_replaced_as_a_whole(field: str) -> None:
    base = {field: {"memory.available": "1", "nodefs.available": "2"}}
    for layer in ({field: {"memory.available": "3"}}, {field: {}}):
        assert overlay.merge(base, layer) == layer
    with pytest.raises(overlay.OverlayError) as error:
        overlay.merge(base, {field: {"memory.available": None}})
    assert str(error.value) == (
        f'{field}["memory.available"] is null, but {field} is replaced as a whole, so there is nothing to remove it '
        f"from. List every key that {field} should have, or set {field} itself to null."
    )


@pytest.mark.parametrize("combine", [overlay.merge, lambda base, layer: overlay.compose([base, layer])])
@pytest.mark.parametrize(
    ("below", "new", "path", "is_", "was"),
    [
        ({"maxPods": 5}, {"maxPods": {"a": 1}}, "maxPods", "a mapping", "a number"),
        ({"x": True}, {"x": {}}, "x", "a mapping", "a boolean"),
        ({"x": "a"}, {"x": {}}, "x", "a mapping", "a string"),
        ({"x": 1.5}, {"x": {}}, "x", "a mapping", "a number"),
        ({"x": {"y": {"z": True}}}, {"x": {"y": ["yes"]}}, "x.y", "a list", "a mapping"),
    ],
)
def test_a_mapping_does_not_fit_over_a_value_nor_the_reverse(
    combine: Any, below: dict[str, Any], new: dict[str, Any], path: str, is_: str, was: str
) -> None:
    with pytest.raises(overlay.OverlayError) as error:
        combine(below, new)
    first = f"{path} is {is_} in the new layer and {was} below it. "
    assert str(error.value) == f"{first}Give {was}, or set it to null in this layer to remove it."


def _fill(value: Any) -> None:
    """Change everything inside a value."""
    for inner in list(value.values() if isinstance(value, dict) else value):
        if isinstance(inner, (dict, list)):
            _fill(inner)
    if isinstance(value, dict):
        value["new"] = 9
    else:
        value.append(9)


def _dropin(base: dict[str, Any], layer: dict[str, Any]) -> dict[str, Any]:
    return merged_dropins.merge(base, [layer])


@pytest.mark.parametrize("combine", [overlay.merge, lambda base, layer: overlay.compose([base, layer]), _dropin])
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


def test_layers_that_are_not_one() -> None:
    with pytest.raises(overlay.OverlayError, match="evictionHard is null in one layer"):
        overlay.compose([{"evictionHard": None}, {"evictionHard": {"a": "1"}}])


def test_by_key_no_map_is_written_as_a_whole() -> None:
    layer = {"evictionHard": {"a": "1", "b": None}, "kind": "x", "apiVersion": "y"}
    assert dict(overlay.written(layer, True)) == {("evictionHard", "a"): "1", ("evictionHard", "b"): None}
    assert dict(overlay.written(layer)) == {("evictionHard",): layer["evictionHard"]}


def test_an_empty_map_is_written_where_it_means_something() -> None:
    layer = {name: {} for name in ("evictionHard", "featureGates", "logging", "tracing", "unknown")}
    assert dict(overlay.written(layer, True)) == {("tracing",): {}, ("unknown",): {}}
    assert dict(overlay.written(layer)) == {("evictionHard",): {}, ("tracing",): {}, ("unknown",): {}}


MEMORY, NODEFS = 'evictionHard["memory.available"]', 'evictionHard["nodefs.available"]'


@pytest.mark.parametrize(
    ("config", "known", "after"),
    [
        # A kubelet may show a mapping where another type belongs: then a change of it names its keys, too.
        ({"maxPods": {"a": 1}}, {"maxPods": 80, "maxPods.a": None}, {"maxPods": 80}),
        ({"maxPods": 5}, {"maxPods": None, "maxPods.a": 1}, {"maxPods": {"a": 1}}),
        ({"evictionHard": 5}, {MEMORY: "1Gi"}, {"evictionHard": {"memory.available": "1Gi"}}),
        # Without its last member, an object that is off without a value goes, and any other stays.
        ({"tracing": {"endpoint": "a:1"}}, {"tracing.endpoint": None}, {}),
        ({"maxPods": 5}, {"tracing.endpoint": None}, {"maxPods": 5}),
        ({"tracing": {}}, {"maxPods": 5}, {"tracing": {}, "maxPods": 5}),
        ({"kubeReserved": {"cpu": "1"}}, {"kubeReserved.cpu": None}, {"kubeReserved": {}}),
    ],
)
def test_values_are_put_where_others_are(config: dict[str, Any], known: dict[str, Any], after: dict[str, Any]) -> None:
    assert overlay.put(config, known) == after


def test_putting_values_modifies_nothing() -> None:
    before = {"maxPods": 50, "evictionHard": {"memory.available": "1Gi"}}
    known = {"maxPods": 110, MEMORY: None, NODEFS: "10%", "kubeReserved.cpu": "1", "clusterDNS": ["a"], "gone": None}
    after = {"maxPods": 110, "evictionHard": {"nodefs.available": "10%"}, "kubeReserved": {"cpu": "1"}}
    assert overlay.put(before, known) == {**after, "clusterDNS": ["a"]}
    assert before == {"maxPods": 50, "evictionHard": {"memory.available": "1Gi"}}


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


ONE_KEY: dict[str, Any] = {"evictionHard": {"memory.available": "1Gi"}}
NO_ENFORCEMENT: dict[str, Any] = {"enforceNodeAllocatable": []}
ROWS: dict[str, tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]] = {
    # name: base, layers, some fields of what is live
    "evictionHard set to null": ({}, [{"evictionHard": None}], {"evictionHard": {}}),
    "evictionHard set to null, then one key": ({}, [{"evictionHard": None}, ONE_KEY], ONE_KEY),
    "an empty evictionHard of the base holds": ({"evictionHard": {}}, [{}], {"evictionHard": {}}),
    "null is the default, not the base": ({"failSwapOn": False}, [{"failSwapOn": None}], {"failSwapOn": True}),
    "null of a list": ({"clusterDNS": ["10.0.0.1"]}, [{"clusterDNS": None}], {"clusterDNS": None}),
    "an empty list of a drop-in holds": (NO_ENFORCEMENT, [NO_ENFORCEMENT], NO_ENFORCEMENT),
    "an object is merged": (
        {"authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}}},
        [{"authentication": {"webhook": {"cacheTTL": "3m0s"}}}],
        {"authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True, "cacheTTL": "3m0s"}}},
    ),
}
"""What no recorded answer shows: /configz omits what is empty. The rest: tests/support/lab_node/dropin_contract.py."""


@pytest.mark.parametrize("name", ROWS)
def test_what_is_live(name: str) -> None:
    base, layers, wanted = ROWS[name]
    before = copy.deepcopy((base, layers))
    live = merged_dropins.effective({**model.HEADER, **base}, [{**model.HEADER, **layer} for layer in layers], 36)
    assert {key: live.get(key) for key in wanted} == wanted
    assert (base, layers) == before
    assert {key: live[key] for key in model.HEADER} == model.HEADER


RECORDED = dropin_contract.recorded()


@pytest.mark.parametrize("version", sorted({"v1.36.2", *RECORDED}))
@pytest.mark.parametrize("name", dropin_contract.LIVE)
def test_the_model_agrees_with_what_a_real_kubelet_did(version: str, name: str) -> None:
    """In every field that the kubelet showed, so that no kubelet is needed to find a mistake of the model."""
    answers, row = RECORDED[version], dropin_contract.LIVE[name]
    live = answers.live(name)
    assert {field: live.get(field, dropin_contract.ABSENT) for field in row.live} == row.live
    expected = dropin_contract.model({**answers.own, **row.base}, row.dropins, answers.minor)
    assert dropin_contract.differences(live, expected, answers.minor) == []


def test_without_a_folder_nothing_is_forgotten() -> None:
    assert merged_dropins.effective({"enforceNodeAllocatable": []}, None, 36)["enforceNodeAllocatable"] == []
    assert merged_dropins.effective({"enforceNodeAllocatable": []}, [], 36)["enforceNodeAllocatable"] == ["pods"]


def test_thresholds_that_nobody_sets_are_not_known_in_a_newer_kubelet() -> None:
    """Its defaults are in no table. It runs some: an empty map would be none."""
    assert merged_dropins.effective({"maxPods": 5}, [{}], BEYOND) == {"maxPods": 5}
    assert merged_dropins.effective({}, [{"evictionHard": None}], BEYOND) == {"evictionHard": {}}


def test_what_a_base_forgets() -> None:
    base = {"enforceNodeAllocatable": [], "evictionHard": {}, "clusterDNS": [], "maxPods": 0, "featureGates": {}}
    assert merged_dropins.forgotten(base, 36) == ["enforceNodeAllocatable"]
    assert merged_dropins.forgotten({"enforceNodeAllocatable": ["none"]}, 36) == []


def test_the_example_of_the_standard() -> None:
    """RFC 7396, section 1 and appendix A."""
    found = merged_dropins.merge({"a": "b", "c": {"d": "e", "f": "g"}}, [{"a": "z", "c": {"f": None}}])
    assert found == {"a": "z", "c": {"d": "e"}}
    assert merged_dropins.merge({"a": [{"b": "c"}]}, [{"a": [1]}]) == {"a": [1]}
    assert merged_dropins.merge({"a": "foo"}, [{"a": {"bb": {"ccc": None}}}]) == {"a": {"bb": {}}}
    assert merged_dropins.merge({"e": None}, [{"a": 1}]) == {"e": None, "a": 1}


def test_the_order_is_that_of_a_walk() -> None:
    """The names of each folder are sorted, and a folder stands where its own name does."""
    paths = ["/d/a.conf", "/d/a/9.conf", "/d/b/1.conf", "/d/10.conf", "/d/9.conf", "/d/x.yaml", "/d/B.conf", "/d/.conf"]
    found = ["/d/.conf", "/d/10.conf", "/d/9.conf", "/d/B.conf", "/d/a/9.conf", "/d/a.conf", "/d/b/1.conf"]
    assert merged_dropins.in_order(paths) == found
