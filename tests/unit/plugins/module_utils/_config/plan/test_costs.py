# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change costs, what its delivery permits, and the layers that it consists of."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.compare import Change
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import sources
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.costs import Costs
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.layers import Layers, asked
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.document import DocumentError
from tests.support.kubelets.table_minors import BEYOND

from . import tables


def _change(path: str, before: object = 2, after: object = 1) -> Change:
    return Change(path, before, after, True)


@pytest.mark.parametrize(
    ("path", "minor", "effect", "words"),
    [
        ("maxPods", 20, "disrupt", "admission"),
        ("maxPods", 36, "disrupt", "admission"),
        # Dynamic configuration went away in 1.24: no advice about it later.
        ("cgroupRoot", 23, "reboot", "local configuration"),
        ("cgroupRoot", 24, "reboot", "do not change without a full node reboot"),
        ("iptablesDropBit", 27, "disrupt", "other components"),
        ("iptablesDropBit", 28, "safe", "no effect"),
        ("shutdownGracePeriod", 20, "safe", "needs the GracefulNodeShutdown gate"),
        ("shutdownGracePeriod", 21, "safe", "machine shuts down"),
        ("memorySwap.swapBehavior", 28, "drain", "swap limits"),
        ("registerWithTaints", 33, "safe", "existing Node"),
        ("logging.verbosity", 33, "safe", "log lines"),
        ("noSuchField", 33, "disrupt", "does not know the field"),
    ],
)
def test_the_effect_of_a_field_on_the_kubelet_of_a_minor(path: str, minor: int, effect: str, words: str) -> None:
    found, reason = Costs({}, {}, minor).of(_change(path))
    assert (found, words in reason) == (effect, True), reason


@pytest.mark.parametrize("minor", range(24, 37))
def test_no_reason_is_about_dynamic_configuration_once_it_is_gone(minor: int) -> None:
    reasons = {path: field.cost_at(minor)[1] for path, field in fields.ALL.items() if field.exists_at(minor)}
    assert [path for path, why in reasons.items() if "ynamic" in why or "local configuration" in why] == []
    assert [path for path, why in reasons.items() if "newer than 1.20" in why] == []


def test_what_is_above_the_allowed_effect_is_refused() -> None:
    changes = [_change("kubeAPIQPS"), _change("seccompDefault"), _change("podCIDR")]
    found = {problem.path: problem for problem in Costs({}, {}, 33).refusals(changes, "disrupt")}
    assert set(found) == {"seccompDefault", "podCIDR"}
    assert "the effect of the change is drain, above the allowed disrupt" in found["seccompDefault"].message
    assert "must not be changed on a live node" in found["podCIDR"].message
    accept = ", or accept it with allow_effect=drain (in roles: kubelet_config_allow_effect)."
    assert found["seccompDefault"].remedy == f"Omit the field{accept}"
    assert found["podCIDR"].remedy == "Omit it from the configuration."
    keep = "Declare the live value, which keeps it in place of the node's own"
    reverts = Costs({}, {}, 33).refusals(changes, "disrupt", {"seccompDefault", "podCIDR"})
    assert [problem.remedy for problem in reverts] == [f"{keep}{accept}", f"{keep}."]
    assert [problem.path for problem in Costs({}, {}, 33).refusals(changes, "reboot")] == ["podCIDR"]


@pytest.mark.parametrize(
    ("minor", "before", "after", "effect", "words"),
    [
        # As the field that needs the gate.
        (28, {}, {"NodeSwap": True}, "drain", "as memorySwap, which needs the gate"),
        (28, {"NodeSwap": True}, {}, "drain", "as memorySwap"),
        (33, {}, {"KubeletTracing": False}, "safe", "as tracing"),
        (25, {}, {"MemoryManager": False}, "reboot", "as memoryManagerPolicy"),
        # 1.28 does not have memoryReservationPolicy, which needs the gate too.
        (28, {}, {"MemoryQoS": True}, "drain", "as memoryThrottlingFactor"),
        # No change at all.
        (30, {}, {"NodeSwap": True}, "safe", "the gate stays on"),
        (28, {}, {"NodeSwap": False}, "safe", "the gate stays off"),
        (28, {"AllBeta": True}, {"AllBeta": True, "NodeSwap": True}, "safe", "the gate stays on"),
        (28, {"AllBeta": True}, {"AllBeta": True, "NodeSwap": False}, "drain", "as memorySwap"),
        # Only other components use it.
        (33, {}, {"HPAScaleToZero": True}, "safe", "own code does not use"),
        # The kubelet uses it, and no field shows what it costs.
        (33, {}, {"EventedPLEG": True}, "reboot", "depends on the gate"),
        (33, {}, {"NoSuchGate": True}, "reboot", "depends on the gate"),
        (33, {}, {"AllAlpha": True}, "reboot", "depends on the gate"),
        (20, {}, {"DynamicKubeletConfig": False}, "reboot", "crash-loops"),
        # A gate of later minors.
        (20, {}, {"KubeletTracing": True}, "reboot", "depends on the gate"),
        (30, {}, {"GracefulNodeShutdown": False}, "safe", "as shutdownGracePeriod"),
    ],
)
def test_the_effect_of_a_feature_gate(minor: int, before: Any, after: Any, effect: str, words: str) -> None:
    [name] = {name for name in {*before, *after} if before.get(name) is not after.get(name)}
    made = Costs({"featureGates": before}, {"featureGates": after}, minor)
    found, reason = made.of(_change(f"featureGates.{name}", before.get(name), after.get(name)))
    assert (found, words in reason) == (effect, True), reason


