# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of 1.21 to 1.36: the versions that refuse, their words, and what all versions accept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import (
    logs,
    managers,
    newer_rules,
    validation,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import (
    IC,
    WARNING,
    EffectiveConfig,
)
from tests.support.kubelets.rule_minors import NEWEST, accepted, messages, off, on, refuses_in, since


def taint(**fields: Any) -> dict[str, Any]:
    return {"registerWithTaints": [{"key": "example.com/a", "effect": "NoSchedule", **fields}]}


def swap(behavior: str) -> dict[str, Any]:
    return {"memorySwap": {"swapBehavior": behavior}}


def restart(period: str) -> dict[str, Any]:
    return {"crashLoopBackOff": {"maxContainerRestartPeriod": period}}


def ids(number: int) -> dict[str, Any]:
    return {"userNamespaces": {"idsPerPod": number}}


BY_PRIORITY = {"shutdownGracePeriodByPodPriority": [{"priority": 0, "shutdownGracePeriodSeconds": 5}]}
BY_PRIORITY_ON = {**BY_PRIORITY, **on("GracefulNodeShutdownBasedOnPodPriority")}
QUERY = {"enableSystemLogQuery": True, "enableSystemLogHandler": True}
ALLOWLIST = {"preloadedImagesVerificationAllowlist": ["example.com/a"]}
POLICY = "imagePullCredentialsVerificationPolicy"


def images(pattern: str) -> dict[str, Any]:
    given = {POLICY: "NeverVerifyAllowlistedImages", "preloadedImagesVerificationAllowlist": [pattern]}
    return {**given, **on("KubeletEnsureSecretPulledImages")}


def vmodule(pattern: str, verbosity: int = 4, **more: Any) -> dict[str, Any]:
    return {"logging": {"vmodule": [{"filePattern": pattern, "verbosity": verbosity}], **more}}


NO_ENDPOINTS = (
    *("http://a:4317", "a//b", "//a", "a:otlp", "dns:a", "dns://a:otlp/b", "unix://a:b", "[::1", "[::1]x", "[::1]:x"),
    *("a b:1", "a:1 ", " a:1", "a\tb", "{{ a }}:1", "a:\u0661"),
)
ENDPOINTS = (
    *("localhost:4317", "a", "", ":1", "a:", "a:99999", "[::1]:1", "u:p@a:1", "a:1/b:c", "a?b:c", "\u00e9:1"),
    *("DNS://a", "dns:///a:x", "dns://8.8.8.8/a:1", "unix:///run/otel.sock", "unix:///a b", "unix-abstract:///otel"),
)


def endpoint(text: str) -> dict[str, Any]:
    return {"tracing": {"endpoint": text}, **on("KubeletTracing")}


def both(whose: str) -> dict[str, Any]:
    reserved = f"{whose}-reserved"
    return {"enforceNodeAllocatable": [reserved, f"{reserved}-compressible"], f"{whose}ReservedCgroup": "/k"}


def options(form: str, **given: Any) -> dict[str, Any]:
    return {"logging": {"options": {form: given}}}


