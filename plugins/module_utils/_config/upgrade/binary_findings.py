# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the target's own binary answers for this node with its arguments, beside the findings of the tables.

Also where a binary differs from the tables, which describe the releases of Kubernetes. And what is unknown of a target
beyond them as long as no binary of it was asked.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Sequence

from ..fields import fields, gates, overlay
from ..fields.binary_facts import ABSENT, BinaryFacts
from ..values import paths
from ..values.node_row import first_of
from ..values.short_texts import minor_of
from .node_facts import BINARY, CHANGES, FIELD, FLAG, GATE, STOPS, UNKNOWN, VALIDATED, VERSION, Finding, UpgradeFacts

VALID, INVALID = "valid", "invalid"
# Messages that do not contain the name of their field (pkg/kubelet/apis/config/validation/validation_linux.go).
_WORDS = {"failCgroupV1": "configured to not run on a host using cgroup v1"}


def weighed(facts: UpgradeFacts, target: int, found: Sequence[Finding]) -> list[Finding]:
    """Return the findings of the tables with those of the binary. Where both speak, the binary is right.

    What it refuses and a finding already names, appears once, and stops the kubelet. What it accepts does not.
    """
    if facts.check is None:
        return list(found)
    verdict, messages = facts.check["verdict"], facts.check["messages"]
    if verdict == INVALID and minor_of(facts.check.get("version")) in (None, target):
        found = [_refused(one, messages) for one in found]
    own = list(_only_of_binary(facts, facts.check, target, found))
    if verdict == VALID and not own:
        found = list(map(_accepted, found))
    return [*found, *own, *_differing(facts, target)]


def _differing(facts: UpgradeFacts, target: int) -> Iterator[Finding]:
    """Yield one finding with all names in which the binary differs from the tables, such as that of a distribution."""
    binary = facts.known_of(target)
    found = differences(binary) if binary else []
    if found:
        path = str((facts.check or {}).get("binary"))
        yield Finding(CHANGES, BINARY, path, "; ".join(found), "Nothing: the answers of this binary were used.")


def _only_of_binary(
    facts: UpgradeFacts, check: Mapping[str, Any], target: int, found: Sequence[Finding]
) -> Iterator[Finding]:
    """Yield what the binary answers and no finding of the tables names. The answer of another minor does not count."""
    version = check.get("version")
    if version and minor_of(version) != target:
        message = f"this binary is {version}, not 1.{target}, so its answer does not count"
        remedy = f"Copy the kubelet of 1.{target} there, or correct kubelet_config_target_version."
        yield Finding(UNKNOWN, BINARY, check["binary"], message, remedy)
        return
    yield from _refused_flags(facts, check, found)
    yield from _refused_values(check, found)
    yield from _ignored_fields(check, found)


def _named(found: Sequence[Finding], kind: str) -> set[str]:
    return {one.name for one in found if one.kind == kind}


def _refused_flags(facts: UpgradeFacts, check: Mapping[str, Any], found: Sequence[Finding]) -> Iterator[Finding]:
    known = _named(found, FLAG)
    message = f"{check.get('version')} does not know this flag and would not start"
    for given in check["refused_flags"]:
        # The binary names a flag as it was given.
        flag = given.replace("_", "-")
        if f"--{flag}" not in known:
            where = next((one.where for one in facts.flags if one.name == flag), "")
            yield Finding(STOPS, FLAG, f"--{flag}", message, "Remove it with the upgrade.", where)


def _refused_values(check: Mapping[str, Any], found: Sequence[Finding]) -> Iterator[Finding]:
    path, verdict, messages = check["binary"], check["verdict"], check["messages"]
    if verdict == INVALID:
        for text in messages:
            if not any(one.severity == STOPS and _is_about(one, text) for one in found):
                message = f"{check.get('version')} refuses: {text}"
                yield Finding(STOPS, BINARY, path, message, "Correct it before the upgrade.")
    elif verdict != VALID:
        message = "the binary did not check the configuration: " + "; ".join(messages)
        remedy = "Correct the cause and run again, or leave kubelet_config_target_binary out."
        yield Finding(UNKNOWN, BINARY, path, message, remedy)


def _ignored_fields(check: Mapping[str, Any], found: Sequence[Finding]) -> Iterator[Finding]:
    message = f"{check.get('version')} does not know this field and ignores it"
    gone = _named(found, FIELD)
    for field in check["unknown_fields"]:
        if field not in gone and not any(name.startswith(f"{field}.") for name in gone):
            yield Finding(CHANGES, FIELD, field, message, "Remove it.")


