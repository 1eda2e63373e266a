# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two annotations in which a controller and the follower on a node answer each other.

A source is assigned by the annotation `source`, also where Ansible takes it to the node. Beside it, `follow` has what
only a follower reads. The follower answers in `follower`. Both are JSON on one line; see annotation.text.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from . import annotation, reference

FOLLOW = annotation.PREFIX + "follow"
"""Written by the controller, on Nodes with a follower: see Orders."""
FOLLOWER = annotation.PREFIX + "follower"
"""Written by the follower of the node: see Answer."""
FORMAT = 1
"""The version of both annotations. It changes when a known field gets another meaning."""
SSH, API, AUTO = "ssh", "api", "auto"
"""The transports: Ansible logs in, or the follower sees its Node. C(auto): by the follower where there is one."""
TRANSPORTS = (AUTO, API, SSH)
LONGEST_SECONDS = 10**9
"""Longer than any trial, and short enough for the store to keep it."""

Source = Mapping[str, str]
_NONE: Mapping[str, Any] = {}


class Orders(NamedTuple):
    """What the controller adds to a source, or to its absence, which is a reset."""

    transport: str = API
    """With C(ssh), the follower leaves the node to Ansible."""
    attempt: int = 0
    """Another number than the last one assigns the same source again."""
    trial_seconds: int = 600
    confirm_seconds: int = 600
    """Seconds until an unconfirmed configuration is reverted."""
    trial: str = ""
    """The name of the trial that has been judged, empty while none has."""
    reason: str = ""
    """Why that trial is reverted; empty if it is confirmed."""


BY_DEFAULT = Orders()


class Answer(NamedTuple):
    """What a follower reports."""

    format: int = FORMAT
    configMap: Source = _NONE
    """The source that it has acted on last, empty for the local configuration; the name is that of a Node."""
    attempt: int = 0
    """That of the orders at that time."""
    refused: str = ""
    """Why the node does not run the source, so that it was not switched or is reverted; empty if it was switched."""
    trial: str = ""
    """The trial of the source."""
    judged: str = ""
    """The last trial that was confirmed or reverted by order."""
    failed: str = ""
    """Why that could not be done."""
    facts: Mapping[str, Any] = _NONE
    """What kubelet_preflight_info returns of the node's own files: its keys C(kubelet), C(disk), C(own), C(dropin)."""

    @property
    def source(self) -> Source | None:
        """The source that it has acted on last, None for the local configuration."""
        return self.configMap or None


def orders(notes: Mapping[str, Any]) -> tuple[Orders, str]:
    """Return what the annotation C(follow) holds, and why it is malformed; the defaults without one."""
    found, fault = _fields(notes.get(FOLLOW), Orders())
    if not fault and found.transport not in (SSH, API):
        fault = f"transport is {reference.shown(found.transport)}, not {API} or {SSH}"
    for name in ("trial_seconds", "confirm_seconds"):
        seconds = getattr(found, name)
        if not 0 <= seconds <= LONGEST_SECONDS:
            fault = fault or f"{name} is {reference.shown(seconds)}, not a number from 0 to {LONGEST_SECONDS}"
    return (Orders() if fault else found), fault


def answer(notes: Mapping[str, Any]) -> tuple[Answer | None, str]:
    """Return what the annotation C(follower) holds, None without one; and why it is malformed."""
    if notes.get(FOLLOWER) is None:
        return None, ""
    found, fault = _fields(notes[FOLLOWER], Answer())
    if not fault and found.configMap:
        _source, fault = annotation.source({"configMap": dict(found.configMap)})
    return (None if fault else found), fault


def text(value: Orders | Answer) -> str:
    """Return the text of an annotation: what differs from the defaults, and the format of an answer."""
    defaults = type(value)()
    fields = {name: item for name, item in value._asdict().items() if item != getattr(defaults, name)}
    if isinstance(value, Answer):
        fields["format"] = value.format
    return annotation.text(fields)


def judging(orders: Orders, trial: str, reason: str = "") -> dict[str, str]:
    """Return the annotation that orders a trial to be confirmed, or with a reason to be reverted."""
    return {FOLLOW: text(orders._replace(trial=trial, reason=reason))}


def unreached(reported: int | None, transport: str) -> str:
    """Return why a source cannot reach a node by a transport, empty if it can.

    C(reported): the format that the follower of the node writes, None without a follower.
    """
    if transport == SSH:
        return ""
    if reported is None:
        if transport == AUTO:
            return ""
        return (
            "no follower reports on it, so nothing takes the source to the node. Run the playbook follow for its host, "
            "or set kubelet_config_transport to auto or ssh"
        )
    if reported != FORMAT:
        return (
            f"its follower writes format {reported}, and this collection reads format {FORMAT}: update the follower "
            "with the playbook follow"
        )
    return ""


def fits(source: Source, full: Source | None) -> bool:
    """Return whether a full reference has all that a source names; a person may have left out uid and revision."""
    return full is not None and all(full.get(part) == value for part, value in source.items())


def _fields(value: Any, defaults: Any) -> tuple[Any, str]:
    """Return the fields of an annotation, and what is wrong with the first of another type. Others are ignored."""
    holder, fault = annotation.mapping(value)
    if fault or holder is None:
        return defaults, fault
    found = {}
    for name, default in zip(defaults._fields, defaults):
        given = holder.get(name, default)
        is_storable = not isinstance(given, str) or annotation.is_unicode(given)
        if type(given) is not type(default) or not is_storable:
            return defaults, f"{name} is {reference.shown(given)}"
        found[name] = given
    return type(defaults)(**found), ""