def test_a_value_that_is_no_map_of_gates_sets_none() -> None:
    made = Costs({"featureGates": "NodeSwap=true"}, {"featureGates": {"NodeSwap": True}}, 28)
    assert made.of(_change("featureGates.NodeSwap", None, True))[0] == "drain"
    assert made.of(_change("featureGates", "NodeSwap=true", None))[0] == "reboot"


@pytest.mark.parametrize(
    ("path", "before", "after", "reason"),
    [
        ("maxPods", 110, 50, "lowering can fail admission of running pods at restart; changes reported"),
        ("maxPods", 110, 100_000, "changes reported capacity and scheduling"),
        ("podPidsLimit", 100, 200, "the change needs a kubelet restart"),
        ("podPidsLimit", 200, 100, "lowering can stop container processes from forking"),
        # No limit, a default that is not known, no number.
        ("podPidsLimit", 200, -1, "lowering can stop"),
        ("podPidsLimit", None, 200, "lowering can stop"),
        ("podPidsLimit", True, False, "lowering can stop"),
        ('systemReserved["cpu"]', "100m", "1", "raising may fail because cgroups must be resized"),
        ('systemReserved["cpu"]', "1", "100m", "check for a NodeAllocatableEnforced event"),
        ("syncFrequency", "90s", "1m", ""),
        ("evictionMaxPodGracePeriod", 60, 90, "the change needs a kubelet restart"),
    ],
)
def test_a_reason_of_the_other_direction_is_left_out(path: str, before: object, after: object, reason: str) -> None:
    found = Costs({}, {}, 20).of(Change(path, before, after, True))[1]
    assert found.startswith(reason), found


@pytest.mark.parametrize(
    ("declared", "minor", "found"),
    [
        ({"evictionHard": None}, 36, [("refusal", "evictionHard", "dropin-null")]),
        ({"evictionHard": {"memory.available": None}}, 36, []),
        ({"evictionSoft": None}, 36, []),
        ({"resolvConf": "/etc/x"}, 30, [("refusal", "resolvConf", "dropin-field")]),
        ({"resolvConf": None}, 31, [("refusal", "resolvConf", "dropin-field")]),
        ({"resolvConf": "/etc/x"}, 32, []),
        ({"mergeDefaultEvictionSettings": True}, 33, [("warning", "mergeDefaultEvictionSettings", "dropin-field")]),
        ({"tlsCertFile": "pki/kubelet.crt"}, 36, [("refusal", "tlsCertFile", "dropin-path")]),
        ({"tlsCertFile": "/pki/kubelet.crt"}, 36, []),
        ({"tlsCertFile": ""}, 36, []),
        ({"noSuchField": None}, 36, [("refusal", "noSuchField", "unknown-field")]),
        ({"noSuchField": None}, BEYOND, [("refusal", "noSuchField", "unknown-field")]),
        ({"maxPods": None}, BEYOND, []),
        ({"crashLoopBackOff": None}, 31, [("refusal", "crashLoopBackOff", "unknown-field")]),
        ({"crashLoopBackOff": None}, 32, []),
    ],
)
def test_what_a_drop_in_must_not_hold(declared: dict[str, Any], minor: int, found: list[tuple[str, str, str]]) -> None:
    problems = sources.check_dropin(declared, minor)
    assert [(problem.severity, problem.path, problem.rule) for problem in problems] == found


