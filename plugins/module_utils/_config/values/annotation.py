# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The prefix of all annotations and labels, and the Node annotations that replace Node.spec.configSource and
Node.status.config on kubelets without these fields.

Reads the annotations of a Node, and its configSource and config status, whatever they contain. A kubelet may write
those of its own Node, and so may every user with access. Each function that reads returns only what has the right
shape, and as a text what is wrong with the rest: the text is empty if nothing is. None of them raises an error.
"""

from __future__ import annotations

import datetime
import json
import re
from typing import Any, Callable, Mapping, NamedTuple, Tuple

from . import reference

MANAGED_LABEL, MANAGED_BY = "app.kubernetes.io/managed-by", "livenodes.kubelet"
"""The label of every object that this collection creates."""
PREFIX = "kubelet-config.livenodes.io/"
"""Begins the name of every annotation and label of this collection, on Nodes, ConfigMaps and Leases."""
SOURCE = PREFIX + "source"
"""The source that the node should run, in the shape of Node.spec.configSource. Written by the controller.

Beside `configMap` it names by `machineID` and `nodeUID` the machine and the Node to which it was assigned, if known: a
machine that was installed again or replaced does not have the source on its disk. `delivery` names the delivery, if
it is not that of a checkpoint. `seed` is true if the machine came with it: its guard has written it, not a controller.
"""
MACHINE = ("machineID", "nodeUID")
SEED = "seed"
STATUS = PREFIX + "status"
"""The assigned, active and last-known-good sources, in the shape of Node.status.config, with `reason`, `time` and
`started`. Written on the node.
"""
PREVIOUS = PREFIX + "previous"
"""The source that the node ran before the last rollout that changed it, in the shape of Node.spec.configSource. Written
by the controller. Without `configMap` it is the local config.

`rollout` names that rollout (`_config/rollback.py`); assignments outside a rollout name none. `undone` is
true once a rollback of it has begun on this node.
"""
OWN = PREFIX + "own"
"""The node's own values of the fields that sources replaced; see plan/own_values.py. Written by the controller, in the
patch that assigns a source. On the Node, because nodes with different own values can share a ConfigMap. Not on the
ConfigMap, because a change of its metadata changes its resourceVersion, which restarts every kubelet that follows it.
"""
CORDONED = PREFIX + "cordoned"
"""Marks a cordon of this collection: `holder` and `time`. Written by the controller, which removes no other cordon."""

ON_TRIAL = "on trial"
"""`reason` of a config that the controller has not confirmed yet."""
CONFIRMED = "on trial, confirmed"
"""`reason` of a config that is confirmed and whose trial still runs."""


def unconfirmed(reason: Any) -> bool:
    """Return whether this `reason` is that of a config that the controller has not confirmed yet.

    The guard adds what a trial waits for, such as a container runtime, after a semicolon.
    """
    return str(reason or "").partition(";")[0] == ON_TRIAL


def text(value: Mapping[str, Any]) -> str:
    """Return an annotation's value: JSON on one line with sorted keys, so that equal states are equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


PARTS = ("assigned", "active", "lastKnownGood")
"""The parts of a status that hold a source."""
# The format in which the guard writes `time` and `started`.
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
ROLLOUT = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}")
"""The form of the name of a rollout: such names sort by the time at which the rollout began."""
SPEC, CONFIG = "spec.configSource", "status.config"
"""The fields that the annotations replace."""
# What follows on the removal of a malformed annotation.
_THEN = {
    SOURCE: "then roll out again, which writes it",
    STATUS: "then reset the node and roll out again: its guard writes it at a switch",
    PREVIOUS: "the next assignment writes it",
    CORDONED: "then uncordon the node if it is cordoned",
}


class NodeRecords(NamedTuple):
    """What a Node records about its configuration.

    `spec` and `config` are Node.spec.configSource and Node.status.config, the next four are the annotations. `machine`
    is that to which the source was assigned, by the keys of annotation.MACHINE; empty if unknown. `delivery` is that of
    the source in the annotation, empty if it names none. `previous` has a `configMap` unless it is the local config,
    and as far as the annotation has them `rollout` and `undone`.
    `malformed` states by field or annotation what is malformed, and how to repair it; NAME stands for the node.
    """

    spec: dict[str, str] | None
    config: dict[str, Any] | None
    source: dict[str, str] | None
    status: dict[str, Any] | None
    previous: dict[str, Any] | None
    cordoned: dict[str, str] | None
    machine: dict[str, str]
    malformed: dict[str, str]
    delivery: str = ""
    seeded: bool = False
    """Whether the machine came with the source, from a seed."""


def records(notes: Mapping[str, Any], spec: Any, config: Any) -> NodeRecords:
    """Return what a Node with these annotations, this spec.configSource and this status.config records."""
    faults: dict[str, str] = {}
    spec, faults[SPEC] = source(spec)
    config, faults[CONFIG] = status(config)
    assigned, found, faults[SOURCE] = _held(notes, SOURCE, source)
    if assigned is not None and found is None:
        # The local config has no such annotation.
        faults[SOURCE] = faults[SOURCE] or "it has no configMap"
    _holder, reported, faults[STATUS] = _held(notes, STATUS, status)
    _holder, before, faults[PREVIOUS] = _held(notes, PREVIOUS, previous)
    marked, cordoned, faults[CORDONED] = _held(notes, CORDONED, mark)
    delivery = (assigned or {}).get("delivery")
    return NodeRecords(
        spec,
        config,
        found,
        reported,
        # A malformed annotation is not a local config: a node is not reverted to a guess.
        None if faults[PREVIOUS] else before,
        # A malformed mark marks a cordon, too.
        None if marked is None else cordoned,
        _machine(assigned or {}),
        {place: _message(place, fault) for place, fault in faults.items() if fault},
        delivery if isinstance(delivery, str) else "",
        (assigned or {}).get(SEED) is True,
    )


