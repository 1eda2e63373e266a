# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of the kubelet's validation that Kubernetes 1.21 to 1.36 added.

Source: pkg/kubelet/apis/config/validation/validation.go, validation_linux.go and validation_reserved_memory.go of each
minor. Rules that depend on the machine, such as failCgroupV1, are not here.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from typing import Iterator

from ..values import amounts
from .problem import ENFORCE, IC, EffectiveConfig, Finding, Rule, quoted

_SECOND = 10**9
_LABEL = r"([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]"
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_TAINT_KEY = re.compile(rf"((?=.{{1,253}}/){_DNS_LABEL}(\.{_DNS_LABEL})*/)?{_LABEL}", re.ASCII)
_TAINT_VALUE = re.compile(rf"({_LABEL})?", re.ASCII)
_TAINT_EFFECTS = ("", "NoSchedule", "PreferNoSchedule", "NoExecute")


def _swap(config: EffectiveConfig) -> Iterator[Finding]:
    path, value = "memorySwap.swapBehavior", config.text("memorySwap.swapBehavior")
    # Up to 1.29, the kubelet writes a comma before the last one.
    comma, other = ("", "NoSwap") if config.minor >= 30 else (",", "UnlimitedSwap")
    if value and not config.gate("NodeSwap"):
        message = f"{IC}{path} cannot be set when NodeSwap feature flag is disabled"
        yield path, message, "Remove it, or set featureGates.NodeSwap: true."
    elif value not in ("", "LimitedSwap", other):
        message = f'{IC}memorySwap.swapBehavior "{value}" must be one of: "", "LimitedSwap"{comma} or "{other}"'
        yield path, message, f"Use LimitedSwap or {other}."


def _throttling(config: EffectiveConfig) -> Iterator[Finding]:
    path, value = "memoryThrottlingFactor", config.value("memoryThrottlingFactor")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not 0 < value <= 1:
        message = f"{IC}memoryThrottlingFactor {value} must be greater than 0 and less than or equal to 1.0"
        yield path, message, "Give a number above 0, up to 1.0."


def _taints(config: EffectiveConfig) -> Iterator[Finding]:
    path = "registerWithTaints"
    for taint in config.objects(path):
        key, value, effect = (str(taint.get(name) or "") for name in ("key", "value", "effect"))
        if not _TAINT_KEY.fullmatch(key) or not _TAINT_VALUE.fullmatch(value) or effect not in _TAINT_EFFECTS:
            message = f"invalid taint: {{{key} {value} {effect} <nil>}}"
            yield path, message, f"Correct key, value or effect. An effect is one of {', '.join(_TAINT_EFFECTS[1:])}."
        if taint.get("timeAdded") is not None:
            yield path, f"{IC}taint.TimeAdded is not nil", "Remove timeAdded."


def _shutdown_by_priority(config: EffectiveConfig) -> Iterator[Finding]:
    path = "shutdownGracePeriodByPodPriority"
    if not config.objects(path):
        return
    if not config.gate("GracefulNodeShutdownBasedOnPodPriority"):
        message = f"{IC}Specifying {path} requires feature gate GracefulNodeShutdownBasedOnPodPriority"
        yield path, message, "Remove it, or set featureGates.GracefulNodeShutdownBasedOnPodPriority: true."
    elif any(
        (config.nanoseconds(name) or 0) > 0 for name in ("shutdownGracePeriod", "shutdownGracePeriodCriticalPods")
    ):
        message = f"{IC}Cannot specify both {path} and shutdownGracePeriod at the same time"
        yield path, message, "Remove it, or set shutdownGracePeriod and shutdownGracePeriodCriticalPods to 0s."


def _positive_pulls(config: EffectiveConfig) -> Iterator[Finding]:
    path, value = "maxParallelImagePulls", config.number("maxParallelImagePulls")
    if value is not None and value < 1:
        yield path, f"{IC}{path} {value} must be a positive number", "Give 1 or more."


def _parallel_pulls(config: EffectiveConfig) -> Iterator[Finding]:
    value = config.number("maxParallelImagePulls")
    if value is not None and value > 1 and config.truth("serializeImagePulls"):
        message = (
            f"{IC}maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) "
            "is set to false"
        )
        yield "maxParallelImagePulls", message, "Set serializeImagePulls: false, or maxParallelImagePulls: 1."


def _log_query_gate(config: EffectiveConfig) -> Iterator[Finding]:
    path = "enableSystemLogQuery"
    if config.truth(path) and not config.gate("NodeLogQuery"):
        # Kubelets before 1.35 name the wrong field.
        named = path if config.minor >= 35 else "enableSystemLogHandler"
        message = f"{IC}NodeLogQuery feature gate is required for {named}"
        yield path, message, "Set featureGates.NodeLogQuery: true, or enableSystemLogQuery: false."


