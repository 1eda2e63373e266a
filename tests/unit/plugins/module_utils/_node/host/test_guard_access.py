# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_reporter
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.kubeconfig import ApiError, Kubeconfig


def conf(folder: Path) -> str:
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {"token": "secret-1"}}],
    }
    (folder / "kubelet.conf").write_text(json.dumps(document))
    return f"--kubeconfig={folder}/kubelet.conf"


def test_a_kubelet_without_a_cluster_has_nothing_to_ask() -> None:
    assert status_reporter.failure(["/usr/bin/kubelet"]) == ""


def test_one_request_for_the_nodes_own_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[t.Any] = []
    monkeypatch.setattr(Kubeconfig, "call", lambda _self, *words: calls.append(words))
    assert status_reporter.failure([conf(tmp_path), "--hostname-override=N7"]) == ""
    assert calls == [("GET", "/api/v1/nodes/n7")]


@pytest.mark.parametrize(("status", "hint"), [(404, "--hostname-override"), (403, "GET"), (0, "GET")])
@pytest.mark.fault(case=44)
def test_why_the_guard_gets_no_answer(status: int, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(_self: Kubeconfig, method: str, path: str) -> None:
        raise ApiError(f"{method} {path}: refused", status)

    monkeypatch.setattr(Kubeconfig, "call", call)
    found = status_reporter.failure([conf(tmp_path), "--hostname-override=n7"])
    assert hint in found and "/api/v1/nodes/n7" in found


@pytest.mark.parametrize(("certified", "wanted", "other"), [("n1", "n1", False), ("n2", "n1", True), ("", "n1", False)])
def test_the_host_of_another_node(
    certified: str, wanted: str, other: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node may have written the address of another one into its own status, from where the inventory has it."""
    monkeypatch.setattr(Kubeconfig, "certified_name", lambda _self: certified)
    found = status_reporter.elsewhere([conf(tmp_path)], wanted)
    assert found.startswith("this is the host of the node n2") == bool(found) == other


def test_a_host_whose_node_is_not_known(tmp_path: Path) -> None:
    assert status_reporter.elsewhere([conf(tmp_path)], "n1") == "", "a token has no name"
    assert status_reporter.elsewhere([f"--kubeconfig={tmp_path}/none"], "n1") == ""
    assert status_reporter.elsewhere(["/usr/bin/kubelet"], "n1") == ""


def test_no_answer_and_no_kubeconfig(tmp_path: Path) -> None:
    assert "Connection refused" in status_reporter.failure([conf(tmp_path)])
    assert "FileNotFoundError" in status_reporter.failure([f"--kubeconfig={tmp_path}/none"])