def _held(
    notes: Mapping[str, Any], key: str, read: Callable[[Any], tuple[Any, str]]
) -> tuple[dict[str, Any] | None, Any, str]:
    """Return what an annotation holds, what `read` finds in that, and why it is malformed."""
    holder, fault = mapping(notes.get(key))
    found, why = read(holder)
    return holder, found, fault or why


def machine(meta: Mapping[str, Any], info: Mapping[str, Any]) -> dict[str, str]:
    """Return the machine and the Node by the keys of MACHINE, as far as metadata and status.nodeInfo name them."""
    return _machine(dict(zip(MACHINE, (info.get("machineID"), meta.get("uid")))))


def is_another(assigned_to: Mapping[str, str], here: Mapping[str, str]) -> bool:
    """Return whether a source was assigned to another machine or Node than this one. What is unknown is the same."""
    return any(here.get(key, known) != known for key, known in assigned_to.items())


def _machine(holder: Mapping[str, Any]) -> dict[str, str]:
    return {key: holder[key] for key in MACHINE if isinstance(holder.get(key), str) and holder[key]}


def _message(place: str, fault: str) -> str:
    if place == SPEC:
        return f"its {SPEC} is malformed: {fault}. Assign a source again"
    if place == CONFIG:
        return f"its {CONFIG} is malformed: {fault}. Restart its kubelet, which writes it again"
    return (
        f"its annotation {place} is malformed: {fault}. Remove it with `kubectl annotate node NAME {place}-`, "
        f"{_THEN[place]}"
    )


def mapping(value: Any) -> tuple[dict[str, Any] | None, str]:
    """Return the mapping that an annotation holds, and why it is malformed (empty: it is not).

    The mapping is None without an annotation, and empty for an annotation that holds no mapping.
    """
    if value is None:
        return None, ""
    try:
        found = json.loads(value)
    except (TypeError, ValueError, RecursionError):
        # RecursionError: 256 KiB of brackets fit into an annotation.
        return {}, "it is not JSON"
    if not isinstance(found, dict):
        return {}, f"it is {reference.shown(found)}, not a mapping"
    return found, ""


def source(holder: Any) -> tuple[dict[str, str] | None, str]:
    """Return the reference in a holder of the shape of Node.spec.configSource, and why it is malformed."""
    try:
        return reference.read(holder), ""
    except ValueError as error:
        return None, str(error)


def previous(holder: Any) -> tuple[dict[str, Any] | None, str]:
    """Return what the annotation of that name holds without unknown fields, and why it is malformed."""
    if holder is None:
        return None, ""
    before, fault = source(holder)
    rollout, undone = holder.get("rollout", ""), holder.get("undone", False)
    if not isinstance(rollout, str) or (rollout and not ROLLOUT.fullmatch(rollout)):
        fault = fault or f"rollout is {reference.shown(rollout)}, not the name of a rollout"
    if not isinstance(undone, bool):
        fault = fault or f"undone is {reference.shown(undone)}, not true or false"
    found = {"configMap": before, "rollout": rollout, "undone": undone}
    return {key: value for key, value in found.items() if value}, fault


def status(holder: Any) -> tuple[dict[str, Any] | None, str]:
    """Return a status of the shape of Node.status.config without its malformed and unknown fields.

    Also returns what is wrong with the first malformed field. None for a status that was never reported.
    """
    if holder is None:
        return None, ""
    if not isinstance(holder, dict):
        return {}, f"it is {reference.shown(holder)}, not a mapping"
    found: dict[str, Any] = {}
    fault = ""
    for part in PARTS:
        try:
            source_of_part = reference.read(holder.get(part), part)
            if source_of_part:
                found[part] = {"configMap": source_of_part}
        except ValueError as error:
            fault = fault or str(error)
    texts, wrong = _texts(holder, _OF_STATUS)
    return {**found, **texts}, fault or wrong


def mark(holder: Mapping[str, Any] | None) -> tuple[dict[str, str], str]:
    """Return a mark of a cordon without its malformed and unknown fields, and what is wrong with the first of them."""
    return _texts(holder or {}, _OF_MARK)


def _texts(holder: Mapping[str, Any], fields: Mapping[str, _Form]) -> tuple[dict[str, str], str]:
    """Return the fields with texts of the right form, and what is wrong with the first other one."""
    found, fault = {}, ""
    for field, (fits, meaning) in fields.items():
        value = holder.get(field)
        if value is None:
            continue
        if isinstance(value, str) and fits(value):
            found[field] = value
        else:
            fault = fault or f"{field} is {reference.shown(value)}, not {meaning}"
    return found, fault


def is_unicode(value: str) -> bool:
    """Return whether a text can be written as UTF-8: JSON can hold half a surrogate pair."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _time(value: str) -> bool:
    """Return whether a text is a time as the guard writes it; such texts sort by time."""
    if not _TIME.fullmatch(value):
        return False
    try:
        datetime.datetime.fromisoformat(value[:-1])
    except ValueError:
        return False
    return True


_Form = Tuple[Callable[[str], bool], str]
_TEXT: _Form = (is_unicode, "a text")
_TIME_OF_GUARD: _Form = (_time, "a time")
_OF_STATUS = {"error": _TEXT, "reason": _TEXT, "time": _TIME_OF_GUARD, "started": _TIME_OF_GUARD}
_OF_MARK = {"holder": _TEXT, "time": _TEXT}
