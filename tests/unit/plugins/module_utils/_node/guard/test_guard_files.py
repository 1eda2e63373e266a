# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's files: unreadable ones count as absent, and a newer report is never lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.base import Records, Started
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report.status_annotation import Report
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Progress, ProgressFile
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import FileError
from tests.support.guard_node import NoRoom

PENDING = Report({"reason": "on trial"}, "Kubelet restarting to use local config: it ended", True, 1.5, "59682f00")


@pytest.fixture
def records(tmp_path: Path) -> Records:
    (tmp_path / "store").mkdir()
    records = Records(str(tmp_path))
    records.write_report(PENDING)
    return records


def test_a_newer_report_stays(records: Records) -> None:
    records.write_report(PENDING._replace(name_suffix="other"))
    records.sent(PENDING, PENDING._replace(annotated=True))
    assert records.report() == PENDING._replace(name_suffix="other")
    records.sent(PENDING, None)
    assert records.report() is not None


def test_an_event_that_was_not_sent_is_kept_with_the_newer_status(records: Records) -> None:
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


@pytest.mark.parametrize(
    "text",
    [
        "torn",
        "[]",
        "null",
        '{"name": "t", "format": 2}',
        '{"name": "t", "reboots": {}}',
        '{"status": [], "message": "m", "warning": true, "time": 1.0, "name_suffix": "s"}',
        '{"status": {}, "message": "m", "warning": true, "time": 1e300, "name_suffix": "s"}',
    ],
)
def test_an_unreadable_file_counts_as_absent(records: Records, text: str) -> None:
    for path in (records.progress_file.path, records.report_path):
        Path(path).write_text(text)
    assert (records.progress(), records.report()) == (Progress(), None)


def test_an_empty_progress_leaves_no_file(records: Records) -> None:
    records.remember(Progress(name="t", failures=1))
    assert records.progress() == Progress(name="t", failures=1)
    records.remember(Progress())
    assert not Path(records.progress_file.path).exists()


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
