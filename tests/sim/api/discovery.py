# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which groups and resources the API server has: kubectl and the dynamic clients ask before their first request."""

from __future__ import annotations

import typing as t

from tests.sim.api import evictions
from tests.sim.api.kinds import KINDS

VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


def answer(path: str, minor: int) -> dict[str, t.Any] | None:
    """Return the discovery document at a path, None where there is none."""
    groups = sorted({kind.version for kind in KINDS.values() if "/" in kind.version})
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if path == "/apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(version) for version in groups]}
    if path == "/api/v1":
        return {**_document("v1"), "resources": [*_resources("v1"), evictions.resource(minor)]}
    version = path.removeprefix("/apis/")
    if version in groups:
        return _document(version)
    return None


def _document(version: str) -> dict[str, t.Any]:
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version}
    return {**head, "resources": _resources(version)}


def _group(version: str) -> dict[str, t.Any]:
    found = {"groupVersion": version, "version": version.rpartition("/")[2]}
    return {"name": version.rpartition("/")[0], "versions": [found], "preferredVersion": found}


def _resources(version: str) -> list[dict[str, t.Any]]:
    return [
        {
            "name": kind.plural,
            "singularName": kind.kind.lower(),
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": VERBS,
        }
        for kind in KINDS.values()
        if kind.version == version
    ]
