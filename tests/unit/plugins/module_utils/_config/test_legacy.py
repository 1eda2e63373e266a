# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubelets 1.8 to 1.10: their fields, and their form of the source."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import legacy, minors
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import types
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import REFUSAL
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, document, reference
from tests.support.api import objects

from .plan import tables
from .plan.tables import LIVE

PLACE = {"namespace": "kube-system", "name": "config-a", "uid": "a1", "kubeletConfigKey": "kubelet"}
REF = {"namespace": "kube-system", "name": "config-a", "uid": "a1"}
FORM = legacy.SOURCE_FORMS[9]


def test_the_minors() -> None:
    assert set(legacy.SOURCE_FORMS) == {*legacy.MINORS} == {8, 9, 10}
    assert (minors.FIRST_NATIVE, minors.FIRST_WITH_FILE) == (8, 10)


def test_there_and_back() -> None:
    assert FORM.config_source(PLACE) == {"configMapRef": REF}
    assert reference.read(legacy.holder({"configMapRef": {**REF, "kind": "ConfigMap"}})) == PLACE
    assert reference.read(legacy.holder(FORM.config_source(PLACE))) == PLACE
    assert legacy.without_revision({**PLACE, "resourceVersion": "7"}) == PLACE
    assert reference.read(legacy.holder(None)) is None


@pytest.mark.parametrize(
    "given",
    ["x", {}, *({"configMapRef": found} for found in (None, 5, {"name": "a"}, {})), {"configMap": {"name": "a"}}],
)
def test_malformed(given: t.Any) -> None:
    """Also one of a later kubelet, and one that names nothing: the kubelet follows neither."""
    with pytest.raises(ValueError):
        reference.read(legacy.holder(given))


BEFORE = {**PLACE, "name": "config-b", "uid": "b2"}
PATH = "/api/v1/namespaces/kube-system/configmaps/config-"
INIT_OK = "current is set to the local default, and an init config was provided"
DEFAULT_OK = "current is set to the local default, and no init config was provided"
LOCAL_OK = "when the config source is nil, the Kubelet uses its local config"


def read_condition(message: t.Any, reason: t.Any, status: str, kind: str = "ConfigOK") -> legacy.Reported:
    condition = {"type": kind, "status": status, "message": message, "reason": reason}
    return legacy.read_condition([{"type": "Ready", "status": "True"}, condition], [None, PLACE, BEFORE])


def status_of(**sources: dict[str, str]) -> dict[str, t.Any]:
    return {part: {"configMap": source} for part, source in sources.items()}


@pytest.mark.parametrize(
    ("message", "reason", "place", "active"),
    [
        ("using current (default)", DEFAULT_OK, "local", None),
        ("using current (init)", INIT_OK, "init", None),
        ('using current (UID: "a1")', "passing all checks", "checkpoint", PLACE),
        ("using current (UID: a1)", "passed all checks", "checkpoint", PLACE),
        ("using current: local", LOCAL_OK, "local", None),
        (f"using current: {PATH}a", "passing all checks", "checkpoint", PLACE),
        ('using current (UID: "c3")', "passing all checks", "checkpoint", {"uid": "c3", "kubeletConfigKey": "kubelet"}),
    ],
)
def test_in_use(message: str, reason: str, place: str, active: dict[str, str] | None) -> None:
    expected = status_of(assigned=active, active=active) if active else {}
    assert read_condition(message, reason, "True") == (expected, place, "")


@pytest.mark.parametrize(
    ("step", "meaning"),
    [
        ("load", "it could not read its checkpoint of it"),
        ("parse", "it could not decode it: a wrong apiVersion, kind or type"),
        ("validate", "it contains an invalid value"),
    ],
)
@pytest.mark.parametrize(
    ("message", "place", "active"),
    [
        ("using last-known-good (default)", "local", None),
        ("using last-known-good (init)", "init", None),
        ('using last-known-good (UID: "b2")', "checkpoint", BEFORE),
        ("using last-known-good: local", "local", None),
        (f"using last-known-good: {PATH}b", "checkpoint", BEFORE),
    ],
)
def test_refused(step: str, meaning: str, message: str, place: str, active: dict[str, str] | None) -> None:
    """The uid in the reason is the assigned one, that in the message the one in use."""
    for reason in (f'failed to {step} current (UID: "a1")', f"failed to {step} current: {PATH}a"):
        good = status_of(active=active, lastKnownGood=active) if active else {}
        status = {**status_of(assigned=PLACE), **good, "error": reason}
        assert read_condition(message, reason, "False") == (status, place, "")
        assert FORM.meaning_of_error(reason) == meaning and not FORM.is_sync_error(reason)


