# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ConfigMap objects that hold kubelet configurations."""

from __future__ import annotations

import typing as t
import urllib.parse

from ..api.errors import ApiError
from ..api.session import Session

# Both say "made by this collection"; only objects that carry the label are ever removed.
MANAGED_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "livenodes.kubelet"
VARIANT_ANNOTATION = "kubelet-config.livenodes.io/variant"


def path(namespace: str, name: str = "") -> str:
    """Return the API path of one ConfigMap, or of a namespace's collection of them."""
    base = f"/api/v1/namespaces/{urllib.parse.quote(namespace, safe='')}/configmaps"
    return f"{base}/{urllib.parse.quote(name, safe='')}" if name else base


def read(session: Session, namespace: str, name: str) -> dict[str, t.Any] | None:
    """Return the ConfigMap as the API shows it, None when it does not exist."""
    try:
        return t.cast("dict[str, t.Any]", session.request("GET", path(namespace, name)))
    except ApiError as error:
        if error.status == 404:
            return None
        raise


def read_managed(session: Session, namespace: str) -> list[dict[str, t.Any]]:
    """List the ConfigMaps of this collection in a namespace."""
    return list(
        session.request("GET", path(namespace), [("labelSelector", f"{MANAGED_LABEL}={MANAGED_BY}")]).get("items") or []
    )


def create(session: Session, body: dict[str, t.Any], dry_run: bool) -> dict[str, t.Any]:
    """Create a ConfigMap; an object of that name that appeared meanwhile is returned as it is."""
    namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
    try:
        return t.cast(
            "dict[str, t.Any]", session.request("POST", path(namespace), [("dryRun", "All")] if dry_run else [], body)
        )
    except ApiError as error:
        there = read(session, namespace, name) if error.status == 409 else None
        if there is None:
            raise
        return there


def write_key(session: Session, configmap: dict[str, t.Any], key: str, text: str, dry_run: bool) -> dict[str, t.Any]:
    """Replace the text under one key of a ConfigMap and nothing else of it.

    The patch carries the resourceVersion that was read: raises ApiError 409 when somebody else changed the object
    since.
    """
    meta = configmap["metadata"]
    body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "data": {key: text}}
    query = [("dryRun", "All")] if dry_run else []
    return t.cast(
        "dict[str, t.Any]",
        session.request("PATCH", path(meta["namespace"], meta["name"]), query, body, "application/merge-patch+json"),
    )


def delete(session: Session, configmap: dict[str, t.Any], dry_run: bool) -> None:
    """Remove exactly the object that was read; it is no error when it is gone already."""
    meta = configmap["metadata"]
    body: dict[str, t.Any] = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]},
    }
    if dry_run:
        # In the body: with one, the API server ignores the query parameter and deletes for real.
        body["dryRun"] = ["All"]
    try:
        session.request("DELETE", path(meta["namespace"], meta["name"]), body=body)
    except ApiError as error:
        if error.status != 404:
            raise


def reference(configmap: dict[str, t.Any], key: str) -> dict[str, str]:
    """Return the full reference (five fields) to a key of a ConfigMap, as a kubelet reports it in its status."""
    meta = configmap["metadata"]
    return {
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta.get("uid") or "",
        "resourceVersion": meta.get("resourceVersion") or "",
        "kubeletConfigKey": key,
    }
