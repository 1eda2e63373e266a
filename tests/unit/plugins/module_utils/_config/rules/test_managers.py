# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import validation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import EffectiveConfig
from tests.support.kubelets.rule_minors import NEWEST, accepted, messages, off, on, refuses_in, since

CPU = "CPUManagerPolicyOptions"
ALPHA_CPU, BETA_CPU = "CPUManagerPolicyAlphaOptions", "CPUManagerPolicyBetaOptions"
TOPOLOGY = "TopologyManagerPolicyOptions"
ALPHA_TOPOLOGY, BETA_TOPOLOGY = "TopologyManagerPolicyAlphaOptions", "TopologyManagerPolicyBetaOptions"


def memory(*limits: dict[str, str | None], node: int = 0) -> dict[str, Any]:
    return {"reservedMemory": [{"numaNode": node, "limits": limit} for limit in limits]}


def static(memory_of: dict[str, str], *limits: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"memoryManagerPolicy": "Static", "evictionHard": memory_of, **memory(*limits), **more}


def cpu(option: str, value: str = "true", *gates: str, policy: str = "static", **more: str) -> dict[str, Any]:
    given = {"cpuManagerPolicy": policy, "cpuManagerPolicyOptions": {option: value, **more}}
    return {**given, "systemReserved": {"cpu": "1"}, **(on(*gates) if gates else {})}


def topology(option: str, value: str = "true", *gates: str, policy: str = "restricted") -> dict[str, Any]:
    given = {"topologyManagerPolicy": policy, "topologyManagerPolicyOptions": {option: value}}
    return {**given, **(on(*gates) if gates else {})}


HARD, GIB = {"memory.available": "100Mi"}, {"memory": "1Gi"}
SINGLE = {"topologyManagerPolicy": "single-numa-node"}
CLOSEST = "prefer-closest-numa-nodes"
ACROSS = {"distribute-cpus-across-cores": "true"}
ACROSS_NUMA = {"distribute-cpus-across-numa": "true"}


