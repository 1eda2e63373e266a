# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ends a kubelet at its start, or hides it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks, fatal, start_rules
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import (
    REFUSAL,
    WARNING,
    EffectiveConfig,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import amounts
from tests.support.kubelets.kubelet_starts import RSA_ONLY, enforced
from tests.support.kubelets.rule_minors import MINORS, NEWEST, off, severities, since

SECCOMP = {"seccompDefault": True}
NO_PROOF = "false: the kubelet serves nothing then, so that a rollout has no proof"
NO_CERTIFICATE = "empty: the kubelet knows no certificate of the API server"
ONE_CPU, STATIC = {"kubeReserved": {"cpu": "1"}}, {"cpuManagerPolicy": "static"}
STRATEGY, MEMORY = "configMapAndSecretChangeDetectionStrategy", "memory.available"
NO_GATE = "the DynamicKubeletConfig feature gate must be enabled"
LATE = "TLS_AES_128_GCM_SHA256"


def gates(**given: bool) -> dict[str, Any]:
    return {"featureGates": given}


def curves(*numbers: Any) -> dict[str, Any]:
    return {"tlsCurvePreferences": list(numbers)}


@pytest.mark.parametrize(
    ("config", "rule", "path", "message"),
    [
        (gates(DynamicKubeletConfig=False), "dynamic-gate-off", "featureGates.DynamicKubeletConfig", NO_GATE),
        ({"runOnce": True}, "run-once", "runOnce", "and repeat this"),
        ({"kubeReserved": {"gpu": "1"}}, "reserved-resource", "kubeReserved.gpu", 'cannot reserve "gpu" resource'),
        ({"systemReserved": {"memory": "1GB"}}, "reserved-resource", "systemReserved.memory", "quantities must match"),
        ({"systemReserved": {"cpu": "-1"}}, "reserved-resource", "systemReserved.cpu", "cannot be negative: -1"),
        ({"qosReserved": {"cpu": "5%"}}, "qos-reserved", "qosReserved.cpu", 'cannot reserve "cpu" resource'),
        ({"qosReserved": {"memory": "50"}}, "qos-reserved", "qosReserved.memory", "percentage expected, got '50'"),
        ({"qosReserved": {"memory": f"{'9' * 5000}%"}}, "qos-reserved", "qosReserved.memory", "percentage expected"),
        ({"qosReserved": {"memory": "101%"}}, "qos-reserved", "qosReserved.memory", "percentage expected, got '101%'"),
        ({**ONE_CPU, "cpuManagerPolicy": "Static"}, "choice", "cpuManagerPolicy", 'unknown policy: "Static"'),
        (STATIC, "static-cpu-policy", "cpuManagerPolicy", "to be greater than zero"),
        ({**STATIC, "kubeReserved": {"cpu": "0"}}, "static-cpu-policy", "cpuManagerPolicy", "to be greater than zero"),
        ({"authorization": {"mode": "RBAC"}}, "choice", "authorization.mode", "unknown authorization mode RBAC"),
        ({STRATEGY: "watch"}, "choice", STRATEGY, "unknown configmap and secret manager mode: watch"),
        ({"cgroupDriver": "Systemd"}, "choice", "cgroupDriver", "invalid cgroup manager"),
        ({"tlsMinVersion": "1.2"}, "tls-version", "tlsMinVersion", 'unknown tls version "1.2"'),
        (
            {"tlsCipherSuites": [LATE, "ECDHE-RSA-AES128-GCM-SHA256"]},
            "tls-cipher",
            "tlsCipherSuites[1]",
            "not supported or doesn't exist",
        ),
        ({"containerLogMaxFiles": 1}, "log-files", "containerLogMaxFiles", "invalid MaxFiles 1, must be > 1"),
        ({"containerLogMaxSize": "10mb"}, "log-size", "containerLogMaxSize", f'max size "10mb": {amounts.NO_QUANTITY}'),
        ({"containerLogMaxSize": "1500m"}, "log-size", "containerLogMaxSize", "invalid max log size"),
        ({"allowedUnsafeSysctls": ["kernel.foo"]}, "sysctl", "allowedUnsafeSysctls[0]", "not known to be namespaced"),
        ({"allowedUnsafeSysctls": ["net.*", "net.*.x"]}, "sysctl", "allowedUnsafeSysctls[1]", "match regex"),
        ({"allowedUnsafeSysctls": ["net/core/*"]}, "sysctl", "allowedUnsafeSysctls[0]", "match regex"),
        ({"allowedUnsafeSysctls": [f"net.{'a' * 250}"]}, "sysctl", "allowedUnsafeSysctls[0]", "at most 253 characters"),
        ({"allowedUnsafeSysctls": ["net*"]}, "sysctl", "allowedUnsafeSysctls[0]", "not known to be namespaced"),
        ({"address": "localhost"}, "address", "address", "is not an IP address"),
        ({"address": "fe80::1%eth0"}, "address", "address", "it cannot listen there"),
        ({"evictionHard": {MEMORY: "<5%"}}, "eviction", f'evictionHard["{MEMORY}"]', "is not a percentage"),
    ],
)
def test_fatal_values_are_refused(config: dict[str, Any], rule: str, path: str, message: str) -> None:
    [problem] = fatal.check(EffectiveConfig(config, 20))
    assert (problem.severity, problem.rule, problem.path) == (REFUSAL, rule, path)
    assert message in problem.message
    assert problem.remedy


NO_SECCOMP, NO_SECCOMP_BUT_ALL = gates(SeccompDefault=False), gates(SeccompDefault=False, AllAlpha=True)
SYSCTLS = "allowedUnsafeSysctls"
SPLIT = {"logging": {"options": {"text": {"splitStream": True}}}}


@pytest.mark.parametrize(
    ("config", "rule", "path", "message"),
    [
        ({"clusterDNS": ["10.0.0.1", "dns.local"]}, "address", "clusterDNS[1]", "is not an IP address"),
        ({"clusterDNS": ["fe80::1%eth0"]}, "address", "clusterDNS[0]", "silently ignore it"),
        (SPLIT, "split-stream", "logging.options.text.splitStream", "the default of its flag --log-text-split-stream"),
    ],
)
def test_values_that_a_kubelet_does_not_use_are_refused(
    config: dict[str, Any], rule: str, path: str, message: str
) -> None:
    """It starts with them, so an upgrade check does not count them."""
    [problem] = [one for one in checks.problems(config, 36) if one.rule != start_rules.HIDES]
    assert (problem.severity, problem.rule, problem.path) == (REFUSAL, rule, path)
    assert message in problem.message and problem.remedy
    assert not list(fatal.check(EffectiveConfig(config, 36)))


@pytest.mark.parametrize(
    ("config", "minors", "rule", "path", "message"),
    [
        (SECCOMP, (22, 23, 24), "seccomp-gate", "seccompDefault", "the SeccompDefault feature gate must be enabled"),
        ({**SECCOMP, **NO_SECCOMP}, range(22, 27), "seccomp-gate", "seccompDefault", "must be enabled"),
        # AllAlpha may switch on a gate that is not named.
        ({**SECCOMP, **gates(AllAlpha=True)}, (), "seccomp-gate", "", ""),
        ({**SECCOMP, **NO_SECCOMP_BUT_ALL}, range(22, 27), "seccomp-gate", "seccompDefault", "must be enabled"),
        (gates(DynamicKubeletConfig=False), range(20, 24), "dynamic-gate-off", "featureGates.DynamicKubeletConfig", ""),
        ({"containerLogMaxSize": "0.5Gi"}, range(20, 37), "log-size", "containerLogMaxSize", "invalid max log size"),
        ({"containerLogMaxSize": "-1"}, {20}, "log-size", "containerLogMaxSize", "invalid max log size"),
        ({SYSCTLS: ["kernel.msgmn*"]}, range(29, 37), "sysctl", f"{SYSCTLS}[0]", "not known to be namespaced"),
        (curves(29, 23, 29), {36}, "tls-curve", "tlsCurvePreferences[2]", "duplicate curve preference 29"),
        (curves(0), {36}, "tls-curve", "tlsCurvePreferences[0]", "curve preference 0 is out of range"),
        (curves(99), {36}, "tls-curve", "tlsCurvePreferences[0]", "curve preference 99 is not supported"),
        (curves(65536), {36}, "tls-curve", "tlsCurvePreferences[0]", "curve preference 65536 is out of range"),
    ],
)
def test_fatal_values_of_some_versions(
    config: dict[str, Any], minors: Iterable[int], rule: str, path: str, message: str
) -> None:
    for minor in range(20, 37):
        found = [one for one in checks.problems(config, minor) if one.rule == rule]
        assert len(found) == (minor in minors), (minor, found)
        assert all(one.path == path and message in one.message for one in found), found


@pytest.mark.parametrize(
    ("config", "minor"),
    [
        ({"seccompDefault": True}, 25),
        (curves(29, 4588, "x"), 36),
        (curves(4587, 4589), 36),
        ({"featureGates": {"DynamicKubeletConfig": True}}, 20),
        ({"runOnce": False}, 20),
        ({"kubeReserved": {"cpu": "100m", "memory": "1Gi", "ephemeral-storage": "1Gi", "pid": "100"}}, 20),
        ({"qosReserved": {"memory": "100%"}}, 20),
        ({"qosReserved": {"memory": "+5%"}}, 20),
        ({**STATIC, "systemReserved": {"cpu": "500m"}}, 20),
        ({**STATIC, "kubeReserved": {"cpu": "500m"}}, 20),
        ({**STATIC, "reservedSystemCPUs": "0"}, 20),
        ({"tlsMinVersion": "VersionTLS13", "tlsCipherSuites": [LATE]}, 20),
        ({"containerLogMaxSize": "1.5k", "containerLogMaxFiles": 2}, 20),
        ({"allowedUnsafeSysctls": ["kernel.msg*", "kernel.shm_rmid_forced", "kernel.sem*", "fs/mqueue/*"]}, 29),
        ({"allowedUnsafeSysctls": ["kernel.msg*", "kernel.sem", "net.core.somaxconn", "fs.mqueue.*"]}, 20),
        ({"allowedUnsafeSysctls": ["kernel.sem*", f"net.{'a' * 249}"]}, 20),
        ({"allowedUnsafeSysctls": ["net/core/*"]}, 23),
        ({"clusterDNS": ["fd00::1"]}, 20),
        ({"logging": {"options": {"json": {"splitStream": False}}}}, 36),
        ({"containerLogMaxFiles": "1", "tlsMinVersion": 5, "runOnce": "yes"}, 20),
    ],
)
def test_what_a_kubelet_survives(config: dict[str, Any], minor: int) -> None:
    effective = EffectiveConfig(config, minor)
    assert [*fatal.check(effective), *fatal.ignored(effective)] == []


@pytest.mark.parametrize(
    ("config", "remedy"),
    [
        ({"cgroupDriver": "Systemd"}, "Write systemd."),
        ({"authorization": {"mode": "RBAC"}}, "Use one of Webhook, AlwaysAllow."),
    ],
)
def test_the_remedy_of_a_choice_is_the_nearest_word_or_all(config: dict[str, Any], remedy: str) -> None:
    [problem] = fatal.check(EffectiveConfig(config, 20))
    assert problem.remedy == remedy


def test_every_reservation_is_checked() -> None:
    wrong = {"gpu": "1", "memory": "1GB", "cpu": "-1"}
    found = fatal.check(EffectiveConfig({"kubeReserved": wrong}, 20))
    assert [problem.path for problem in found] == [f"kubeReserved.{name}" for name in wrong]


HALF = {"tlsCertFile": "/a.crt"}


@pytest.mark.parametrize(
    ("config", "rule", "minors"),
    [
        ({"tlsCipherSuites": RSA_ONLY}, "tls-http2", since(20)),
        ({"syncFrequency": "-1ns"}, "frequency", since(20)),
        ({"iptablesMasqueradeBit": 15}, "iptables-bits", range(20, 28)),
        ({"iptablesMasqueradeBit": 15, "makeIPTablesUtilChains": False}, "iptables-bits", ()),
        ({"maxPods": 65536}, "user-namespaces", since(30)),
        ({"maxPods": 65536, **off("UserNamespacesSupport")}, "user-namespaces", range(30, 35)),
        ({"maxPods": 65535}, "user-namespaces", ()),
        ({"maxPods": 32767, "userNamespaces": {"idsPerPod": 131072}}, "user-namespaces", ()),
        ({"maxPods": 32768, "userNamespaces": {"idsPerPod": 131072}}, "user-namespaces", since(33)),
        ({"containerRuntimeEndpoint": "tcp://x"}, "runtime-endpoint", since(27)),
        ({"containerRuntimeEndpoint": "UNIX:///run/x"}, "runtime-endpoint", ()),
        ({"containerRuntimeEndpoint": "/run/x"}, "runtime-endpoint", ()),
        ({"healthzPort": 10250, "address": "192.0.2.1"}, "same-port", ()),
        ({"healthzPort": 0, "readOnlyPort": 0}, "same-port", ()),
        (enforced("kube-reserved", kubeReservedCgroup="/k", kubeReserved={"pid": "5"}), "enforced-reservation", ()),
        (enforced("kube-reserved", systemReserved={"cpu": "1"}), "enforced-reservation", ()),
        ({"reservedSystemCPUs": "1-0"}, "reserved-cpus-order", since(20)),
        ({"reservedSystemCPUs": "0-"}, "reserved-cpus-order", ()),
        # It lists every CPU, and takes all memory of its machine: this is not for the table of those that are started.
        ({"reservedSystemCPUs": "0-9999999999"}, "reserved-cpus-number", since(20)),
        ({"reservedSystemCPUs": "65535"}, "reserved-cpus-number", ()),
    ],
)
def test_the_minors_that_refuse(config: dict[str, Any], rule: str, minors: Any) -> None:
    """Of the minors whose start was not read, it is a warning."""
    found = severities(config, rule)
    assert found[REFUSAL] == set(minors)
    assert bool(found[WARNING]) == (NEWEST in minors)


@pytest.mark.parametrize(
    ("config", "rule", "minors"),
    [
        ({"tlsCipherSuites": [*RSA_ONLY, *start_rules.HTTP2_SUITES]}, "tls-http2-order", range(24)),
        ({"tlsCipherSuites": [*start_rules.HTTP2_SUITES, *RSA_ONLY]}, "tls-http2-order", ()),
        ({"tlsCipherSuites": [LATE, start_rules.HTTP2_SUITES[0]]}, "tls-http2-order", ()),
        ({"tlsCipherSuites": [LATE], "tlsMinVersion": "VersionTLS13"}, "tls-http2-order", range(24)),
        ({"tlsCipherSuites": []}, "tls-http2-order", ()),
        ({"userNamespaces": {"idsPerPod": 131072}}, "ids-of-user", (33, 34)),
        ({"userNamespaces": {"idsPerPod": 65536}}, "ids-of-user", ()),
    ],
)
def test_the_minors_that_warn(config: dict[str, Any], rule: str, minors: Any) -> None:
    """What decides is not in the configuration: the Go of the build, and a user of the node."""
    assert severities(config, rule) == {WARNING: {*minors} & {*MINORS}, REFUSAL: set()}


@pytest.mark.parametrize(
    ("config", "path", "words"),
    [
        ({"enableServer": False}, "enableServer", NO_PROOF),
        ({"enableDebuggingHandlers": False}, "enableDebuggingHandlers", "serves no /configz"),
        ({"address": "127.0.0.1"}, "address", "127.0.0.1: the API server does not reach the kubelet"),
        ({"authentication": {"x509": {}}}, "authentication.x509.clientCAFile", NO_CERTIFICATE),
        ({"address": "::1"}, "address", "::1: the API server does not reach the kubelet"),
        (HALF, "tlsCertFile", "/a.crt without tlsPrivateKeyFile"),
        ({"tlsPrivateKeyFile": "/a.key"}, "tlsPrivateKeyFile", "/a.key without tlsCertFile"),
    ],
)
@pytest.mark.parametrize("minor", [20, 36])
def test_what_hides_a_kubelet(config: dict[str, Any], path: str, words: str, minor: int) -> None:
    [problem] = start_rules.hidden(EffectiveConfig(config, minor))
    assert (problem.severity, problem.path) == (REFUSAL, path)
    assert words in problem.message and problem.remedy


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"enableServer": True, "enableDebuggingHandlers": True, "address": "192.0.2.1"},
        {**HALF, "tlsPrivateKeyFile": "/a.key"},
        {"authentication": {"x509": {"clientCAFile": "/a.crt"}}},
        {"authentication": {"anonymous": {"enabled": True}, "x509": {}}},
        # Kubelets differ.
        {**HALF, "serverTLSBootstrap": True},
    ],
)
def test_what_hides_nothing(config: dict[str, Any]) -> None:
    assert list(start_rules.hidden(EffectiveConfig(config, 36))) == []