REFUSED: tuple[tuple[dict[str, Any], str, Iterable[int]], ...] = (
    (images("example.com/a:1"), "image-patterns", since(33)),
    (images("example.com/A"), "image-patterns", since(33)),
    (images("*.example.com/a"), "image-patterns", since(33)),
    (images("/*"), "image-patterns", since(33)),
    *[(images(short), "image-patterns", {33, 34, 35}) for short in ("a", "1/b", "docker.io/a", "index.docker.io/a/b")],
    (swap("LimitedSwap"), "swap-behavior", range(22, 30)),
    ({**swap("LimitedSwap"), **off("NodeSwap")}, "swap-behavior", since(22)),
    ({**swap("UnlimitedSwap"), **on("NodeSwap")}, "swap-behavior", since(30)),
    ({**swap("NoSwap"), **on("NodeSwap")}, "swap-behavior", range(22, 30)),
    ({**swap("Swap"), **on("NodeSwap")}, "swap-behavior", since(22)),
    ({"memoryThrottlingFactor": 1.1}, "memory-throttling", since(22)),
    ({"memoryThrottlingFactor": 0}, "memory-throttling", since(22)),
    (taint(effect="Never"), "taints", since(23)),
    (taint(key=""), "taints", since(23)),
    *[(taint(key=key), "taints", since(23)) for key in ("-a/b", "a-/b", "a..b/c", "a/b/c", f"{'a.' * 127}/b")],
    (taint(value="a b"), "taints", since(23)),
    (taint(timeAdded="2026-01-01T00:00:00Z"), "taints", since(23)),
    (BY_PRIORITY, "shutdown-by-priority", {23}),
    ({**BY_PRIORITY_ON, "shutdownGracePeriod": "30s"}, "shutdown-by-priority", since(23)),
    ({**BY_PRIORITY_ON, "shutdownGracePeriodCriticalPods": "1ns"}, "shutdown-by-priority", since(23)),
    ({"maxParallelImagePulls": 0}, "parallel-pulls-positive", since(27)),
    ({"maxParallelImagePulls": 2, "serializeImagePulls": True}, "parallel-pulls-serialized", since(27)),
    ({**QUERY, "enableSystemLogHandler": False, **on("NodeLogQuery")}, "log-query-handler", since(27)),
    ({"imageMaximumGCAge": "24h"}, "image-maximum-age", {29}),
    ({"imageMaximumGCAge": "-1ns"}, "image-maximum-age", since(29)),
    ({"imageMaximumGCAge": "1ns", "imageMinimumGCAge": "2m"}, "image-maximum-age", since(29)),
    ({"imageMaximumGCAge": "2m", "imageMinimumGCAge": "2m"}, "image-maximum-age", since(29)),
    ({"containerLogMaxWorkers": 0}, "log-workers", since(30)),
    ({"containerLogMonitorInterval": "2s"}, "log-interval", since(30)),
    ({"podLogsDir": "/var/log/pods/"}, "pod-logs-dir", since(30)),
    ({"podLogsDir": "//var"}, "pod-logs-dir", since(30)),
    ({"podLogsDir": "/é"}, "pod-logs-dir", since(30)),
    ({"podLogsDir": "é"}, "pod-logs-dir", since(30)),
    ({"enforceNodeAllocatable": ["pods", "pods"]}, "allocatable-twice", since(31)),
    *[(both(whose), "allocatable-both", since(32)) for whose in ("kube", "system")],
    (restart("10s"), "crash-loop-period", {32, 33, 34}),
    ({**restart("300001ms"), **on("KubeletCrashLoopBackOffMax")}, "crash-loop-period", since(32)),
    ({**restart("999ms"), **on("KubeletCrashLoopBackOffMax")}, "crash-loop-period", since(32)),
    ({POLICY: "AlwaysVerify"}, "pull-policy", {33, 34}),
    (ALLOWLIST, "pull-policy", since(33)),
    ({POLICY: "Always", **on("KubeletEnsureSecretPulledImages")}, "pull-policy", since(33)),
    ({POLICY: "AlwaysVerify", **ALLOWLIST}, "pull-policy", since(33)),
    (ids(65535), "ids-per-pod", since(33)),
    (ids(65537), "ids-per-pod", since(33)),
    (ids(2**32 - 65536), "ids-per-pod", ()),
    (ids(2**32), "ids-per-pod", since(33)),
    ({"imageMinimumGCAge": "-1s"}, "image-minimum-age", {36}),
    ({"memoryReservationPolicy": "Tiered"}, "memory-reservation", {36}),
    ({"memoryReservationPolicy": "TieredReservation", **off("MemoryQoS")}, "memory-reservation", {36}),
    ({"logging": {"verbosity": 2**31}}, "log-verbosity", since(23)),
    (vmodule("kubelet", 2**31), "log-verbosity", since(23)),
    (vmodule(""), "log-verbosity", since(23)),
    (vmodule("a=1"), "log-verbosity", since(23)),
    (vmodule("a,b"), "log-verbosity", since(23)),
    (vmodule("kubelet", format="json"), "log-verbosity", since(23)),
    (options("json", infoBufferSize="64Ki"), "log-options", since(25)),
    (options("text", infoBufferSize=1), "log-options", since(30)),
    ({"logging": {"flushFrequency": "5s"}}, "log-flush-text", range(23, 28)),
    # Before 1.35 it is no rule of the validation: the kubelet ends in a panic.
    ({"logging": {"flushFrequency": -1}}, "log-flush-positive", since(24)),
    ({"logging": {"flushFrequency": "-1s"}}, "log-flush-positive", since(28)),
    ({"tracing": {}}, "tracing-gate", {25, 26}),
    ({"tracing": {"endpoint": "a"}, **off("KubeletTracing")}, "tracing-gate", range(25, 34)),
    ({"tracing": {"samplingRatePerMillion": 10**6 + 1}, **on("KubeletTracing")}, "tracing-sampling", since(25)),
    ({"tracing": {"samplingRatePerMillion": -1}, **on("KubeletTracing")}, "tracing-sampling", since(25)),
    *[(endpoint(text), "tracing-endpoint", since(25)) for text in NO_ENDPOINTS],
)


@pytest.mark.parametrize(("config", "rule", "refused"), REFUSED)
def test_the_versions_that_refuse(config: dict[str, Any], rule: str, refused: Iterable[int]) -> None:
    refuses_in(config, rule, refused)


def test_a_gate_that_distributions_switch_on_is_a_warning() -> None:
    for minor, severities in ((26, []), (27, [WARNING]), (35, [WARNING]), (36, [])):
        assert [one.severity for one in validation.check(EffectiveConfig(QUERY, minor))] == severities


