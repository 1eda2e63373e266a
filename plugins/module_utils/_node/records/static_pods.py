# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The static pods of this node that refer to objects of the API, which kubelets from 1.34 on refuse.

Source: HasAPIObjectReference (pkg/api/pod/util.go), and pkg/kubelet/config/file.go for which files are read.
"""

from __future__ import annotations

import os
from typing import Any, Iterator, Mapping, Sequence

from ..system import files, health
from . import blockyaml

_FLAG, _FIELD = "pod-manifest-path", "staticPodPath"
_KINDS = {
    "secret": "Secret",
    "secretRef": "Secret",
    "secretKeyRef": "Secret",
    "nodePublishSecretRef": "Secret",
    "imagePullSecrets": "Secret",
    "azureFile": "Secret",
    "configMap": "ConfigMap",
    "configMapRef": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "serviceAccountName": "ServiceAccount",
    "serviceAccount": "ServiceAccount",
    "serviceAccountToken": "ServiceAccount",
    "persistentVolumeClaim": "PersistentVolumeClaim",
    "ephemeral": "PersistentVolumeClaim",
    "resourceClaims": "ResourceClaim",
    "clusterTrustBundle": "ClusterTrustBundle",
    "podCertificate": "PodCertificateRequest",
    "csi": "CSIDriver",
    "glusterfs": "Endpoints",
}
"""What a key of a pod's spec refers to."""
_NAMES = ("name", "secretName", "claimName", "driver", "endpoints")
_FREE = ("nodeSelector", "overhead", "limits", "requests", "options")
"""Mappings with keys of the user's own."""


def folder(argv: Sequence[str], layers: Sequence[tuple[str, Any]]) -> str:
    """Return the file or folder with static pods, empty for none.

    ``layers``: the paths of the config file and of the drop-ins with their contents, in the kubelet's order. A relative
    path begins beside its file.
    """
    given = health.flag(argv, _FLAG)
    if given is not None:
        return given
    for path, content in reversed(layers):
        value = _field(content, _FIELD)
        if value == "":
            return ""
        if isinstance(value, str):
            return os.path.join(os.path.dirname(path), value)
    return ""


def look(place: str, root: str = "/") -> list[dict[str, Any]]:
    """Return the pods that refer to objects, each with its `file`, its `name` and what it `refers_to`.

    A file that cannot be read is a row too, with the reason (`unreadable`).
    """
    found: list[dict[str, Any]] = []
    for path in _manifests(place, root):
        found += _pods(path, root)
    return found


def _manifests(place: str, root: str) -> list[str]:
    """Return the files that the kubelet reads there: not those that begin with a dot, and none of a folder in it."""
    found = files.below(root, place) if place else ""
    if os.path.isfile(found):
        return [place]
    if not os.path.isdir(found):
        return []
    names = sorted(name for name in os.listdir(found) if not name.startswith("."))
    return [os.path.join(place, name) for name in names if os.path.isfile(os.path.join(found, name))]


def _pods(path: str, root: str) -> Iterator[dict[str, Any]]:
    why = ""
    try:
        content = blockyaml.load(files.text(files.below(root, path)))
    except OSError as error:
        why = str(error.strerror)
    except ValueError as error:
        why = getattr(error, "unquoted", "it is not text in UTF-8")
    if why:
        yield {"file": path, "name": "", "refers_to": [], "unreadable": why}
        return
    items = _field(content, "items")
    pods = items if isinstance(items, list) else [content]
    for pod in pods:
        refers_to = sorted(set(_references(_field(pod, "spec"))))
        if refers_to:
            name = _field(_field(pod, "metadata"), "name") or ""
            yield {"file": path, "name": str(name), "refers_to": refers_to, "unreadable": None}


def _field(value: Any, name: str) -> Any:
    """Return a field of what should be a map; None if it is not one, or has no such field."""
    return value.get(name) if isinstance(value, Mapping) else None


def _references(spec: Any) -> Iterator[str]:
    """Yield each kind of object with its name, as far as it has one, to which a part of a pod's spec refers."""
    if isinstance(spec, list):
        for item in spec:
            yield from _references(item)
    elif isinstance(spec, Mapping):
        for key, value in spec.items():
            if key in _KINDS and value:
                objects = value if isinstance(value, list) else [value]
                for one in objects:
                    yield f"{_KINDS[key]} {_name(one)}".strip()
            elif key not in _FREE:
                yield from _references(value)


def _name(reference: Any) -> str:
    """Return the name in a reference to an object, empty for none."""
    if isinstance(reference, str):
        return reference
    for key in _NAMES:
        name = _field(reference, key)
        if name:
            return name if isinstance(name, str) else ""
    return ""
