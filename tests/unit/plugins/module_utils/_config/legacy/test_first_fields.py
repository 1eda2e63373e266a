# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields of kubelets 1.8 and 1.9."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import minors
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import complete_config, fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.legacy import first_fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import types
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import REFUSAL, Problem
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document

from ..plan import tables
from ..plan.tables import LIVE

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
        (9, {"apiVersion": document.API_VERSION}, f"Write `apiVersion: {first_fields.API_VERSION}`"),
        (9, {"apiVersion": first_fields.API_VERSION}, ""),
        (10, {"serverTLSBootstrap": True}, "the field exists from 1.11 on; this kubelet is 1.10"),
        (9, {"serverTLSBootstrap": None}, ""),
        (11, {"serverTLSBootstrap": True}, ""),
        (9, {"podPidsLimit": 100}, "the field exists from 1.10 on"),
        (10, {"podPidsLimit": 100}, ""),
        (20, {"apiVersion": first_fields.API_VERSION}, f"Write `apiVersion: {document.API_VERSION}`"),
    ],
)
def test_judge(minor: int, config: dict[str, t.Any], words: str) -> None:
    found = [f"{problem.message} {problem.remedy}" for problem in types.check(config, minor)]
    assert bool(found) == bool(words) and all(words in text for text in found), found


@pytest.mark.parametrize(
    ("name", "value", "minor"), [("allowPrivileged", 1, 8), ("podManifestPath", "", 9), ("evictionHard", TEXT, 8)]
)
def test_what_only_these_minors_have_is_right_here(name: str, value: t.Any, minor: int) -> None:
    assert first_fields.FORMS[minor].judge(name, value) == ("", "")


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
        "apiVersion": first_fields.API_VERSION,
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


def test_the_first_kubelets_have_fields_and_an_api_version_of_their_own() -> None:
    assert list(types.check({"apiVersion": first_fields.API_VERSION, "podManifestPath": "/m"}, 9)) == []
    [problem] = types.check({"evictionHard": {"memory.available": "100Mi"}}, 8)
    cause, remedy = first_fields.FORMS[8].judge("evictionHard", {}) or ("", "")
    assert cause and problem == Problem(REFUSAL, "evictionHard", cause, remedy, "first-fields")


def test_a_target_may_be_of_the_first_kubelets() -> None:
    goal = {**LIVE, "apiVersion": first_fields.API_VERSION, "maxPods": 70}
    made = tables.planned(tables.table(LIVE, kubelet_version="v1.9.7", delivery="native"), target=goal)
    assert [change["after"] for change in made["nodes"]["n0"]["changes"]] == [70]


@pytest.mark.parametrize(
    ("minor", "version"), [(0, "v1beta1"), (7, "v1beta1"), (8, "v1alpha1"), (9, "v1alpha1"), (10, "v1beta1")]
)
def test_the_header_is_that_of_the_minor(minor: int, version: str) -> None:
    group = "kubelet.config.k8s.io" if version == "v1beta1" else "kubeletconfig"
    [wanted] = versions = minors.api_versions(minor)
    assert wanted == minors.fields_of(minor).api_version == f"{group}/{version}"
    good = {"kind": "KubeletConfiguration", "apiVersion": wanted}
    assert document.parse(document.render(good), "x", complete=True, versions=versions) == good
    # For the kubelet of any minor.
    assert document.parse(document.render(good), "x", complete=True, versions=minors.api_versions(None)) == good
    other = {**good, "apiVersion": minors.fields_of(20 if minor in (8, 9) else 8).api_version}
    with pytest.raises(document.DocumentError, match=rf"Write `apiVersion: {group}/{version}`\.$"):
        document.parse(document.render(other), "x", complete=True, versions=versions)


@pytest.mark.parametrize("minor", [8, 9])
def test_the_first_kubelets_hide_no_empty_value(minor: int) -> None:
    header = {"kind": "KubeletConfiguration", "apiVersion": "kubeletconfig/v1alpha1"}
    form = minors.fields_of(minor)
    assert complete_config.restore({"maxPods": 7}, form) == {**header, "maxPods": 7}
    assert complete_config.restored({"maxPods": 7}, form) == []


def test_a_kubelet_that_reads_no_config_file_gets_no_checkpoint() -> None:
    table = tables.table({**LIVE}, kubelet_version="v1.9.7")
    made = tables.planned(table, {"maxPods": 50}, deliveries={"n0": "checkpoint"})
    [found] = [problem for problem in made["nodes"]["n0"]["problems"] if problem["rule"] == "delivery"]
    assert found["message"] == (
        "kubelet v1.9.7 reads no config file, which the delivery checkpoint needs: kubelets from 1.10 on do"
    )
    assert found["remedy"] == "Set kubelet_config_delivery to auto or native for the node."
    unchanged = tables.planned(table, deliveries={"n0": "checkpoint"})
    assert (tables.rules(unchanged), unchanged["nodes"]["n0"]["own"]) == ([], None)
