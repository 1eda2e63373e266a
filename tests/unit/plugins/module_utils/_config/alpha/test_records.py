# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes with kubelets 1.8 to 1.10 beside later ones."""

from __future__ import annotations

import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.alpha import records
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.support.objects import place, reference, status

REF = {"namespace": "kube-system", "name": "config-a", "uid": "a1"}
SPEC = {"configSource": {"configMapRef": REF}}


def reported(message: str) -> dict[str, t.Any]:
    ok = {"type": "ConfigOK", "status": "True", "message": message, "reason": "passing all checks"}
    return {"conditions": [ok], "config": {"error": "of another kubelet"}}


def test_a_later_kubelet() -> None:
    """What the first form had is nothing to it."""
    found, where = records.read({}, {"configSource": {"configMap": place()}}, {"config": status(reference())}, 11)
    assert (found.spec, found.config, where) == (place(), status(reference()), "")
    found, where = records.read({}, SPEC, reported("using current (UID: a1)"), 20)
    assert (found.spec, found.config, where) == (None, {"error": "of another kubelet"}, "")


def test_the_source_in_use() -> None:
    found, where = records.read({}, SPEC, reported('using current (UID: "a1")'), 9)
    whole = {**REF, "kubeletConfigKey": "kubelet"}
    assert (found.spec, found.config, where) == (whole, status(whole, whole), "checkpoint")
    assert found.malformed == {}


def test_the_source_before() -> None:
    """While a kubelet still runs what it ran before the assignment, our annotation has its name."""
    before = {**reference("config-b"), "uid": "b2"}
    notes = {annotation.PREVIOUS: annotation.text({"configMap": before})}
    found, _where = records.read(notes, SPEC, reported('using current (UID: "b2")'), 8)
    del before["resourceVersion"]
    assert found.config == status(before, before)


def test_without_the_feature() -> None:
    found, where = records.read({}, SPEC, {}, 10)
    assert (found.config, where) == (None, "")


def test_malformed() -> None:
    found, _where = records.read({}, {"configSource": {"configMapRef": {"name": "x"}}}, reported("?"), 10)
    assert found.spec is None and found.config == {}
    assert set(found.malformed) == {"spec.configSource", "status.config"}
