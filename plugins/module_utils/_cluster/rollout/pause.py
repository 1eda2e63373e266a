# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stops a rollout between two batches: at the end of its window, by an option, or by a ConfigMap of operators, which
this module also writes.
"""

from __future__ import annotations

import time
import typing as t

from ..api import timestamps
from ..api.errors import ClusterError
from ..api.session import Session, dry_run_query
from ..objects import configmaps

# The keys of a ConfigMap with which operators can pause rollouts by kubectl.
_PAUSED, _REASON = "paused", "reason"
RESUMED = "resumed"
"""The state of the module that ends a pause."""
# Any other value is a pause: an operator wrote it to stop rollouts.
_NOT_PAUSED = frozenset({"", "0", "false", "n", "no", "off"})


def pause(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Pause all rollouts, or end the pause, and return it (one GET, and one write if that is a change).

    The ConfigMap stays, and so do its other keys. A pause keeps its reason until another one is given. Raises ApiError.
    """
    namespace, name = options["namespace"], options["pause_configmap"]
    found = configmaps.read(session, namespace, name)
    before = _pause_of(found)
    wanted = _wanted(options["state"], options["reason"].strip(), before)
    if wanted is None:
        return {"changed": False, "paused": before, "diff": []}
    if not check_mode or session.dry_runs():
        found = _write(session, namespace, name, wanted, check_mode, exists=found is not None)
    shown = _shown(wanted[_REASON] or "") if wanted[_PAUSED] else ""
    diff = {
        "before": _shown(before["reason"]) if before else "",
        "after": shown,
        "before_header": f"{namespace}/{name}",
    }
    return {"changed": True, "paused": before if check_mode else _pause_of(found), "diff": [diff]}


def _wanted(state: str, reason: str, before: dict[str, str] | None) -> dict[str, str | None] | None:
    """Return the keys to write, with None to remove one; None if nothing changes."""
    if state == RESUMED:
        return {_PAUSED: None, _REASON: None} if before else None
    if before and reason in ("", before["reason"]):
        return None
    return {_PAUSED: "true", _REASON: reason or None}


def _shown(reason: str) -> str:
    return f"{_PAUSED}: {reason or 'no reason given'}\n"


def _write(
    session: Session, namespace: str, name: str, data: dict[str, str | None], dry_run: bool, *, exists: bool
) -> dict[str, t.Any]:
    if exists:
        return t.cast("dict[str, t.Any]", session.patch(configmaps.path(namespace, name), {"data": data}, dry_run))
    body: dict[str, t.Any] = {"apiVersion": "v1", "kind": "ConfigMap"}
    body["metadata"] = {"name": name, "namespace": namespace}
    body["data"] = {key: text for key, text in data.items() if text is not None}
    path, query = configmaps.path(namespace), dry_run_query(dry_run)
    return t.cast("dict[str, t.Any]", session.request("POST", path, query, body))


def check_window(window: t.Mapping[str, t.Any], result: dict[str, t.Any]) -> None:
    """Raise ClusterError, as for a pause, if the batch would end after the window of the rollout."""
    now = time.time()
    if not window or now + window["needs"] <= window["ends"]:
        return
    result["paused"] = {"since": timestamps.text(now), "by": "kubelet_config_window_minutes", "reason": ""}
    left = timestamps.span(window["ends"] - now)
    raise ClusterError(
        f"the window of {window['minutes']} minutes ends in {left}, and this batch may take "
        f"{timestamps.span(window['needs'])}. Nothing was begun. Run again in the next window: the rollout continues "
        "where it stopped. For more nodes in a window, use larger batches or a shorter soak",
        result,
    )


def check_pause(session: Session, options: dict[str, t.Any], result: dict[str, t.Any]) -> None:
    """Raise ClusterError if all rollouts are paused, or this one after its previous batch."""
    if options["pause"] and options["started"]:
        result["paused"] = {"since": timestamps.text(time.time()), "by": "the option pause", "reason": ""}
        raise ClusterError(
            "paused by the option pause after the previous batch; nothing was changed on the nodes after it. "
            "Run again without the option: the rollout continues where it stopped",
            result,
        )
    namespace, name = options["namespace"], options["pause_configmap"]
    if name:
        result["paused"] = read_pause(session, namespace, name)
    if result["paused"]:
        raise ClusterError(
            f"rollouts are paused {_paused(result['paused'])} (key {_PAUSED} of the ConfigMap {namespace}/{name}). "
            f"Nothing was begun. End the pause with `{_end_of_pause(namespace, name)}`, then run again: "
            "the rollout continues where it stopped",
            result,
        )


def _paused(pause: dict[str, str]) -> str:
    """Return since when, by whom and why, for a message."""
    text = f"since {pause['since']}"
    if pause["by"]:
        text += f" by {pause['by']}"
    if pause["reason"]:
        return f"{text}: {pause['reason']}"
    return f"{text}, no reason given"


def read_pause(session: Session, namespace: str, name: str) -> dict[str, str] | None:
    """Return since when, by whom and why rollouts are paused, None if they are not (one GET). Raises ApiError."""
    return _pause_of(configmaps.read(session, namespace, name))


def _pause_of(configmap: dict[str, t.Any] | None) -> dict[str, str] | None:
    found = configmap or {}
    data = found.get("data") or {}
    if data.get(_PAUSED, "").strip().lower() in _NOT_PAUSED:
        return None
    writers = _writers(found)
    last: dict[str, t.Any] = max(writers, key=lambda entry: str(entry.get("time") or ""), default={})
    since = last.get("time") or found["metadata"].get("creationTimestamp") or ""
    return {"since": since, "by": last.get("manager") or "", "reason": (data.get(_REASON) or "").strip()}


def _writers(configmap: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """Return the entries of managedFields of those that have written the pause."""
    writers = []
    for entry in configmap["metadata"].get("managedFields") or []:
        fields = (entry.get("fieldsV1") or {}).get("f:data") or {}
        if f"f:{_PAUSED}" in fields:
            writers.append(entry)
    return writers


def _end_of_pause(namespace: str, name: str) -> str:
    """Return the kubectl command that ends a pause."""
    return f"""kubectl -n {namespace} patch configmap {name} --type=merge -p '{{"data":{{"{_PAUSED}":null}}}}'"""
