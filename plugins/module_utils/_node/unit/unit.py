# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet's systemd unit: our drop-in for it, and verified restarts."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any, Callable

from ..store.trial import MEMORY, OrderedStop
from ..system import files, last_words
from ..system.command import TIMED_OUT, Run, execute
from . import unit_override
from .unit_reader import DROPIN, Command, UnitError, UnitReader, last_line

__all__ = ["DROPIN", "Command", "Unit", "UnitError"]

LOG_SECONDS = 5.0
"""Seconds to wait for the last lines of a kubelet that ended: the journal of a busy node writes them later."""

START_SECONDS = 120.0
"""Seconds to wait for a start that goes on after `systemctl restart` has returned."""
_STARTING = ("start-pre", "start", "start-post")


class Unit(UnitReader):
    """A kubelet's unit, which changes."""

    def __init__(self, name: str = "kubelet.service", root: str = "/", run: Run = execute, child: bool = False) -> None:
        super().__init__(name, root, run, child)
        self.stopped = OrderedStop(self._at(MEMORY))

    def dropin(self, path: str | unit_override.Layer, extra: tuple[str, ...] = (), mounts_for: str = "") -> str:
        """Return the text of our drop-in that makes the kubelet read `path`; see `unit_override.dropin`.

        Raises UnitError for a refused unit.
        """
        found = self.form(isinstance(path, unit_override.Layer))
        if found.kind == unit_override.REFUSED:
            raise UnitError(found.reason)
        try:
            return unit_override.dropin(found, self.command_line(), path, extra, mounts_for)
        except ValueError as error:
            raise UnitError(f"{self.name}: {error}") from error

    def install(self, path: str | unit_override.Layer, extra: tuple[str, ...] = (), mounts_for: str = "") -> bool:
        """Write our drop-in, durably and in one step, and make systemd read it; return whether anything changed.

        Raises UnitError when it has no effect, with the drop-in removed again, or as it was before; FileError when it
        cannot be written.
        """
        # After an interrupted run systemd may have another drop-in than the disk.
        self._reload(False)
        text, before = self.dropin(path, extra, mounts_for), self.installed()
        changed = before != text
        if changed:
            self._write(text)
        self._reload(changed)
        try:
            problem = unit_override.ineffective(path, self.next_command().argv)
        except UnitError as error:
            problem = str(error)
        if problem:
            undone = "was removed"
            if before is None:
                self.remove()
            else:
                # A kubelet that reads the store would leave it at its next start.
                undone = "is as it was before"
                self.restore(before)
            raise UnitError(
                f"{self.name}: our drop-in has no effect and {undone}: {problem}. See `systemctl cat {self.name}`."
            )
        return changed

    def restore(self, text: str) -> None:
        """Write a drop-in that was removed, as `installed` returned it. Raises UnitError, FileError."""
        self._write(text)
        self._reload(True)

    def renew(self, active: str, folder: str = "") -> bool:
        """Make our drop-in anew if the unit has another command than the one that it repeats; return whether it had.

        Called before a start: an upgrade may bring other flags, and the former ones may end a new kubelet.
        `active`: the config file of our store. `folder`: the drop-in folder of delivery `dropin`, else empty.

        systemd reads the drop-in at once. Edits that wait for `systemctl daemon-reload` are not taken up. Files are
        read only, since the system bus may not run yet. Raises StoreError, with the former drop-in in place.
        """
        before = self.installed()
        if before is None or not unit_override.repeated(before):
            return False
        reads: str | unit_override.Layer = active
        if folder:
            reads = unit_override.Layer()
            if f"--config-dir={folder}" in before:
                reads = unit_override.Layer(folder)
        try:
            edited = self.show(fresh=True).get("NeedDaemonReload") == "yes"
            if edited or unit_override.repeats(before, self.command_line(), self._settings(), reads):
                return False
            text = self.dropin(reads, unit_override.extra_lines(before), unit_override.mounts(before))
            self.restore(text)
            after = self.form(bool(folder))
            if after.kind == unit_override.REFUSED:
                self.restore(before)
                raise UnitError(after.reason)
        except UnitError as error:
            raise files.StoreError(
                f"the command of the kubelet's unit has changed, and ours stays as it was: {error}"
            ) from error
        return True

    def _write(self, text: str) -> None:
        place = self._at(self.dropin_path)
        folder = os.path.dirname(place)
        if not os.path.isdir(folder) or self._folder_is_ours():
            text = f"{unit_override.FOLDER_MARK}\n{text}"
        files.make_folder(folder, mode=0o755)
        files.write(place, text.encode("utf-8", "surrogateescape"), 0o644)

    def _folder_is_ours(self) -> bool:
        return (self._written() or "").startswith(unit_override.FOLDER_MARK)

    def remove(self) -> bool:
        """Remove our drop-in, and its folder if we made it; return whether anything changed.

        Raises UnitError, FileError.
        """
        ours = self._folder_is_ours()
        changed = files.remove(self._at(self.dropin_path))
        if ours:
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(self._at(self.dropin_path)))
        self._reload(changed)
        return changed

    def _reload(self, changed: bool) -> None:
        """Make systemd read our drop-in again if it has another one than the disk.

        An unneeded reload costs time on every node, and loads unit files that another process is still writing.
        """
        shown = self.show(fresh=True)
        present = os.path.exists(self._at(self.dropin_path))
        listed = self.dropin_path in shown.get("DropInPaths", "").split()
        if changed or present != listed or (present and shown.get("NeedDaemonReload") == "yes"):
            done = self.run(["systemctl", "daemon-reload"])
            if done.returncode:
                raise UnitError(
                    f"systemctl daemon-reload failed: {last_line(done)}. Correct the cause, then run again."
                )
            self.show(fresh=True)

    def stop(self, guard: str) -> None:
        """Stop the kubelet. The service `guard` starts it again, should `restart` not follow."""
        self.stopped.note(self.show(fresh=True).get("InvocationID", ""))
        # Its start has the note as a condition.
        self.run(["systemctl", "start", "--no-block", guard])
        self.run(["systemctl", "stop", self.name])

    def restart(self, sleep: Callable[[float], Any] = time.sleep) -> str:
        """Restart the kubelet; return its new InvocationID as soon as it runs. Raises UnitError."""
        before = self.show(fresh=True).get("InvocationID", "")
        self.stopped.note(before)
        # A unit that hit its start limit refuses to start until this state is reset.
        self.run(["systemctl", "reset-failed", self.name])
        done = self.run(["systemctl", "restart", self.name])
        after = self.show(fresh=True)
        identity = after.get("InvocationID", "")
        goes_on = done.returncode == TIMED_OUT and after.get("SubState") in _STARTING
        failed = done.returncode and not goes_on
        if failed or not identity or identity == before:
            what = "failed" if failed else "gave no new invocation"
            state = f"{last_line(done) or 'exit 0'}; {_state(after)}"
            if identity == before:
                identity = ""
            raise self._ended(f"{self.name}: systemctl restart {what}", state, identity)
        self.holds(identity, sleep)
        return identity

    def holds(self, identity: str, sleep: Callable[[float], Any] = time.sleep) -> None:
        """Raise UnitError unless this invocation of the kubelet runs, once it no longer starts."""
        now = self._started(identity, sleep)
        is_up = now.get("ActiveState") == "active" and now.get("MainPID") not in ("0", "", None)
        if not is_up or now.get("InvocationID") != identity:
            what = "did not stay up"
            if now.get("InvocationID") == identity and now.get("SubState") in _STARTING:
                what = f"still starts after {START_SECONDS:g} s: a unit of Type=notify must be ready by then"
            raise self._ended(f"{self.name} {what}", _state(now), identity)

    def _started(self, identity: str, sleep: Callable[[float], Any]) -> dict[str, str]:
        """Return the unit's properties as soon as this invocation no longer starts, else those after START_SECONDS.

        `systemctl restart` may return before that: if systemd is just about to restart the kubelet by itself, it
        merges both restarts. A kubelet with `Type=notify` then takes seconds until it is ready.
        """
        waited = 0.0
        now = self.show(fresh=True)
        while now.get("InvocationID") == identity and now.get("SubState") in _STARTING and waited < START_SECONDS:
            sleep(0.5)
            waited += 0.5
            now = self.show(fresh=True)
        return now

    def last_words(self, identity: str) -> str:
        """Return what this invocation of the kubelet logged last, and what to do about it; never raises."""
        return last_words.sentence(self._logged(identity), self.name)

    def _logged(self, identity: str) -> str:
        return last_words.read(self.name, identity, self.run, patience=LOG_SECONDS)

    def _ended(self, what: str, state: str, identity: str) -> UnitError:
        """Return the error of an invocation that ended, with its unit's `state` unless the last words explain it."""
        words = self._logged(identity)
        killed = last_words.killed(identity, self.run)
        if killed or not last_words.kind(words):
            what = f"{what} ({state})"
        return UnitError(f"{what}. {last_words.sentence(words, self.name, killed)}")


def _state(shown: dict[str, str]) -> str:
    state = f"{shown.get('ActiveState')}/{shown.get('SubState')}"
    return f"{state}, result {shown.get('Result')}, {shown.get('NRestarts')} restarts by systemd"
