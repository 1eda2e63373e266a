# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names derived from content: the hash suffix of ``kubectl create configmap --append-hash`` and variant names.

Source of the suffix: staging/src/k8s.io/kubectl/pkg/util/hash/hash.go of Kubernetes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any, Mapping

from .document import render

# Go's encoding/json escapes these for HTML; \b and \f have short forms since Go 1.22, as json.dumps writes them.
_GO_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
# kubectl replaces the digits that could spell bad words.
_SAFE_DIGITS = str.maketrans("013ae", "ghkmt")


def append_hash(
    name: str, data: Mapping[str, str], binary_data: Mapping[str, bytes] | None = None, immutable: bool | None = None
) -> str:
    """Return the ten character suffix that ``kubectl --append-hash`` gives a ConfigMap with this base name and content.

    ``binary_data`` holds bytes, not base64. ``immutable`` is part of the hash only when it is not None. kubectl's
    ``create configmap`` never sets it: omit it to get kubectl's name, even if the object is made immutable later.
    """
    content: dict[str, Any] = {"data": dict(data), "kind": "ConfigMap", "name": name}
    if binary_data:
        content["binaryData"] = {key: base64.b64encode(value).decode("ascii") for key, value in binary_data.items()}
    if immutable is not None:
        content["immutable"] = immutable
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True).translate(_GO_ESCAPES)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:10].translate(_SAFE_DIGITS)


def configmap_name(base: str, text: str, key: str = "kubelet") -> str:
    """Return the name that ``kubectl create configmap BASE --from-file=KEY=FILE --append-hash`` gives this text."""
    return f"{base}-{append_hash(base, {key: text})}"


def variant(config: Mapping[str, Any]) -> str:
    """Return the name of a variant: the first ten hex digits of the SHA-256 of its rendered text."""
    return hashlib.sha256(render(config).encode("utf-8")).hexdigest()[:10]
