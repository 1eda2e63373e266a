# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options and the requests of an assignment."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import assign
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.support.api.calls import CONFIGMAPS, DRY, MERGE, NODES, Call, Calls, by_name
from tests.support.api.objects import configmap, items, node, place, status

GONE = ApiError(404, "not found", "NotFound")
LISTENS = status()


def options(**given: t.Any) -> dict[str, t.Any]:
    return {
        "state": "present",
        "nodes": None,
        "source": None,
        "sources": None,
        "delivery": "auto",
        "check_source": True,
        **given,
    }


def assigned(*calls: Call | list[Call], check_mode: bool = False, **given: t.Any) -> dict[str, t.Any]:
    """Return the result of an assignment, by default of config-a to n1, that sends exactly these requests."""
    if "nodes" not in given:
        given.setdefault("sources", {"n1": place()})
    with Calls(*calls) as session:
        return assign.assign(session, options(**given), check_mode)


def reset(*calls: Call | list[Call], **given: t.Any) -> dict[str, t.Any]:
    """Return the result of a reset of n1 that sends exactly these requests."""
    return assigned(*calls, state="absent", nodes=["n1"], **given)


def refused(*calls: Call | list[Call], words: str | None = None, **given: t.Any) -> NodesFailed:
    """Return the failure of such an assignment."""
    with pytest.raises(NodesFailed, match=words) as caught:
        assigned(*calls, **given)
    return caught.value


def patiently(**given: t.Any) -> dict[str, t.Any]:
    """Return the options of an assignment that waits for kubelets of the lab or of the simulation."""
    return options(**{"wait": True, "wait_timeout": 90, "wait_sleep": 1, **given})


def listed(*found: dict[str, t.Any]) -> Call:
    return Call("GET", NODES, items(*found), by_name(*(one["metadata"]["name"] for one in found)))


def previous(ran: dict[str, str] | None) -> dict[str, str]:
    """Return the annotation that remembers what a node ran."""
    return {annotation.PREVIOUS: annotation.text({"configMap": ran} if ran else {})}


FROM_LOCAL = previous(None)


def patch(
    name: str, source: dict[str, str] | None, answer: t.Any = None, dry_run: bool = False, notes: t.Any = None
) -> Call:
    """Return the patch of spec.configSource.

    A node that had none and listens comes from its local configuration, unless `notes` has otherwise.
    """
    notes = (FROM_LOCAL if source else {}) if notes is None else notes
    whole = {"configMap": source} if source else None
    metadata = {"resourceVersion": "1", **({"annotations": notes} if notes else {})}
    answer = node(name, source, LISTENS) if answer is None else answer
    return _patched(name, answer, dry_run, {"metadata": metadata, "spec": {"configSource": whole}})


def _patched(name: str, answer: t.Any, dry_run: bool, body: dict[str, t.Any]) -> Call:
    return Call("PATCH", f"{NODES}/{name}", answer, DRY if dry_run else (), body, MERGE)


def get(name: str = "config-a", answer: t.Any = None) -> Call:
    return Call("GET", f"{CONFIGMAPS}/{name}", configmap(name) if answer is None else answer)


def mark(
    name: str,
    source: dict[str, str] | None,
    answer: t.Any = None,
    dry_run: bool = False,
    notes: t.Any = None,
    delivery: str = "",
    **more: t.Any,
) -> Call:
    """Return the patch of the annotation that stands in for spec.configSource."""
    named = {"delivery": delivery} if delivery else {}
    value = annotation.text({"configMap": source, **named}) if source else None
    metadata = {"resourceVersion": "1", "annotations": {annotation.SOURCE: value, **(notes or {})}}
    answer = node(name, marked=source, delivery=delivery) if answer is None else answer
    return _patched(name, answer, dry_run, {"metadata": metadata, **more})