SYNCS = [
    ("failed to read Node from informer object cache", "own Node"),
    ("failed to reset to local (default or init) config", "--dynamic-config-dir"),
    ("failed to reset to local config", "--dynamic-config-dir"),
    ("invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil", "names nothing"),
    ("invalid ObjectReference, all of UID, Name, and Namespace must be specified", "lacks the uid"),
    ('invalid ObjectReference, UID "a1" does not match UID of downloaded ConfigMap "c3"', "created again"),
    (f"invalid ConfigSource.ConfigMapRef.UID: a1 does not match {PATH}a.UID: c3", "created again"),
    ('failed to determine whether object with UID "a1" was already checkpointed', "--dynamic-config-dir"),
    ('failed to download ConfigMap with name "config-a" from namespace "kube-system"', "no Role"),
    ('failed to save config checkpoint for object with UID "a1"', "--dynamic-config-dir"),
    (f"failed to save config checkpoint for object {PATH}a with UID a1", "--dynamic-config-dir"),
    ("failed to set current config checkpoint to default", "--dynamic-config-dir"),
    ("failed to set current config checkpoint to local config", "--dynamic-config-dir"),
    ('failed to set current config checkpoint to object with UID "a1"', "--dynamic-config-dir"),
]


@pytest.mark.parametrize(("why", "words"), SYNCS)
@pytest.mark.parametrize("start", ["failed to sync, reason: ", "failed to sync, desired config unclear, reason: "])
def test_sync_errors(start: str, why: str, words: str) -> None:
    """Any message may have any of these reasons; what is in use stays."""
    for message, good in [("using current (UID: b2)", False), ("using last-known-good (UID: b2)", True)]:
        found = read_condition(message, start + why, "False")
        use = status_of(active=BEFORE, lastKnownGood=BEFORE) if good else status_of(assigned=BEFORE, active=BEFORE)
        assert found == ({**use, "error": start + why}, "checkpoint", "")
    assert read_condition("using current (init)", start + why, "Unknown") == ({"error": start + why}, "init", "")
    assert words in FORM.meaning_of_error(start + why) and FORM.is_sync_error(start + why)
    assert FORM.is_explained(start + why) == ("failed to download" not in why)


def test_a_crash_loop() -> None:
    reason = 'current failed trial period due to crash loop (UID: "a1")'
    found = read_condition("using last-known-good (default)", reason, "False")
    assert found.status == {**status_of(assigned=PLACE), "error": reason}
    assert "too often" in FORM.meaning_of_error(reason)


@pytest.mark.parametrize("kind", legacy.CONDITIONS)
def test_the_types_of_all_minors(kind: str) -> None:
    assert read_condition("using current (default)", DEFAULT_OK, "True", kind).status == {}
    for without in ([], [{"type": "Ready"}, None, "x"]):
        assert legacy.read_condition(without) == (None, "", "")


@pytest.mark.parametrize("message", ["unknown - message not provided", None, 5, "", "using current (UID: )", {}])
def test_a_malformed_message(message: t.Any) -> None:
    assert read_condition("using current (default)", None, "True").fault
    found = read_condition(message, "unknown - reason not provided", "Unknown")
    assert (found.status, found.place) == ({}, "")
    assert "its condition ConfigOK is malformed" in found.fault and "Restart" in found.fault


def test_the_meaning_of_errors_of_others() -> None:
    for error in ("failed to validate config, see Kubelet log for details", "", "failed to sync, reason: x"):
        assert FORM.meaning_of_error(error) == ""
    assert not FORM.is_sync_error("failed to sync: failed to download config, see Kubelet log for details")


SPEC = {"configSource": {"configMapRef": REF}}


def status_with(message: str) -> dict[str, t.Any]:
    ok = {"type": "ConfigOK", "status": "True", "message": message, "reason": "passing all checks"}
    return {"conditions": [ok], "config": {"error": "of another kubelet"}}


def test_a_later_kubelet() -> None:
    """What the first form had is nothing to it."""
    later, status = minors.source_form(11), objects.status(objects.reference())
    found, where = later.records({}, {"configSource": later.config_source(objects.place())}, {"config": status})
    assert (found.spec, found.config, where) == (objects.place(), status, "")
    found, where = minors.source_form(20).records({}, SPEC, status_with("using current (UID: a1)"))
    assert (found.spec, found.config, where) == (None, {"error": "of another kubelet"}, "")


def test_the_source_in_use() -> None:
    found, where = minors.source_form(9).records({}, SPEC, status_with('using current (UID: "a1")'))
    whole = {**REF, "kubeletConfigKey": "kubelet"}
    assert (found.spec, found.config, where) == (whole, objects.status(whole, whole), "checkpoint")
    assert found.malformed == {}


