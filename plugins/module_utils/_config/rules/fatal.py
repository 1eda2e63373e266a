# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that pass a kubelet's validation and then crash it, or are silently ignored. They are refused before a write.

The native trial does not help against them: a kubelet that exits before its sync loop starts never reads the Node
again, and a crash-looping configuration even becomes last-known-good. Source: the code that reads each field in
Kubernetes 1.20, named at the rule. A rule applies to every minor unless its code restricts it. Rules of single minors
about CPU, memory and topology are in managers.py.
"""

from __future__ import annotations

import re
from typing import Callable, Iterator, Mapping

from ..values import amounts, paths, short_texts
from . import eviction
from .problem import LAST_READ, REFUSAL, EffectiveConfig, Finding, Problem

_Rules = Mapping[str, Callable[[EffectiveConfig], Iterator[Finding]]]
VERSIONS = ("VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13")

_CIPHERS = frozenset(
    (
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
        "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
        "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
        "TLS_RSA_WITH_AES_128_CBC_SHA",
        "TLS_RSA_WITH_AES_128_CBC_SHA256",
        "TLS_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_RSA_WITH_AES_256_CBC_SHA",
        "TLS_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_RSA_WITH_RC4_128_SHA",
    )
)

_CURVES = (23, 24, 25, 29, 4587, 4588, 4589)
"""The numbers of crypto/tls.CurveID."""


def check(config: EffectiveConfig) -> Iterator[Problem]:
    """Yield a refusal for every value that would crash a kubelet of this minor."""
    yield from eviction.check(config)
    yield from _problems(_RULES, config)


def ignored(config: EffectiveConfig) -> Iterator[Problem]:
    """Yield a refusal for every value with which a kubelet starts, and which it does not use."""
    yield from _problems(_IGNORED, config)


def _problems(rules: _Rules, config: EffectiveConfig) -> Iterator[Problem]:
    for name, find in rules.items():
        for path, message, remedy in find(config):
            yield Problem(REFUSAL, path, message, remedy, name)


def _gate(config: EffectiveConfig) -> Iterator[Finding]:
    # cmd/kubelet/app/options/options.go: fatal with --dynamic-config-dir, on every start. 1.24 removed the flag.
    gates = config.value("featureGates")
    if config.minor < 24 and isinstance(gates, dict) and gates.get("DynamicKubeletConfig") is False:
        yield (
            "featureGates.DynamicKubeletConfig",
            "the DynamicKubeletConfig feature gate must be enabled in order to use the --dynamic-config-dir flag: "
            "the kubelet would crash at every start and would no longer be reachable through the API",
            "Remove it. To leave dynamic configuration, remove the node's config source, then the flag.",
        )


def _run_once(config: EffectiveConfig) -> Iterator[Finding]:
    # cmd/kubelet/app/server.go: the process starts no sync loop, exits after one pass and is restarted.
    if config.truth("runOnce"):
        message = (
            "the kubelet would run its pods once, exit without reading its configuration source again, and repeat this"
        )
        yield "runOnce", message, "Remove runOnce."


def _reserved(config: EffectiveConfig) -> Iterator[Finding]:
    # cmd/kubelet/app/server.go parseResourceList
    for field in ("kubeReserved", "systemReserved"):
        for name, amount in config.pairs(field).items():
            path = paths.show((field, name))
            if name not in ("cpu", "memory", "ephemeral-storage", "pid"):
                message = f'cannot reserve "{name}" resource'
                yield path, message, "Reserve cpu, memory, ephemeral-storage or pid."
                continue
            try:
                value = amounts.parse_quantity(amount)
            except ValueError as error:
                message = f'failed to parse quantity "{amount}" for "{name}" resource: {error}'
                yield path, message, 'Write a quantity such as "500m" or "1Gi".'
                continue
            if value < 0:
                message = f'resource quantity for "{name}" cannot be negative: {amount}'
                yield path, message, "Give 0 or more."


def _qos_reserved(config: EffectiveConfig) -> Iterator[Finding]:
    # pkg/kubelet/cm/qos_container_manager / helpers.go ParseQOSReserved
    for name, amount in config.pairs("qosReserved").items():
        path = paths.show(("qosReserved", name))
        if name != "memory":
            yield path, f'cannot reserve "{name}" resource', "Only memory can be reserved by QoS class."
        elif not re.fullmatch(r"\+?[0-9]{1,18}%", amount) or int(amount[:-1]) > 100:
            yield path, f"percentage expected, got '{amount}'", 'Write a whole percentage from "0%" to "100%".'


# field, allowed values, the kubelet's message. Sources: cm/cpumanager/cpu_manager.go, cmd/kubelet/app/auth.go,
# kubelet.go, cm/cgroup_manager_linux.go.
_CHOICES = (
    ("cpuManagerPolicy", ("none", "static"), 'unknown policy: "{}"'),
    ("authorization.mode", ("Webhook", "AlwaysAllow"), "unknown authorization mode {}"),
    (
        "configMapAndSecretChangeDetectionStrategy",
        ("Get", "Cache", "Watch"),
        "unknown configmap and secret manager mode: {}",
    ),
    ("cgroupDriver", ("cgroupfs", "systemd"), "invalid cgroup manager configuration: {}"),
)


def _choices(config: EffectiveConfig) -> Iterator[Finding]:
    for path, allowed, message in _CHOICES:
        value = config.text(path)
        if value and value not in allowed:
            near = next((word for word in allowed if word.lower() == value.lower()), None)
            yield path, message.format(value), f"Write {near}." if near else f"Use one of {', '.join(allowed)}."


def _static_cpu_policy(config: EffectiveConfig) -> Iterator[Finding]:
    # pkg/kubelet/cm/cpumanager/cpu_manager.go NewManager
    if config.text("cpuManagerPolicy") != "static" or config.text("reservedSystemCPUs"):
        return
    for field in ("kubeReserved", "systemReserved"):
        try:
            if amounts.parse_quantity(config.pairs(field).get("cpu", "0")) > 0:
                return
        except ValueError:
            return  # _reserved reports it
    message = "the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
    yield "cpuManagerPolicy", message, "Set kubeReserved.cpu, systemReserved.cpu or reservedSystemCPUs."


def _tls_version(config: EffectiveConfig) -> Iterator[Finding]:
    # staging/src/k8s.io/component-base/cli/flag/ciphersuites_flag.go
    version = config.text("tlsMinVersion")
    if version and version not in VERSIONS:
        yield "tlsMinVersion", f'unknown tls version "{version}"', f"Use one of {', '.join(VERSIONS)}."


def _tls_ciphers(config: EffectiveConfig) -> Iterator[Finding]:
    # As above.
    for position, name in enumerate(config.texts("tlsCipherSuites")):
        if name not in _CIPHERS:
            message = f"Cipher suite {name} not supported or doesn't exist"
            remedy = "Use Go's names, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256."
            yield paths.show(("tlsCipherSuites", position)), message, remedy


def _curves(config: EffectiveConfig) -> Iterator[Finding]:
    # staging/src/k8s.io/component-base/cli/flag/curves_flag.go of 1.36
    value = config.value("tlsCurvePreferences")
    if config.minor < 36 or not isinstance(value, list):
        return
    numbers = [one for one in value if isinstance(one, int)]
    for position, number in enumerate(numbers):
        message = ""
        if not 1 <= number <= 65535:
            message = f"curve preference {number} is out of range (must be 1-65535)"
        elif number in numbers[:position]:
            message = f"duplicate curve preference {number}"
        elif config.minor == LAST_READ and number not in _CURVES:
            message = f"curve preference {number} is not supported by the Go of 1.{LAST_READ}"
        if message:
            at = paths.show(("tlsCurvePreferences", position))
            yield at, message, "Write each of Go's tls.CurveID numbers once, such as 29 for X25519."


def _seccomp(config: EffectiveConfig) -> Iterator[Finding]:
    # cmd/kubelet/app/server.go of 1.22 to 1.26
    gate = "SeccompDefault"
    if 22 <= config.minor <= 26 and config.truth("seccompDefault") and not config.gate(gate):
        message = f"the {gate} feature gate must be enabled in order to use the {gate} configuration"
        yield "seccompDefault", message, f"Set featureGates.{gate}: true, or seccompDefault: false."


def _log_files(config: EffectiveConfig) -> Iterator[Finding]:
    # pkg/kubelet/logs/container_log_manager.go NewContainerLogManager; with a CRI runtime
    value = config.number("containerLogMaxFiles")
    if value is not None and value <= 1:
        yield "containerLogMaxFiles", f"invalid MaxFiles {value}, must be > 1", "Give 2 or more."


def _log_size(config: EffectiveConfig) -> Iterator[Finding]:
    # pkg/kubelet/logs/container_log_manager.go parseMaxSize; a size below 0 stops the rotation from 1.21 on
    value = config.text("containerLogMaxSize")
    if not value:
        return
    try:
        size = amounts.int64_of_quantity(value)
        refused = size is None or (size < 0 and config.minor <= 20)
        problem = "invalid max log size" if refused else ""
    except ValueError as error:
        problem = str(error)
    if problem:
        message = f'failed to parse container log max size "{value}": {problem}'
        yield "containerLogMaxSize", message, 'Write whole bytes without a decimal point, such as "10Mi".'


_SYSCTL = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?\.)*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]", re.ASCII)
_NAMESPACED = ("kernel.shm", "kernel.msg", "fs.mqueue.", "net.")
_NAMESPACED_WORDS = {
    "kernel.sem",
    *("kernel.shm", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced"),
    *("kernel.msg", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni"),
}


def _sysctls(config: EffectiveConfig) -> Iterator[Finding]:
    # pkg/kubelet/sysctl/whitelist.go NewWhitelist, namespace.go
    for position, given in enumerate(config.texts("allowedUnsafeSysctls")):
        path = paths.show(("allowedUnsafeSysctls", position))
        # From 1.23 on, a slash may separate the words as well.
        pattern = given.replace("/", ".") if config.minor >= 23 else given
        if len(pattern) > 253 or not _SYSCTL.fullmatch(pattern):
            message = f'sysctl "{given}" must have at most 253 characters and match regex {_SYSCTL.pattern}'
            remedy = 'Write a sysctl name or a pattern that ends in "*", such as "net.core.*".'
            yield path, message, remedy
        elif not _is_namespaced(pattern, config.minor):
            remedy = "Only kernel.shm*, kernel.msg*, kernel.sem, fs.mqueue.* and net.* can be allowed."
            yield path, f'the sysctls "{given}" are not known to be namespaced', remedy


def _is_namespaced(pattern: str, minor: int) -> bool:
    # From 1.29 on component-helpers/node/util/sysctl/namespace.go, which knows no others that begin with kernel.
    if minor >= 29 and pattern.startswith("kernel."):
        return pattern.partition("*")[0] in _NAMESPACED_WORDS
    return pattern in ("kernel.sem", "kernel.sem*") or pattern.startswith(_NAMESPACED)


def _address(config: EffectiveConfig) -> Iterator[Finding]:
    # A server there cannot listen (pkg/kubelet/server/server.go). healthzBindAddress may be a name.
    if config.text("address"):
        yield from _no_address(("address",), config.text("address"), "end, since it cannot listen there")


def _name_servers(config: EffectiveConfig) -> Iterator[Finding]:
    # pkg/kubelet/kubelet.go drops an entry that it cannot parse, with a line in its log only.
    for position, value in enumerate(config.texts("clusterDNS")):
        yield from _no_address(("clusterDNS", position), value, "silently ignore it")


def _no_address(path: paths.Path, value: str, then: str) -> Iterator[Finding]:
    try:
        short_texts.address(value)
    except ValueError:
        message = f'"{value}" is not an IP address; the kubelet would {then}'
        yield paths.show(path), message, "Write an IPv4 or IPv6 address, without a zone."


def _split_stream(config: EffectiveConfig) -> Iterator[Finding]:
    # component-base/logs/api/v1/options.go addFlags: defining the flag writes its default into what the file set.
    for form in ("text", "json"):
        path, flag = f"logging.options.{form}.splitStream", f"--log-{form}-split-stream"
        if config.truth(path):
            message = f"the kubelet replaces it by the default of its flag {flag}, so that it has no effect"
            yield path, message, f"Omit it, or set {flag} on the kubelet's command line in its place."


_RULES: _Rules = {
    "dynamic-gate-off": _gate,
    "run-once": _run_once,
    "reserved-resource": _reserved,
    "qos-reserved": _qos_reserved,
    "choice": _choices,
    "static-cpu-policy": _static_cpu_policy,
    "tls-version": _tls_version,
    "tls-cipher": _tls_ciphers,
    "tls-curve": _curves,
    "seccomp-gate": _seccomp,
    "log-files": _log_files,
    "log-size": _log_size,
    "sysctl": _sysctls,
    "address": _address,
}
"""All rules but those about eviction, by their names."""
_IGNORED: _Rules = {"address": _name_servers, "split-stream": _split_stream}
"""The rules about what no kubelet reports as an error."""
