# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules that a kubelet checks when it loads a configuration (ValidateKubeletConfiguration).

Messages are the kubelet's own. Source: pkg/kubelet/apis/config/validation/validation.go of Kubernetes 1.20 to 1.36.
With native delivery, a kubelet that finds a broken rule reverts to its last-known-good. With the others it
ends. Both cost a restart, so a plan refuses what certainly breaks a rule. What may break one is a warning.
"""

from __future__ import annotations

from typing import Iterator, Sequence

from ..fields import compare
from ..values import amounts, paths, short_texts
from . import logs, managers, newer_rules, start_rules
from .problem import ENFORCE, IC, REFUSAL, WARNING, EffectiveConfig, Finding, Problem, Rule, quoted
from .types import show


def check(config: EffectiveConfig) -> Iterator[Problem]:
    """Yield a problem for every rule that the configuration breaks: a refusal where that is certain.

    Also for rules that the kubelet checks after validation, by version.
    """
    for rule in (*RULES, *managers.FATAL, *start_rules.FATAL):
        if rule.holds_at(config.minor):
            severity = REFUSAL if rule.is_certain(config) else WARNING
            for path, message, remedy in rule.find(config):
                yield Problem(severity, path, message, remedy, rule.name, _shown(config, path))


def _shown(config: EffectiveConfig, path: str) -> str:
    """Return the value at the path of a finding on one line."""
    first, *inside = paths.parse(path)
    value = config.value(str(first))
    for key in inside:
        value = value[key]
    return show(compare.mask(path, value))


# path, flag, lowest, the lowest that the kubelet's message names, highest
_RANGES = (
    ("healthzPort", "healthz-port", 0, 1, 65535),
    ("imageGCHighThresholdPercent", "image-gc-high-threshold", 0, 0, 100),
    ("imageGCLowThresholdPercent", "image-gc-low-threshold", 0, 0, 100),
    ("iptablesDropBit", "iptables-drop-bit", 0, 0, 31),
    ("iptablesMasqueradeBit", "iptables-masquerade-bit", 0, 0, 31),
    ("oomScoreAdj", "oom-score-adj", -1000, -1000, 1000),
    ("port", "port", 1, 1, 65535),
    ("readOnlyPort", "read-only-port", 0, 0, 65535),
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


_COMPRESSIBLE = 32
"""The first minor that enforces compressible resources alone, and the words with it."""
# What can be enforced: the field that it needs, and the first minor that knows it
_ENFORCEABLE = {
    "pods": ("", 0),
    "system-reserved": ("systemReservedCgroup", 0),
    "system-reserved-compressible": ("systemReservedCgroup", _COMPRESSIBLE),
    "kube-reserved": ("kubeReservedCgroup", 0),
    "kube-reserved-compressible": ("kubeReservedCgroup", _COMPRESSIBLE),
}


def _ranges(config: EffectiveConfig) -> Iterator[Finding]:
    for path, flag, low, named, high in _RANGES:
        value = config.number(path)
        if value is not None and not low <= value <= high:
            message = f"{IC}{path} (--{flag}) {value} must be between {named} and {high}, inclusive"
            yield path, message, f"Give a number from {low} to {high}."


def _not_negative(config: EffectiveConfig) -> Iterator[Finding]:
    for path, flag in _NOT_NEGATIVE.items():
        value = config.number(path)
        if value is not None and value < 0:
            yield path, f"{IC}{path} (--{flag}) {value} must not be a negative number", "Give 0 or more."


def _lease(config: EffectiveConfig) -> Iterator[Finding]:
    value = config.number("nodeLeaseDurationSeconds")
    if value is not None and value < 0:
        message = f"{IC}nodeLeaseDurationSeconds must be greater than 0"
        yield "nodeLeaseDurationSeconds", message, "Give 1 or more seconds; 40 is the default."


def _image_thresholds(config: EffectiveConfig) -> Iterator[Finding]:
    low, high = config.number("imageGCLowThresholdPercent"), config.number("imageGCHighThresholdPercent")
    if low is not None and high is not None and low >= high:
        yield (
            "imageGCLowThresholdPercent",
            f"{IC}imageGCLowThresholdPercent (--image-gc-low-threshold) {low} must be less than "
            f"imageGCHighThresholdPercent (--image-gc-high-threshold) {high}",
            "Lower imageGCLowThresholdPercent or raise imageGCHighThresholdPercent.",
        )


def _status_images(config: EffectiveConfig) -> Iterator[Finding]:
    value = config.number("nodeStatusMaxImages")
    if value is not None and value < -1:
        shown = f"{value} " if config.minor >= 24 else ""
        message = f"{IC}nodeStatusMaxImages (--node-status-max-images) {shown}must be -1 or greater"
        yield "nodeStatusMaxImages", message, "Give -1 for all images, or a count."


def _allocatable_needs_qos(config: EffectiveConfig) -> Iterator[Finding]:
    path, needed = "enforceNodeAllocatable", "cgroupsPerQOS (--cgroups-per-qos)"
    named = config.texts(path)
    if config.minor >= 31:
        # Accepted from then on.
        named = [value for value in named if value != "none"]
    if config.truth("cgroupsPerQOS") is False and named:
        message = f"{IC}{ENFORCE} is not supported unless {needed} is set to true"
        if config.minor >= 31:
            message = f'{IC}{needed} must be set to true when "{named[0]}" contained in {ENFORCE}'
        yield path, message, "Set enforceNodeAllocatable: [] (its default is [pods]), or cgroupsPerQOS: true."


def _allocatable_values(config: EffectiveConfig) -> Iterator[Finding]:
    path, named = "enforceNodeAllocatable", config.texts("enforceNodeAllocatable")
    newer = config.minor >= _COMPRESSIBLE
    allowed = [*(value for value, (_field, since) in _ENFORCEABLE.items() if since <= config.minor), "none"]
    for value in sorted(set(named) - set(allowed)):
        options = quoted(allowed, comma=not newer)
        message = f'{IC}option "{value}" specified for {ENFORCE}. Valid options are {options}'
        yield path, message, f"Use any of {', '.join(allowed)}."
    if "none" in named and len(named) > 1:
        none = '"none"' if newer else "'none'"
        message = f"{IC}{ENFORCE} may not contain additional enforcements when {none} is specified"
        yield path, message, "Keep [none] alone, or remove none."
    yield from _enforced_cgroups(config, named)


def _enforced_cgroups(config: EffectiveConfig, named: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding for each named value whose cgroup is not set."""
    for value, (field, since) in _ENFORCEABLE.items():
        is_enforced = value in named and since <= config.minor
        if is_enforced and field and not config.text(field):
            plain = value.replace("-compressible", "")
            words = f"'{value}' contained"
            if config.minor >= _COMPRESSIBLE:
                words = f'"{plain}" or "{plain}-compressible" included'
            message = f"{IC}{field} (--{plain}-cgroup) must be specified when {words} in {ENFORCE}"
            yield "enforceNodeAllocatable", message, f"Set {field} on this node, or remove {value}."