ACCEPTED: tuple[dict[str, Any], ...] = (
    images("example.com/team/*"),
    *map(images, ("localhost:5000/a", "localhost/a", "[::1]:5000/a", "docker.io/library/a", "A/b", "a/*")),
    {"memorySwap": {"swapBehavior": ""}},
    {**swap("LimitedSwap"), **on("NodeSwap")},
    {"memoryThrottlingFactor": 1.0},
    {"memoryThrottlingFactor": "x"},
    taint(value="b", key="a"),
    taint(key=f"{'a' * 64}.b-c/A_b"),
    taint(effect=""),
    {"registerWithTaints": "x"},
    {**BY_PRIORITY_ON, "shutdownGracePeriod": "0s"},
    {"maxParallelImagePulls": 2, "serializeImagePulls": False},
    {"maxParallelImagePulls": 1, "serializeImagePulls": True},
    {"imageMaximumGCAge": "0s"},
    {"imageMaximumGCAge": "3m", "imageMinimumGCAge": "2m", **on("ImageMaximumGCAge")},
    {"containerLogMaxWorkers": 1, "containerLogMonitorInterval": "3s", "podLogsDir": "/var/log/pods"},
    {"podLogsDir": "logs"},
    {**restart("1s"), **on("KubeletCrashLoopBackOffMax")},
    # Only whole milliseconds count.
    {**restart("300000999us"), **on("KubeletCrashLoopBackOffMax")},
    {POLICY: "NeverVerifyAllowlistedImages", **ALLOWLIST, **on("KubeletEnsureSecretPulledImages")},
    ids(65536),
    {"memoryReservationPolicy": "None"},
    {"memoryReservationPolicy": "TieredReservation", **on("MemoryQoS")},
    {"logging": {"verbosity": 2**31 - 1, "format": "json"}},
    vmodule("X*", format="text"),
    options("json", splitStream=True, infoBufferSize="0"),
    {**options("text", infoBufferSize="1Ki"), **on("LoggingAlphaOptions")},
    {"logging": {"flushFrequency": 5 * 10**9}},
    {"logging": "text"},
    {"logging": {"flushFrequency": 0}},
    {"tracing": {"samplingRatePerMillion": 0}, **on("KubeletTracing")},
    {"tracing": {"samplingRatePerMillion": 10**6}, **on("KubeletTracing")},
    *map(endpoint, ENDPOINTS),
)


@pytest.mark.parametrize("minor", range(20, NEWEST + 1))
@pytest.mark.parametrize("config", ACCEPTED)
def test_what_every_version_accepts(config: dict[str, Any], minor: int) -> None:
    assert accepted(config, minor)


EFFECTS = "An effect is one of NoSchedule, PreferNoSchedule, NoExecute."
FLUSH = "logging.flushFrequency"
PANIC = "ends the kubelet in a Go panic: non-positive interval for NewTicker"


@pytest.mark.parametrize(
    ("config", "minor", "message"),
    [
        (QUERY, 34, f"{IC}NodeLogQuery feature gate is required for enableSystemLogHandler"),
        (QUERY, 35, f"{IC}NodeLogQuery feature gate is required for enableSystemLogQuery"),
        ({"logging": {"flushFrequency": -1}}, 27, f"{FLUSH}: -1 {PANIC}"),
        ({"logging": {"flushFrequency": "-1s"}}, 34, f'{FLUSH}: "-1s" {PANIC}'),
    ],
)
def test_the_words_of_the_version(config: dict[str, Any], minor: int, message: str) -> None:
    """Beside those that a real kubelet was asked for, see test_checks.py."""
    assert messages(config, minor) == [message]


@pytest.mark.parametrize(
    ("config", "minor", "remedy"),
    [
        ({"podLogsDir": "//var/./log/"}, NEWEST, "Write /var/log."),
        (taint(effect="Never"), NEWEST, f"Correct key, value or effect. {EFFECTS}"),
        # The type that the version takes.
        ({"logging": {"flushFrequency": -1}}, 27, "Write nanoseconds: 5000000000."),
        ({"logging": {"flushFrequency": -1}}, 28, 'Write a duration such as "5s".'),
    ],
)
def test_the_remedy_names_what_to_write(config: dict[str, Any], minor: int, remedy: str) -> None:
    [problem] = validation.check(EffectiveConfig(config, minor))
    assert problem.remedy == remedy


def test_every_rule_has_a_name_of_its_own_and_is_checked() -> None:
    names = [rule.name for rule in validation.RULES]
    assert len(names) == len(set(names)) and {*newer_rules.RULES, *logs.RULES, *managers.RULES} <= set(validation.RULES)


def test_the_value_of_one_pattern_is_shown() -> None:
    [problem] = validation.check(EffectiveConfig(vmodule("a=1"), NEWEST))
    assert (problem.path, problem.value) == ("logging.vmodule[0]", '{"filePattern": "a=1", "verbosity": 4}')


def test_a_zero_is_the_default_and_other_types_are_left_to_the_check_of_types() -> None:
    """Kubelets before 1.28 refuse the text, not the zero in it."""
    assert accepted({"logging": {"flushFrequency": "0s"}}, NEWEST)
    assert accepted({"imageMaximumGCAge": "1ns", "imageMinimumGCAge": 5}, NEWEST)
    assert accepted(vmodule("kubelet", format=5), NEWEST)