REFUSED: tuple[tuple[dict[str, Any], str, Iterable[int]], ...] = (
    (memory({"memory": "0"}), "reserved-memory", since(21)),
    (memory({"memory": None}), "reserved-memory", since(21)),
    (memory({"cpu": "1"}), "reserved-memory", since(21)),
    (memory({"memory": "1Gi"}, {"memory": "2Gi"}), "reserved-memory", since(21)),
    # Without a number it is node 0.
    ({"reservedMemory": [{"limits": GIB}, {"numaNode": 0, "limits": GIB}]}, "reserved-memory", since(21)),
    ({"memoryManagerPolicy": "static"}, "memory-policy", since(22)),
    ({"memoryManagerPolicy": "static", **on("MemoryManager")}, "memory-policy", since(21)),
    (static(HARD, {"memory": "1Gi"}), "static-memory", since(22)),
    (static(HARD), "static-memory", since(22)),
    (static(HARD, {"memory": "0.5Gi"}, kubeReserved={"memory": "412Mi"}), "static-memory", since(22)),
    (static(HARD, {"memory": "100Mi", "hugepages-2Mi": "2Mi"}), "static-memory", since(22)),
    (static({"nodefs.available": "5%"}, {"memory": "1Gi"}), "static-memory", since(22)),
    (static(HARD, {"memory": "100Mi"}, kubeReserved={"memory": "1Gi"}), "static-memory", since(22)),
    (cpu("full-pcpus-only", policy="none"), "cpu-policy-options", since(22)),
    (cpu("full-pcpus-only"), "cpu-policy-options", {22}),
    (cpu("full-pcpus-only", "yes", CPU), "cpu-policy-options", since(22)),
    (cpu("no-such", "true", CPU), "cpu-policy-options", since(22)),
    (cpu("align-by-socket", "true", CPU), "cpu-policy-options", since(22)),
    (cpu("align-by-socket", "true", CPU, ALPHA_CPU), "cpu-policy-options", {22, 23, 24}),
    (cpu("distribute-cpus-across-numa", "true", CPU), "cpu-policy-options", range(22, 33)),
    (cpu("strict-cpu-reservation", "true", CPU), "cpu-policy-options", range(22, 33)),
    (cpu("prefer-align-cpus-by-uncorecache", "true", CPU), "cpu-policy-options", range(22, 34)),
    (cpu("full-pcpus-only", "true", CPU, ALPHA_CPU, **ACROSS), "cpu-policy-options", since(22)),
    # They go together. 1.22 does not know the second one.
    (cpu("full-pcpus-only", "true", CPU, ALPHA_CPU, **ACROSS_NUMA), "cpu-policy-options", {22}),
    ({**cpu("full-pcpus-only"), **off(CPU)}, "cpu-policy-options", range(22, 33)),
    ({**cpu("full-pcpus-only"), "featureGates": {CPU: True, BETA_CPU: False}}, "cpu-policy-options", range(23, 33)),
    ({**cpu("align-by-socket", "true", CPU, ALPHA_CPU), **SINGLE}, "cpu-policy-options", since(22)),
    # An empty map is a map as well.
    ({"cpuManagerPolicyOptions": {}}, "cpu-policy-options", {22}),
    (topology(CLOSEST), "topology-policy-options", {26, 27}),
    (topology(CLOSEST, "true", TOPOLOGY), "topology-policy-options", {26, 27}),
    (topology(CLOSEST, "1.5", TOPOLOGY, ALPHA_TOPOLOGY), "topology-policy-options", since(26)),
    (topology("max-allowable-numa-nodes", "7", TOPOLOGY), "topology-policy-options", since(26)),
    (topology("max-allowable-numa-nodes", "8", TOPOLOGY), "topology-policy-options", range(26, 31)),
    (topology("max-allowable-numa-nodes", "x", TOPOLOGY), "topology-policy-options", since(26)),
    (topology("no-such", "true", TOPOLOGY, policy="none"), "topology-policy-options", {26, 27}),
    ({**topology(CLOSEST), **off(TOPOLOGY)}, "topology-policy-options", range(26, 32)),
    (topology("max-allowable-numa-nodes", "9"), "topology-policy-options", range(26, 31)),
    ({"topologyManagerPolicyOptions": {}}, "topology-policy-options", {26, 27}),
    ({"topologyManagerPolicyOptions": {}, **off(TOPOLOGY)}, "topology-policy-options", range(26, 32)),
)


@pytest.mark.parametrize(("config", "rule", "refused"), REFUSED)
def test_the_versions_that_refuse(config: dict[str, Any], rule: str, refused: Iterable[int]) -> None:
    refuses_in(config, rule, refused)


ACCEPTED: tuple[dict[str, Any], ...] = (
    memory({"memory": "1Gi", "hugepages-2Mi": "2Mi"}),
    {"reservedMemory": [{"numaNode": node, "limits": {"memory": "1Gi"}} for node in (0, 1)]},
    {"memoryManagerPolicy": "None"},
    {"memoryManagerPolicy": 5},
    static({"memory.available": "100Mi"}, {"memory": "100Mi"}),
    static({"memory.available": "5%"}, {"memory": "100Mi"}),
    static({"memory.available": "some"}, {"memory": "100Mi"}),
    static({}, {"memory": "1536Mi"}, systemReserved={"memory": "1Gi"}, kubeReserved={"memory": "512Mi"}),
    {"memoryManagerPolicy": "Static", **off("MemoryManager")},
    cpu("full-pcpus-only", "true", CPU, BETA_CPU),
    {**cpu("full-pcpus-only", "true", CPU, BETA_CPU), **SINGLE},
    {"cpuManagerPolicyOptions": {}, **on(CPU)},
)


@pytest.mark.parametrize("minor", range(20, NEWEST + 1))
@pytest.mark.parametrize("config", ACCEPTED)
def test_what_every_version_accepts(config: dict[str, Any], minor: int) -> None:
    assert accepted(config, minor)


@pytest.mark.parametrize(
    ("number", "is_accepted"), [("+8", True), ("008", True), ("-8", False), ("\u00b2", False), ("9" * 5000, False)]
)
def test_a_number_of_an_option_is_as_go_reads_it(number: str, is_accepted: bool) -> None:
    assert accepted(topology("max-allowable-numa-nodes", number), 36) is is_accepted


