# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes of users: each has its own error with a remedy, and nothing is written."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from tests.contract.clusters import Contracted
from tests.support.plays.ansible import Ansible

READ = {"nodes": ["n1"]}
ASSIGN = {"nodes": ["n1"], "source": {"name": "some-config"}}


@pytest.fixture
def state(around: Contracted) -> t.Iterator[None]:
    """Fail the test if it changed a Node's spec or a ConfigMap."""

    def look() -> tuple[t.Any, t.Any]:
        nodes = around.get("/api/v1/nodes")["items"]
        maps = around.get("/api/v1/configmaps")["items"]
        return [(node["metadata"]["name"], node["spec"]) for node in nodes], [
            (item["metadata"]["name"], item["metadata"]["resourceVersion"]) for item in maps
        ]

    before = look()
    yield
    assert look() == before


@pytest.mark.fault(case=63)
def test_an_expired_certificate(around: Contracted, ansible: Ansible, tmp_path: Path, state: None) -> None:
    """The API server accepts the connection and refuses its user. The same call with a valid one completes."""
    late = around.user(tmp_path, "late", "system:masters", expired=True)
    for module, options in {"kubelet_configz_facts": READ, "node_config_source": ASSIGN}.items():
        expired = ansible.module(module, {**options, "kubeconfig": str(late)})
        assert expired["failed"], expired
        assert "does not accept these credentials (401" in expired["msg"] and "expired" in expired["msg"]
    valid = around.user(tmp_path, "early", "system:masters")
    again = ansible.module("kubelet_configz_facts", {**READ, "kubeconfig": str(valid)})
    assert not again["failed"], again
