# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""References to a key of a ConfigMap."""

from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.reference import (
    describe,
    read,
    same_place,
)
from tests.support.objects import place, reference


def test_same_place() -> None:
    assert same_place(reference(revision="1"), reference(revision="2"))
    assert same_place(place(), reference())
    assert same_place(None, None)
    assert not same_place(None, place())
    assert not same_place(place("a"), place("b"))
    assert not same_place(place(key="a"), place(key="b"))
    assert not same_place({**place(), "namespace": "other"}, place())


def test_read() -> None:
    assert read(None) is read({}) is None
    assert read({"configMap": {**reference(), "more": 1}}) == reference()
    with pytest.raises(ValueError, match=r"active\.configMap has no namespace"):
        read({"configMap": {}}, "active")


def test_describe() -> None:
    assert describe(None) == "the local config"
    assert describe(place()) == "kube-system/config-a key kubelet"
    assert describe(reference()) == "kube-system/config-a key kubelet"
    assert describe({"uid": "a1", "kubeletConfigKey": "kubelet"}) == "the ConfigMap with uid a1"
