# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Policies and options of the CPU, memory and topology managers that stop a kubelet of 1.21 to 1.36.

Most pass the kubelet's validation, and the manager ends it while it starts. Source: policy_options.go and policy_*.go
below pkg/kubelet/cm/{cpumanager,topologymanager}, memorymanager/memory_manager.go, and validation_reserved_memory.go.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import Any, Iterator, Mapping, NamedTuple

from ..fields.shadow import BOOLEANS
from ..values import amounts, paths
from .problem import EffectiveConfig, Finding, Rule

ALPHA, BETA, STABLE = "Alpha", "Beta", ""


class Option(NamedTuple):
    """A policy option: the first minors in which it is known as alpha, beta, and without a group's gate.

    ``early``: the minor that knew it before there were groups.
    """

    alpha: int | None = None
    beta: int | None = None
    stable: int | None = None
    early: int | None = None

    def stage(self, minor: int) -> str | None:
        """Return the group of the option in a minor, None if that minor does not know it."""
        known: list[tuple[int, str]] = []
        for since, name in zip(self, (ALPHA, BETA, STABLE, STABLE)):
            if since is not None and since <= minor:
                known.append((since, name))
        return max(known)[1] if known else None


_ACROSS_CORES, _ACROSS_NUMA = "distribute-cpus-across-cores", "distribute-cpus-across-numa"
_BY_SOCKET, _ONE_NUMA_NODE = "align-by-socket", "single-numa-node"
_FULL, _UNCORE = "full-pcpus-only", "prefer-align-cpus-by-uncorecache"
CPU_OPTIONS = {
    _FULL: Option(early=22, beta=23, stable=33),
    _ACROSS_NUMA: Option(alpha=23, beta=33),
    _BY_SOCKET: Option(alpha=25),
    _ACROSS_CORES: Option(alpha=31),
    _UNCORE: Option(alpha=32, beta=34, stable=36),
    "strict-cpu-reservation": Option(alpha=32, beta=33, stable=35),
}
_EXCLUSIVE = ({_FULL, _ACROSS_CORES}, {_ACROSS_NUMA, _ACROSS_CORES}, {_UNCORE, _ACROSS_CORES}, {_UNCORE, _ACROSS_NUMA})
TOPOLOGY_OPTIONS = {
    "prefer-closest-numa-nodes": Option(alpha=26, beta=28, stable=32),
    "max-allowable-numa-nodes": Option(beta=31, stable=35),
}
_LEAST_NUMA_NODES = 8
_MOST_NUMA_NODES = 1024
"""As many as a Linux kernel can have (NODES_SHIFT in its Kconfig files)."""


def _reserved_memory(config: EffectiveConfig) -> Iterator[Finding]:
    path = "reservedMemory"
    seen: Counter[Any] = Counter()
    for node, kind, amount in _reservations(config):
        # It may be a list, which another rule refuses.
        place = repr(node), kind
        seen[place] += 1
        if kind != "memory" and not kind.startswith("hugepages-"):
            message = (
                f'the limit type "{kind}" for NUMA node {node} is not supported, '
                "only [memory hugepages-<HugePageSize>] is accepted"
            )
            yield path, message, "Reserve memory, or huge pages such as hugepages-2Mi."
        if amounts.known_quantity(str(amount)) == 0:
            message = f'reserved memory may not be zero for NUMA node {node} and resource "{kind}"'
            yield path, message, "Remove the entry, or give an amount."
        if seen[place] == 2:
            message = f'the reserved memory has a duplicate value for NUMA node {node} and resource "{kind}"'
            yield path, message, "Keep one entry."


def _reservations(config: EffectiveConfig) -> Iterator[tuple[Any, str, Any]]:
    for entry in config.objects("reservedMemory"):
        limits = entry.get("limits")
        for kind, amount in limits.items() if isinstance(limits, dict) else ():
            # A null in a list arrives at the kubelet, which reads it as 0.
            yield entry.get("numaNode") or 0, str(kind), amount or 0


