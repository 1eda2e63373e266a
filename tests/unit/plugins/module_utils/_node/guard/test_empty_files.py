# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A crash of the host has emptied one file of the store: the kubelet has a configuration all the same."""

from __future__ import annotations

import contextlib
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.base import error_of
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.known_binary import Binary, record_of
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.kept_files import Kept, KeptFiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from tests.support.guard_node import LOCAL, NEW, OTHER, SOURCE, Node
from tests.support.versions import OURS

ON_TRIAL = "store/checkpoints/u2/1"
FILES = [
    "store/binary",
    "store/checkpoints/u1/1.sha256",
    "store/checkpoints/u1/1/kubelet",
    "store/checkpoints/u2/1.sha256",
    "store/checkpoints/u2/1/kubelet",
    "store/graduated",
    "store/kept-files",
    "store/local/config/kubelet",
    "store/local/files/0",
    "store/local/manifest",
    "store/meta/assigned",
    "store/meta/last-known-good",
    "store/progress",
    "store/report",
    "store/trial",
]
# What is on trial gives way at once where it is damaged, where nothing shows whether it has failed, and where nothing
# shows that the kubelet was healthy before the reboot.
GIVES_WAY = ["store/checkpoints/u2/1.sha256", "store/checkpoints/u2/1/kubelet", "store/trial", "store/progress"]
# What the status names. An empty file in `meta` is how a kubelet writes the local configuration.
SHOWN = {
    "store/checkpoints/u2/1.sha256": "checkpoints/u2/1 does not match its digest",
    "store/checkpoints/u2/1/kubelet": "checkpoints/u2/1 does not match its digest",
    "store/local/config/kubelet": "store/local/config/kubelet is not the local configuration",
    "store/local/files/0": "store/local/files/0 (",
    "store/local/manifest": "store/local/manifest is damaged",
    "store/trial": "store/trial is not JSON text",
}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """Return a node whose second configuration is on trial, with every file that a store can have."""
    node = Node(tmp_path)
    node.assign()
    node.start()
    node.store.graduate(SOURCE, "v1.28.7")
    node.assign(OTHER)
    node.start()
    node.later()
    node.guard().records.queue({"reason": "on trial"}, "an Event", False, 1.0)
    KeptFiles(node.store.config_dir).write(Kept(str(tmp_path), "b1", {}))
    record_of(node.store.folder).write(Binary("/k", 1, 2, 3, "v1.28.7"))
    found = [path for path in Path(node.store.folder).rglob("*") if path.is_file()]
    assert sorted(str(path.relative_to(node.store.config_dir)) for path in found) == FILES
    return node


def configuration(node: Node) -> str:
    return Path(node.store.active, "kubelet").read_text()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.fault(case=19)
def test_the_guard_starts_a_kubelet_and_reverts(node: Node, name: str) -> None:
    Path(node.store.config_dir, name).write_bytes(b"")
    shown = error_of(node.store)
    assert SHOWN[name] in shown if name in SHOWN else not shown
    node.boot, node.seconds = "b2", 10.0
    node.start()
    assert node.ran[-1] == (NEW if name in GIVES_WAY else ON_TRIAL) and configuration(node)
    if name not in GIVES_WAY:
        node.seconds += 200
        node.start(1)
        node.start(2)
        # What the trial reverts to, unless that is what was emptied; what is assigned, if that is known.
        assert node.ran[-1] == (LOCAL if "u1" in name else NEW) and configuration(node)
    report = node.guard().records.report()
    assert report and report.status["reason"].startswith("reverted to") and report.status["error"]
    last = node.ran[-1]
    for _look in range(3):
        node.later(700)
    node.start()
    armed = node.store.trial()
    assert (armed is None or armed.failed) and node.ran[-1] == last and "systemctl restart" not in node.commands


@pytest.mark.parametrize("state", ["staged", "assigned", "confirmed", "rolled_back", "reset"])
@pytest.mark.parametrize("name", FILES)
def test_the_module_does_it_or_names_the_cause(node: Node, name: str, state: str) -> None:
    Path(node.store.config_dir, name).write_bytes(b"")
    source = {"namespace": "kube-system", "name": "c", "uid": "u2", "resource_version": "1"}
    options: dict[str, t.Any] = {
        "state": state,
        "config_dir": node.store.config_dir,
        "source": {**source, "kubelet_config_key": "kubelet"} if state != "reset" else None,
        "data": {"kubelet": "{}"} if state in ("staged", "assigned") else None,
        "local_config": str(node.own),
        "trial_seconds": 60,
        "confirm_seconds": 60,
        "was_healthy": True,
        "invocation": "i2",
        "kubelet_version": "v1.28.7",
        "state_files": None,
        "lock_timeout": 1,
        "reason": "reverted",
        "unconfirmed_only": False,
    }
    with contextlib.suppress(StoreError):
        OURS.apply(options)
    # Only what is assigned or on trial itself may be empty still: the next start of the kubelet leaves it.
    node.start()
    assert configuration(node)
    if state == "rolled_back" and name != "store/meta/assigned":
        assert node.ran[-1] in (NEW, LOCAL)