def _is_about(finding: Finding, message: str) -> bool:
    """Return whether a message of the binary is about the same as a finding."""
    about = (finding.message, finding.name, _WORDS.get(finding.name))
    return any(words and words in message for words in about)


def _refused(finding: Finding, messages: Sequence[str]) -> Finding:
    """Return a finding as one that stops if the binary refuses it: the tables are not sure beyond their minors."""
    if finding.kind in VALIDATED and any(_is_about(finding, message) for message in messages):
        return finding._replace(severity=STOPS)
    return finding


def _accepted(finding: Finding) -> Finding:
    """Return a finding as one that does not stop if the binary validates what it is about."""
    if finding.severity != STOPS or finding.kind not in VALIDATED:
        return finding
    message = f"{finding.message}. The target binary accepts it on this node, so it does not stop"
    return finding._replace(severity=CHANGES, message=message)


def differences(facts: BinaryFacts) -> list[str]:
    """Return in words where a binary differs from what the tables give to its minor, sorted; none beyond the tables."""
    minor = facts.minor
    if minor is None or not gates.OLDEST_MINOR <= minor <= fields.NEWEST_MINOR:
        return []
    return sorted({*_other_flags(facts, minor), *_other_gates(facts, minor), *_other_fields(facts, minor)})


def _other_flags(facts: BinaryFacts, minor: int) -> Iterator[str]:
    has = {*facts.flags}
    if not has:
        return
    for name, flag in fields.FLAGS.items():
        if flag.exists_at(minor) and name not in has:
            yield f"this kubelet has no flag --{name} that the tables give to 1.{minor}"
    for name in has:
        last = fields.LAST_MINOR.get(name, minor)
        if last < minor:
            yield f"this kubelet has the flag --{name} that the tables end with 1.{last}"


def _other_gates(facts: BinaryFacts, minor: int) -> Iterator[str]:
    for name, answer in facts.gates.items():
        state = gates.state(name, minor)
        if name in gates.GROUPS:
            continue
        if answer == ABSENT:
            if state:
                yield f"this kubelet has no feature gate {name} that the tables give to 1.{minor}"
        elif state is None:
            yield f"this kubelet has the feature gate {name} that the tables do not give to 1.{minor}"
        elif facts.default(name) not in (None, state.default):
            wanted = "on" if facts.default(name) else "off"
            yield f"the feature gate {name} is {wanted} by default in this kubelet, unlike in the tables of 1.{minor}"


def _other_fields(facts: BinaryFacts, minor: int) -> Iterator[str]:
    for path, has in facts.fields.items():
        field = fields.ALL.get(path)
        expected = field is not None and field.exists_at(minor)
        if has and not expected:
            yield f"this kubelet has the field {path} that the tables do not give to 1.{minor}"
        if expected and not has:
            yield f"this kubelet has no field {path} that the tables give to 1.{minor}"


_GATES = "featureGates"
_SHOWN_NAMES = 8
_NOUNS = {FLAG: "flags", GATE: "feature gates", FIELD: "fields"}


def not_asked(facts: UpgradeFacts, target: int) -> Iterator[Finding]:
    """Yield one finding for the flags, one for the gates and one for the fields that this node sets.

    A node that sets none has one all the same. What a binary answered, `weighed` has.
    """
    newest = fields.NEWEST_MINOR
    if target <= newest or facts.check is not None:
        return
    end = f"the tables end with 1.{newest}, and no binary of 1.{target} was asked"
    remedy = f"Set kubelet_config_target_binary to a kubelet of 1.{target} on the nodes, and run again."
    given = _names(facts)
    for kind, names in given.items():
        if names:
            shown = first_of(names, _SHOWN_NAMES)
            message = f"{end}: whether it accepts the {_NOUNS[kind]} of this node is not known ({shown})"
            yield Finding(UNKNOWN, kind, "", message, remedy)
    if not any(given.values()):
        yield Finding(UNKNOWN, VERSION, "", end, remedy)


def _names(facts: UpgradeFacts) -> Mapping[str, Sequence[str]]:
    """Return the names that the node sets, by kind; of the flags those that an earlier minor has not lost already."""
    flags, names = set(), set()
    for flag in facts.flags:
        if flag.name not in fields.LAST_MINOR:
            flags.add(f"--{flag.name}")
    given = paths.typed(facts.merged(fields.NEWEST_MINOR).get(_GATES), dict)
    for file in facts.files:
        for keys, _value in overlay.written(file.content, by_key=True):
            if keys[0] != _GATES:
                names.add(paths.show(keys))
    return {FLAG: sorted(flags), GATE: sorted(given), FIELD: sorted(names)}
