# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.rule_minors import NEWEST, accepted, off, on, refuses_in, since

CPU = "CPUManagerPolicyOptions"
ALPHA_CPU, BETA_CPU = "CPUManagerPolicyAlphaOptions", "CPUManagerPolicyBetaOptions"
TOPOLOGY = "TopologyManagerPolicyOptions"
ALPHA_TOPOLOGY = "TopologyManagerPolicyAlphaOptions"


def memory(*limits: dict[str, str], node: int = 0) -> dict[str, Any]:
    return {"reservedMemory": [{"numaNode": node, "limits": limit} for limit in limits]}


def static(memory_of: dict[str, str], *limits: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"memoryManagerPolicy": "Static", "evictionHard": memory_of, **memory(*limits), **more}


def cpu(option: str, value: str = "true", *gates: str, policy: str = "static", **more: str) -> dict[str, Any]:
    return {
        "cpuManagerPolicy": policy,
        "cpuManagerPolicyOptions": {option: value, **more},
        "systemReserved": {"cpu": "1"},
        **(on(*gates) if gates else {}),
    }


def topology(option: str, value: str, *gates: str, policy: str = "restricted") -> dict[str, Any]:
    return {
        "topologyManagerPolicy": policy,
        "topologyManagerPolicyOptions": {option: value},
        **(on(*gates) if gates else {}),
    }


HARD = {"memory.available": "100Mi"}
ACROSS = {"distribute-cpus-across-cores": "true"}


REFUSED: tuple[tuple[dict[str, Any], str, Iterable[int]], ...] = (
    (memory({"memory": "0"}), "reserved-memory", since(21)),
    (memory({"cpu": "1"}), "reserved-memory", since(21)),
    (memory({"memory": "1Gi"}, {"memory": "2Gi"}), "reserved-memory", since(21)),
    ({"memoryManagerPolicy": "static"}, "memory-policy", since(22)),
    ({"memoryManagerPolicy": "static", **on("MemoryManager")}, "memory-policy", since(21)),
    (static(HARD, {"memory": "1Gi"}), "static-memory", since(22)),
    (static(HARD), "static-memory", since(22)),
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
    (topology("prefer-closest-numa-nodes", "true"), "topology-policy-options", {26, 27}),
    (topology("prefer-closest-numa-nodes", "true", TOPOLOGY), "topology-policy-options", {26, 27}),
    (topology("prefer-closest-numa-nodes", "1.5", TOPOLOGY, ALPHA_TOPOLOGY), "topology-policy-options", since(26)),
    (topology("max-allowable-numa-nodes", "7", TOPOLOGY), "topology-policy-options", since(26)),
    (topology("max-allowable-numa-nodes", "x", TOPOLOGY), "topology-policy-options", since(26)),
    (topology("max-allowable-numa-nodes", "9"), "topology-policy-options", range(26, 31)),
    ({"topologyManagerPolicyOptions": {}}, "topology-policy-options", {26, 27}),
)


@pytest.mark.parametrize(("config", "rule", "refused"), REFUSED)
def test_the_versions_that_refuse(config: dict[str, Any], rule: str, refused: Iterable[int]) -> None:
    refuses_in(config, rule, refused)


ACCEPTED: tuple[dict[str, Any], ...] = (
    memory({"memory": "1Gi", "hugepages-2Mi": "2Mi"}),
    {"memoryManagerPolicy": "None"},
    {"memoryManagerPolicy": 5},
    static({"memory.available": "100Mi"}, {"memory": "100Mi"}),
    static({"memory.available": "5%"}, {"memory": "100Mi"}),
    static({"memory.available": "some"}, {"memory": "100Mi"}),
    static({}, {"memory": "1536Mi"}, systemReserved={"memory": "1Gi"}, kubeReserved={"memory": "512Mi"}),
    {"memoryManagerPolicy": "Static", **off("MemoryManager")},
    cpu("full-pcpus-only", "true", CPU, BETA_CPU),
    {"cpuManagerPolicyOptions": {}},
)


@pytest.mark.parametrize("minor", range(20, NEWEST + 1))
@pytest.mark.parametrize("config", ACCEPTED)
def test_what_every_version_accepts(config: dict[str, Any], minor: int) -> None:
    assert accepted(config, minor)


def test_the_remedy_names_the_options_of_the_version() -> None:
    from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import managers

    assert [managers.CPU_OPTIONS["strict-cpu-reservation"].stage(minor) for minor in (31, 32, 33, 35)] == [
        None,
        managers.ALPHA,
        managers.BETA,
        managers.STABLE,
    ]
    assert managers.CPU_OPTIONS["full-pcpus-only"].stage(22) == managers.STABLE


def test_values_of_another_type_are_left_to_the_check_of_types() -> None:
    assert accepted({"reservedMemory": [{"limits": {"memory": "lots"}}, {"limits": 5}, 5]}, NEWEST)
    assert accepted({"reservedMemory": [{"numaNode": [0], "limits": {"memory": "1Gi"}}]}, NEWEST)