def _log_query_handler(config: EffectiveConfig) -> Iterator[Finding]:
    if config.truth("enableSystemLogQuery") and config.truth("enableSystemLogHandler") is False:
        message = f"{IC}enableSystemLogHandler is required for enableSystemLogQuery"
        yield "enableSystemLogQuery", message, "Set enableSystemLogHandler: true, or enableSystemLogQuery: false."


def _image_age(config: EffectiveConfig) -> Iterator[Finding]:
    path, most = "imageMaximumGCAge", config.nanoseconds("imageMaximumGCAge") or 0
    least = config.nanoseconds("imageMinimumGCAge") or 0
    if most and not config.gate("ImageMaximumGCAge"):
        message = f"{IC}ImageMaximumGCAge feature gate is required for Kubelet configuration option ImageMaximumGCAge"
        yield path, message, "Remove it, or set featureGates.ImageMaximumGCAge: true."
    elif most < 0:
        yield path, f"{IC}imageMaximumGCAge {amounts.format_duration(most)} must not be negative", "Give 0s or more."
    elif 0 < most <= least:
        message = (
            f"{IC}imageMaximumGCAge {amounts.format_duration(most)} must be greater than imageMinimumGCAge "
            f"{amounts.format_duration(least)}"
        )
        yield path, message, "Raise imageMaximumGCAge, or lower imageMinimumGCAge."


def _image_minimum_age(config: EffectiveConfig) -> Iterator[Finding]:
    value = config.nanoseconds("imageMinimumGCAge")
    if value is not None and value < 0:
        message = f"{IC}imageMinimumGCAge {amounts.format_duration(value)} must not be negative"
        yield "imageMinimumGCAge", message, "Give 0s or more."


def _log_workers(config: EffectiveConfig) -> Iterator[Finding]:
    path, value = "containerLogMaxWorkers", config.number("containerLogMaxWorkers")
    if value is not None and value < 1:
        yield path, f"{IC}{path} must be greater than or equal to 1", "Give 1 or more."


def _log_interval(config: EffectiveConfig) -> Iterator[Finding]:
    value = config.nanoseconds("containerLogMonitorInterval")
    if value is not None and value < 3 * _SECOND:
        message = f"{IC}containerLogMonitorInterval must be a positive time duration greater than or equal to 3s"
        yield "containerLogMonitorInterval", message, "Give 3s or more."


def _pod_logs(config: EffectiveConfig) -> Iterator[Finding]:
    path, value = "podLogsDir", config.text("podLogsDir")
    # Go's filepath.Clean drops a second slash at the start; normpath keeps it.
    clean = re.sub("^//", "/", posixpath.normpath(value))
    for broken, words, remedy in (
        # The kubelet completes a relative path in its config file, and normalizes it by that.
        (value.startswith("/") and value != clean, "must be normalized", f"Write {clean}."),
        (not value.isascii(), "mut contains ASCII characters only", "Use ASCII characters."),
    ):
        if broken:
            yield path, f'{IC}pod logs path "{value}" {words}', remedy


def _allocatable_twice(config: EffectiveConfig) -> Iterator[Finding]:
    path = "enforceNodeAllocatable"
    for value, count in sorted(Counter(config.texts(path)).items()):
        if count > 1:
            yield path, f'{IC}duplicated enforcements "{value}" in {ENFORCE}', f"Keep {value} once."


def _allocatable_both(config: EffectiveConfig) -> Iterator[Finding]:
    path = "enforceNodeAllocatable"
    named = config.texts(path)
    for value in ("system-reserved", "kube-reserved"):
        if {value, f"{value}-compressible"} <= set(named):
            message = f'{IC}both "{value}" and "{value}-compressible" cannot be specified together in {ENFORCE}'
            yield path, message, "Keep one of them."


def _crash_loop(config: EffectiveConfig) -> Iterator[Finding]:
    path = "crashLoopBackOff.maxContainerRestartPeriod"
    period = config.nanoseconds(path)
    if period is None:
        return
    if not config.gate("KubeletCrashLoopBackOffMax"):
        message = (
            f"{IC}FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must "
            "not be set"
        )
        yield path, message, _remove_or_enable("KubeletCrashLoopBackOffMax")
    elif not 1000 <= period // 10**6 <= 300000:
        message = (
            f"{IC}CrashLoopBackOff.MaxContainerRestartPeriod (got: {period / _SECOND:g} seconds) must be set between "
            "1s and 300s"
        )
        yield path, message, "Give a duration from 1s to 300s."


def _remove_or_enable(gate: str) -> str:
    # The kubelet fills in the defaults of its config file before it reads the drop-ins.
    return f"Remove it, or set featureGates.{gate}: true. A drop-in removes its default with null."


_PULL_POLICIES = ("NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify")


