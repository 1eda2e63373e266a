# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a rollout is recorded: its lines, its outcome and its report."""

from __future__ import annotations

import io
import json
import stat
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import output
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.events import Event
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.output import ERASE
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.recorder import BETWEEN_REPORTS, Recorder
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.recorder import ReportSettings as Settings
from tests.support.report.terminal import Terminal


class Run:
    """A recorder with a clock that is moved by hand."""

    def __init__(
        self,
        place: Path,
        stream: t.TextIO | None = None,
        live: str = "auto",
        html: str = "r.html",
        restarts: bool = False,
    ) -> None:
        self.now = 1000.0
        self.printed: list[str] = []
        self.warned: list[str] = []
        stream = stream or io.StringIO()
        self.json = place / "out" / "r.json"
        settings = Settings(html=str(place / "out" / html) if html else "", json=str(self.json), live=live)
        lines = (self.printed.append, self.warned.append, (stream, stream))
        self.recorder = Recorder(settings, *lines, lambda: self.now, restarts)

    def take(self, *found: Event) -> None:
        """Receive events a second later."""
        self.now += 1
        self.recorder.take(found)

    def report(self) -> t.Any:
        """Return the JSON report."""
        return json.loads(self.json.read_text(encoding="utf-8"))


PLAN = Event("plan", detail={"nodes": {f"n{number}": {"action": "assign"} for number in range(1, 6)}})


def test_one_line_a_batch_and_a_failure(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.take(PLAN)
    run.take(Event("batch", detail=["n1"]))
    run.take(Event("verified", "n1"))
    run.take(Event("batch", detail=["n2", "n3", "n4", "n5"]))
    run.take(Event("failed", "n2", "a flag wins", "differs"), Event("failed", "n2", "again"))
    run.take(*(Event("verified", f"n{number}") for number in (3, 4, 5)))
    run.recorder.end()
    assert run.printed[:-2] == [
        "kubelet rollout: batch 1, 1 node (n1): 1 done in 1 s; 1 of 5 nodes, about 8 s left",
        "kubelet rollout: node n2 failed (differs); its verdict follows",
        "kubelet rollout: batch 2, 4 nodes (n2, n3, n4 and 1 more): 1 failed, 3 done in 2 s; 5 of 5 nodes",
        "kubelet rollout: failed after 6 s: 1 failed, 4 done",
    ]


def test_a_killed_run_leaves_what_was_seen(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.take(PLAN)
    assert run.report()["outcome"] == "running"
    run.take(Event("batch", detail=["n1"]), Event("verified", "n1"))
    run.recorder.play("all")
    assert run.report()["summary"]["done"] == 1
    run.take(Event("failed", "n2", "why"))
    run.now += BETWEEN_REPORTS
    run.take()
    assert run.report()["summary"]["failed"] == 1
    assert [path.name for path in run.json.parent.iterdir()] != [] and not list(run.json.parent.glob(".*"))


@pytest.mark.parametrize(
    ("end", "outcome"), [({"outcome": "interrupted"}, "interrupted"), ({"failed": True}, "failed")]
)
def test_the_end_counts_once(tmp_path: Path, end: dict[str, t.Any], outcome: str) -> None:
    """An interrupt is one, and failures without an event are not a success."""
    run = Run(tmp_path)
    run.take(PLAN)
    run.recorder.end(**end)
    run.recorder.end()
    assert run.report()["outcome"] == outcome


@pytest.mark.parametrize("dry", [True, False])
def test_a_rollout_between_two_rehearsals_is_not_in_check_mode(tmp_path: Path, dry: bool) -> None:
    """With the playbook stage in the same run, the report of a rollout was that nothing was changed."""
    run = Run(tmp_path)
    run.take(PLAN)
    run.recorder.take([], in_check_mode=True)
    run.recorder.take([Event("batch", detail=["n1"])], in_check_mode=dry)
    run.take(Event("verified", "n1"))
    run.recorder.take([], in_check_mode=True)
    run.recorder.end()
    made = run.report()
    assert (made["check_mode"], made["summary"].get("done", 0)) == (dry, 0 if dry else 1)


@pytest.mark.parametrize("restarts", [True, False])
def test_only_a_rollout_is_refused(tmp_path: Path, restarts: bool) -> None:
    """Drift fails with a message, too. It must not replace the report of the last rollout."""
    run = Run(tmp_path, html="", restarts=restarts)
    run.take(Event("refused", message="1 variable is wrong"))
    run.now += BETWEEN_REPORTS
    run.take()
    run.recorder.end(failed=True)
    shown = ["refused after 12 s: nothing was changed", f"the report is in {run.json}"] if restarts else []
    assert (run.printed, run.json.exists()) == ([f"kubelet rollout: {words}" for words in shown], restarts)


def test_a_report_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file where the folder should be")
    run = Run(tmp_path, html="")
    run.take(PLAN)
    run.recorder.end()
    assert len(run.warned) == 1 and str(run.json) in run.warned[0]
    assert "name another file" in run.warned[0]
    assert not any("the report is in" in line for line in run.printed)


@pytest.mark.parametrize(
    ("live", "terminal", "drawn"),
    [("auto", True, True), ("auto", False, False), ("never", True, False), ("always", False, True)],
)
def test_who_gets_a_line(tmp_path: Path, live: str, terminal: bool, drawn: bool) -> None:
    stream = Terminal() if terminal else io.StringIO()
    run = Run(tmp_path, stream, live)
    run.take(PLAN)
    assert bool(stream.getvalue()) == drawn
    run.recorder.end()
    assert stream.getvalue().rpartition(ERASE)[2] == ""


def test_files_are_whole_and_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output.write(str(tmp_path / "r"), "old")
    with monkeypatch.context() as patch, pytest.raises(OSError):
        patch.setattr(output.os, "replace", lambda *_paths: (dummy for dummy in ()).throw(OSError("no")))
        output.write(str(tmp_path / "r"), "new")
    assert (tmp_path / "r").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) & 0o600 == 0o600


def test_half_of_a_surrogate_pair_does_not_cost_the_report(tmp_path: Path) -> None:
    """A module can return one, as in the path of a file whose name is no UTF-8."""
    output.write(str(tmp_path / "r"), "a\udcff")
    assert (tmp_path / "r").read_text() == "a\\udcff"