def _memory_policy(config: EffectiveConfig) -> Iterator[Finding]:
    path, value = "memoryManagerPolicy", config.text("memoryManagerPolicy")
    if value and value not in ("None", "Static") and config.gate("MemoryManager"):
        yield path, f'unknown policy: "{value}"', "Use None or Static."


def _static_memory(config: EffectiveConfig) -> Iterator[Finding]:
    """The Static policy needs the sum of reservedMemory to be what Node Allocatable leaves out."""
    if config.text("memoryManagerPolicy") != "Static" or not config.gate("MemoryManager"):
        return
    try:
        total, wanted = _memory(config)
    except ValueError:
        # A share of the machine's memory is known on the node only. Other rules report what is no quantity.
        return
    for node, kind, amount in _reservations(config):
        if isinstance(node, int) and not 0 <= node < _MOST_NUMA_NODES:
            yield "reservedMemory", f"no machine has a NUMA node {node}, and the kubelet ends", "Name one of this node."
        if kind.startswith("hugepages-") and amounts.known_quantity(str(amount)):
            message = f"{kind} is not part of Node Allocatable, and a kubelet with memoryManagerPolicy Static ends"
            yield "reservedMemory", message, f"Remove {kind} from reservedMemory."
        if kind == "memory" and amounts.int64_of_quantity(str(amount)) is None:
            message = f"could not covert a variable of type Quantity to int64: {amount}"
            yield "reservedMemory", message, "Write whole bytes without a decimal point, such as 512Mi."
    if total != wanted:
        yield (
            "reservedMemory",
            f'the total amount "{_bytes(total)}" of type "memory" is not equal to the value "{_bytes(wanted)}" '
            "determined by Node Allocatable feature",
            "Reserve as much memory as kubeReserved, systemReserved and evictionHard memory.available together.",
        )


def _memory(config: EffectiveConfig) -> tuple[Fraction, Fraction]:
    """Return the sum of reservedMemory, and what Node Allocatable leaves out. Raises ValueError for no quantity."""
    total = left_out = Fraction(0)
    for _node, kind, amount in _reservations(config):
        if kind == "memory":
            total += amounts.parse_quantity(str(amount))
    for field, key in (("kubeReserved", "memory"), ("systemReserved", "memory"), ("evictionHard", "memory.available")):
        left_out += amounts.parse_quantity(config.pairs(field).get(key, "0"))
    return total, left_out


def _bytes(amount: Fraction) -> str:
    for number, unit in ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")):
        if amount and amount % number == 0:
            return f"{amount / number}{unit}"
    return str(amount)


def _cpu_options(config: EffectiveConfig) -> Iterator[Finding]:
    path, options = "cpuManagerPolicyOptions", config.pairs("cpuManagerPolicyOptions")
    if not isinstance(config.value(path), dict):
        return
    if config.minor <= 32 and not config.gate("CPUManagerPolicyOptions"):
        # An empty map as well.
        message = (
            f"CPU Manager policy options {_shown(options)} require feature gates "
            '"CPUManager", "CPUManagerPolicyOptions" enabled'
        )
        yield path, message, "Remove it, or set featureGates.CPUManagerPolicyOptions: true."
        return
    if options and config.text("cpuManagerPolicy") != "static":
        yield path, f"None policy: received unsupported options={_shown(options)}", "Set cpuManagerPolicy: static."
        return
    for name, value in options.items():
        at = paths.show((path, name))
        yield from _unavailable(config, at, CPU_OPTIONS, name, "CPU Manager Policy")
        if name in CPU_OPTIONS and value not in BOOLEANS:
            yield at, f'bad value for option "{name}": strconv.ParseBool: parsing "{value}"', 'Write "true" or "false".'
    yield from _cpu_options_together(config, path, options)


