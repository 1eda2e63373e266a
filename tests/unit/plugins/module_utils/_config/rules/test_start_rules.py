# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words and the versions of these rules. test_kubelet_starts.py has what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.effective_config import EffectiveConfig
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import start_rules, validation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import REFUSAL, WARNING
from tests.support.kubelet_starts import RSA_ONLY, enforced
from tests.support.rule_minors import MINORS, since

HALF = {"tlsCertFile": "/a.crt"}


@pytest.mark.parametrize(
    ("config", "rule", "minors"),
    [
        ({"tlsCipherSuites": RSA_ONLY}, "tls-http2", since(20)),
        ({"syncFrequency": "-1ns"}, "frequency", since(20)),
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
    assert bool(found[WARNING]) == bool(minors)


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
        # Kubelets differ.
        {**HALF, "serverTLSBootstrap": True},
    ],
)
def test_what_hides_nothing(config: dict[str, Any]) -> None:
    assert list(start_rules.hidden(EffectiveConfig(config, 36))) == []
