# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of one node, and what it knows of the configuration before."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import delivery as deliveries
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.compare import Change
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import own_values, plan_node
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.layers import Declared
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.own_values import NO_RECORD
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks, start_rules
from tests.support.kubelets.table_minors import BEYOND, EVERY

from .tables import LIVE

MEMORY, NODEFS = 'evictionHard["memory.available"]', 'evictionHard["nodefs.available"]'


def _planner(variants: dict[str, Any], shared: Any = (), allow_invalid: bool = False) -> plan_node.Planner:
    return plan_node.Planner(variants, "disrupt", shared, allow_invalid, None, True)


def _planned(planner: plan_node.Planner, live: str, minor: int, *layers: Any, **other: Any) -> plan_node.NodePlan:
    delivery = deliveries.of(other.pop("delivery", "checkpoint"))
    return planner.plan(plan_node.Asked(live, minor, layers, delivery, NO_RECORD, **other))


def test_nodes_that_are_alike_share_one_computation_and_others_do_not() -> None:
    layer, other = {"maxPods": 50}, {"maxPods": 60}
    planner = _planner({"a": LIVE, "b": {**LIVE, "maxPods": 9}}, (layer,))
    one = _planned(planner, "a", 20, layer, argv=["kubelet", "--hostname-override=n1"])
    assert _planned(planner, "a", 20, layer, argv=["kubelet", "--hostname-override=n2"]) is one
    assert _planned(planner, "a", 20, layer, argv=["kubelet", "--max-pods=7"]) is not one
    assert _planned(planner, "b", 20, layer) is not one
    assert _planned(planner, "a", 21, layer) is not one
    assert _planned(planner, "a", 20, other).config["maxPods"] == 60


def test_nodes_share_a_computation_if_their_own_files_say_the_same() -> None:
    layer, planner = {"maxPods": 50}, _planner({"a": LIVE})

    def planned(delivery: str, own: dict[str, Any], **facts: Any) -> plan_node.NodePlan:
        return _planned(planner, "a", 33, layer, delivery=delivery, files=own_values.Files(own, {**LIVE}, **facts))

    one, turned = {"eventBurst": 7, "kubeAPIQPS": 9}, {"kubeAPIQPS": 9, "eventBurst": 7}
    assert planned("checkpoint", one) is planned("checkpoint", turned)
    assert planned("checkpoint", one).config["eventBurst"] == 7
    assert planned("checkpoint", {"eventBurst": 8}).config["eventBurst"] == 8
    # A drop-in does not depend on a file that its kubelet runs already.
    assert planned("dropin", one) is planned("dropin", {"eventBurst": 8})
    assert planned("dropin", one, outdated=True) is not planned("dropin", {"eventBurst": 8}, outdated=True)


def test_a_layer_that_is_gone_does_not_lend_its_plan_to_the_next() -> None:
    planner = _planner({"a": LIVE})
    assert [_planned(planner, "a", 20, {"maxPods": number}).config["maxPods"] for number in range(9)] == [*range(9)]


def test_what_the_running_kubelet_lives_with_is_no_problem() -> None:
    live = {**LIVE, "clusterDNS": ["no address"]}
    assert checks.problems(live, 20)
    planner = _planner({"a": live})
    assert _planned(planner, "a", 20, {"maxPods": 50}).problem_rows(True) == []
    worse = _planned(planner, "a", 20, {"clusterDNS": ["worse"]}).problem_rows(False)
    assert [row["path"] for row in worse] == ["clusterDNS[0]"]


