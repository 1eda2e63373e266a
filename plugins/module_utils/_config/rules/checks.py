# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks of a configuration that need no access to a host."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Mapping

from ..fields.binary_facts import BinaryFacts
from ..values import paths
from . import fatal, feature_gates, start_rules, types, validation
from .problem import WARNING, EffectiveConfig, Problem

__all__ = ["Problem", "problems", "softened", "warned"]


VALIDATED = {*validation.NAMES, *feature_gates.NAMES}
"""The rules of the kubelet's validation."""


def problems(config: Mapping[str, Any], minor: int, binary: BinaryFacts | None = None) -> list[Problem]:
    """Return the problems of a complete configuration for a kubelet of this minor: refusals first, then by path.

    `binary`: what this kubelet's own binary answered, if it was asked.
    """
    found = {_helped(problem, config, minor) for problem in _found(config, minor, binary)}
    return sorted(found, key=lambda problem: (problem.severity, problem.path, problem.rule, problem.message))


def _found(config: Mapping[str, Any], minor: int, binary: BinaryFacts | None = None) -> set[Problem]:
    effective = EffectiveConfig(config, minor, binary)
    found = {*types.check(config, minor, binary), *validation.check(effective), *fatal.check(effective)}
    found.update(feature_gates.check(effective), start_rules.hidden(effective))
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
