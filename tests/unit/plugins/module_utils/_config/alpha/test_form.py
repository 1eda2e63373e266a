# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""spec.configSource of kubelets 1.8 to 1.10."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.alpha import form
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import reference

PLACE = {"namespace": "kube-system", "name": "config-a", "uid": "a1", "kubeletConfigKey": "kubelet"}
REF = {"namespace": "kube-system", "name": "config-a", "uid": "a1"}


@pytest.mark.parametrize(("minor", "alpha"), [(0, False), (7, False), (8, True), (10, True), (11, False), (20, False)])
def test_the_minors(minor: int, alpha: bool) -> None:
    assert form.is_alpha(minor) == alpha


def test_there_and_back() -> None:
    assert form.config_source(PLACE) == {"configMapRef": REF}
    assert reference.read(form.holder({"configMapRef": {**REF, "kind": "ConfigMap"}})) == PLACE
    assert reference.read(form.holder(form.config_source(PLACE))) == PLACE
    assert form.without_revision({**PLACE, "resourceVersion": "7"}) == PLACE


def test_local() -> None:
    assert reference.read(form.holder(None)) is None


@pytest.mark.parametrize(
    "given",
    ["x", {}, *({"configMapRef": found} for found in (None, 5, {"name": "a"}, {})), {"configMap": {"name": "a"}}],
)
def test_malformed(given: t.Any) -> None:
    """Also one of a later kubelet, and one that names nothing: the kubelet follows neither."""
    with pytest.raises(ValueError):
        reference.read(form.holder(given))
