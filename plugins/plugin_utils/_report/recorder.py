# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receives the events of a rollout, prints the progress and updates the reports."""

from __future__ import annotations

import typing as t

from . import events, model, output
from .page import page

_BETWEEN_DRAWINGS = 0.1
"""Seconds between two drawings of the status line."""
BETWEEN_REPORTS = 10.0
"""Seconds between reports while a batch runs. For a slow report it is a hundred times its duration, if longer."""


class ReportSettings(t.NamedTuple):
    """The options of the user. `html` and `json` are absolute paths, empty for no report.

    `live` is auto, always or never.
    """

    html: str = ""
    json: str = ""
    live: str = "auto"


class Recorder:
    """Records one run of ansible-playbook.

    `clock` returns seconds since the epoch, `display` prints a line and `warn` a warning. `restarts`: the plays of the
    run may restart kubelets, so that the run is a rollout even if it ends before it knows its nodes.
    """

    def __init__(
        self,
        settings: ReportSettings,
        display: t.Callable[[str], t.Any],
        warn: t.Callable[[str], t.Any],
        streams: tuple[t.TextIO, t.TextIO],
        clock: t.Callable[[], float],
        restarts: bool = False,
    ) -> None:
        self.settings, self._display, self._warn, self._clock = settings, display, warn, clock
        self.rollout, self._restarts = model.Rollout(clock()), restarts
        self._line = _status_line(settings.live, *streams)
        self._hosts = self._doing = ""
        self._since = self.rollout.began
        self._drawn = self._written = 0.0
        self._pause = BETWEEN_REPORTS
        self._unwritten: set[str] = set()

    def play(self, hosts: str) -> None:
        """Record the start of a play, or of its next batch."""
        self._hosts = hosts
        self._close()
        self._doing = ""
        self._draw(force=True)

    def doing(self, task: str) -> None:
        """Record the start of a task of this collection."""
        self._doing, self._since = task, self._clock()
        self._draw(force=True)

    def take(self, found: t.Iterable[events.Event], in_check_mode: bool = False) -> None:
        """Apply the events of a result. C(in_check_mode): its task was, so that the nodes do not change."""
        self.rollout.check_mode |= in_check_mode and not self.rollout.batches
        for event in found:
            # The hosts of the first play with an event, unless a lease names the group.
            self.rollout.group = self.rollout.group or self._hosts
            if event.kind == events.BATCH:
                self._close()
                # The playbook stage rehearses in check mode, before or after a rollout in the same run.
                self.rollout.check_mode = in_check_mode
            if self.rollout.apply(event, self._clock()):
                self._display(output.failure_line(self.rollout.node(event.node)))
        if self._clock() - self._written >= self._pause:
            self._write()
        self._draw()

    def end(self, outcome: str = "", failed: bool = False) -> None:
        """Record the end of the run, with the outcome of its events or the given one.

        `failed`: Ansible counts failures, possibly without an event.
        """
        if self.rollout.outcome != "running":
            return
        self._close()
        self.rollout.end(self._clock(), outcome)
        if failed and self.rollout.outcome == "done":
            self.rollout.outcome = "failed"
        if self._line:
            self._line.close()
            self._line = None
        if not self._is_rollout():
            return
        self._write()
        self._display(output.last_line(self.rollout))
        for path in (self.settings.html, self.settings.json):
            if path and path not in self._unwritten:
                self._display(f"kubelet rollout: the report is in {path}")

    def _is_rollout(self) -> bool:
        """Return whether there is something to report. The callback is enabled for all playbooks, such as drift."""
        return bool(self.rollout.nodes or (self._restarts and (self.rollout.messages or self.rollout.paused)))

    def _close(self) -> None:
        batch = self.rollout.close()
        if batch:
            self._display(output.batch_line(self.rollout, batch, self._clock()))
            self._write()

    def _write(self) -> None:
        if not self._is_rollout() or not (self.settings.html or self.settings.json):
            return
        began = self._clock()
        report = output.document(self.rollout)
        for path, write in ((self.settings.json, output.write_json), (self.settings.html, page.write)):
            try:
                if path:
                    write(path, report)
                self._unwritten.discard(path)
            except OSError as error:
                if path not in self._unwritten:
                    self._unwritten.add(path)
                    self._warn(
                        f"the report of the rollout could not be written to {path}: {error.strerror or error}. "
                        "The rollout continues; name another file"
                    )
        self._written = self._clock()
        self._pause = max(BETWEEN_REPORTS, 100 * (self._written - began))

    def _draw(self, force: bool = False) -> None:
        if self._line is None or not self.rollout.nodes:
            return
        now = self._clock()
        if force or now - self._drawn >= _BETWEEN_DRAWINGS:
            self._drawn = now
            self._line.show(output.progress_bar(self.rollout, self._doing, self._since, now, self._line.width()))


def _status_line(live: str, stdout: t.TextIO, stderr: t.TextIO) -> output.StatusLine | None:
    """Return the status line, on stderr if that is a terminal, or None without a terminal."""
    on = [stream for stream in (stderr, stdout) if stream.isatty()]
    if live == "never" or (live == "auto" and not on):
        return None
    return output.StatusLine(on[0] if on else stderr, on or (stdout, stderr))
