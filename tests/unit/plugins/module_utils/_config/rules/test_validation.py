# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import fatal, validation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import (
    FIRST_READ,
    LAST_READ,
    REFUSAL,
    WARNING,
    EffectiveConfig,
)
from tests.support.kubelets.rule_minors import MINORS, messages, off, on, severities

IC = "invalid configuration: "
ENFORCE = "enforceNodeAllocatable (--enforce-node-allocatable)"
QOS = "cgroupsPerQOS (--cgroups-per-qos)"
READ = range(FIRST_READ, LAST_READ + 1)
OUTSIDE = {*MINORS} - {*READ}
"""Minors whose validation was not read."""
CFS = on("CustomCPUCFSQuotaPeriod")
SHUTDOWN_GATE = (
    f"{IC}Specifying ShutdownGracePeriod or ShutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown"
)
PERIOD = {"cpuCFSQuotaPeriod": "50ms"}
MAX_IMAGES = "nodeStatusMaxImages (--node-status-max-images)"
CFS_FIELD = "cpuCFSQuotaPeriod (--cpu-cfs-quota-period)"
CERTIFICATE = {"serverTLSBootstrap": True, **off("RotateKubeletServerCertificate")}
NO_TOPOLOGY, NEEDS_TOPOLOGY = off("TopologyManager"), "requires feature gate TopologyManager"
TOPOLOGY = {"topologyManagerPolicy": "restricted", **NO_TOPOLOGY}
SHUTS_DOWN, A_SECOND = on("GracefulNodeShutdown"), "must be either zero or otherwise >= 1 sec"
KUBE_CGROUP = "kubeReservedCgroup (--kube-reserved-cgroup) must be specified"
ADDITIONAL = "may not contain additional enforcements when"
NO_OPTION = f'option "pod" specified for {ENFORCE}. Valid options are'
NO_HAIRPIN_MODE = (
    f'{IC}option "x" specified for hairpinMode (--hairpin-mode). Valid options are "none", "hairpin-veth" or '
    '"promiscuous-bridge"'
)
NOT_PREVIOUS = (
    "--show-hidden-metrics-for-version must be omitted or have the value '1.19'. Only the previous minor version is "
    "allowed"
)
CPUS = "reservedSystemCPUs (--reserved-cpus)"
SCOPE, POLICY = "topologyManagerScope (--topology-manager-scope)", "topologyManagerPolicy (--topology-manager-policy)"
TO_PODS = "shutdownGracePeriodCriticalPods"
COMPRESSIBLE_TOO = (
    'Valid options are "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", '
    '"kube-reserved-compressible" or "none"'
)
LISTED_CPUS = (
    "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or "
    "kubeReservedCgroup (--kube-reserved-cgroup)"
)


def enforce(*names: str) -> dict[str, Any]:
    return {"enforceNodeAllocatable": list(names)}


