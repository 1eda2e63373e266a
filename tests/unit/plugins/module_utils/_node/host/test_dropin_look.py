# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a node delivery `dropin` builds on, read from its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import dropin_look
from tests.support.systemd_model import Systemd

FOLDER = "/etc/kubelet.d"


@pytest.fixture
def node(tmp_path: Path) -> Systemd:
    return Systemd(tmp_path)


def see(node: Systemd, given: str = "") -> dropin_look.Seen:
    return dropin_look.see(node.kubeadm(), [], given, "/store", "kubelet", str(node.root))


def test_the_own_file_and_the_other_drop_ins_in_order(node: Systemd) -> None:
    node.write(
        "/var/lib/kubelet/config.yaml",
        "maxPods: 5\nstaticPodPath: manifests\nauthentication:\n  x509:\n    clientCAFile: ca.crt\n"
        "staticPodURLHeader:\n  Authorization:\n  - hunter2\n",
    )
    node.write(f"{FOLDER}/10.conf", "maxPods: 6\neventBurst: 7\n")
    node.write(f"{FOLDER}/95.conf", "maxPods: 8\n")
    node.write(f"{FOLDER}/96.conf", "a: &broken\n")
    node.write(f"{FOLDER}/90-livenodes-kubelet.conf", "maxPods: 9\n")
    seen = see(node, FOLDER)
    assert [row["path"] for row in seen.own()] == [
        "/var/lib/kubelet/config.yaml",
        f"{FOLDER}/10.conf",
        f"{FOLDER}/95.conf",
        f"{FOLDER}/96.conf",
    ]
    assert seen.own()[-1]["content"] is None and "hunter2" not in json.dumps(seen.own())
    effective = seen.effective({"maxPods": 7, "eventBurst": 8})
    assert (effective["maxPods"], effective["eventBurst"]) == (8, 8)
    # As the kubelet makes them: beside its own file.
    assert effective["staticPodPath"] == "/var/lib/kubelet/manifests"
    assert effective["authentication"] == {"x509": {"clientCAFile": "/var/lib/kubelet/ca.crt"}}
    assert list(seen.after()) == [f"{FOLDER}/95.conf", f"{FOLDER}/96.conf"]
    assert (seen.linked, seen.shown()["named_by"], seen.shown()["exists"]) == (None, "option", True)


def test_without_a_folder_there_is_only_the_own_file(node: Systemd) -> None:
    seen = see(node)
    assert (seen.folder.path, seen.linked, seen.others) == ("/store/conf.d", False, {})
    assert "No such file" in seen.unreadable and seen.own() == [
        {"path": "/var/lib/kubelet/config.yaml", "content": None}
    ]
