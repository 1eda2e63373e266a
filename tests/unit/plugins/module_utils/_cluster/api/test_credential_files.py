# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Neither a run of Ansible nor a call leaves the keys of a kubeconfig in the folder of temporary files."""

from __future__ import annotations

import json
import os
import tempfile
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import credential_files
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from tests.lab.console import run
from tests.sim.cluster import Cluster


@pytest.fixture(scope="module")
def cluster() -> t.Iterator[Cluster]:
    with Cluster("v1.36.2") as made:
        made.simulate("n1")
        yield made


@pytest.fixture
def kubeconfig(cluster: Cluster, tmp_path: Path) -> Path:
    """A kubeconfig that contains a client certificate and its key."""
    return cluster.kubeconfig(tmp_path / "kubeconfig", "admin", "system:masters")


@pytest.fixture
def folder() -> t.Iterator[Path]:
    """A folder of temporary files, with a short name: Ansible makes sockets in it."""
    with tempfile.TemporaryDirectory(prefix="k") as place:
        yield Path(place)


def test_a_run_of_ansible_leaves_none(kubeconfig: Path, folder: Path) -> None:
    """The module runs in a worker of Ansible, which ends without the end of Python."""
    words = ("localhost", "-m", "livenodes.kubelet.kubelet_configz_facts", "-a", json.dumps({"nodes": ["n1"]}))
    run("ansible", *words, env={"TMPDIR": str(folder), "K8S_AUTH_KUBECONFIG": str(kubeconfig)})
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_files_of_the_calls_before_stay(kubeconfig: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def nodes() -> int:
        return len(Session({"kubeconfig": str(kubeconfig)}).request("GET", "/api/v1/nodes")["items"])

    for _turn in (1, 2):
        with credential_files.removed():
            assert nodes() == 1 and len(os.listdir(folder)) == 3
        assert os.listdir(folder) == []
    assert nodes() == 1
    with credential_files.removed():
        assert nodes() == 1
    assert len(os.listdir(folder)) == 3
