# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which feature gates, fields and values of a node a later kubelet refuses or ignores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Iterator, Mapping

from ..fields import fields, gates, shadow
from ..fields.binary_facts import BinaryFacts
from ..rules import fatal, feature_gates, types, validation
from ..rules.problem import REFUSAL, EffectiveConfig, Problem
from ..values import paths
from .finding import CHANGES, FIELD, GATE, STOPS, VALUE, Finding
from .node_facts import Facts, leaves

# A kubelet ignores these fields; `gone` finds them.
_IGNORED = {"unknown-field", "field-too-new", "field-removed"}
_GATES = "featureGates"


def check(facts: Facts, target: int) -> Iterator[Finding]:
    """Yield what a kubelet of the target minor refuses of files and flags, and the fields that it ignores."""
    merged = facts.merged(target)
    yield from _gates(facts, merged, target)
    yield from _refused(facts, merged, target)
    yield from _gone(facts, target)


def _gates(facts: Facts, merged: Mapping[str, Any], target: int) -> Iterator[Finding]:
    found: set[Problem] = set()
    binary = facts.known_of(target)
    flags = shadow.values(facts.argv, target)
    own = {path[len(_GATES) + 1 :]: value for path, value in flags.items() if path.startswith(f"{_GATES}.")}
    # Each file and the flags have to be right by themselves; only gates that need others are judged together.
    for given in (*(one.content.get(_GATES) for one in facts.files), own):
        if isinstance(given, Mapping):
            alone = feature_gates.check(EffectiveConfig({_GATES: dict(given)}, target, binary))
            found.update(problem for problem in alone if problem.rule != feature_gates.NEEDS)
    together = feature_gates.check(EffectiveConfig({_GATES: merged.get(_GATES)}, target, binary))
    found.update(problem for problem in together if problem.rule == feature_gates.NEEDS)
    for problem in found:
        gate = gates.lookup(_gate_of(problem))
        state = gate.at(target) if gate else None
        since = [one.since for one in gate.states if one.locked] if gate and state and state.locked else []
        remedy = f"{problem.remedy} Locked since 1.{since[0]}." if since else problem.remedy
        yield _finding(facts, replace(problem, remedy=remedy), GATE, target)


def _gate_of(problem: Problem) -> str:
    return problem.path[len(_GATES) + 1 :]


def _refused(facts: Facts, merged: Mapping[str, Any], target: int) -> Iterator[Finding]:
    new = set(_problems(merged, target, facts.known_of(target)))
    if facts.minor is not None:
        # A warning that holds for the running kubelet too is not about the upgrade. A refusal is always shown: the
        # running kubelet may have been started before the file changed.
        new -= {problem for problem in _problems(merged, facts.minor) if problem.severity != REFUSAL}
    for problem in new:
        yield _finding(facts, problem, VALUE, target)


def _problems(config: Mapping[str, Any], minor: int, binary: BinaryFacts | None = None) -> Iterator[Problem]:
    known = {key: value for key, value in config.items() if value is not None}
    effective = EffectiveConfig(known, minor, binary)
    yield from (problem for problem in types.check(known, minor, binary) if problem.rule not in _IGNORED)
    yield from validation.check(effective)
    yield from fatal.check(effective)


def _gone(facts: Facts, target: int) -> Iterator[Finding]:
    found = {}
    binary = facts.known_of(target)
    for one in facts.files:
        for keys in leaves(one.content):
            field = fields.owner(keys)
            has = binary.has(keys) if binary else None
            if has is None and field is not None and field.until is not None and field.until < target:
                found[field.path] = f"1.{field.until} was the last version with this field; a later kubelet ignores it"
        if binary:
            cause = f"{binary.version} does not know this field and ignores it"
            found.update(dict.fromkeys(binary.ignored(one.content), cause))
    for path, cause in found.items():
        yield Finding(CHANGES, FIELD, path, cause, "Remove it after the upgrade.", _places(facts, path, target))


def _finding(facts: Facts, problem: Problem, kind: str, target: int) -> Finding:
    name = _gate_of(problem) if kind == GATE else problem.path
    severity = STOPS if problem.severity == REFUSAL else CHANGES
    return Finding(severity, kind, name, problem.message, problem.remedy, _places(facts, problem.path, target))


def _places(facts: Facts, path: str, target: int) -> str:
    """Return where a path is set, or the nearest one above it that is set."""
    try:
        keys = paths.parse(path)
    except ValueError:
        return ""
    for end in range(len(keys), 0, -1):
        found = facts.places(paths.show(keys[:end]), target)
        if found:
            return found
    return ""
