# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's files: a newer report is never lost, and a kubelet has a configuration also when a crash of the host has
emptied one file of the store.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.base import Records, Started
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report.status_annotation import Outbox, Report
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.installed import Binary, identity
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Progress, ProgressFile
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import FileError, StoreError
from tests.support.node.guard_node import LOCAL, NEW, OTHER, Node, NoRoom, with_every_file

PENDING = Report({"reason": "on trial"}, "Kubelet restarting to use local config: it ended", True, 1.5, "59682f00")


@pytest.fixture
def records(tmp_path: Path) -> Outbox:
    (tmp_path / "store").mkdir()
    records = Outbox(str(tmp_path))
    records.write_report(PENDING)
    return records


def test_a_newer_report_stays(records: Outbox) -> None:
    records.write_report(PENDING._replace(name_suffix="other"))
    records.sent(PENDING, PENDING._replace(annotated=True))
    assert records.report() == PENDING._replace(name_suffix="other")
    records.sent(PENDING, None)
    assert records.report() is not None


def test_an_event_that_was_not_sent_is_kept_with_the_newer_status(records: Outbox) -> None:
    """Once: as long as no other Event replaces it."""
    records.queue({"reason": "on trial, confirmed"}, "", False, 2.5)
    assert records.report() == PENDING._replace(status={"reason": "on trial, confirmed"})
    records.queue({"reason": "reverted"}, "another restart", True, 3.5)
    newest = records.report()
    assert newest and (newest.message, newest.time) == ("another restart", 3.5)
    records.write_report(newest._replace(message=""))
    records.queue({"reason": "recovered"}, "", False, 4.5)
    newest = records.report()
    assert newest and (newest.message, newest.warning) == ("", False)


FIRST, SECOND, THIRD = (Progress(name="t", failures=number) for number in (1, 2, 3))


def test_what_a_full_disk_cannot_hold_is_remembered_in_memory(tmp_path: Path) -> None:
    disk, spare = NoRoom(), tmp_path / "run/guard/progress"
    (tmp_path / "store").mkdir()
    records = Records(str(tmp_path), disk, str(spare))
    records.remember(FIRST)
    assert not spare.exists()
    disk.full = True
    for progress in (SECOND, THIRD):
        with pytest.raises(FileError, match="No space left"):
            records.remember(progress)
        assert records.progress() == progress and records.progress_file.read() == FIRST
    disk.full = False
    records.remember(THIRD)
    assert records.progress() == records.progress_file.read() == THIRD and not spare.exists()


def test_what_another_process_wrote_to_the_disk_is_newer(tmp_path: Path) -> None:
    """The module notes a restart that is due after the guard met a full disk."""
    disk, spare = NoRoom(), tmp_path / "run/guard/progress"
    (tmp_path / "store").mkdir()
    records = Records(str(tmp_path), disk, str(spare))
    disk.full = True
    with pytest.raises(FileError):
        records.remember(FIRST)
    disk.full = False
    ProgressFile(str(tmp_path)).write(SECOND)
    assert records.progress() == SECOND
    for text in ("torn", '{"on_disk": {"name": "t", "failures": 2}, "now": {"failures": "many"}}'):
        spare.write_text(text)
        assert records.progress() == SECOND


def test_what_a_kubelet_was_started_with_is_known_of_that_kubelet_only(tmp_path: Path) -> None:
    started = Started(str(tmp_path / "run/started"))
    assert started.target("i1") == ""
    started.note("i1", "store/local/config")
    assert (started.target("i1"), started.target("i2")) == ("store/local/config", "")
    Path(started.path).write_text("torn")
    assert started.target("i1") == ""


def found(path: Path) -> Binary:
    result = identity(str(path))
    assert result
    return result


def test_a_replaced_binary_is_another_one(tmp_path: Path) -> None:
    kubelet, link, other = tmp_path / "kubelet", tmp_path / "link", tmp_path / "other"
    assert identity(str(kubelet)) is None
    kubelet.write_text("1")
    link.symlink_to(kubelet)
    first, linked = found(kubelet), found(link)
    assert first.same(found(kubelet)) and first.same(first._replace(version="v1.20.2", settled=True))
    os.utime(kubelet, ns=(1, 1))
    assert not first.same(found(kubelet))
    other.write_text("1")
    os.utime(other, ns=(first.modified, first.modified))
    os.rename(other, kubelet)
    assert not first.same(found(kubelet)) and not linked.same(found(link)) and not first.same(linked)


ON_TRIAL = "store/checkpoints/u2/1"
FILES = [
    "store/binary",
    *("store/checkpoints/u1/1.sha256", "store/checkpoints/u1/1/kubelet"),
    *("store/checkpoints/u2/1.sha256", "store/checkpoints/u2/1/kubelet"),
    *("store/graduated", "store/kept-files"),
    *("store/local/config/kubelet", "store/local/files/0", "store/local/manifest"),
    *("store/meta/assigned", "store/meta/last-known-good"),
    *("store/progress", "store/report", "store/trial"),
]
# What is on trial gives way at once where it is damaged, where nothing shows whether it has failed, and where nothing
# shows that the kubelet was healthy before the reboot.
GIVES_WAY = ["store/checkpoints/u2/1.sha256", "store/checkpoints/u2/1/kubelet", "store/trial", "store/progress"]


@pytest.fixture
def whole(node: Node, tmp_path: Path) -> Node:
    with_every_file(node, tmp_path)
    found = [path for path in Path(node.store.folder).rglob("*") if path.is_file()]
    assert sorted(str(path.relative_to(node.store.config_dir)) for path in found) == FILES
    return node


def configuration(node: Node) -> str:
    return Path(node.store.active, "kubelet").read_text()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.fault(case=19)
def test_the_guard_starts_a_kubelet_and_reverts(whole: Node, name: str) -> None:
    Path(whole.store.config_dir, name).write_bytes(b"")
    whole.reboot(10.0)
    assert whole.ran[-1] == (NEW if name in GIVES_WAY else ON_TRIAL) and configuration(whole)
    if name not in GIVES_WAY:
        whole.seconds += 200
        whole.start(1)
        whole.start(2)
        # What the trial reverts to, unless that is what was emptied; what is assigned, if that is known.
        assert whole.ran[-1] == (LOCAL if "u1" in name else NEW) and configuration(whole)
    assert whole.reason().startswith("reverted to") and whole.error()
    last = whole.ran[-1]
    whole.later(700, times=3)
    whole.start()
    armed = whole.store.trial()
    assert (armed is None or armed.failed) and whole.ran[-1] == last and not whole.restarts


@pytest.mark.parametrize("state", ["staged", "assigned", "confirmed", "rolled_back", "reset"])
@pytest.mark.parametrize("name", FILES)
def test_the_module_does_it_or_names_the_cause(whole: Node, name: str, state: str) -> None:
    Path(whole.store.config_dir, name).write_bytes(b"")
    with contextlib.suppress(StoreError):
        whole.call(state, None if state == "reset" else OTHER, invocation="i2", kubelet_version="v1.28.7")
    # Only what is assigned or on trial itself may be empty still: the next start of the kubelet leaves it.
    whole.start()
    assert configuration(whole)
    if state == "rolled_back" and name != "store/meta/assigned":
        assert whole.ran[-1] in (NEW, LOCAL)
