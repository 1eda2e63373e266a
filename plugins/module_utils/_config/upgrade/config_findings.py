# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the flags, values and defaults of a node mean to a later kubelet: what it refuses or ignores, what changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Iterator, Mapping

from ..fields import compare, fields, gates, overlay, shadow
from ..fields.binary_facts import BinaryFacts
from ..fields.field_row import Field
from ..rules import fatal, feature_gates, types, validation
from ..rules.problem import REFUSAL, EffectiveConfig, Problem
from ..values import paths
from .node_facts import CHANGES, DEFAULT, FIELD, FLAG, GATE, RUNTIME, STAYS, STOPS, VALUE, Finding, UpgradeFacts

# Kubernetes 1.24 has no dockershim; up to 1.26 the socket has no default (cmd/kubelet/app/options).
_NO_DOCKER, _SOCKET_HAS_DEFAULT = 24, 27
# In-tree cloud providers need a gate in 1.29 and 1.30, and do not start from 1.31 on.
_NO_CLOUD, _NO_CLOUD_AT_ALL = 29, 31


def flags(facts: UpgradeFacts, target: int) -> Iterator[Finding]:
    """Yield the flags that stop a kubelet of the target minor, and those that it lacks."""
    binary = facts.known_of(target)
    for flag in facts.flags:
        cause = _gone_flag(flag.name, target, binary)
        if cause:
            remedy = f"Remove it{f' from {flag.where}' if flag.where else ''} with the upgrade."
            yield Finding(STOPS, FLAG, f"--{flag.name}", cause, remedy, flag.where)
    yield from _docker(facts, target)
    yield from _cloud(facts, target)


def _gone_flag(name: str, target: int, binary: BinaryFacts | None) -> str:
    """Return why the target ends because of a flag, empty if it does not. Its binary knows better than the table."""
    last = fields.LAST_MINOR.get(name)
    removed = last is not None and last < target
    if binary and binary.flags:
        if name in binary.flags:
            return ""
        if not removed:
            return f"{binary.version} does not know this flag and would not start"
    if not removed:
        return ""
    return f"1.{last} was the last version with this flag; a later kubelet ends with `unknown flag`"


def _docker(facts: UpgradeFacts, target: int) -> Iterator[Finding]:
    if target < _NO_DOCKER or not facts.argv:
        return
    kind, socket = facts.flag("container-runtime"), facts.flag("container-runtime-endpoint")
    value, where = "", ""
    if kind is not None:
        value, where = kind.value, kind.where
    elif facts.minor is not None and facts.minor < _NO_DOCKER:
        # Before 1.24, it is the default.
        value = "docker"
    if value == "docker":
        message = "the kubelet uses dockershim, which 1.24 removed"
        remedy = "Move the node to containerd, CRI-O or cri-dockerd first."
        yield Finding(STOPS, RUNTIME, "--container-runtime", message, remedy, where)
    elif target < _SOCKET_HAS_DEFAULT and (socket is None or not socket.value):
        message = "the flag is not set, and kubelets of 1.24 to 1.26 have no default socket"
        remedy = "Set the flag to the socket of the node's container runtime."
        yield Finding(STOPS, RUNTIME, "--container-runtime-endpoint", message, remedy)


def _cloud(facts: UpgradeFacts, target: int) -> Iterator[Finding]:
    flag = facts.flag("cloud-provider")
    if flag is None or flag.value in ("", "external") or target < _NO_CLOUD:
        return
    gated = target < _NO_CLOUD_AT_ALL
    given = facts.merged(target).get("featureGates")
    if gated and isinstance(given, dict) and given.get("DisableCloudProviders") is False:
        return
    message = f"a kubelet of 1.{target} does not start with the in-tree provider {flag.value}"
    remedy = "Use the provider's own controller manager, and set the flag to external."
    yield Finding(STOPS, FLAG, "--cloud-provider", message, remedy, flag.where)