@pytest.mark.parametrize(
    ("live", "layer", "flags", "allow_invalid", "severity", "path"),
    [
        ({}, {"kubeAPIQPS": -1}, [], False, "refusal", "kubeAPIQPS"),
        ({}, {"kubeAPIQPS": -1}, ["--max-pods=7"], False, "refusal", "kubeAPIQPS"),
        ({}, {"kubeAPIQPS": -1}, [], True, "warning", "kubeAPIQPS"),
        # The flag overrides the value, so the kubelet starts.
        ({}, {"kubeAPIQPS": -1}, ["--kube-api-qps=5"], False, "warning", "kubeAPIQPS"),
        # The kubelet runs with such a value, so it does not check this rule.
        ({"kubeAPIQPS": -2}, {"kubeAPIQPS": -1}, [], False, "warning", "kubeAPIQPS"),
        ({"eventBurst": -2}, {"kubeAPIQPS": -1}, [], False, "refusal", "kubeAPIQPS"),
        # It would end the kubelet at every start: no option allows it.
        ({}, {"evictionHard": {"memory.available": "lots"}}, [], True, "refusal", MEMORY),
        ({}, {"maxPods": "7"}, [], True, "refusal", "maxPods"),
    ],
)
def test_when_the_kubelet_certainly_refuses_a_value(
    live: Any, layer: Any, flags: list[str], allow_invalid: bool, severity: str, path: str
) -> None:
    planner = _planner({"a": {**LIVE, **live}}, (), allow_invalid)
    rows = _planned(planner, "a", 20, layer, argv=["kubelet", *flags] if flags else None).problem_rows(False)
    found = [(row["severity"], row["path"]) for row in rows if row["rule"] not in ("shadowed", "whole-map")]
    assert found == [(severity, path)]


TLS13 = {"tlsMinVersion": "VersionTLS13"}
SUITES = {"tlsCipherSuites": ["TLS_RSA_WITH_AES_128_GCM_SHA256"]}
ENFORCED = {"enforceNodeAllocatable": ["kube-reserved"], "kubeReservedCgroup": "/k"}


@pytest.mark.parametrize(
    ("live", "layer", "argv", "severities"),
    [
        ({}, SUITES, [], ["refusal"]),
        ({}, SUITES, ["--max-pods=7"], ["refusal"]),
        # The live configuration has the values of the flags.
        (TLS13, {**SUITES, "tlsMinVersion": ""}, ["--tls-min-version=VersionTLS13"], ["warning"]),
        ({"kubeReserved": {"cpu": "1"}}, {**ENFORCED, "kubeReserved": None}, ["--kube-reserved=cpu=1"], ["warning"]),
        ({}, ENFORCED, ["--kube-reserved="], ["refusal"]),
        ({}, {"address": "127.0.0.1"}, ["--address=0.0.0.0"], ["warning"]),
        ({}, {"enableServer": False}, ["--address=0.0.0.0"], ["refusal"]),
        # A change of what the node runs with already.
        ({"address": "127.0.0.1"}, {"address": "127.0.0.1", "maxPods": 5}, [], []),
        ({"address": "127.0.0.1"}, {"address": "127.0.0.2"}, [], ["refusal"]),
    ],
)
def test_when_a_value_certainly_ends_or_hides_the_kubelet(live: Any, layer: Any, argv: Any, severities: Any) -> None:
    made = _planned(_planner({"a": {**LIVE, **live}}), "a", 20, layer, argv=["kubelet", *argv])
    found = [row["severity"] for row in made.problem_rows(False) if row["rule"] in start_rules.NAMES]
    assert found == severities


@pytest.mark.parametrize(
    ("minor", "rules"), [(26, ["field-too-new"]), (27, ["shadowed"])], ids=["a flag of its own", "sets the field"]
)
def test_a_flag_overrides_a_field_only_from_the_minor_on_that_has_both(minor: int, rules: list[str]) -> None:
    """Before, the kubelet needs the flag, and no remedy may remove it."""
    flags = ["kubelet", "--container-runtime-endpoint=unix:///run/a.sock"]
    layer = {"containerRuntimeEndpoint": "unix:///run/b.sock"}
    made = _planned(_planner({"a": LIVE}), "a", minor, layer, argv=flags)
    assert [row["rule"] for row in made.problem_rows(False)] == rules


