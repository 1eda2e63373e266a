# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks of a configuration that need no access to a host, and warnings about values that only a host can show."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from typing import Any, Iterable, Iterator, Mapping

from ..fields import fields
from ..fields.binary_facts import BinaryFacts
from ..fields.compare import Change
from ..values import paths
from . import fatal, feature_gates, start_rules, types, validation
from .problem import WARNING, EffectiveConfig, Problem, in_order

VALIDATED = {*validation.NAMES, *feature_gates.NAMES}
"""The rules of the kubelet's validation."""


def problems(config: Mapping[str, Any], minor: int, binary: BinaryFacts | None = None) -> list[Problem]:
    """Return the problems of a complete configuration for a kubelet of this minor: refusals first, then by path.

    `binary`: what this kubelet's own binary answered, if it was asked.
    """
    return in_order({_helped(problem, config, minor) for problem in _found(config, minor, binary)})


def _found(config: Mapping[str, Any], minor: int, binary: BinaryFacts | None = None) -> set[Problem]:
    effective = EffectiveConfig(config, minor, binary)
    found = {*types.check(config, minor, binary), *validation.check(effective), *fatal.check(effective)}
    found.update(feature_gates.check(effective), start_rules.hidden(effective), fatal.ignored(effective))
    return found


def _helped(problem: Problem, config: Mapping[str, Any], minor: int) -> Problem:
    """Return a problem with a remedy that leads to a good value: quotes do not help a text with problems of its own."""
    if not problem.remedy.startswith(types.QUOTE):
        return problem
    *parents, last = paths.parse(problem.path)
    quoted = copy.deepcopy(dict(config))
    inside: Any = quoted
    for key in parents:
        inside = inside[key]
    inside[last] = types.show(inside[last])
    remedies = [other.remedy for other in _found(quoted, minor) if other.path == problem.path]
    return replace(problem, remedy=min(remedies)) if remedies else problem


def softened(problem: Problem) -> Problem:
    """Return a refusal by the kubelet's validation as a warning. Other problems are returned as they are."""
    return warned(problem) if problem.rule in VALIDATED else problem


def warned(problem: Problem) -> Problem:
    """Return any problem as a warning."""
    return replace(problem, severity=WARNING)


_FILE = "A kubelet that cannot load it does not start"
_WHERE = "on every node concerned."
_THERE = f"Make sure that the file is {_WHERE}"
_PAIR = (None, f"{_FILE}: certificate and key must exist and match", f"Make sure that both files are {_WHERE}")
# path -> (the value that causes the warning or None for any, message, remedy)
_RULES: dict[str, tuple[Any, str, str]] = {
    "authentication.x509.clientCAFile": (None, f"{_FILE}: unable to load client CA file", _THERE),
    "tlsCertFile": _PAIR,
    "tlsPrivateKeyFile": _PAIR,
    "resolvConf": (None, "new pods fail when the file does not exist on the node", _THERE),
    "cgroupDriver": (
        None,
        "the kubelet does not start, or loses its pods, when the container runtime uses another cgroup driver",
        "Compare with the runtime's own configuration on the node.",
    ),
    "serverTLSBootstrap": (
        True,
        "the kubelet asks the cluster for its certificate, and refuses connections until an operator approves that: "
        "neither /configz nor logs and exec work on a node before",
        "Have an approver for kubernetes.io/kubelet-serving, or run `kubectl certificate approve` while verify waits.",
    ),
    "memorySwap.swapBehavior": (
        "LimitedSwap",
        "a kubelet of 1.30 or later does not start with it on a node with cgroup v1",
        "Move the node to cgroup v2 first, or use NoSwap.",
    ),
    "failSwapOn": (True, "the kubelet does not start on a node with swap on", "Switch swap off on the node first."),
    "protectKernelDefaults": (
        True,
        "the kubelet does not start when kernel settings differ from its defaults",
        "Set vm.overcommit_memory=1, vm.panic_on_oom=0, kernel.panic=10, kernel.panic_on_oops=1 first.",
    ),
}
# A relative path of an earlier dynamic configuration that the kubelet made absolute:
# .../checkpoints/<uid>/<resourceVersion>/...
_CHECKPOINT = re.compile(r"/checkpoints/[^/]+/[^/]+/")


def warnings(changes: Iterable[Change]) -> Iterator[Problem]:
    """Yield a warning for every changed value that can fail on some hosts."""
    for change in changes:
        if change.path in _RULES and change.after not in (None, ""):
            value, message, remedy = _RULES[change.path]
            if value is None or value == change.after:
                yield Problem(WARNING, change.path, message, remedy, "host")


def checkpoint_paths(values: Iterable[tuple[str, Any]]) -> Iterator[Problem]:
    """Yield a warning for every file path in (path, value) pairs that lies in the folder of one checkpoint."""
    for path, value in values:
        field = fields.owner(path)
        if field is not None and field.path_ref and isinstance(value, str) and _CHECKPOINT.search(value):
            cause = f"{value} lies in the folder of an older checkpoint, which only this node has"
            remedy = (
                "Set a path outside the checkpoints, "
                "or a relative path and ship the file as another key of the ConfigMap."
            )
            yield Problem(WARNING, path, cause, remedy, "checkpoint-path")