@pytest.mark.parametrize("minor", [12, 17, 20, 21, 25, 27, 36])
def test_defaults_and_nothing_at_all_break_no_rule(minor: int) -> None:
    for config in (compare.with_defaults({}, minor), {}):
        assert messages(config, minor) == []
        assert list(fatal.check(EffectiveConfig(config, minor))) == []


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"nodeLeaseDurationSeconds": -1}, f"{IC}nodeLeaseDurationSeconds must be greater than 0"),
        ({"cgroupsPerQOS": False}, f"{IC}{ENFORCE} is not supported unless {QOS} is set to true"),
        (
            {"systemCgroups": "/s"},
            f"{IC}systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified",
        ),
        ({"eventBurst": -1}, f"{IC}eventBurst (--event-burst) -1 must not be a negative number"),
        ({"healthzPort": 65536}, f"{IC}healthzPort (--healthz-port) 65536 must be between 1 and 65535, inclusive"),
        ({"port": -1}, f"{IC}port (--port) -1 must be between 1 and 65535, inclusive"),
        ({"oomScoreAdj": 1001}, f"{IC}oomScoreAdj (--oom-score-adj) 1001 must be between -1000 and 1000, inclusive"),
        ({"iptablesDropBit": 32}, f"{IC}iptablesDropBit (--iptables-drop-bit) 32 must be between 0 and 31, inclusive"),
        (
            {"imageGCLowThresholdPercent": 85},
            f"{IC}imageGCLowThresholdPercent (--image-gc-low-threshold) 85 must be less than "
            "imageGCHighThresholdPercent (--image-gc-high-threshold) 85",
        ),
        ({"nodeStatusMaxImages": -2}, f"{IC}{MAX_IMAGES} must be -1 or greater"),
        (PERIOD, f"{IC}cpuCFSQuotaPeriod {{50ms}} requires feature gate CustomCPUCFSQuotaPeriod"),
        ({"cpuCFSQuotaPeriod": "2s", **CFS}, f"{IC}{CFS_FIELD} {{2s}} must be between 1usec and 1sec, inclusive"),
        (CERTIFICATE, f"{IC}serverTLSBootstrap true requires feature gate RotateKubeletServerCertificate"),
        (TOPOLOGY, f"{IC}topologyManagerPolicy restricted requires feature gate TopologyManager"),
        ({"topologyManagerScope": "pod", **NO_TOPOLOGY}, f"{IC}topologyManagerScope pod {NEEDS_TOPOLOGY}"),
        ({"topologyManagerPolicy": "best"}, f"{IC}topologyManagerPolicy non-allowable value: best"),
        ({"topologyManagerScope": "node"}, f"{IC}topologyManagerScope non-allowable value: node"),
        ({"shutdownGracePeriod": "1ns"}, SHUTDOWN_GATE),
        ({"shutdownGracePeriodCriticalPods": "1ns"}, SHUTDOWN_GATE),
        ({**SHUTS_DOWN, "shutdownGracePeriod": "1ns"}, f"{IC}ShutdownGracePeriod {{1ns}} {A_SECOND}"),
        ({**SHUTS_DOWN, "shutdownGracePeriod": "999.999999ms"}, f"{IC}ShutdownGracePeriod {{999.999999ms}} {A_SECOND}"),
        *(
            (
                {**SHUTS_DOWN, "shutdownGracePeriod": all_, "shutdownGracePeriodCriticalPods": last},
                f"{IC}ShutdownGracePeriod {{{all_}}} must be >= 0, ShutdownGracePeriodCriticalPods {{{last}}} must be "
                f">= 0, and ShutdownGracePeriodCriticalPods {{{last}}} must be <= ShutdownGracePeriod {{{all_}}}",
            )
            for all_, last in (("1s", "-1s"), ("10s", "20s"))
        ),
        (enforce("kube-reserved"), f"{IC}{KUBE_CGROUP} when 'kube-reserved' contained in {ENFORCE}"),
        (enforce("none", "pods"), f"{IC}{ENFORCE} {ADDITIONAL} 'none' is specified"),
        (enforce("pod"), f'{IC}{NO_OPTION} "pods", "system-reserved", "kube-reserved", or "none"'),
        ({"hairpinMode": "x"}, NO_HAIRPIN_MODE),
        ({"reservedSystemCPUs": "0", "kubeReservedCgroup": "/k"}, LISTED_CPUS),
        ({"reservedSystemCPUs": "0", "systemReservedCgroup": "/s"}, LISTED_CPUS),
        ({"reservedSystemCPUs": "0-"}, f'unable to parse {CPUS}, error: "0-" is not a CPU list'),
        ({"showHiddenMetricsForVersion": "1.18"}, NOT_PREVIOUS),
        ({"logging": {"format": "xml"}}, "unsupported log format: xml"),
    ],
)
def test_a_broken_rule_has_the_message_of_the_kubelet(config: dict[str, Any], message: str) -> None:
    [problem] = validation.check(EffectiveConfig(config, 20))
    assert problem.message == message
    assert problem.severity == REFUSAL
    assert problem.remedy and problem.value not in ("", "null")


