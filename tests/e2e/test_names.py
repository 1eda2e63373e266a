# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ConfigMap names equal those of the real kubectl (Debian's)."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import push
from tests.lab.lab import Lab
from tests.support.lab.views import MANAGED

HEADER = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"


TEXTS = {
    "yaml": f"{HEADER}maxPods: 100\n",
    "json": json.dumps(
        {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1", "maxPods": 7}, indent=2
    ),
    "unicode": HEADER + 'clusterDomain: "h\u00e9llo <&> \u6f22\u5b57 \U0001f600"\n',
}
OPTIONS = {
    "state": "present",
    "variants": None,
    "name": "names",
    "namespace": "kube-system",
    "key": "kubelet",
    "immutable": True,
    "keep_days": 0,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_name_is_kubectls(lab: Lab, session: Session, tmp_path: t.Any, text: str) -> None:
    """The bytes of a file are pushed unchanged, under the name that kubectl gives them."""
    path = tmp_path / "kubelet.yaml"
    path.write_bytes(text.encode())
    dry = ("--append-hash", "--dry-run=client", "-o", "json")
    theirs = lab.kubectl("create", "configmap", "names", "-n", "kube-system", f"--from-file=kubelet={path}", *dry)
    try:
        (row,) = push.push(session, {**OPTIONS, "src": [str(path)]}, False)["configmaps"].values()
        assert row["name"] == json.loads(theirs)["metadata"]["name"]
        stored = json.loads(lab.kubectl("get", "configmap", "-n", "kube-system", row["name"], "-o", "json"))
        assert stored["data"] == {"kubelet": text}
        assert stored["immutable"] is True
    finally:
        lab.kubectl("delete", "configmap", "-n", "kube-system", "-l", MANAGED)