def _system_cgroups(config: EffectiveConfig) -> Iterator[Finding]:
    if config.text("systemCgroups") and not config.text("cgroupRoot"):
        message = f"{IC}systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified"
        yield "systemCgroups", message, "Set cgroupRoot, usually to /, or remove systemCgroups."


def _cfs_period(config: EffectiveConfig) -> Iterator[Finding]:
    period, path = config.nanoseconds("cpuCFSQuotaPeriod"), "cpuCFSQuotaPeriod"
    if period is None or period == 100 * 10**6:
        return
    if not config.gate("CustomCPUCFSQuotaPeriod"):
        message = f"{IC}cpuCFSQuotaPeriod {_braced(period)} requires feature gate CustomCPUCFSQuotaPeriod"
        yield path, message, "Set featureGates.CustomCPUCFSQuotaPeriod: true, or use 100ms."
        return
    low, word, unit = (10**6, "1ms", "1ms") if config.minor >= 26 else (10**3, "1usec", "1us")
    if not low <= period <= 10**9:
        message = (
            f"{IC}cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {_braced(period)} "
            f"must be between {word} and 1sec, inclusive"
        )
        yield path, message, f"Give a duration from {unit} to 1s."


def _server_certificate(config: EffectiveConfig) -> Iterator[Finding]:
    if config.truth("serverTLSBootstrap") and not config.gate("RotateKubeletServerCertificate"):
        message = f"{IC}serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate"
        remedy = "Remove RotateKubeletServerCertificate: false from featureGates, or set serverTLSBootstrap: false."
        yield "serverTLSBootstrap", message, remedy


