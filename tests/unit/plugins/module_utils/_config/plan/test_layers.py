# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.layers import Layers, asked
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.document import DocumentError


@pytest.mark.parametrize(
    ("given", "layers"),
    [
        (None, ()),
        ([], ()),
        ([None, {"a": 1}], ({"a": 1},)),
        ({}, ({},)),
        ("a: 1", ({"a": 1},)),
        ([{"a": 1}, ["a: 2", {"a": None}]], ({"a": 1}, {"a": 2}, {"a": None})),
    ],
)
def test_every_form_is_read(given: Any, layers: tuple[dict[str, Any], ...]) -> None:
    assert Layers().read(given, "test") == layers


def test_equal_layers_are_one_object_that_is_not_shared() -> None:
    layers, given = Layers(), {"a": {"b": 1}}
    (first,) = layers.read(given, "one")
    assert layers.read([{"a": {"b": 1}}], "two")[0] is first
    assert layers.read({"a": 1, "b": 2}, "three")[0] is layers.read({"b": 2, "a": 1}, "four")[0]
    assert first is not given and first["a"] is not given["a"]


BY_VARIABLE = {"kubelet_config_host": "b: 2", "kubelet_config": {"a": 1}}


@pytest.mark.parametrize(
    ("given", "layers"),
    [
        (BY_VARIABLE, ({"a": 1}, {"b": 2})),
        ({"kubelet_config_host": BY_VARIABLE["kubelet_config_host"]}, ({"b": 2},)),
        ({"kubelet_config": [{"a": 1}, None]}, ({"a": 1},)),
        # A configuration, or names that the plan refuses as no fields of a kubelet.
        ({}, ({},)),
        ({**BY_VARIABLE, "maxPods": 5}, ({**BY_VARIABLE, "maxPods": 5},)),
        ([{"a": 1}], ({"a": 1},)),
        (None, ()),
    ],
)
def test_the_layers_of_a_node_are_those_of_its_variables_in_their_order(given: Any, layers: Any) -> None:
    assert Layers().of_nodes({"n1": given}) == {"n1": layers}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "the configuration of node n1: the document is a single value"),
        ([{}, "a: [b"], "entry 2 of the configuration of node n1, line 1"),
        ([{5: 1}], "the configuration of node n1: the key 5 is not text"),
        ({"kubelet_config": {5: 1}}, "kubelet_config of node n1: the key 5 is not text"),
        ({"kubelet_config_host": {True: 1}}, "kubelet_config_host of node n1: the key True is not text"),
        ({"kubelet_config": {}, "kubelet_config_host": "a: [b"}, "kubelet_config_host of node n1, line 1"),
        ({"kubelet_config": [{}, {5: 1}]}, "entry 2 of kubelet_config of node n1: the key 5 is not text"),
    ],
)
def test_what_cannot_be_read_is_named(given: Any, message: str) -> None:
    with pytest.raises(DocumentError, match=f"^{message}"):
        Layers().of_nodes({"n1": given})


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (None, []),
        ([{"maxPods": 1}, "maxPods: 2\nfeatureGates: {A: true}"], ["featureGates.A", "maxPods"]),
        # The plan names what is wrong with it.
        ([{"maxPods": 1}, "a: [b"], []),
    ],
)
def test_what_a_binary_is_asked_about_layers(given: Any, names: list[str]) -> None:
    assert asked(given) == names