REPORT = "nodeStatusReportFrequency"


@pytest.mark.parametrize("delivery", ["native", "checkpoint", "dropin"])
@pytest.mark.parametrize(
    ("layers", "minor", "path", "zero", "runs"),
    [
        ([{"maxPods": 0}], 36, "maxPods", "0", "110"),
        ([{"evictionPressureTransitionPeriod": "0"}], 36, "evictionPressureTransitionPeriod", '"0"', '"5m0s"'),
        ([{"kubeAPIBurst": 0}], 26, "kubeAPIBurst", "0", "10"),
        ([{"kubeAPIBurst": 0}], 27, "kubeAPIBurst", "0", "100"),
        # It follows another field.
        ([{REPORT: "0s", "nodeStatusUpdateFrequency": "7s"}], 36, REPORT, '"0s"', '"7s"'),
        ([{"logging": {"flushFrequency": 0}}], 36, "logging.flushFrequency", "0", '"5s"'),
        ([{"cgroupDriver": ""}], 36, "cgroupDriver", '""', "its own default"),
        ([{"maxPods": 0}], BEYOND, "maxPods", "0", "its own default"),
        # A zero that is one.
        ([{"kubeAPIQPS": 0}], 36, "", "", ""),
        ([{"readOnlyPort": 0}], 36, "", "", ""),
        ([{"imageMaximumGCAge": "0s"}], 36, "", "", ""),
        ([{"logging": {"options": {"json": {"infoBufferSize": "0Mi"}}}}], 36, "", "", ""),
        ([{"maxPods": 0}, {"maxPods": 5}], 36, "", "", ""),
        ([{"maxPods": 0}, {"maxPods": None}], 36, "", "", ""),
    ],
)
def test_a_zero_that_the_kubelet_takes_for_unset_is_named(
    layers: list[dict[str, Any]], minor: int, path: str, zero: str, runs: str, delivery: str
) -> None:
    live = {key: value for key, value in LIVE.items() if key not in ("maxPods", "kubeAPIBurst", "cgroupDriver")}
    rows = _planned(_planner({"a": live}), "a", minor, *layers, delivery=delivery).problem_rows(False)
    found = [(row["path"], row["message"]) for row in rows if row["rule"] == "zero-is-unset"]
    assert found == ([(path, f"the kubelet takes {zero} for unset, and runs {runs}")] if path else [])


@pytest.mark.parametrize("minor", EVERY)
@pytest.mark.parametrize("removed", [None, ""], ids=["null", "zero"])
@pytest.mark.fault(case=66)
def test_a_removed_value_has_the_effect_of_its_field_at_every_version(removed: str | None, minor: int) -> None:
    """With the default, as far as it is known; the other changes of the plan do not hide it."""
    planner = _planner({"a": {**LIVE, "cgroupDriver": "systemd"}})
    made = _planned(planner, "a", minor, {"cgroupDriver": removed, "containerLogMaxFiles": 6})
    assert [(row["path"], row["before"], row["after"], row["effect"], row["known"]) for row in made.rows(True)] == [
        ("cgroupDriver", "systemd", "cgroupfs" if minor < 35 else None, "reboot", minor < 35),
        ("containerLogMaxFiles", 5, 6, "disrupt", True),
    ]
    assert plan_node.effect(made.rows(True)) == "reboot"
    [problem] = [row for row in made.problem_rows(True) if row["rule"] == "effect"]
    assert (problem["severity"], problem["path"]) == ("refusal", "cgroupDriver")


FORMER_LIVE: dict[str, Any] = {
    "maxPods": 50,
    "evictionHard": {"memory.available": "1Gi"},
    "authentication": {"webhook": {"enabled": True, "cacheTTL": "5m0s"}},
    "featureGates": {"A": True},
}


