# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Label and field selectors of a LIST."""

from __future__ import annotations

import re
import typing as t

from tests.sim.api.refusal import Refusal

# A comma inside of brackets does not end a requirement.
_SPLIT = re.compile(r",(?![^(]*\))")
_SET = re.compile(r"(\S+)\s+(in|notin)\s+\(([^)]*)\)")
_EQUAL = re.compile(r"([^=!]+?)\s*(==|=|!=)\s*(.*)")
# What the API server can select by (pkg/registry/core/*/strategy.go), beside name and namespace.
FIELDS = {
    "nodes": ("spec.unschedulable",),
    "pods": ("spec.nodeName", "status.phase", "spec.restartPolicy", "spec.schedulerName", "status.podIP"),
    "events": ("involvedObject.kind", "involvedObject.name", "involvedObject.uid", "reason", "type", "source"),
}


def labels(text: str) -> t.Callable[[t.Mapping[str, t.Any]], bool]:
    """Return whether an object has these labels."""
    tests = [_label(part.strip()) for part in _SPLIT.split(text) if part.strip()]
    return lambda item: all(test(item["metadata"].get("labels") or {}) for test in tests)


def _label(text: str) -> t.Callable[[t.Mapping[str, str]], bool]:
    if found := _SET.fullmatch(text):
        key, word, values = found[1], found[2], {value.strip() for value in found[3].split(",")}
        if word == "in":
            return lambda have: have.get(key) in values
        return lambda have: have.get(key) not in values
    if found := _EQUAL.fullmatch(text):
        key, sign, value = found[1], found[2], found[3]
        if sign == "!=":
            return lambda have: have.get(key) != value
        return lambda have: have.get(key) == value
    if text.startswith("!"):
        return lambda have: text[1:] not in have
    return lambda have: text in have


def fields(text: str, plural: str) -> t.Callable[[t.Mapping[str, t.Any]], bool]:
    """Return whether an object has these values. Raises Refusal (400) for a field that cannot be selected by."""
    tests: list[tuple[str, bool, str]] = []
    for part in filter(None, text.split(",")):
        found = _EQUAL.fullmatch(part)
        known = ("metadata.name", "metadata.namespace", *FIELDS.get(plural, ()))
        if not found or found[1] not in known:
            raise Refusal(400, f"field label not supported: {found[1] if found else part}")
        tests.append((found[1], found[2] != "!=", found[3]))
    return lambda item: all((_value(item, path) == value) == equal for path, equal, value in tests)


def _value(item: t.Any, path: str) -> str:
    for name in path.split("."):
        item = (item or {}).get(name)
    if item is None:
        return ""
    return str(item).lower() if isinstance(item, bool) else str(item)
