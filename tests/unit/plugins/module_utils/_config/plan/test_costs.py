# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.compare import Change
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.costs import Costs


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
def test_the_effect_of_a_feature_gate(
    minor: int, before: dict[str, bool], after: dict[str, bool], effect: str, words: str
) -> None:
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