# A kubelet ignores these fields; `_gone_fields` finds them.
_IGNORED = {"unknown-field", "field-too-new", "field-removed"}
_GATES = "featureGates"


def values(facts: UpgradeFacts, target: int) -> Iterator[Finding]:
    """Yield what a kubelet of the target minor refuses of files and flags, and the fields that it ignores."""
    merged = facts.merged(target)
    yield from _gates(facts, merged, target)
    yield from _refused(facts, merged, target)
    yield from _gone_fields(facts, target)


def _gates(facts: UpgradeFacts, merged: Mapping[str, Any], target: int) -> Iterator[Finding]:
    for problem in _gate_problems(facts, merged, target):
        locked = gates.locked_since(_gate_of(problem), target)
        if locked is not None:
            problem = replace(problem, remedy=f"{problem.remedy} Locked since 1.{locked}.")
        yield _finding(facts, problem, GATE, target)


def _gate_problems(facts: UpgradeFacts, merged: Mapping[str, Any], target: int) -> set[Problem]:
    found: set[Problem] = set()
    binary = facts.known_of(target)
    own = {}
    for path, value in shadow.values(facts.argv, target).items():
        field, _dot, name = path.partition(".")
        if field == _GATES:
            own[name] = value
    # Each file and the flags have to be right by themselves; only gates that need others are judged together.
    parts = [own]
    for file in facts.files:
        parts.append(paths.typed(file.content.get(_GATES), dict))
    for part in parts:
        for problem in feature_gates.check(EffectiveConfig({_GATES: part}, target, binary)):
            if problem.rule != feature_gates.NEEDS:
                found.add(problem)
    for problem in feature_gates.check(EffectiveConfig({_GATES: merged.get(_GATES)}, target, binary)):
        if problem.rule == feature_gates.NEEDS:
            found.add(problem)
    return found


def _gate_of(problem: Problem) -> str:
    return problem.path[len(_GATES) + 1 :]


def _refused(facts: UpgradeFacts, merged: Mapping[str, Any], target: int) -> Iterator[Finding]:
    new = set(_problems(merged, target, facts.known_of(target)))
    if facts.minor is not None:
        # A warning that holds for the running kubelet too is not about the upgrade. A refusal is always shown: the
        # running kubelet may have been started before the file changed.
        new -= {problem for problem in _problems(merged, facts.minor) if problem.severity != REFUSAL}
    for problem in new:
        yield _finding(facts, problem, VALUE, target)


def _problems(config: Mapping[str, Any], minor: int, binary: BinaryFacts | None = None) -> Iterator[Problem]:
    known = paths.present(config)
    effective = EffectiveConfig(known, minor, binary)
    for problem in types.check(known, minor, binary):
        if problem.rule not in _IGNORED:
            yield problem
    yield from validation.check(effective)
    yield from fatal.check(effective)


def _gone_fields(facts: UpgradeFacts, target: int) -> Iterator[Finding]:
    found = {}
    binary = facts.known_of(target)
    for one in facts.files:
        for keys, _value in overlay.written(one.content, by_key=True):
            field = fields.owner(keys)
            answered = binary is not None and binary.has(keys) is not None
            if not answered and field is not None and field.until is not None and field.until < target:
                found[field.path] = f"1.{field.until} was the last version with this field; a later kubelet ignores it"
        if binary:
            cause = f"{binary.version} does not know this field and ignores it"
            found.update(dict.fromkeys(binary.ignored(one.content), cause))
    for path, cause in found.items():
        yield Finding(CHANGES, FIELD, path, cause, "Remove it after the upgrade.", _places(facts, path, target))


def _finding(facts: UpgradeFacts, problem: Problem, kind: str, target: int) -> Finding:
    name = _gate_of(problem) if kind == GATE else problem.path
    severity = STOPS if problem.severity == REFUSAL else CHANGES
    return Finding(severity, kind, name, problem.message, problem.remedy, _places(facts, problem.path, target))


def _places(facts: UpgradeFacts, path: str, target: int) -> str:
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


