# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan refuses by a rule of the kubelet's validation, the kubelet refuses too, and nothing else."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks
from tests.support.preflight_node import HEADER, Node

MINOR = 20
CFS = {"featureGates": {"CustomCPUCFSQuotaPeriod": True}}
SHUTDOWN = {"featureGates": {"GracefulNodeShutdown": True}}
NO_TOPOLOGY = {"featureGates": {"TopologyManager": False}}

# On both sides of each boundary.
CONFIGS: tuple[dict[str, t.Any], ...] = (
    {"kubeAPIQPS": -1},
    {"kubeAPIQPS": 0},
    {"eventBurst": -1},
    {"eventRecordQPS": -1},
    {"kubeAPIBurst": -1},
    {"maxOpenFiles": -1},
    {"maxPods": -1},
    {"maxPods": 0},
    {"podsPerCore": -1},
    {"registryBurst": -1},
    {"registryPullQPS": -1},
    {"healthzPort": 65536},
    {"healthzPort": 65535},
    {"healthzPort": 0},
    {"port": 65536},
    {"port": 65535},
    {"readOnlyPort": 65536},
    {"readOnlyPort": 65535},
    {"oomScoreAdj": -1001},
    {"oomScoreAdj": -1000},
    {"oomScoreAdj": 1000},
    {"oomScoreAdj": 1001},
    {"iptablesDropBit": 32},
    {"iptablesDropBit": -1},
    {"iptablesMasqueradeBit": 32},
    {"imageGCHighThresholdPercent": 100},
    {"imageGCHighThresholdPercent": 101},
    {"imageGCLowThresholdPercent": 84},
    {"imageGCLowThresholdPercent": 85},
    {"nodeLeaseDurationSeconds": -1},
    {"nodeLeaseDurationSeconds": 1},
    {"nodeStatusMaxImages": -1},
    {"nodeStatusMaxImages": -2},
    {"cgroupsPerQOS": False},
    {"cgroupsPerQOS": False, "enforceNodeAllocatable": ["none"]},
    {"cgroupsPerQOS": False, "enforceNodeAllocatable": []},
    {"enforceNodeAllocatable": ["pod"]},
    {"enforceNodeAllocatable": ["none", "pods"]},
    {"enforceNodeAllocatable": ["pods", "pods"]},
    {"enforceNodeAllocatable": ["system-reserved"]},
    {"enforceNodeAllocatable": ["system-reserved"], "systemReservedCgroup": "/s", "systemReserved": {"cpu": "1"}},
    {"systemCgroups": "/s"},
    {"systemCgroups": "/s", "cgroupRoot": "/"},
    {"cpuCFSQuotaPeriod": "50ms"},
    {"cpuCFSQuotaPeriod": "999ns", **CFS},
    {"cpuCFSQuotaPeriod": "1us", **CFS},
    {"cpuCFSQuotaPeriod": "1s", **CFS},
    {"cpuCFSQuotaPeriod": "1001ms", **CFS},
    {"serverTLSBootstrap": True},
    {"serverTLSBootstrap": True, "featureGates": {"RotateKubeletServerCertificate": False}},
    {"topologyManagerPolicy": "best"},
    {"topologyManagerPolicy": "restricted"},
    {"topologyManagerPolicy": "restricted", **NO_TOPOLOGY},
    {"topologyManagerScope": "node"},
    {"topologyManagerScope": "pod", **NO_TOPOLOGY},
    {"shutdownGracePeriod": "30s"},
    {"shutdownGracePeriod": "1s", **SHUTDOWN},
    {"shutdownGracePeriod": "999ms", **SHUTDOWN},
    {"shutdownGracePeriod": "10s", "shutdownGracePeriodCriticalPods": "11s", **SHUTDOWN},
    {"hairpinMode": "none"},
    {"hairpinMode": "x"},
    {"reservedSystemCPUs": "0-"},
    {"reservedSystemCPUs": "+0"},
    {"reservedSystemCPUs": " 0"},
    {"reservedSystemCPUs": "0", "kubeReservedCgroup": "/k"},
    {"showHiddenMetricsForVersion": "1.19"},
    {"showHiddenMetricsForVersion": "1.18"},
    {"logging": {"format": "xml"}},
    {"iptablesDropBit": 31},
    {"topologyManagerPolicy": "single-numa-node"},
    {"topologyManagerPolicy": "none", **NO_TOPOLOGY},
    {"shutdownGracePeriodCriticalPods": "1ns"},
    {"shutdownGracePeriod": "10s", "shutdownGracePeriodCriticalPods": "-1s", **SHUTDOWN},
    {"hairpinMode": "hairpin-veth"},
    {"reservedSystemCPUs": "0", "systemReservedCgroup": "/s"},
)


@pytest.mark.minors(last=MINOR, reason="tests/e2e_modern/test_validation_rules.py has the rules of later minors")
@pytest.mark.parametrize(
    "configs",
    [
        pytest.param(CONFIGS[::7], id="some values"),
        pytest.param(CONFIGS, id="both sides of each boundary", marks=pytest.mark.long),
    ],
)
def test_the_rules_of_the_plan_are_those_of_the_kubelet(
    nodes: dict[str, Node], configs: tuple[dict[str, t.Any], ...]
) -> None:
    texts = [json.dumps({**HEADER, **config}) for config in configs]
    found = nodes["n1"].python(f"""
result = [binary.check(text, ["/usr/bin/kubelet"], minor=lambda: {MINOR})[:2] for text in {texts!r}]
""")
    refused = {
        json.dumps(config): [one.message for one in checks.problems(config, MINOR) if one.severity == "refusal"]
        for config in configs
    }
    answers = dict(zip(refused, found, strict=True))
    assert {text: verdict for text, (verdict, _messages) in answers.items()} == {
        text: "invalid" if messages else "valid" for text, messages in refused.items()
    }
    # The words of a parser of Go follow in one of them.
    assert [
        (text, answers[text])
        for text, messages in refused.items()
        if not all(any(one.partition(", error")[0] in word for word in answers[text][1]) for one in messages)
    ] == []
