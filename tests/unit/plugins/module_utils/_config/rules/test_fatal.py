# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks, fatal
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import REFUSAL, EffectiveConfig
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import amounts

SECCOMP = {"seccompDefault": True}


def gates(**given: bool) -> dict[str, Any]:
    return {"featureGates": given}


def curves(*numbers: Any) -> dict[str, Any]:
    return {"tlsCurvePreferences": list(numbers)}


@pytest.mark.parametrize("minor", [12, 20, 25, 36])
def test_defaults_are_not_fatal(minor: int) -> None:
    assert list(fatal.check(EffectiveConfig(compare.with_defaults({}, minor), minor))) == []
    assert list(fatal.check(EffectiveConfig({}, minor))) == []


@pytest.mark.parametrize(
    ("config", "rule", "path", "message"),
    [
        (
            {"featureGates": {"DynamicKubeletConfig": False}},
            "dynamic-gate-off",
            "featureGates.DynamicKubeletConfig",
            "the DynamicKubeletConfig feature gate must be enabled",
        ),
        ({"runOnce": True}, "run-once", "runOnce", "and repeat this"),
        ({"kubeReserved": {"gpu": "1"}}, "reserved-resource", "kubeReserved.gpu", 'cannot reserve "gpu" resource'),
        ({"systemReserved": {"memory": "1GB"}}, "reserved-resource", "systemReserved.memory", "quantities must match"),
        ({"systemReserved": {"cpu": "-1"}}, "reserved-resource", "systemReserved.cpu", "cannot be negative: -1"),
        ({"qosReserved": {"cpu": "5%"}}, "qos-reserved", "qosReserved.cpu", 'cannot reserve "cpu" resource'),
        ({"qosReserved": {"memory": "50"}}, "qos-reserved", "qosReserved.memory", "percentage expected, got '50'"),
        ({"qosReserved": {"memory": "101%"}}, "qos-reserved", "qosReserved.memory", "percentage expected, got '101%'"),
        (
            {"cpuManagerPolicy": "Static", "kubeReserved": {"cpu": "1"}},
            "choice",
            "cpuManagerPolicy",
            'unknown policy: "Static"',
        ),
        ({"cpuManagerPolicy": "static"}, "static-cpu-policy", "cpuManagerPolicy", "to be greater than zero"),
        (
            {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "0"}},
            "static-cpu-policy",
            "cpuManagerPolicy",
            "to be greater than zero",
        ),
        ({"authorization": {"mode": "RBAC"}}, "choice", "authorization.mode", "unknown authorization mode RBAC"),
        (
            {"configMapAndSecretChangeDetectionStrategy": "watch"},
            "choice",
            "configMapAndSecretChangeDetectionStrategy",
            "unknown configmap and secret manager mode: watch",
        ),
        ({"cgroupDriver": "Systemd"}, "choice", "cgroupDriver", "invalid cgroup manager"),
        ({"tlsMinVersion": "1.2"}, "tls-version", "tlsMinVersion", 'unknown tls version "1.2"'),
        (
            {"tlsCipherSuites": ["TLS_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"]},
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
        ({"clusterDNS": ["10.0.0.1", "dns.local"]}, "address", "clusterDNS[1]", "is not an IP address"),
        ({"address": "localhost"}, "address", "address", "is not an IP address"),
        ({"address": "fe80::1%eth0"}, "address", "address", "it cannot listen there"),
        ({"clusterDNS": ["fe80::1%eth0"]}, "address", "clusterDNS[0]", "silently ignore it"),
        (
            {"evictionHard": {"memory.available": "<5%"}},
            "eviction",
            'evictionHard["memory.available"]',
            "is not a percentage",
        ),
    ],
)
def test_fatal_values_are_refused(config: dict[str, Any], rule: str, path: str, message: str) -> None:
    [problem] = fatal.check(EffectiveConfig(config, 20))
    assert (problem.severity, problem.rule, problem.path) == (REFUSAL, rule, path)
    assert message in problem.message
    assert problem.remedy


@pytest.mark.parametrize(
    ("config", "minors", "rule", "path", "message"),
    [
        (SECCOMP, (22, 23, 24), "seccomp-gate", "seccompDefault", "the SeccompDefault feature gate must be enabled"),
        (
            {**SECCOMP, **gates(SeccompDefault=False)},
            range(22, 27),
            "seccomp-gate",
            "seccompDefault",
            "must be enabled",
        ),
        # AllAlpha may switch on a gate that is not named.
        ({**SECCOMP, **gates(AllAlpha=True)}, (), "seccomp-gate", "", ""),
        (
            {**SECCOMP, **gates(AllAlpha=True, SeccompDefault=False)},
            range(22, 27),
            "seccomp-gate",
            "seccompDefault",
            "must be enabled",
        ),
        (gates(DynamicKubeletConfig=False), range(20, 24), "dynamic-gate-off", "featureGates.DynamicKubeletConfig", ""),
        ({"containerLogMaxSize": "0.5Gi"}, range(20, 37), "log-size", "containerLogMaxSize", "invalid max log size"),
        ({"containerLogMaxSize": "-1"}, {20}, "log-size", "containerLogMaxSize", "invalid max log size"),
        (
            {"allowedUnsafeSysctls": ["kernel.msgmn*"]},
            range(29, 37),
            "sysctl",
            "allowedUnsafeSysctls[0]",
            "not known to be namespaced",
        ),
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
        ({"cpuManagerPolicy": "static", "systemReserved": {"cpu": "500m"}}, 20),
        ({"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "500m"}}, 20),
        ({"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}, 20),
        ({"tlsMinVersion": "VersionTLS13", "tlsCipherSuites": ["TLS_AES_128_GCM_SHA256"]}, 20),
        ({"containerLogMaxSize": "1.5k", "containerLogMaxFiles": 2}, 20),
        ({"allowedUnsafeSysctls": ["kernel.msg*", "kernel.shm_rmid_forced", "kernel.sem*", "fs/mqueue/*"]}, 29),
        ({"allowedUnsafeSysctls": ["kernel.msg*", "kernel.sem", "net.core.somaxconn", "fs.mqueue.*"]}, 20),
        ({"allowedUnsafeSysctls": ["kernel.sem*", f"net.{'a' * 249}"]}, 20),
        ({"allowedUnsafeSysctls": ["net/core/*"]}, 23),
        ({"clusterDNS": ["fd00::1"]}, 20),
        ({"containerLogMaxFiles": "1", "tlsMinVersion": 5, "runOnce": "yes"}, 20),
    ],
)
def test_what_a_kubelet_survives(config: dict[str, Any], minor: int) -> None:
    assert list(fatal.check(EffectiveConfig(config, minor))) == []


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
    config = {"kubeReserved": {"gpu": "1", "memory": "1GB", "cpu": "-1"}}
    assert [problem.path for problem in fatal.check(EffectiveConfig(config, 20))] == [
        "kubeReserved.gpu",
        "kubeReserved.memory",
        "kubeReserved.cpu",
    ]