def _cpu_options_together(config: EffectiveConfig, path: str, options: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what options that are true exclude."""
    known = _known(CPU_OPTIONS, config.minor)
    chosen = sorted(name for name, value in options.items() if BOOLEANS.get(value))
    for pair in combinations(chosen, 2):
        if set(pair) in _EXCLUSIVE and {*pair} <= known:
            message = f"static policy options {pair[0]} and {pair[1]} can not be used at the same time"
            yield path, message, "Keep one of them."
    # ValidateStaticPolicyOptions
    if _BY_SOCKET in chosen and config.minor >= 25 and config.text("topologyManagerPolicy") == _ONE_NUMA_NODE:
        message = f"Topolgy manager {_ONE_NUMA_NODE} policy is incompatible with CPUManager {_BY_SOCKET} policy option"
        yield path, message, f"Remove {_BY_SOCKET}, or use another topologyManagerPolicy."


def _topology_options(config: EffectiveConfig) -> Iterator[Finding]:
    path, options = "topologyManagerPolicyOptions", config.pairs("topologyManagerPolicyOptions")
    if not isinstance(config.value(path), dict):
        return
    if config.minor <= 31 and not config.gate("TopologyManagerPolicyOptions"):
        message = (
            f"topology manager policy options {_shown(options)} require feature gates "
            '"TopologyManagerPolicyOptions" enabled'
        )
        yield path, message, "Remove it, or set featureGates.TopologyManagerPolicyOptions: true."
        return
    if config.minor >= 28 and config.text("topologyManagerPolicy") in ("", "none"):
        return
    for name, value in options.items():
        at = paths.show((path, name))
        yield from _unavailable(config, at, TOPOLOGY_OPTIONS, name, "Topology Manager Policy")
        if name == "prefer-closest-numa-nodes" and value not in BOOLEANS:
            yield at, f'bad value for option "{name}": strconv.ParseBool: parsing "{value}"', 'Write "true" or "false".'
        if name == "max-allowable-numa-nodes" and config.minor >= 31:
            message = _wrong_number(name, value)
            if message:
                yield at, message, f"Write {_LEAST_NUMA_NODES} or more."


def _wrong_number(name: str, value: str) -> str:
    """Return what is wrong with the number of an option, empty if nothing is."""
    # strconv.Atoi
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", value, re.ASCII):
        return f'unable to convert policy option to integer "{name}"'
    if int(value) < _LEAST_NUMA_NODES:
        return f'the minimum value of "{name}" should not be less than {_LEAST_NUMA_NODES}'
    return ""


def _known(options: Mapping[str, Option], minor: int) -> set[str]:
    return {name for name, row in options.items() if row.stage(minor) is not None}


def _unavailable(
    config: EffectiveConfig, at: str, known: Mapping[str, Option], name: str, kind: str
) -> Iterator[Finding]:
    """Yield why an option of this kind, as the kubelet calls it, cannot be used."""
    stage = known[name].stage(config.minor) if name in known else None
    if stage is None:
        usable = ", ".join(sorted(_known(known, config.minor)))
        yield at, f'unknown {kind} option: "{name}"', f"Use any of {usable}, or remove it."
        return
    gate = f"{kind.replace(' ', '')}{stage}Options"
    if stage and not config.gate(gate):
        message = f"{kind} {stage}-level Options not enabled"
        if known is TOPOLOGY_OPTIONS and config.minor >= 31:
            message = message.lower()
        yield (at, f'{message}, but option "{name}" provided', f"Remove it, or set featureGates.{gate}: true.")


def _shown(options: Mapping[str, str]) -> str:
    """Return a map as Go prints it."""
    return "map[" + " ".join(f"{name}:{value}" for name, value in sorted(options.items())) + "]"


RULES = (Rule("reserved-memory", 21, None, _reserved_memory),)
"""What the kubelet's validation refuses."""

FATAL = (
    Rule("memory-policy", 21, None, _memory_policy),
    Rule("static-memory", 21, None, _static_memory),
    Rule("cpu-policy-options", 22, None, _cpu_options),
    Rule("topology-policy-options", 26, None, _topology_options),
)
"""What passes validation and stops the kubelet then."""