# It matters on hosts with version 1 cgroup controllers only: upgrade.py.
_OF_THE_HOST = {"failCgroupV1"}


def defaults(facts: UpgradeFacts, target: int) -> Iterator[Finding]:
    """Yield the defaults that differ between the kubelet's minor and the target, unless a file or flag sets the field.

    A value that only a checkpoint of this collection sets, and that equals the old default, is named too: without the
    collection it would change.
    """
    if facts.minor is None:
        return
    newest = min(target, fields.NEWEST_MINOR)
    merged = facts.merged(newest)
    for field in fields.ALL.values():
        if field.path in _OF_THE_HOST or not (
            fields.default_known(field, facts.minor) and fields.default_known(field, newest)
        ):
            continue
        # Both as the newer kubelet shows them.
        before = compare.canonical(field.default_at(facts.minor), field, newest)
        after = compare.canonical(field.default_at(newest), field, newest)
        if compare.same(before, after):
            continue
        value = paths.value_at(merged, field.path.split("."))
        if compare.is_unset(value, field, newest):
            yield _changed(field.path, before, after)
        elif _pinned(facts, value, before, field, newest):
            what = "only the checkpoint sets it, to the old default; the new default is not used"
            message = f"{what}: {_difference(before, after)}"
            remedy = "Declare the value that you want. Without a declared value, the next rollout decides."
            yield Finding(STAYS, DEFAULT, field.path, message, remedy, facts.checkpoint)
    if facts.minor <= newest:
        yield from _by_gate(facts, facts.minor, newest)


# Kubelets without its gate wait as long (pkg/kubelet/kubelet.go, MaxContainerBackOff).
_AS_WITHOUT_GATE = {"crashLoopBackOff.maxContainerRestartPeriod"}


def _by_gate(facts: UpgradeFacts, minor: int, newest: int) -> Iterator[Finding]:
    """Yield the defaults of unset fields that come with a gate: off for this minor, on for the newest."""
    before = compare.gate_defaults(facts.merged(minor), minor)
    after = compare.gate_defaults(facts.merged(newest), newest)
    for path, default in paths.without(after, {*before, *_AS_WITHOUT_GATE}).items():
        keys = paths.parse(path)
        if not any(paths.value_at(one.content, keys) for one in facts.files):
            yield _changed(path, None, default)


def _changed(path: str, before: Any, after: Any) -> Finding:
    remedy = "Declare the value that you want, or accept the new default."
    return Finding(CHANGES, DEFAULT, path, f"the default changes: {_difference(before, after)}", remedy)


def meanings(facts: UpgradeFacts, target: int) -> Iterator[Finding]:
    """Yield the values of a node that a kubelet of the target takes for something else than the running one."""
    merged = facts.merged(min(target, fields.NEWEST_MINOR))
    for one in fields.MEANINGS:
        value = paths.value_at(merged, one.path.split("."))
        if facts.minor is not None and facts.minor < one.since <= target and value == one.value:
            message = f"{one.value} means {one.after} from 1.{one.since} on, and {one.before} before"
            remedy = "Declare the value that you want, or accept the new meaning."
            yield Finding(CHANGES, VALUE, one.path, message, remedy, facts.places(one.path, target))


def _pinned(facts: UpgradeFacts, value: Any, before: Any, field: Field, minor: int) -> bool:
    if facts.own is None:
        return False
    own = paths.value_at(facts.own.content, field.path.split("."))
    if not compare.is_unset(own, field, minor):
        return False
    return facts.is_only_in(facts.checkpoint, field.path, minor) and compare.same(
        compare.canonical(value, field, minor), before
    )


def _difference(before: Any, after: Any) -> str:
    if not (isinstance(before, Mapping) and isinstance(after, Mapping)):
        return f"{'unset' if before is None else before} -> {'unset' if after is None else after}"
    keys = compare.changed_keys(before, after)
    return ", ".join(f"{key} {before.get(key, 'absent')} -> {after.get(key, 'absent')}" for key in keys)
