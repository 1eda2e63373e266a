# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Node's name and the errors of a kubeconfig."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.kubeconfig import ApiError, Kubeconfig


def conf(folder: Path, user: dict[str, str]) -> Path:
    path = folder / "kubelet.conf"
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(json.dumps(document))
    return path


def test_the_nodes_name_is_that_of_its_certificate(tmp_path: Path) -> None:
    pem = tmp_path / "pair.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/O=system:nodes/CN=system:node:worker-7.example",
            "-keyout",
            str(pem),
            "-out",
            str(tmp_path / "cert.pem"),
        ],
        check=True,
        capture_output=True,
    )
    pem.write_bytes((tmp_path / "cert.pem").read_bytes() + pem.read_bytes())
    user = {"client-certificate": "pair.pem", "client-key": "pair.pem"}
    assert Kubeconfig(str(conf(tmp_path, user))).node_name("other") == "worker-7.example"
    assert Kubeconfig(str(conf(tmp_path, {"token": "x"}))).node_name("Other") == "other"


def test_no_answer_and_no_usable_kubeconfig_are_errors_of_one_kind(tmp_path: Path) -> None:
    with pytest.raises(ApiError, match=r"GET https://127\.0\.0\.1:9/"):
        Kubeconfig(str(conf(tmp_path, {}))).call("GET", "/")
    with pytest.raises(ApiError, match="plugin"):
        Kubeconfig(str(conf(tmp_path, {"exec": "x"})))
    with pytest.raises(ApiError, match="FileNotFoundError"):
        Kubeconfig(str(tmp_path / "none"))