@pytest.mark.parametrize(
    ("own", "layers", "known", "unknown"),
    [
        ({"maxPods": [110]}, [], {"maxPods": 110}, []),
        ({"maxPods": [110]}, [{"maxPods": 50}], {}, []),
        ({"maxPods": [110]}, [{"maxPods": None}], {}, []),
        ({"maxPods": [110]}, [{"kind": "KubeletConfiguration", "eventBurst": 1}], {"maxPods": 110}, []),
        # Nothing to revert: the live value is the node's own.
        ({"maxPods": [50]}, [], {}, []),
        ({"clusterDNS": [None]}, [], {}, []),
        ({"maxPods": [None]}, [], {"maxPods": None}, []),
        ({"maxPods": []}, [], {}, ["maxPods"]),
        ({"maxPods": []}, [{}, {"maxPods": 1}], {}, []),
        # A map that is replaced as a whole is declared as a whole; others key by key.
        ({MEMORY: ["100Mi"], NODEFS: ["10%"]}, [{"evictionHard": {"imagefs.available": "5%"}}], {}, []),
        ({MEMORY: ["100Mi"], NODEFS: ["10%"]}, [], {MEMORY: "100Mi", NODEFS: "10%"}, []),
        ({"featureGates.A": [None]}, [{"featureGates": {"B": True}}], {"featureGates.A": None}, []),
        ({"authentication.webhook.enabled": [False]}, [{"authentication": None}], {}, []),
        ({"featureGates": [{}]}, [{"featureGates": {"B": True}}], {}, []),
        # The type of a parent has changed since.
        ({"maxPods.a": [1]}, [], {}, ["maxPods.a"]),
        ({"maxPods.a.b": [1]}, [], {}, ["maxPods.a.b"]),
    ],
)
def test_undeclared(own: dict[str, Any], layers: list[Any], known: dict[str, Any], unknown: list[str]) -> None:
    found = own_values.undeclared({**NO_RECORD, "own": own}, Declared(layers), FORMER_LIVE, 30)
    assert (found.known, found.unknown) == (known, unknown)


def test_a_drop_in_may_have_removed_a_threshold_that_the_own_file_merges() -> None:
    live = {"mergeDefaultEvictionSettings": True, "evictionHard": {"memory.available": "1Gi"}}
    found = own_values.undeclared({**NO_RECORD, "own": {NODEFS: ["10%"]}}, Declared([]), live, 36, True)
    assert found.known == {NODEFS: "10%"}


SECRET = 'staticPodURLHeader["Authorization"]'
REPLACED = {"maxPods": 110, "clusterDNS": None, "cgroupDriver": "systemd", SECRET: ["secret"], "ofTheFuture": 1}


def test_the_record_after_an_assignment() -> None:
    """A secret is not written to a Node, nor the value of a field that may be one."""
    before = {**NO_RECORD, "own": {"maxPods": [200], "eventBurst": [5]}}
    made = own_values.record_after(before, "config-a", REPLACED, ["cgroupDriver"])
    own = {"maxPods": [200], "eventBurst": [5], "clusterDNS": [None], "cgroupDriver": ["systemd"]}
    hidden: dict[str, Any] = {SECRET: [], "ofTheFuture": []}
    assert made == {"complete": True, "source": "config-a", "absent": ["cgroupDriver"], "own": {**own, **hidden}}


def test_a_value_found_after_sources_without_a_record_may_be_theirs() -> None:
    before = {**NO_RECORD, "complete": False, "own": {"eventBurst": [5]}}
    made = own_values.record_after(before, "config-a", REPLACED, [])
    assert made["complete"] is False
    assert {path: held for path, held in made["own"].items() if held} == {"eventBurst": [5]}
    assert set(made["own"]) == {"eventBurst", *REPLACED}


def test_only_a_removal_with_an_unknown_default_is_left_to_the_kubelet() -> None:
    changes = [Change("a", 1, 2, True), Change("b", 1, None, True), Change("c", 1, None, False)]
    assert own_values.absent_after([*changes, Change("d", None, 2, False)]) == ["c"]
