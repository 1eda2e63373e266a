# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields of kubelets 1.8 and 1.9."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.legacy import first_fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import types
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document

MAP, TEXT = {"memory.available": "100Mi"}, "memory.available<100Mi"


@pytest.mark.parametrize(
    ("minor", "config", "words"),
    [
        (9, {"podManifestPath": "/m", "allowPrivileged": True, "manifestURLHeader": None}, ""),
        (9, {"staticPodPath": "/m"}, "podManifestPath"),
        (8, {"staticPodURLHeader": {}}, "manifestURLHeader"),
        (10, {"staticPodPath": "/m"}, ""),
        (10, {"podManifestPath": "/m"}, "no kubelet up to"),
        (8, {"evictionHard": TEXT, "featureGates": "A=true", "evictionSoft": None}, ""),
        (8, {"evictionHard": MAP}, "expects a text"),
        (9, {"evictionHard": MAP, "featureGates": {}}, ""),
        (9, {"evictionHard": TEXT}, "a mapping"),
        (9, {"maxPods": "5"}, "whole number"),
        (9, {"apiVersion": document.API_VERSION}, f"Write `apiVersion: {document.FIRST_API_VERSION}`"),
        (9, {"apiVersion": document.FIRST_API_VERSION}, ""),
        (10, {"serverTLSBootstrap": True}, "the field exists from 1.11 on; this kubelet is 1.10"),
        (9, {"serverTLSBootstrap": None}, ""),
        (11, {"serverTLSBootstrap": True}, ""),
        (9, {"podPidsLimit": 100}, "the field exists from 1.10 on"),
        (10, {"podPidsLimit": 100}, ""),
        (20, {"apiVersion": document.FIRST_API_VERSION}, f"Write `apiVersion: {document.API_VERSION}`"),
    ],
)
def test_judge(minor: int, config: dict[str, t.Any], words: str) -> None:
    found = [f"{problem.message} {problem.remedy}" for problem in types.check(config, minor)]
    assert bool(found) == bool(words) and all(words in text for text in found), found


@pytest.mark.parametrize(
    ("name", "value", "minor"), [("allowPrivileged", 1, 8), ("podManifestPath", "", 9), ("evictionHard", TEXT, 8)]
)
def test_what_only_these_minors_have_is_right_here(name: str, value: t.Any, minor: int) -> None:
    assert first_fields.judge(name, value, minor) == ("", "")


def test_they_are_disjoint() -> None:
    assert not {*first_fields.FORMER} & {*first_fields.TEXTS, *first_fields.RENAMED}
    assert not {*first_fields.LATER} & {*first_fields.FORMER, *first_fields.TEXTS, *first_fields.RENAMED}


def test_later_fields_are_those_of_the_table() -> None:
    """The table has no minor for them: its first is 1.12."""
    assert all(fields.ALL[name].since is None for name in first_fields.LATER)


@pytest.mark.parametrize(
    ("layer", "refused"), [({"maxPods": 80}, False), ({"evictionHard": TEXT.replace("1", "2")}, False)]
)
def test_a_plan_keeps_what_it_does_not_know(layer: dict[str, t.Any], refused: bool) -> None:
    """The apiVersion and every former field of the live configuration are in the source."""
    live = {
        "kind": document.KIND,
        "apiVersion": document.FIRST_API_VERSION,
        "maxPods": 110,
        "evictionHard": TEXT,
        "podManifestPath": "/etc/kubernetes/manifests",
        "hostNetworkSources": ["*"],
    }
    row = {"variant": "v", "kubelet_version": "v1.8.15", "delivery": "native", "source": None, "status": {}}
    made = plan.make_plan(plan.Request({"variants": {"v": live}, "nodes": {"n1": row}}, config=layer))
    config = next(iter(made["variants"].values()))
    assert (config, made["refused"]) == ({**live, **layer}, False), made["text"]
    assert made["nodes"]["n1"]["delivery"] == "native"