MICROSECONDS = {"cpuCFSQuotaPeriod": "500us", **CFS}
SHUTDOWN = {"shutdownGracePeriod": "30s"}
NONE = {"cgroupsPerQOS": False, **enforce("none")}
COMPRESSIBLE = {**enforce("kube-reserved-compressible"), "kubeReservedCgroup": "/k", "kubeReserved": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("config", "minor"),
    [
        (SHUTDOWN, 21),
        (TOPOLOGY, 27),
        (COMPRESSIBLE, 32),
        (NONE, 31),
        (PERIOD, 36),
        (MICROSECONDS, 25),
        ({"reservedSystemCPUs": "+0-1"}, 20),
        ({"port": 0, "maxPods": 0}, 25),
        # 0 is a value of this field, and not its default.
        ({"eventRecordQPS": 0}, 36),
        ({"healthzPort": 65535, "oomScoreAdj": -1000, "iptablesDropBit": 31}, 20),
        ({"shutdownGracePeriod": "1s", "shutdownGracePeriodCriticalPods": "1s"}, 21),
        ({"topologyManagerPolicy": "none", **off("TopologyManager")}, 20),
        ({"topologyManagerPolicy": "best-effort", "hairpinMode": "none"}, 20),
        ({"topologyManagerPolicy": "single-numa-node", "hairpinMode": "hairpin-veth"}, 36),
        ({"systemCgroups": "/s", "cgroupRoot": "/"}, 20),
        ({**off("RotateKubeletServerCertificate")}, 20),
        ({"cpuCFSQuotaPeriod": "1us", **CFS}, 25),
        ({"cpuCFSQuotaPeriod": "1ms", **CFS}, 26),
        ({"cpuCFSQuotaPeriod": "1s", **CFS}, 36),
        ({"healthzPort": 0, "nodeStatusMaxImages": -1}, 20),
        ({"cgroupsPerQOS": False, "enforceNodeAllocatable": []}, 20),
        ({"maxPods": "x", "featureGates": 5, "cpuCFSQuotaPeriod": 7}, 20),
        ({"reservedSystemCPUs": "0-1,4"}, 20),
        ({"showHiddenMetricsForVersion": "1.19"}, 20),
        ({"enforceNodeAllocatable": ["none"]}, 20),
    ],
)
def test_what_is_allowed_or_not_for_these_rules(config: dict[str, Any], minor: int) -> None:
    assert messages(config, minor) == []


@pytest.mark.parametrize(
    ("config", "warned", "refused"),
    [
        ({"kubeAPIQPS": -1}, OUTSIDE, READ),
        ({"readOnlyPort": 65536}, OUTSIDE, READ),
        ({"imageGCLowThresholdPercent": 85, "imageGCHighThresholdPercent": 85}, OUTSIDE, READ),
        ({"nodeLeaseDurationSeconds": -1}, OUTSIDE, READ),
        ({"nodeStatusMaxImages": -2}, OUTSIDE - {12}, READ),
        ({"systemCgroups": "/s"}, OUTSIDE, READ),
        ({"hairpinMode": "x"}, OUTSIDE, READ),
        ({"reservedSystemCPUs": "0-"}, OUTSIDE - {12}, READ),
        ({"showHiddenMetricsForVersion": "1.1"}, OUTSIDE - {12}, READ),
        ({"logging": {"format": "xml"}}, OUTSIDE - {12}, READ),
        ({"topologyManagerPolicy": "best"}, OUTSIDE - {12}, READ),
        ({"topologyManagerScope": "node"}, OUTSIDE - {12}, READ),
        ({"enforceNodeAllocatable": ["pod"]}, OUTSIDE, READ),
        (CERTIFICATE, OUTSIDE, READ),
        # The kubelet has the rule, or the gate has the default that breaks it, in some versions only.
        (TOPOLOGY, {19}, range(20, 27)),
        (SHUTDOWN, set(), {20}),
        ({**SHUTDOWN, **off("AllBeta")}, {max(OUTSIDE)}, READ),
        (PERIOD, {12, 19}, range(20, 36)),
        (MICROSECONDS, OUTSIDE - {12, 19}, READ[6:]),
        (NONE, {12, 19}, range(20, 31)),
        (COMPRESSIBLE, {12, 19}, range(20, 32)),
        # The groups set a gate that the configuration does not name. The one of SHUTDOWN is beta from 1.21 on.
        ({**PERIOD, **on("AllAlpha")}, set(), ()),
        ({**PERIOD, "featureGates": {"AllAlpha": True, "CustomCPUCFSQuotaPeriod": False}}, OUTSIDE, READ),
    ],
)
def test_the_versions_that_refuse(config: dict[str, Any], warned: set[int], refused: Iterable[int]) -> None:
    """Only the minors whose validation was read refuse. The rules of later kubelets and of 1.19 are not known."""
    assert severities(config) == {WARNING: warned, REFUSAL: set(refused)}


