# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether somebody asked rollouts to stop, by a key of a ConfigMap that anybody can set with kubectl."""

from __future__ import annotations

import typing as t

from . import configmaps
from .session import Session

KEY, REASON = "paused", "reason"
# What else stands there is a pause: somebody wrote it to stop something.
GOES_ON = frozenset({"", "0", "false", "n", "no", "off"})


def read(session: Session, namespace: str, name: str) -> dict[str, str] | None:
    """Return since when, by whom and why rollouts are paused, None when they are not (one GET)."""
    found = configmaps.read(session, namespace, name) or {}
    data = found.get("data") or {}
    if data.get(KEY, "").strip().lower() in GOES_ON:
        return None
    writers = [
        entry
        for entry in found["metadata"].get("managedFields") or []
        if f"f:{KEY}" in ((entry.get("fieldsV1") or {}).get("f:data") or {})
    ]
    last: dict[str, t.Any] = max(writers, key=lambda entry: str(entry.get("time") or ""), default={})
    since = last.get("time") or found["metadata"].get("creationTimestamp") or ""
    return {"since": since, "by": last.get("manager") or "", "reason": (data.get(REASON) or "").strip()}


def remedy(namespace: str, name: str) -> str:
    """Return the command that ends a pause."""
    return f"""kubectl -n {namespace} patch configmap {name} --type=merge -p '{{"data":{{"{KEY}":null}}}}'"""
