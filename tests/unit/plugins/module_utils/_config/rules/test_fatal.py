# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.effective_config import EffectiveConfig
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks, fatal
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import REFUSAL


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
        ({"containerLogMaxSize": "10mb"}, "log-size", "containerLogMaxSize", "failed to parse container log max size"),
        ({"containerLogMaxSize": "1500m"}, "log-size", "containerLogMaxSize", "invalid max log size"),
        ({"allowedUnsafeSysctls": ["kernel.foo"]}, "sysctl", "allowedUnsafeSysctls[0]", "not known to be namespaced"),
        ({"allowedUnsafeSysctls": ["net.*", "net.*.x"]}, "sysctl", "allowedUnsafeSysctls[1]", "match regex"),
        ({"clusterDNS": ["10.0.0.1", "dns.local"]}, "address", "clusterDNS[1]", "is not an IP address"),
        ({"healthzBindAddress": "localhost"}, "address", "healthzBindAddress", "is not an IP address"),
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
    ("config", "minors", "message"),
    [
        ({"seccompDefault": True}, (22, 23, 24), "the SeccompDefault feature gate must be enabled"),
        ({"seccompDefault": True, "featureGates": {"SeccompDefault": False}}, range(22, 27), "must be enabled"),
        ({"tlsCurvePreferences": [29, 23, 29]}, range(36, 37), "duplicate curve preference 29"),
        ({"tlsCurvePreferences": [0]}, range(36, 37), "curve preference 0 is out of range"),
    ],
)
def test_fatal_values_of_some_versions(config: dict[str, Any], minors: Iterable[int], message: str) -> None:
    for minor in range(20, 37):
        found = [one.message for one in checks.problems(config, minor) if message in one.message]
        assert len(found) == (minor in minors), (minor, found)


@pytest.mark.parametrize(
    ("config", "minor"),
    [
        ({"featureGates": {"DynamicKubeletConfig": False}}, 26),
        ({"seccompDefault": True}, 25),
        ({"tlsCurvePreferences": [29, 4588, "x"]}, 36),
        ({"featureGates": {"DynamicKubeletConfig": True}}, 20),
        ({"runOnce": False}, 20),
        ({"kubeReserved": {"cpu": "100m", "memory": "1Gi", "ephemeral-storage": "1Gi", "pid": "100"}}, 20),
        ({"qosReserved": {"memory": "100%"}}, 20),
        ({"cpuManagerPolicy": "static", "systemReserved": {"cpu": "500m"}}, 20),
        ({"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}, 20),
        ({"tlsMinVersion": "VersionTLS13", "tlsCipherSuites": ["TLS_AES_128_GCM_SHA256"]}, 20),
        ({"containerLogMaxSize": "1.5Ki"}, 20),
        ({"allowedUnsafeSysctls": ["kernel.msg*", "kernel.sem", "net.core.somaxconn", "fs.mqueue.*"]}, 20),
        ({"allowedUnsafeSysctls": ["net/core/*"]}, 23),
        ({"clusterDNS": ["fd00::1"]}, 20),
        ({"containerLogMaxFiles": "1", "tlsMinVersion": 5, "runOnce": "yes"}, 20),
    ],
)
def test_what_a_kubelet_survives(config: dict[str, Any], minor: int) -> None:
    assert list(fatal.check(EffectiveConfig(config, minor))) == []