@pytest.mark.parametrize(
    ("config", "minor", "message"),
    [
        ({"nodeStatusMaxImages": -2}, 24, f"{IC}{MAX_IMAGES} -2 must be -1 or greater"),
        (MICROSECONDS, 26, f"{IC}{CFS_FIELD} {{500µs}} must be between 1ms and 1sec, inclusive"),
        ({"topologyManagerScope": "node"}, 24, f'{IC}{SCOPE} "node" must be one of: "container", or "pod"'),
        ({**NONE, **enforce("pods")}, 31, f'{IC}{QOS} must be set to true when "pods" contained in {ENFORCE}'),
        ({"logging": {"format": "xml"}}, 22, 'logging.format: Invalid value: "xml": Unsupported log format'),
        (
            *({"topologyManagerPolicy": "best"}, 24),
            f'{IC}{POLICY} "best" must be one of: ["none" "best-effort" "restricted" "single-numa-node"]',
        ),
        ({"reservedSystemCPUs": "0-"}, 24, f'{IC}unable to parse {CPUS} 0-, error: "0-" is not a CPU list'),
        (
            *(enforce("kube-reserved-compressible"), 32),
            f'{IC}{KUBE_CGROUP} when "kube-reserved" or "kube-reserved-compressible" included in {ENFORCE}',
        ),
        # Our own words: the kubelet's changed between versions that were not compared.
        (
            *({"showHiddenMetricsForVersion": "1.19"}, 36),
            "a kubelet of 1.36 takes the previous minor version here, '1.35', and no other",
        ),
        # These are the words of 1.36.2.
        (enforce("pod"), 36, f'{IC}option "pod" specified for {ENFORCE}. {COMPRESSIBLE_TOO}'),
        (enforce("none", "pods"), 36, f'{IC}{ENFORCE} {ADDITIONAL} "none" is specified'),
        (
            *({"shutdownGracePeriod": "10s", TO_PODS: "11s"}, 36),
            f"{IC}{TO_PODS} {{11s}} must be <= shutdownGracePeriod {{10s}}",
        ),
        ({"shutdownGracePeriod": "10s", TO_PODS: "-1s"}, 36, f"{IC}{TO_PODS} {{-1s}} {A_SECOND}"),
    ],
)
def test_words_of_newer_kubelets(config: dict[str, Any], minor: int, message: str) -> None:
    assert messages(config, minor) == [message]


@pytest.mark.parametrize(
    ("period", "minor", "remedy"),
    [("999ns", 25, "Give a duration from 1us to 1s."), ("999999ns", 26, "Give a duration from 1ms to 1s.")],
)
def test_the_remedy_names_the_range_of_the_version(period: str, minor: int, remedy: str) -> None:
    [problem] = validation.check(EffectiveConfig({"cpuCFSQuotaPeriod": period, **CFS}, minor))
    assert (problem.remedy, problem.value) == (remedy, f'"{period}"')
