# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words and the versions of these rules. test_kubelet_starts.py has what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import start_rules, validation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import (
    REFUSAL,
    WARNING,
    EffectiveConfig,
)
from tests.support.kubelet_starts import RSA_ONLY, enforced
from tests.support.rule_minors import MINORS, NEWEST, off, since

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
    found: dict[str, set[int]] = {WARNING: set(), REFUSAL: set()}
    for minor in MINORS:
        for problem in validation.check(EffectiveConfig(config, minor)):
            if problem.rule == rule:
                assert problem.value not in ("", "null") and problem.remedy
                found[problem.severity].add(minor)
    assert found[REFUSAL] == set(minors)
    assert bool(found[WARNING]) == (NEWEST in minors)


LATE = "TLS_AES_128_GCM_SHA256"


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
    for minor in MINORS:
        found = [problem for problem in validation.check(EffectiveConfig(config, minor)) if problem.rule == rule]
        assert [problem.severity for problem in found] == [WARNING] * (minor in minors), minor
        assert all(problem.remedy for problem in found)


@pytest.mark.parametrize(
    ("config", "path", "words"),
    [
        (
            {"enableServer": False},
            "enableServer",
            "false: the kubelet serves nothing then, so that a rollout has no proof",
        ),
        ({"enableDebuggingHandlers": False}, "enableDebuggingHandlers", "serves no /configz"),
        ({"address": "127.0.0.1"}, "address", "127.0.0.1: the API server does not reach the kubelet"),
        (
            {"authentication": {"x509": {}}},
            "authentication.x509.clientCAFile",
            "empty: the kubelet knows no certificate of the API server",
        ),
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
