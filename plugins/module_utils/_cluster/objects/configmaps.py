# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ConfigMap objects that hold kubelet configurations."""

from __future__ import annotations

import typing as t

from ..._config.values.annotation import MANAGED_BY, MANAGED_LABEL, PREFIX
from ..api.errors import ApiError
from ..api.session import Session, dry_run_query, object_path

VARIANT_ANNOTATION = PREFIX + "variant"
# Label with the last day (UTC, as 2026-01-31) on which a ConfigMap that no node uses is kept, since it was staged. Only
# the creation sets it: a later write would change the resourceVersion, and kubelets with native delivery that run the
# ConfigMap would restart.
STAGED_LABEL = PREFIX + "staged-until"
SEED_ANNOTATION = PREFIX + "seed-of"
"""On a ConfigMap without data: the name of an older one that a seed refers to. STAGED_LABEL then holds for both."""


def path(namespace: str, name: str = "") -> str:
    """Return the API path of one ConfigMap, or of a namespace's collection of them."""
    return object_path("/api/v1", namespace, "configmaps", name)


def read(session: Session, namespace: str, name: str) -> dict[str, t.Any] | None:
    """Return the ConfigMap, None if it does not exist (one GET). Raises ApiError."""
    return t.cast("dict[str, t.Any] | None", session.find(path(namespace, name)))


def read_managed(session: Session, namespace: str) -> list[dict[str, t.Any]]:
    """Return the ConfigMaps of this collection in a namespace (one LIST). Raises ApiError."""
    return list(
        session.request("GET", path(namespace), [("labelSelector", f"{MANAGED_LABEL}={MANAGED_BY}")]).get("items") or []
    )


def body(namespace: str, name: str, labels: t.Mapping[str, str], notes: t.Mapping[str, str]) -> dict[str, t.Any]:
    """Return a ConfigMap of this collection without data, with further labels and these annotations."""
    meta = {"namespace": namespace, "name": name, "labels": {MANAGED_LABEL: MANAGED_BY, **labels}, "annotations": notes}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def create(session: Session, body: dict[str, t.Any], dry_run: bool) -> dict[str, t.Any]:
    """Create a ConfigMap and return it; if one of that name was created since, return that one."""
    namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
    if dry_run and not session.dry_runs():
        return body
    try:
        return t.cast("dict[str, t.Any]", session.request("POST", path(namespace), dry_run_query(dry_run), body))
    except ApiError as error:
        if error.status != 409:
            raise
        there = read(session, namespace, name)
        if there is None:
            raise
        return there


def write_key(
    session: Session,
    configmap: dict[str, t.Any],
    key: str,
    text: str,
    dry_run: bool,
    notes: t.Mapping[str, str | None] | None = None,
) -> dict[str, t.Any]:
    """Replace the text under one key of a ConfigMap; all other fields keep their value.

    `notes` are annotations to set or remove (None) in the same request.

    The patch contains the resourceVersion that was read. Raises ApiError 409 if the object was changed since then.
    """
    meta = configmap["metadata"]
    body: dict[str, t.Any] = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "data": {key: text}}
    if notes:
        body["metadata"]["annotations"] = dict(notes)
    if dry_run and not session.dry_runs():
        return {**configmap, "data": {**(configmap.get("data") or {}), key: text}}
    return t.cast("dict[str, t.Any]", session.patch(path(meta["namespace"], meta["name"]), body, dry_run))


def delete(session: Session, configmap: dict[str, t.Any], dry_run: bool) -> None:
    """Delete exactly the object that was read; one that no longer exists is not an error. Raises ApiError."""
    if dry_run and not session.dry_runs():
        return
    meta = configmap["metadata"]
    preconditions = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    session.delete_exactly(path(meta["namespace"], meta["name"]), preconditions, dry_run)


def is_ours(item: t.Mapping[str, t.Any]) -> bool:
    """Return whether this collection created an object."""
    labels = item["metadata"].get("labels") or {}
    return bool(labels.get(MANAGED_LABEL) == MANAGED_BY)


REFERENCE = ("namespace", "name", "uid", "resourceVersion", "kubeletConfigKey")
"""The fields of a full reference."""


def reference(configmap: dict[str, t.Any], key: str) -> dict[str, str]:
    """Return the full reference (five fields) to a key of a ConfigMap, as kubelets report it in their status."""
    meta = configmap["metadata"]
    return {
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta.get("uid") or "",
        "resourceVersion": meta.get("resourceVersion") or "",
        "kubeletConfigKey": key,
    }
