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


@pytest.mark.parametrize(
    ("given", "message"), [(5, "test: the document is a single value"), ([{}, "a: [b"], r"test \(layer 2\), line 1")]
)
def test_what_cannot_be_read_is_named(given: Any, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        Layers().read(given, "test")


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