def _topology_gate(config: EffectiveConfig) -> Iterator[Finding]:
    for path, plain in (("topologyManagerPolicy", "none"), ("topologyManagerScope", "container")):
        value = config.text(path)
        if value not in ("", plain) and not config.gate("TopologyManager"):
            message = f"{IC}{path} {value} requires feature gate TopologyManager"
            yield path, message, "Set featureGates.TopologyManager: true, or use the default."


def _topology_values(config: EffectiveConfig) -> Iterator[Finding]:
    for path, flag, allowed in (
        ("topologyManagerPolicy", "policy", ("none", "best-effort", "restricted", "single-numa-node")),
        ("topologyManagerScope", "scope", ("container", "pod")),
    ):
        value = config.text(path)
        if value and value not in allowed:
            message = f"{path} non-allowable value: {value}"
            if config.minor >= 24:
                words = quoted(allowed) if flag == "scope" else _listed(allowed)
                message = f'{path} (--topology-manager-{flag}) "{value}" must be one of: {words}'
            yield path, f"{IC}{message}", f"Use one of {', '.join(allowed)}."


def _shutdown(config: EffectiveConfig) -> Iterator[Finding]:
    path, part = "shutdownGracePeriod", "shutdownGracePeriodCriticalPods"
    total, critical = config.nanoseconds(path) or 0, config.nanoseconds(part) or 0
    if not config.gate("GracefulNodeShutdown"):
        if total > 0 or critical > 0:
            message = (
                f"{IC}Specifying ShutdownGracePeriod or ShutdownGracePeriodCriticalPods "
                "requires feature gate GracefulNodeShutdown"
            )
            yield path, message, "Set featureGates.GracefulNodeShutdown: true, or remove both periods."
        return
    newer = config.minor >= 24
    if critical > total or (not newer and min(total, critical) < 0):
        remedy = f"{part} is the last part of {path}: give it at most the same time."
        yield path, f"{IC}{_critical_part(_braced(critical), _braced(total), newer)}", remedy
    yield from _shutdown_seconds(path, total, newer)
    yield from _shutdown_seconds(part, critical, newer)


def _shutdown_seconds(name: str, value: int, newer: bool) -> Iterator[Finding]:
    """Yield the finding for a period of this many nanoseconds. C(newer): of a kubelet from 1.24 on."""
    if 0 < value < 10**9 or (newer and value < 0):
        word = name if newer else name[0].upper() + name[1:]
        message = f"{IC}{word} {_braced(value)} must be either zero or otherwise >= 1 sec"
        yield name, message, "Give 0s, or 1s and more."


def _braced(nanoseconds: int) -> str:
    """Return a duration as Go prints a structure that holds it."""
    return f"{{{amounts.format_duration(nanoseconds)}}}"