@pytest.mark.parametrize(
    ("live", "declared", "found"),
    [
        ({"enforceNodeAllocatable": []}, {}, ["enforceNodeAllocatable"]),
        ({"enforceNodeAllocatable": []}, {"enforceNodeAllocatable": []}, []),
        ({"enforceNodeAllocatable": ["pods"]}, {}, []),
        ({"evictionHard": {}}, {}, []),
        # Absence is no default of its own.
        ({"clusterDNS": []}, {}, []),
    ],
)
def test_which_empty_values_a_drop_in_folder_loses(live: Any, declared: Any, found: list[str]) -> None:
    problems = list(sources.forgotten(live, declared, 36))
    assert [problem.path for problem in problems] == found
    assert {(problem.severity, problem.rule) for problem in problems} <= {("warning", "dropin-empty")}


def _refuses_its_change_only(wanted: str, message: str, remedy: str, **row: Any) -> None:
    table = tables.table({**tables.LIVE}, **row)
    made = tables.planned(table, {"maxPods": 50}, deliveries={"n0": wanted})
    found = [problem for problem in made["nodes"]["n0"]["problems"] if problem["rule"] == "delivery"]
    assert found == [{"severity": "refusal", "path": "", "message": message, "remedy": remedy, "rule": "delivery"}]
    unchanged = tables.planned(table, deliveries={"n0": wanted})
    assert (tables.rules(unchanged), unchanged["nodes"]["n0"]["own"]) == ([], None)


@pytest.mark.parametrize(
    ("version", "delivery", "lack", "first", "instead"),
    [
        ("v1.9.7", "checkpoint", "reads no config file", "1.10", "auto or native"),
        ("v1.29.3", "dropin", "does not read drop-ins", "1.30", "auto or checkpoint"),
    ],
)
def test_a_kubelet_too_old_for_a_delivery(version: str, delivery: str, lack: str, first: str, instead: str) -> None:
    message = f"kubelet {version} {lack}, which the delivery {delivery} needs: kubelets from {first} on do"
    remedy = f"Set kubelet_config_delivery to {instead} for the node."
    _refuses_its_change_only(delivery, message, remedy, kubelet_version=version)


@pytest.mark.parametrize(("version", "current"), [("v1.30.1", "native"), ("v1.36.2", "checkpoint")])
def test_a_source_of_another_delivery_overrides_a_drop_in(version: str, current: str) -> None:
    message = f"the node has a source by the delivery {current}, which would override the drop-in"
    remedy = "Migrate the node with the playbook migrate, or set kubelet_config_delivery to auto."
    row = {"delivery": current, "source": tables.reference(), "status": tables.running()}
    _refuses_its_change_only("dropin", message, remedy, kubelet_version=version, **row)


def test_every_form_is_read() -> None:
    read = Layers().read
    assert read(None, "test") == read([], "test") == ()
    assert read({}, "test") == ({},)
    assert read("a: 1", "test") == read([None, {"a": 1}], "test") == ({"a": 1},)
    assert read([{"a": 1}, ["a: 2", {"a": None}]], "test") == ({"a": 1}, {"a": 2}, {"a": None})


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
        ({"kubelet_config_profile": [], "kubelet_config": {"a": 1}}, ({"a": 1},)),
        # A configuration, or names that the plan refuses as no fields of a kubelet.
        ({}, ({},)),
        ({**BY_VARIABLE, "maxPods": 5}, ({**BY_VARIABLE, "maxPods": 5},)),
        ([{"a": 1}], ({"a": 1},)),
        (None, ()),
    ],
)
def test_the_layers_of_a_node_are_those_of_its_variables_in_their_order(given: Any, layers: Any) -> None:
    assert Layers().of_nodes({"n1": given}, {}) == {"n1": layers}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (5, "the configuration of node n1: the document is a single value"),
        ([{}, "a: [b"], "entry 2 of the configuration of node n1, line 1"),
        ([{5: 1}], "the configuration of node n1: the key 5 is not text"),
        ({"kubelet_config": {5: 1}}, "kubelet_config of node n1: the key 5 is not text"),
        ({"kubelet_config_host": {True: 1}}, "kubelet_config_host of node n1: the key True is not text"),
        ({"kubelet_config": {}, "kubelet_config_host": "a: [b"}, "kubelet_config_host of node n1, line 1"),
        ({"kubelet_config_profile": "cis"}, "kubelet_config_profile of node n1: there is no profile cis. Use cis-1.12"),
        ({"kubelet_config_profile": {"a": 1}}, "kubelet_config_profile of node n1 is {'a': 1}: use the name"),
        ({"kubelet_config": [{}, {5: 1}]}, "entry 2 of kubelet_config of node n1: the key 5 is not text"),
    ],
)
def test_what_cannot_be_read_is_named(given: Any, message: str) -> None:
    with pytest.raises(DocumentError, match=f"^{message}"):
        Layers().of_nodes({"n1": given}, {})


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
