# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which flags of a kubelet's command line a later kubelet does not accept."""

from __future__ import annotations

from typing import Iterator

from ..fields.binary_facts import BinaryFacts
from .finding import FLAG, RUNTIME, STOPS, Finding
from .flags_table import LAST_MINOR
from .node_facts import Facts

# Kubernetes 1.24 has no dockershim; up to 1.26 the socket has no default (cmd/kubelet/app/options).
_NO_DOCKER, _SOCKET_HAS_DEFAULT = 24, 27
# In-tree cloud providers need a gate in 1.29 and 1.30, and do not start from 1.31 on.
_NO_CLOUD, _NO_CLOUD_AT_ALL = 29, 31


def check(facts: Facts, target: int) -> Iterator[Finding]:
    """Yield the flags that stop a kubelet of the target minor, and those that it lacks."""
    binary = facts.known_of(target)
    for flag in facts.flags:
        cause = _gone(flag.name, target, binary)
        if cause:
            remedy = f"Remove it{f' from {flag.where}' if flag.where else ''} with the upgrade."
            yield Finding(STOPS, FLAG, f"--{flag.name}", cause, remedy, flag.where)
    yield from _docker(facts, target)
    yield from _cloud(facts, target)


def _gone(name: str, target: int, binary: BinaryFacts | None) -> str:
    """Return why the target ends because of a flag, empty if it does not. Its binary knows better than the table."""
    last = LAST_MINOR.get(name)
    removed = last is not None and last < target
    if binary and binary.flags:
        if name in binary.flags:
            return ""
        if not removed:
            return f"{binary.version} does not know this flag and would not start"
    return f"1.{last} was the last version with this flag; a later kubelet ends with `unknown flag`" if removed else ""


def _docker(facts: Facts, target: int) -> Iterator[Finding]:
    if target < _NO_DOCKER:
        return
    kind, socket = facts.flag("container-runtime"), facts.flag("container-runtime-endpoint")
    # Before 1.24, dockershim is the default.
    if kind.value == "docker" if kind else facts.minor is not None and facts.minor < _NO_DOCKER:
        yield Finding(
            STOPS,
            RUNTIME,
            "--container-runtime",
            "the kubelet uses dockershim, which 1.24 removed",
            "Move the node to containerd, CRI-O or cri-dockerd first.",
            kind.where if kind else "",
        )
    elif target < _SOCKET_HAS_DEFAULT and (socket is None or not socket.value):
        yield Finding(
            STOPS,
            RUNTIME,
            "--container-runtime-endpoint",
            "the flag is not set, and kubelets of 1.24 to 1.26 have no default socket",
            "Set the flag to the socket of the node's container runtime.",
        )


def _cloud(facts: Facts, target: int) -> Iterator[Finding]:
    flag = facts.flag("cloud-provider")
    if flag is None or flag.value in ("", "external") or target < _NO_CLOUD:
        return
    gated = target < _NO_CLOUD_AT_ALL
    gates = facts.merged(target).get("featureGates")
    if gated and isinstance(gates, dict) and gates.get("DisableCloudProviders") is False:
        return
    yield Finding(
        STOPS,
        FLAG,
        "--cloud-provider",
        f"a kubelet of 1.{target} does not start with the in-tree provider {flag.value}",
        "Use the provider's own controller manager, and set the flag to external.",
        flag.where,
    )