def test_the_remedy_names_the_options_of_the_version() -> None:
    [problem] = validation.check(EffectiveConfig(cpu("a.b"), 24))
    assert problem.remedy == "Use any of distribute-cpus-across-numa, full-pcpus-only, or remove it."
    assert (problem.path, problem.value) == ('cpuManagerPolicyOptions["a.b"]', '"true"')


def test_values_of_another_type_are_left_to_the_check_of_types() -> None:
    assert accepted({"reservedMemory": [{"limits": {"memory": "lots"}}, {"limits": 5}, 5]}, NEWEST)
    assert accepted({"reservedMemory": [{"numaNode": [0], "limits": {"memory": "1Gi"}}]}, NEWEST)
    assert accepted({**topology("no-such", "true"), "topologyManagerPolicy": 5}, NEWEST)


UNEQUAL = 'the total amount "{}" of type "memory" is not equal to the value "{}" determined by Node Allocatable feature'
DISABLED = 'not enabled, but option "{}" provided'
BETA_OPTIONS = f"Manager Policy Beta-level Options {DISABLED}"
OTHER_LIMIT = (
    'the limit type "cpu" for NUMA node 1 is not supported, only [memory hugepages-<HugePageSize>] is accepted'
)
NO_CPU_GATES = (
    'CPU Manager policy options map[full-pcpus-only:true] require feature gates "CPUManager", '
    '"CPUManagerPolicyOptions" enabled'
)
NO_TOPOLOGY_GATE = (
    "topology manager policy options map[prefer-closest-numa-nodes:true] require feature gates "
    '"TopologyManagerPolicyOptions" enabled'
)
NOT_TOGETHER = "static policy options distribute-cpus-across-cores and full-pcpus-only can not be used at the same time"


@pytest.mark.parametrize(
    ("config", "minor", "message"),
    [
        (memory({"cpu": "1"}, node=1), 22, OTHER_LIMIT),
        (static(HARD), 36, UNEQUAL.format("0", "100Mi")),
        (static({}, {"memory": "2049Ki"}, kubeReserved={"memory": "2Gi"}), 36, UNEQUAL.format("2049Ki", "2Gi")),
        (static({}, {"memory": "1500"}), 36, UNEQUAL.format("1500", "0")),
        (cpu("full-pcpus-only"), 22, NO_CPU_GATES),
        (cpu("b", "1", CPU, policy="none", a="2"), 28, "None policy: received unsupported options=map[a:2 b:1]"),
        (cpu("no-such"), 28, 'unknown CPU Manager Policy option: "no-such"'),
        (cpu("align-by-socket"), 28, f"CPU Manager Policy Alpha-level Options {DISABLED.format('align-by-socket')}"),
        ({**cpu("full-pcpus-only"), **off(BETA_CPU)}, 28, f"CPU {BETA_OPTIONS.format('full-pcpus-only')}"),
        (cpu("full-pcpus-only", "true", ALPHA_CPU, **ACROSS), 33, NOT_TOGETHER),
        (topology(CLOSEST), 27, NO_TOPOLOGY_GATE),
        (topology("no-such"), 36, 'unknown Topology Manager Policy option: "no-such"'),
        ({**topology(CLOSEST), **off(BETA_TOPOLOGY)}, 30, f"Topology {BETA_OPTIONS.format(CLOSEST)}"),
        (
            *({**topology(CLOSEST), **off(BETA_TOPOLOGY)}, 31),
            f"topology manager policy beta-level options {DISABLED.format(CLOSEST)}",
        ),
    ],
)
def test_the_words_of_the_version(config: dict[str, Any], minor: int, message: str) -> None:
    assert messages(config, minor) == [message]


@pytest.mark.parametrize("node", ["x", [1], None, {}])
def test_a_number_of_a_node_that_is_none_is_left_to_the_types(node: Any) -> None:
    config = static(HARD)
    config["reservedMemory"] = [{"numaNode": node, "limits": {"memory": "100Mi"}}]
    assert [one for one in messages(config, NEWEST) if "NUMA" in one] == []
