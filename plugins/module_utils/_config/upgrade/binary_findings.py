# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The answer of the target's own binary, for this node with its arguments, beside the findings of the tables."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Sequence

from ..values.short_texts import minor_of
from . import binary_differences
from .finding import BINARY, CGROUP, CHANGES, FIELD, FLAG, GATE, STOPS, UNKNOWN, VALUE, Finding
from .node_facts import Facts

VALID, INVALID = "valid", "invalid"
# What the kubelet's validation decides. Flags are parsed before it, and some flags do not reach the binary.
_VALIDATED = {GATE, CGROUP, VALUE}
# Messages that do not contain the name of their field (pkg/kubelet/apis/config/validation/validation_linux.go).
_WORDS = {"failCgroupV1": "configured to not run on a host using cgroup v1"}


def weighed(facts: Facts, target: int, found: Sequence[Finding]) -> list[Finding]:
    """Return the findings of the tables with those of the binary. Where both speak, the binary is right.

    What it refuses and a finding already names, appears once, and stops the kubelet. What it accepts does not.
    """
    if facts.check is None:
        return list(found)
    if facts.check["verdict"] == INVALID and minor_of(facts.check.get("version")) in (None, target):
        found = [_refused(one) if any(_says(one, text) for text in facts.check["messages"]) else one for one in found]
    own = list(_said(facts, facts.check, target, found))
    accepted = facts.check["verdict"] == VALID and not own
    return [
        *(_accepted(one) if accepted and _is_validated(one) else one for one in found),
        *own,
        *_differing(facts, target),
    ]


def _differing(facts: Facts, target: int) -> Iterator[Finding]:
    """Yield one finding with all names in which the binary differs from the tables, such as that of a distribution."""
    binary = facts.known_of(target)
    found = binary_differences.differences(binary) if binary else []
    if found:
        path = str((facts.check or {}).get("binary"))
        yield Finding(CHANGES, BINARY, path, "; ".join(found), "Nothing: the answers of this binary were used.")


def _said(facts: Facts, check: Mapping[str, Any], target: int, found: Sequence[Finding]) -> Iterator[Finding]:
    path, version = check["binary"], check.get("version")
    if version and minor_of(version) != target:
        yield Finding(
            UNKNOWN,
            BINARY,
            path,
            f"this binary is {version}, not 1.{target}, so its answer does not count",
            f"Copy the kubelet of 1.{target} there, or correct kubelet_config_target_version.",
        )
        return
    known = {one.name for one in found if one.kind == FLAG}
    # The binary names a flag as it was given.
    for flag in (name.replace("_", "-") for name in check["refused_flags"]):
        if f"--{flag}" not in known:
            where = next((one.where for one in facts.flags if one.name == flag), "")
            message = f"{version} does not know this flag and would not start"
            yield Finding(STOPS, FLAG, f"--{flag}", message, "Remove it with the upgrade.", where)
    if check["verdict"] == INVALID:
        for message in check["messages"]:
            if not any(_says(one, message) for one in found if one.severity == STOPS):
                yield Finding(STOPS, BINARY, path, f"{version} refuses: {message}", "Correct it before the upgrade.")
    elif check["verdict"] != VALID:
        yield Finding(
            UNKNOWN,
            BINARY,
            path,
            "the binary did not check the configuration: " + "; ".join(check["messages"]),
            "Correct the cause and run again, or leave kubelet_config_target_binary out.",
        )
    gone = {one.name for one in found if one.kind == FIELD}
    for field in check["unknown_fields"]:
        if field not in gone and not any(one.startswith(f"{field}.") for one in gone):
            yield Finding(CHANGES, FIELD, field, f"{version} does not know this field and ignores it", "Remove it.")


def _says(finding: Finding, message: str) -> bool:
    """Return whether a message of the binary is about the same as a finding."""
    about = (finding.message, finding.name, _WORDS.get(finding.name))
    return any(words and words in message for words in about)


def _refused(finding: Finding) -> Finding:
    """Return a finding that the tables are not sure of, and the binary is, such as beyond the tables."""
    return finding._replace(severity=STOPS) if finding.kind in _VALIDATED else finding


def _is_validated(finding: Finding) -> bool:
    return finding.severity == STOPS and finding.kind in _VALIDATED


def _accepted(finding: Finding) -> Finding:
    return finding._replace(
        severity=CHANGES, message=f"{finding.message}. The target binary accepts it on this node, so it does not stop"
    )