def _critical_part(critical: str, total: str, newer: bool) -> str:
    if newer:
        return f"shutdownGracePeriodCriticalPods {critical} must be <= shutdownGracePeriod {total}"
    return (
        f"ShutdownGracePeriod {total} must be >= 0, ShutdownGracePeriodCriticalPods {critical} must be >= 0, "
        f"and ShutdownGracePeriodCriticalPods {critical} must be <= ShutdownGracePeriod {total}"
    )


def _hairpin(config: EffectiveConfig) -> Iterator[Finding]:
    value = config.text("hairpinMode")
    if value not in ("", "none", "hairpin-veth", "promiscuous-bridge"):
        message = (
            f'{IC}option "{value}" specified for hairpinMode (--hairpin-mode). '
            'Valid options are "none", "hairpin-veth" or "promiscuous-bridge"'
        )
        yield "hairpinMode", message, "Use one of them."


def _reserved_cpus(config: EffectiveConfig) -> Iterator[Finding]:
    path, value = "reservedSystemCPUs", config.text("reservedSystemCPUs")
    if not value:
        return
    start, shown = (IC, f" {value}") if config.minor >= 24 else ("", "")
    if config.text("systemReservedCgroup") or config.text("kubeReservedCgroup"):
        message = (
            f"{start}can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup "
            "(--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)"
        )
        yield path, message, "Remove reservedSystemCPUs, or both reserved cgroups."
    try:
        short_texts.cpu_ranges(value)
    except ValueError as error:
        message = f"{start}unable to parse reservedSystemCPUs (--reserved-cpus){shown}, error: {error}"
        yield path, message, 'Write a Linux CPU list such as "0-1,4".'


def _hidden_metrics(config: EffectiveConfig) -> Iterator[Finding]:
    value, previous = config.text("showHiddenMetricsForVersion"), f"1.{config.minor - 1}"
    if value not in ("", previous):
        message = f"a kubelet of 1.{config.minor} takes the previous minor version here, '{previous}', and no other"
        if config.minor < 24:
            must = f"must be omitted or have the value '{previous}'. Only the previous minor version is allowed"
            message = f"--show-hidden-metrics-for-version {must}"
        yield "showHiddenMetricsForVersion", message, f'Write "{previous}" (in quotes), or remove it.'


def _log_format(config: EffectiveConfig) -> Iterator[Finding]:
    value = config.text("logging.format")
    if value not in ("", "text", "json"):
        message = f'logging.format: Invalid value: "{value}": Unsupported log format'
        if config.minor < 22:
            message = f"unsupported log format: {value}"
        yield "logging.format", message, "Use text or json."


def _listed(words: Sequence[str]) -> str:
    """Return words as Go prints a slice of them."""
    return "[" + " ".join(f'"{word}"' for word in words) + "]"


RULES = (
    Rule("range", 0, None, _ranges),
    Rule("not-negative", 0, None, _not_negative),
    Rule("node-lease", 0, None, _lease),
    Rule("image-gc-order", 0, None, _image_thresholds),
    Rule("status-images", 19, None, _status_images),
    Rule("allocatable-needs-cgroups-per-qos", 0, None, _allocatable_needs_qos),
    Rule("allocatable-values", 0, None, _allocatable_values),
    Rule("system-cgroups", 0, None, _system_cgroups),
    Rule("cfs-quota-period", 0, None, _cfs_period),
    Rule("server-certificate", 12, None, _server_certificate),
    Rule("topology-gate", 16, 26, _topology_gate),
    Rule("topology-values", 16, None, _topology_values),
    Rule("shutdown-grace-period", 20, None, _shutdown),
    Rule("hairpin-mode", 0, None, _hairpin),
    Rule("reserved-cpus", 17, None, _reserved_cpus),
    Rule("hidden-metrics", 18, None, _hidden_metrics),
    Rule("log-format", 19, None, _log_format),
    *newer_rules.RULES,
    *logs.RULES,
    *managers.RULES,
)
NAMES = frozenset(rule.name for rule in RULES)
"""The identifiers of all rules of the kubelet's validation."""