def test_the_source_before() -> None:
    """While a kubelet still runs what it ran before the assignment, our annotation has its name."""
    before = {**objects.reference("config-b"), "uid": "b2"}
    notes = {annotation.PREVIOUS: annotation.text({"configMap": before})}
    found, _where = minors.source_form(8).records(notes, SPEC, status_with('using current (UID: "b2")'))
    del before["resourceVersion"]
    assert found.config == objects.status(before, before)


def test_malformed_records() -> None:
    """A node without the feature has none."""
    found, where = minors.source_form(10).records({}, SPEC, {})
    assert (found.config, where) == (None, "")
    spec = {"configSource": {"configMapRef": {"name": "x"}}}
    found, _where = minors.source_form(10).records({}, spec, status_with("?"))
    assert found.spec is None and found.config == {}
    assert set(found.malformed) == {"spec.configSource", "status.config"}
    words = "its condition ConfigOK is malformed: its message is '?'. Restart"
    assert found.malformed["status.config"].startswith(words)


def test_a_source_is_known_by_its_uid() -> None:
    assert FORM.as_reported({**PLACE, "resourceVersion": "7"}) == PLACE
    assert FORM.same(PLACE, {**PLACE, "resourceVersion": "7"}) and FORM.same(None, None)
    assert not any(FORM.same(PLACE, other) for other in ({**PLACE, "uid": "c3"}, {**BEFORE, "uid": "a1"}, None))


@pytest.mark.parametrize(
    ("reports", "key", "words"),
    [(True, "kubelet", ""), (True, "other", "reads only the key kubelet"), (False, "other", "reports no condition")],
)
def test_a_kubelet_must_report_and_reads_one_key(reports: bool, key: str, words: str) -> None:
    found = FORM.unfit(reports, key, "v1.9.7")
    assert bool(found) == bool(words) and words in (found or "")


def test_one_file_imports_it() -> None:
    """All others ask it by the minor."""
    plugins = Path(__file__).resolve().parents[5] / "plugins"
    line = re.compile(r"^ *from .*\blegacy\b", re.MULTILINE)
    found = [path for path in plugins.rglob("*.py") if line.search(path.read_text(encoding="utf-8"))]
    assert found == [plugins / "module_utils/_config/minors.py"]


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
        (9, {"apiVersion": document.API_VERSION}, f"Write `apiVersion: {legacy.API_VERSION}`"),
        (9, {"apiVersion": legacy.API_VERSION}, ""),
        (10, {"serverTLSBootstrap": True}, "the field exists from 1.11 on; this kubelet is 1.10"),
        (9, {"serverTLSBootstrap": None}, ""),
        (11, {"serverTLSBootstrap": True}, ""),
        (9, {"podPidsLimit": 100}, "the field exists from 1.10 on"),
        (10, {"podPidsLimit": 100}, ""),
        (20, {"apiVersion": legacy.API_VERSION}, f"Write `apiVersion: {document.API_VERSION}`"),
    ],
)
def test_judge(minor: int, config: dict[str, t.Any], words: str) -> None:
    problems = [one for one in types.check(config, minor) if one.severity == REFUSAL]
    found = [f"{one.message} {one.remedy}" for one in problems]
    assert bool(found) == bool(words) and all(words in text for text in found), found


def test_fields_are_disjoint_and_later_ones_are_those_of_the_table() -> None:
    """The table has no minor for them: its first is 1.12."""
    assert not {*legacy.FORMER} & {*legacy.TEXTS, *legacy.RENAMED}
    assert not {*legacy.LATER} & {*legacy.FORMER, *legacy.TEXTS, *legacy.RENAMED}
    assert all(fields.ALL[name].since is None for name in legacy.LATER)


@pytest.mark.parametrize("layer", [{"maxPods": 80}, {"evictionHard": TEXT.replace("1", "2")}])
def test_a_plan_keeps_what_it_does_not_know(layer: dict[str, t.Any]) -> None:
    """The apiVersion and every former field of the live configuration are in the source."""
    former = {"podManifestPath": "/etc/kubernetes/manifests", "hostNetworkSources": ["*"], "evictionHard": TEXT}
    live = {"kind": document.KIND, "apiVersion": legacy.API_VERSION, "maxPods": 110, **former}
    table = tables.of_n1(live, kubelet_version="v1.8.15", delivery="native", status={})
    made = tables.planned(table, layer)
    config = next(iter(made["variants"].values()))
    assert (config, made["refused"]) == ({**live, **layer}, False), made["text"]
    assert made["nodes"]["n1"]["delivery"] == "native"


def test_a_target_may_be_of_the_first_kubelets() -> None:
    goal = {**LIVE, "apiVersion": legacy.API_VERSION, "maxPods": 70}
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
    assert fields.restore({"maxPods": 7}, form) == {**header, "maxPods": 7}
    assert fields.restored({"maxPods": 7}, form) == []