def _pull_policy(config: EffectiveConfig) -> Iterator[Finding]:
    path, images = "imagePullCredentialsVerificationPolicy", "preloadedImagesVerificationAllowlist"
    value = config.text(path)
    if not config.gate("KubeletEnsureSecretPulledImages"):
        for field, given in ((path, value), (images, config.texts(images))):
            if given:
                message = (
                    f"{IC}`{field}` must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled"
                )
                yield field, message, _remove_or_enable("KubeletEnsureSecretPulledImages")
        return
    if value and value not in _PULL_POLICIES:
        message = f'{IC}option "{value}" specified for {path}. Valid options are {quoted(_PULL_POLICIES, comma=False)}'
        yield path, message, f"Use one of {', '.join(_PULL_POLICIES)}."
    if config.texts(images) and value != "NeverVerifyAllowlistedImages":
        message = (
            f"{IC}can't set `{images}` if `imagePullCredentialsVertificationPolicy` is not "
            '"NeverVerifyAllowlistedImages"'
        )
        yield images, message, f"Set {path}: NeverVerifyAllowlistedImages, or remove {images}."


# github.com/distribution/reference regexp.go: a name without tag and digest
_HOST = r"[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?"
_PART = r"[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*"
_SHORT_IMAGES = 36
"""The first minor that takes a name which is not full, such as busybox."""
_IMAGE = re.compile(rf"(({_HOST}(\.{_HOST})*|\[[0-9a-fA-F:]+\])(:[0-9]+)?/)?{_PART}(/{_PART})*", re.ASCII)


def _image_patterns(config: EffectiveConfig) -> Iterator[Finding]:
    # pkg/kubelet/images/pullmanager/image_pull_policies.go getAllowlistImagePattern
    path = "preloadedImagesVerificationAllowlist"
    if config.text("imagePullCredentialsVerificationPolicy") != "NeverVerifyAllowlistedImages":
        return
    for pattern in config.texts(path):
        if not _is_pattern(pattern, config.minor):
            remedy = (
                "Write the full name of an image without tag and digest, such as docker.io/library/a, or all below a "
                "name: example.com/a/*."
            )
            yield path, f'{IC}invalid image pattern in `{path}`: "{pattern}"', remedy


def _is_pattern(text: str, minor: int) -> bool:
    if text.endswith("/*"):
        folder = text[:-1]
        return folder != "/" and "*" not in folder and text == text.strip()
    if not _IMAGE.fullmatch(text):
        return False
    return minor >= _SHORT_IMAGES or _is_full(text)


def _is_full(image: str) -> bool:
    """Return whether splitDockerDomain of github.com/distribution/reference completes nothing in a name."""
    host, _slash, rest = image.partition("/")
    is_host = host == "localhost" or "." in host or ":" in host or host != host.lower()
    if host == "docker.io":
        return "/" in rest
    return bool(rest) and is_host and host != "index.docker.io"


def _ids_per_pod(config: EffectiveConfig) -> Iterator[Finding]:
    path, value = "userNamespaces.idsPerPod", config.number("userNamespaces.idsPerPod")
    if value is None:
        return
    for broken, words in (
        (value < 65536, "must not be less than 65536"),
        (value % 65536 != 0, "must be a multiple of 65536"),
        (value >= 2**32, "must not be more than 4294967295"),
    ):
        if broken:
            yield path, f"{IC}{path} {words}", "Give a multiple of 65536, up to 4294901760."
            return


def _memory_reservation(config: EffectiveConfig) -> Iterator[Finding]:
    path, value = "memoryReservationPolicy", config.text("memoryReservationPolicy")
    if value not in ("", "None", "TieredReservation"):
        message = f'{IC}option "{value}" specified for {path}. Valid options are "None" or "TieredReservation"'
        yield path, message, "Use None or TieredReservation."
    elif value == "TieredReservation" and not config.gate("MemoryQoS"):
        message = f'{IC}{path} "{value}" requires MemoryQoS feature gate to be enabled'
        yield path, message, "Set featureGates.MemoryQoS: true, or use None."


RULES = (
    Rule("swap-behavior", 22, None, _swap),
    Rule("memory-throttling", 22, None, _throttling),
    Rule("taints", 23, None, _taints),
    Rule("shutdown-by-priority", 23, None, _shutdown_by_priority),
    Rule("parallel-pulls-positive", 27, None, _positive_pulls),
    Rule("parallel-pulls-serialized", 27, None, _parallel_pulls),
    # OpenShift switches the gate on by default.
    Rule("log-query-gate", 27, None, _log_query_gate, sure=False),
    Rule("log-query-handler", 27, None, _log_query_handler),
    Rule("image-maximum-age", 29, None, _image_age),
    Rule("log-workers", 30, None, _log_workers),
    Rule("log-interval", 30, None, _log_interval),
    Rule("pod-logs-dir", 30, None, _pod_logs),
    Rule("allocatable-twice", 31, None, _allocatable_twice),
    Rule("allocatable-both", 32, None, _allocatable_both),
    Rule("crash-loop-period", 32, None, _crash_loop),
    Rule("pull-policy", 33, None, _pull_policy),
    Rule("image-patterns", 33, None, _image_patterns),
    Rule("ids-per-pod", 33, None, _ids_per_pod),
    Rule("image-minimum-age", 36, None, _image_minimum_age),
    Rule("memory-reservation", 36, None, _memory_reservation),
)
