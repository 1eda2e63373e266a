# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that watches does not wait for the one that asks or reports, and goes on after an error; how it paces its
requests.
"""

from __future__ import annotations

import random
import sys
import time
import types
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import guard, guard_main, pacing
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import command
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError

NODES = 1000
HOUR = 3600.0
HANGS = "import sys, time\nsys.stderr.write('waits\\n')\ntime.sleep(300)\n"


class Watched:
    """A guard with a report to send. The trial is over at the second look, and the report is withdrawn then."""

    def __init__(self, folder: Path) -> None:
        self.looks: list[float] = []
        self.records = self
        self.host = types.SimpleNamespace(store=Store(str(folder.parent)))

    def tick(self) -> None:
        self.looks.append(time.monotonic())

    def report(self) -> object | None:
        return None if len(self.looks) > 1 else self

    def reportable(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a guard whose processes hang."""
    place = tmp_path / "guard"
    place.mkdir()
    (place / "__main__.py").write_text(HANGS)
    monkeypatch.setattr(pacing, "API_SECONDS", 1.0)
    return place


def test_a_report_that_hangs_ends_at_its_limit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watched = Watched(folder)
    assert guard_main.watch(t.cast(guard.Guard, watched)) == 0
    assert watched.looks[1] - watched.looks[0] < 200
    assert f"{sys.executable} did not end within 1 s" in capsys.readouterr().err


@pytest.mark.fault(case=44)
def test_a_question_to_the_api_server_that_hangs_ends_at_its_limit(folder: Path) -> None:
    begun = time.monotonic()
    asking = guard.Guard(Store(str(folder.parent)), guard.Settings())
    assert asking.verify() == f"{sys.executable} did not end within 1 s"
    assert time.monotonic() - begun < 200


def test_what_verify_prints_of_the_log_of_a_good_kubelet_is_in_the_log(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asking = guard.Guard(Store(str(folder.parent)), guard.Settings())
    (folder / "__main__.py").write_text("import sys\nsys.stderr.write('verified\\n')\n")
    assert asking.verify() == "" and capsys.readouterr().err == "verified\n"
    (folder / "__main__.py").write_text("import sys\nsys.stderr.write('not verified\\nother values\\n')\nsys.exit(1)\n")
    assert asking.verify() == "other values" and capsys.readouterr().err == ""


def test_the_start_of_the_kubelet_does_not_wait_for_the_watcher(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[list[str]] = []
    monkeypatch.setattr(command, "execute", begun.append)
    for watches in (True, False):
        started = types.SimpleNamespace(prestart=lambda watches=watches: watches)
        assert guard_main.prestart(t.cast(guard.Guard, started)) == 0
    assert begun == [["systemctl", "start", "--no-block", guard_main.SERVICE]]
    assert capsys.readouterr().out == "ran\n" * 2


def test_a_look_that_fails_is_repeated(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    faults: list[Exception] = [StoreError("locked"), OSError("away")]
    watched, waits = Watched(folder), []

    def tick() -> None:
        if faults:
            raise faults.pop(0)

    monkeypatch.setattr(watched, "tick", tick)
    monkeypatch.setattr(watched, "report", lambda: None)
    monkeypatch.setattr(time, "sleep", waits.append)
    assert guard_main.watch(t.cast(guard.Guard, watched)) == 0
    assert (waits, capsys.readouterr().err) == ([10.0, 10.0], "locked\naway\n")


def test_a_report_that_cannot_be_sent_yet_is_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kubelet does not run, and no trial is open."""
    watched, waits = Watched(folder), []
    monkeypatch.setattr(watched, "reportable", lambda: False)
    monkeypatch.setattr(time, "sleep", waits.append)
    assert guard_main.watch(t.cast(guard.Guard, watched)) == 0
    assert waits == [guard_main.FIRST_PAUSE]


@pytest.mark.parametrize(
    ("failed", "share", "seconds"),
    [
        *((1, 0.0, 5), (1, 0.5, 10), (1, 1.0, 15)),
        *((2, 0.5, 20), (4, 0.5, 80), (5, 0.5, 120)),
        *((9, 0.0, 60), (9, 1.0, 180), (10**6, 0.5, 120)),
    ],
)
def test_a_pause_doubles_up_to_the_longest_and_varies_by_half(failed: int, share: float, seconds: float) -> None:
    assert pacing.pause(failed, share, 10, 120) == seconds


def test_a_thousand_nodes_that_stay_unready_send_a_bounded_number_of_requests() -> None:
    """All begin in the same second, which is the worst case. At a steady pause of 10 s it were 100 a second."""
    dice = random.Random(0)
    moments: list[float] = []
    for _node in range(NODES):
        at, failed = 0.0, 0
        while at < HOUR:
            moments.append(at)
            failed += 1
            at += pacing.pause(failed, dice.random(), pacing.FIRST_SECONDS, pacing.LONGEST_SECONDS)
    rates = [sum(1 for at in moments if begin <= at < begin + 10) / 10 for begin in range(60, int(HOUR), 10)]
    assert max(rates) < 30
    assert max(rates[60:]) < 12
    assert len(moments) / NODES < 40


def test_chance_is_a_share() -> None:
    drawn = [pacing.chance() for _count in range(100)]
    assert 0 <= min(drawn) < 0.5 < max(drawn) < 1


def test_requests_in_a_row() -> None:
    requests = pacing.Requests()
    for count in (1, 2, 3):
        requests = requests.after(False, 100.0, 10, 120)
        assert requests.failed == count and 100 + 5 * 2 ** (count - 1) <= requests.due <= 100 + 15 * 2 ** (count - 1)
    assert requests.after(True, 200.0, 10, 120) == pacing.Requests(0, 200.0)
