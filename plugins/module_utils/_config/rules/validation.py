# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules that a kubelet checks when it loads a configuration (ValidateKubeletConfiguration), as warnings.

Messages are the kubelet's own. Source: pkg/kubelet/apis/config/validation/validation.go of Kubernetes 1.20. A kubelet
that finds a broken rule reverts to its last-known-good, which costs a restart. A rule without minors applies to all.
"""

from __future__ import annotations

import re
from typing import Callable, Iterator, NamedTuple, Tuple

from ..fields.effective_config import EffectiveConfig
from ..values import duration
from .problem import WARNING, Problem

Finding = Tuple[str, str, str]
"""Path, message, remedy."""
_IC = "invalid configuration: "


class Rule(NamedTuple):
    """A rule: its name, the minors it applies to (inclusive) and the function that checks it."""

    name: str
    since: int
    until: int
    find: Callable[[EffectiveConfig], Iterator[Finding]]


def check(config: EffectiveConfig) -> Iterator[Problem]:
    """Yield a warning for every rule that the configuration breaks."""
    for rule in _RULES:
        if rule.since <= config.minor <= rule.until:
            for path, message, remedy in rule.find(config):
                yield Problem(WARNING, path, message, remedy, rule.name)


# path, lowest, highest, the kubelet's message
_RANGES = (
    ("healthzPort", 0, 65535, "healthzPort (--healthz-port) {} must be between 1 and 65535, inclusive"),
    (
        "imageGCHighThresholdPercent",
        0,
        100,
        "imageGCHighThresholdPercent (--image-gc-high-threshold) {} must be between 0 and 100, inclusive",
    ),
    (
        "imageGCLowThresholdPercent",
        0,
        100,
        "imageGCLowThresholdPercent (--image-gc-low-threshold) {} must be between 0 and 100, inclusive",
    ),
    ("iptablesDropBit", 0, 31, "iptablesDropBit (--iptables-drop-bit) {} must be between 0 and 31, inclusive"),
    (
        "iptablesMasqueradeBit",
        0,
        31,
        "iptablesMasqueradeBit (--iptables-masquerade-bit) {} must be between 0 and 31, inclusive",
    ),
    ("oomScoreAdj", -1000, 1000, "oomScoreAdj (--oom-score-adj) {} must be between -1000 and 1000, inclusive"),
    ("port", 1, 65535, "port (--port) {} must be between 1 and 65535, inclusive"),
    ("readOnlyPort", 0, 65535, "readOnlyPort (--read-only-port) {} must be between 0 and 65535, inclusive"),
)
_NOT_NEGATIVE = {
    "eventBurst": "event-burst",
    "eventRecordQPS": "event-qps",
    "kubeAPIBurst": "kube-api-burst",
    "kubeAPIQPS": "kube-api-qps",
    "maxOpenFiles": "max-open-files",
    "maxPods": "max-pods",
    "podsPerCore": "pods-per-core",
    "registryBurst": "registry-burst",
    "registryPullQPS": "registry-qps",
}


def _ranges(config: EffectiveConfig) -> Iterator[Finding]:
    for path, low, high, message in _RANGES:
        value = config.number(path)
        if value is not None and not low <= value <= high:
            yield path, _IC + message.format(value), f"Give a number from {low} to {high}."


def _not_negative(config: EffectiveConfig) -> Iterator[Finding]:
    for path, flag in _NOT_NEGATIVE.items():
        value = config.number(path)
        if value is not None and value < 0:
            yield path, f"{_IC}{path} (--{flag}) {value} must not be a negative number", "Give 0 or more."


def _lease(config: EffectiveConfig) -> Iterator[Finding]:
    value = config.number("nodeLeaseDurationSeconds")
    if value is not None and value < 0:
        yield (
            "nodeLeaseDurationSeconds",
            f"{_IC}nodeLeaseDurationSeconds must be greater than 0",
            "Give 1 or more seconds; 40 is the default.",
        )


def _image_thresholds(config: EffectiveConfig) -> Iterator[Finding]:
    low, high = config.number("imageGCLowThresholdPercent"), config.number("imageGCHighThresholdPercent")
    if low is not None and high is not None and low >= high:
        yield (
            "imageGCLowThresholdPercent",
            f"{_IC}imageGCLowThresholdPercent (--image-gc-low-threshold) {low} must be less than "
            f"imageGCHighThresholdPercent (--image-gc-high-threshold) {high}",
            "Lower imageGCLowThresholdPercent or raise imageGCHighThresholdPercent.",
        )


def _status_images(config: EffectiveConfig) -> Iterator[Finding]:
    value = config.number("nodeStatusMaxImages")
    if value is not None and value < -1:
        yield (
            "nodeStatusMaxImages",
            f"{_IC}nodeStatusMaxImages (--node-status-max-images) must be -1 or greater",
            "Give -1 for all images, or a count.",
        )


def _allocatable_needs_qos(config: EffectiveConfig) -> Iterator[Finding]:
    if config.truth("cgroupsPerQOS") is False and config.texts("enforceNodeAllocatable"):
        yield (
            "enforceNodeAllocatable",
            f"{_IC}enforceNodeAllocatable (--enforce-node-allocatable) is not supported "
            "unless cgroupsPerQOS (--cgroups-per-qos) is set to true",
            "Set enforceNodeAllocatable: [] (its default is [pods]), or cgroupsPerQOS: true.",
        )


def _allocatable_values(config: EffectiveConfig) -> Iterator[Finding]:
    path, named = "enforceNodeAllocatable", config.texts("enforceNodeAllocatable")
    allowed = ["pods", "system-reserved", "kube-reserved", "none"]
    if config.minor >= 32:
        allowed += ["system-reserved-compressible", "kube-reserved-compressible"]
    for value in named:
        if value not in allowed:
            yield (
                path,
                f'{_IC}option "{value}" specified for enforceNodeAllocatable (--enforce-node-allocatable). '
                'Valid options are "pods", "system-reserved", "kube-reserved", or "none"',
                f"Use any of {', '.join(allowed)}.",
            )
    if "none" in named and len(named) > 1:
        yield (
            path,
            f"{_IC}enforceNodeAllocatable (--enforce-node-allocatable) may not contain additional enforcements "
            "when 'none' is specified",
            "Keep [none] alone, or remove none.",
        )
    for value, cgroup in (("system-reserved", "systemReservedCgroup"), ("kube-reserved", "kubeReservedCgroup")):
        if value in named and not config.text(cgroup):
            yield (
                path,
                f"{_IC}{cgroup} (--{value}-cgroup) must be specified when '{value}' contained in "
                "enforceNodeAllocatable (--enforce-node-allocatable)",
                f"Set {cgroup} on this node, or remove {value}.",
            )


def _system_cgroups(config: EffectiveConfig) -> Iterator[Finding]:
    if config.text("systemCgroups") and not config.text("cgroupRoot"):
        yield (
            "systemCgroups",
            f"{_IC}systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified",
            "Set cgroupRoot, usually to /, or remove systemCgroups.",
        )


def _cfs_period(config: EffectiveConfig) -> Iterator[Finding]:
    period, path = config.nanoseconds("cpuCFSQuotaPeriod"), "cpuCFSQuotaPeriod"
    if period is None or period == 100 * 10**6:
        return
    if not config.gate("CustomCPUCFSQuotaPeriod"):
        yield (
            path,
            f"{_IC}cpuCFSQuotaPeriod {{{duration.format(period)}}} requires feature gate CustomCPUCFSQuotaPeriod",
            "Set featureGates.CustomCPUCFSQuotaPeriod: true, or use 100ms.",
        )
    elif not 10**3 <= period <= 10**9:
        yield (
            path,
            f"{_IC}cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {{{duration.format(period)}}} "
            "must be between 1usec and 1sec, inclusive",
            "Give a duration from 1us to 1s.",
        )


def _server_certificate(config: EffectiveConfig) -> Iterator[Finding]:
    if config.truth("serverTLSBootstrap") and not config.gate("RotateKubeletServerCertificate"):
        yield (
            "serverTLSBootstrap",
            f"{_IC}serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate",
            "Remove RotateKubeletServerCertificate: false from featureGates, or set serverTLSBootstrap: false.",
        )


def _topology_gate(config: EffectiveConfig) -> Iterator[Finding]:
    for path, plain in (("topologyManagerPolicy", "none"), ("topologyManagerScope", "container")):
        value = config.text(path)
        if value not in ("", plain) and not config.gate("TopologyManager"):
            yield (
                path,
                f"{_IC}{path} {value} requires feature gate TopologyManager",
                "Set featureGates.TopologyManager: true, or use the default.",
            )


def _topology_values(config: EffectiveConfig) -> Iterator[Finding]:
    for path, allowed in (
        ("topologyManagerPolicy", ("none", "best-effort", "restricted", "single-numa-node")),
        ("topologyManagerScope", ("container", "pod")),
    ):
        value = config.text(path)
        if value and value not in allowed:
            yield path, f"{_IC}{path} non-allowable value: {value}", f"Use one of {', '.join(allowed)}."


def _shutdown(config: EffectiveConfig) -> Iterator[Finding]:
    path = "shutdownGracePeriod"
    total, critical = config.nanoseconds(path) or 0, config.nanoseconds("shutdownGracePeriodCriticalPods") or 0
    if not config.gate("GracefulNodeShutdown"):
        if total > 0 or critical > 0:
            yield (
                path,
                f"{_IC}Specifying ShutdownGracePeriod or ShutdownGracePeriodCriticalPods "
                "requires feature gate GracefulNodeShutdown",
                "Set featureGates.GracefulNodeShutdown: true, or remove both periods.",
            )
        return
    shown_total, shown_critical = f"{{{duration.format(total)}}}", f"{{{duration.format(critical)}}}"
    if total < 0 or critical < 0 or critical > total:
        yield (
            path,
            f"{_IC}ShutdownGracePeriod {shown_total} must be >= 0, "
            f"ShutdownGracePeriodCriticalPods {shown_critical} must be >= 0, "
            f"and ShutdownGracePeriodCriticalPods {shown_critical} must be <= ShutdownGracePeriod {shown_total}",
            "shutdownGracePeriodCriticalPods is the last part of shutdownGracePeriod: give it at most the same time.",
        )
    for name, value, shown in (
        ("ShutdownGracePeriod", total, shown_total),
        ("ShutdownGracePeriodCriticalPods", critical, shown_critical),
    ):
        if 0 < value < 10**9:
            yield (
                name[0].lower() + name[1:],
                f"{_IC}{name} {shown} must be either zero or otherwise >= 1 sec",
                "Give 0s, or 1s and more.",
            )


def _hairpin(config: EffectiveConfig) -> Iterator[Finding]:
    value = config.text("hairpinMode")
    if value not in ("", "none", "hairpin-veth", "promiscuous-bridge"):
        yield (
            "hairpinMode",
            f'{_IC}option "{value}" specified for hairpinMode (--hairpin-mode). '
            'Valid options are "none", "hairpin-veth" or "promiscuous-bridge"',
            "Use one of them.",
        )


def _reserved_cpus(config: EffectiveConfig) -> Iterator[Finding]:
    path, value = "reservedSystemCPUs", config.text("reservedSystemCPUs")
    if not value:
        return
    if config.text("systemReservedCgroup") or config.text("kubeReservedCgroup"):
        yield (
            path,
            "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) "
            "or kubeReservedCgroup (--kube-reserved-cgroup)",
            "Remove reservedSystemCPUs, or both reserved cgroups.",
        )
    if not re.fullmatch(r"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*", value, re.ASCII):
        yield (
            path,
            f'unable to parse reservedSystemCPUs (--reserved-cpus), error: "{value}" is not a CPU list',
            'Write a Linux CPU list such as "0-1,4".',
        )


def _hidden_metrics(config: EffectiveConfig) -> Iterator[Finding]:
    value, previous = config.text("showHiddenMetricsForVersion"), f"1.{config.minor - 1}"
    if value not in ("", previous):
        yield (
            "showHiddenMetricsForVersion",
            f"--show-hidden-metrics-for-version must be omitted or have the value '{previous}'. "
            "Only the previous minor version is allowed",
            f'Write "{previous}" (in quotes), or remove it.',
        )


def _log_format(config: EffectiveConfig) -> Iterator[Finding]:
    value = config.text("logging.format")
    if value not in ("", "text", "json"):
        yield "logging.format", f"unsupported log format: {value}", "Use text or json."


_ALWAYS = 10**6
_RULES = (
    Rule("range", 0, _ALWAYS, _ranges),
    Rule("not-negative", 0, _ALWAYS, _not_negative),
    Rule("node-lease", 0, _ALWAYS, _lease),
    Rule("image-gc-order", 0, _ALWAYS, _image_thresholds),
    Rule("status-images", 19, _ALWAYS, _status_images),
    Rule("allocatable-needs-cgroups-per-qos", 0, _ALWAYS, _allocatable_needs_qos),
    Rule("allocatable-values", 0, _ALWAYS, _allocatable_values),
    Rule("system-cgroups", 0, _ALWAYS, _system_cgroups),
    Rule("cfs-quota-period", 0, 30, _cfs_period),
    Rule("server-certificate", 12, 30, _server_certificate),
    Rule("topology-gate", 16, 26, _topology_gate),
    Rule("topology-values", 16, _ALWAYS, _topology_values),
    Rule("shutdown-grace-period", 20, _ALWAYS, _shutdown),
    Rule("hairpin-mode", 0, _ALWAYS, _hairpin),
    Rule("reserved-cpus", 17, _ALWAYS, _reserved_cpus),
    Rule("hidden-metrics", 18, _ALWAYS, _hidden_metrics),
    Rule("log-format", 19, _ALWAYS, _log_format),
)
