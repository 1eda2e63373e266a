# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document, identity

VECTORS = json.loads((Path(__file__).parent.parent / "data" / "append-hash.json").read_text(encoding="utf-8"))[
    "vectors"
]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['name']}-{vector['suffix']}")
def test_suffix_is_kubectls(vector: dict[str, Any]) -> None:
    binary = {key: base64.b64decode(value) for key, value in vector.get("binaryData", {}).items()}
    assert identity.append_hash(vector["name"], vector["data"], binary, vector.get("immutable")) == vector["suffix"]


def test_name_is_base_and_suffix() -> None:
    text = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: 100\n"
    assert identity.configmap_name("my-node-config", text) == "my-node-config-b79f6tk8hb"
    assert identity.configmap_name("my-node-config", text, "other") != identity.configmap_name("my-node-config", text)


def test_variants_differ_by_content_and_not_by_order() -> None:
    assert (
        identity.variant({"a": 1, "b": 2}) == identity.variant({"b": 2, "a": 1}) != identity.variant({"a": 1, "b": 3})
    )
    # The first ten digits of what sha256sum prints for the text.
    assert identity.variant({"maxPods": 110}) == "2e23fa46bd"
    assert document.parse(document.render({"b": 1, "a": 2}), "x") == {"a": 2, "b": 1}
