# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet's systemd unit: what it really runs, our drop-in for it, and verified restarts."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any, Callable, NamedTuple

from ..system import files, health, last_words
from ..system.command import Run, execute, number, of_process
from . import ordered_stop, secret_flags, systemd_check, unit_override
from .commandline import CommandLine
from .ordered_stop import OrderedStop

PROPERTIES = (
    "Id,LoadState,Type,User,RootDirectory,RootImage,ExecStart,Environment,EnvironmentFiles,PassEnvironment,"
    "UnsetEnvironment,FragmentPath,DropInPaths,NeedDaemonReload,MainPID,InvocationID,ActiveState,SubState,NRestarts,"
    "Result"
)
DROPIN = "zzz-livenodes-kubelet.conf"
"""Drop-ins are read in the order of their names, whatever folder they are in, and the last one wins."""

LOG_SECONDS = 5.0
"""Seconds to wait for the last lines of a kubelet that ended: the journal of a busy node writes them later."""

START_SECONDS = 120.0
"""Seconds to wait for a start that goes on after `systemctl restart` has returned."""
_STARTING = ("start-pre", "start", "start-post")

# Distributions that run a kubelet without a unit of its own, by the prefix of their units.
_OTHERS = {"k3s": "k3s", "rke2": "RKE2", "k0s": "k0s", "snap.": "a snap", "microk8s": "MicroK8s"}


class UnitError(Exception):
    """The unit is absent, is not understood, or did not do as requested. The text names the cause and the remedy."""


class Command(NamedTuple):
    """A command line and its source."""

    argv: list[str]
    source: str
    """`process`: the running kubelet; `systemd`: what systemd would start now; `files`: our reading of the unit's
    files, used when systemd gives no answer.
    """


class Unit:
    """A kubelet's unit. `root` is the folder that its file paths are relative to, `run` runs a command. `child`: the
    unit may run another program, which starts the kubelet with a known drop-in folder.
    """

    def __init__(self, name: str = "kubelet.service", root: str = "/", run: Run = execute, child: bool = False) -> None:
        self.child = child
        self.name = name if "." in name else f"{name}.service"
        self.root = root
        self.run = run
        self.stopped = OrderedStop(self._at(ordered_stop.FOLDER))
        self._known: dict[str, str] = {}

    # Reading

    def show(self, fresh: bool = False) -> dict[str, str]:
        """Return the unit's properties as `systemctl show` prints them, read once unless `fresh`.

        Several values of one property are joined by newlines. Raises UnitError.
        """
        if fresh or not self._known:
            done = self.run(["systemctl", "show", f"--property={PROPERTIES}", self.name])
            if done.returncode:
                raise UnitError(
                    f"systemctl show {self.name} failed: {_last(done)}. The kubelet must be run by systemd."
                )
            found: dict[str, str] = {}
            for line in done.stdout.splitlines():
                key, _equals, value = line.partition("=")
                found[key] = f"{found[key]}\n{value}" if key in found else value
            self._known = found
        return self._known

    def pid(self) -> int:
        """Return the kubelet's process id, 0 when it does not run."""
        return number(self.show().get("MainPID"))

    def command_line(self, ours: bool = True) -> CommandLine:
        """Return the command line of the unit's files, with or without our drop-in.

        Raises UnitError when the files differ from what systemd has loaded.
        """
        shown = self.show()
        if shown.get("LoadState") != "loaded":
            raise UnitError(self._not_loaded(shown.get("LoadState", "")))
        paths = [shown.get("FragmentPath", ""), *shown.get("DropInPaths", "").split()]
        try:
            texts = [(path, self._read(path)) for path in paths if path and path != self.dropin_path]
            if self.dropin_path in paths:
                whole = CommandLine([*texts, (self.dropin_path, self._read(self.dropin_path))], self.root)
            else:
                whole = CommandLine(texts, self.root)
            problem = systemd_check.disagreement(shown, whole)
            if problem:
                raise ValueError(problem)
            return whole if ours else CommandLine(texts, self.root)
        except (OSError, ValueError) as error:
            quoted = secret_flags.masked(str(error))
            raise UnitError(f"{self.name}: {quoted}.{self._reload_hint()}") from error

    def _read(self, path: str) -> str:
        return files.text(self._at(path))

    def _at(self, path: str) -> str:
        return files.below(self.root, path)

    def _reload_hint(self) -> str:
        if self.show().get("NeedDaemonReload") == "yes":
            return " Its files changed after systemd read them: check the change, then run `systemctl daemon-reload`."
        return " Write the unit without specifiers and special forms."

    def _not_loaded(self, state: str) -> str:
        if state == "not-found":
            listed = self.run(
                ["systemctl", "list-unit-files", "--no-legend", "--plain", *(f"{start}*" for start in _OTHERS)]
            ).stdout.split()
            for start, owner in _OTHERS.items():
                if any(unit.startswith(start) for unit in listed):
                    return (
                        f"{self.name}: there is no such unit. The kubelet of this node is run by {owner}, "
                        "which is not supported."
                    )
            return f"{self.name}: there is no such unit. Let systemd run the kubelet as {self.name}."
        return f"{self.name}: systemd reports LoadState={state or 'nothing'}. Repair or unmask the unit first."

    def argv(self) -> list[str]:
        """Return the command line of the running kubelet, else what systemd would start now. Raises UnitError."""
        return self.command().argv

    def command(self) -> Command:
        """Return the command line as `argv` does, with its source. Raises UnitError."""
        running = self._process()
        return Command(running, "process") if running else self.next_command()

    def _process(self) -> list[str]:
        if self.pid():
            pid = health.kubelet_of(self.pid()) if self.child else self.pid()
            return of_process(pid, self.root)
        return []

    def next_command(self) -> Command:
        """Return what systemd would start now, with the current environment files. Raises UnitError.

        What another program would start is not known: then it is what it has started.
        """
        found = self.command_line()
        running = self._process() if self.child and not _is_kubelet(found.program) else []
        if running and _is_kubelet(running[0]):
            return Command(running, "process")
        words = None if ":" in found.prefix else systemd_check.by_systemd(self.show(), found, self.run)
        return Command([word.text for word in found.words()], "files") if words is None else Command(words, "systemd")

    def shadowed(self, minor: int | None, argv: list[str] | None = None) -> dict[str, dict[str, Any]]:
        """Return the fields that a flag of a kubelet of this minor (None: not known) overrides: path -> {flag, file,
        line}, of the use that wins.

        File and line are None when no file contains the flag any more. Raises UnitError.
        """
        # Its table of all fields is the largest module, and a restart does not need it.
        from ..._config.fields import shadow

        running = self.argv() if argv is None else argv
        words = [word for word in self.command_line().words() if word.text in running]
        result = {}
        for path, flag in shadow.shadows(running, minor).items():
            sources = [word for word in words if path in shadow.shadows([word.text], minor)]
            result[path] = {
                "flag": flag,
                "file": sources[-1].file if sources else None,
                "line": sources[-1].line if sources else None,
            }
        return result

    def form(self, layered: bool = False) -> unit_override.Form:
        """Return what this unit is without our drop-in, see `unit_override.Form` and `judge`.

        A unit that cannot be used is `refused`; it does not make this raise.
        """
        try:
            shown = self.show()
            found = unit_override.judge(shown, self.command_line(ours=False), self.root, layered, self.child)
            later = [path for path in shown.get("DropInPaths", "").split() if os.path.basename(path) > DROPIN]
            if later and found.kind != unit_override.REFUSED:
                return unit_override.refused(
                    f"{later[-1]}: systemd reads a drop-in of this name after ours ({DROPIN}), so it could "
                    "override it. Rename it."
                )
            return found
        except UnitError as error:
            return unit_override.refused(str(error))

    # Changing

    @property
    def dropin_path(self) -> str:
        """The path of our drop-in, below `root`."""
        return f"/etc/systemd/system/{self.name}.d/{DROPIN}"

    def dropin(self, path: str | unit_override.Layer, extra: tuple[str, ...] = (), mounts_for: str = "") -> str:
        """Return the text of our drop-in that makes the kubelet read `path`; see `unit_override.dropin`.

        Raises UnitError for a refused unit.
        """
        found = self.form(isinstance(path, unit_override.Layer))
        if found.kind == unit_override.REFUSED:
            raise UnitError(found.reason)
        try:
            return unit_override.dropin(found, self.command_line(ours=False), path, extra, mounts_for)
        except ValueError as error:
            raise UnitError(f"{self.name}: {error}") from error

    def installed(self) -> str | None:
        """Return the text of our installed drop-in as `dropin` returned it, None when there is none."""
        text = self._written()
        if text is not None and text.startswith(unit_override.FOLDER_MARK):
            return text[len(unit_override.FOLDER_MARK) + 1 :]
        return text

    def _written(self) -> str | None:
        try:
            return self._read(self.dropin_path)
        except FileNotFoundError:
            return None

    def install(
        self,
        path: str | unit_override.Layer,
        extra: tuple[str, ...] = (),
        mounts_for: str = "",
        fs: files.OS | None = None,
    ) -> bool:
        """Write our drop-in, durably and in one step, and make systemd read it; return whether anything changed.

        Raises UnitError, with the drop-in removed again, when it has no effect; FileError when it cannot be written.
        """
        # After an interrupted run systemd may have another drop-in than the disk.
        self._reload(False)
        text = self.dropin(path, extra, mounts_for)
        changed = self.installed() != text
        if changed:
            self._write(text, fs)
        self._reload(changed)
        try:
            problem = unit_override.ineffective(path, [word.text for word in self.command_line().words()])
        except UnitError as error:
            problem = str(error)
        if problem:
            self.remove(fs)
            raise UnitError(
                f"{self.name}: our drop-in has no effect and was removed: {problem}. See `systemctl cat {self.name}`."
            )
        return changed

    def restore(self, text: str, fs: files.OS | None = None) -> None:
        """Write a drop-in that was removed, as `installed` returned it. Raises UnitError, FileError."""
        self._write(text, fs)
        self._reload(True)

    def _write(self, text: str, fs: files.OS | None) -> None:
        place = self._at(self.dropin_path)
        folder = os.path.dirname(place)
        if not os.path.isdir(folder) or self._folder_is_ours():
            text = f"{unit_override.FOLDER_MARK}\n{text}"
        files.make_folder(folder, fs, 0o755)
        files.write(place, text.encode("utf-8", "surrogateescape"), 0o644, fs)

    def _folder_is_ours(self) -> bool:
        return (self._written() or "").startswith(unit_override.FOLDER_MARK)

    def remove(self, fs: files.OS | None = None) -> bool:
        """Remove our drop-in, and its folder if we made it; return whether anything changed.

        Raises UnitError, FileError.
        """
        ours = self._folder_is_ours()
        changed = files.remove(self._at(self.dropin_path), fs)
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
                raise UnitError(f"systemctl daemon-reload failed: {_last(done)}. Correct the cause, then run again.")
            self.show(fresh=True)

    def stop(self, guard: str) -> None:
        """Stop the kubelet. The service `guard` starts it again, should `restart` not follow."""
        self.stopped.note(self.show(fresh=True).get("InvocationID", ""))
        # Its start has the note as a condition.
        self.run(["systemctl", "start", "--no-block", guard])
        self.run(["systemctl", "stop", self.name])

    def restart(self, settle: float = 1.0, sleep: Callable[[float], Any] = time.sleep) -> str:
        """Restart the kubelet; return its new InvocationID after it ran for `settle` seconds. Raises UnitError."""
        before = self.show(fresh=True).get("InvocationID", "")
        self.stopped.note(before)
        # A unit that hit its start limit refuses to start until this state is reset.
        self.run(["systemctl", "reset-failed", self.name])
        done = self.run(["systemctl", "restart", self.name])
        after = self.show(fresh=True)
        identity = after.get("InvocationID", "")
        if done.returncode or not identity or identity == before:
            what = "failed" if done.returncode else "gave no new invocation"
            raise self._ended(
                f"{self.name}: systemctl restart {what}",
                f"{_last(done) or 'exit 0'}; {_state(after)}",
                identity if identity != before else "",
            )
        self.holds(identity, settle, sleep)
        return identity

    def holds(self, identity: str, seconds: float, sleep: Callable[[float], Any] = time.sleep) -> None:
        """Check for `seconds` (0: once) that this invocation of the kubelet runs. Raises UnitError otherwise.

        Before that, waits until it no longer starts, START_SECONDS at most.
        """
        steps = max(1, int(seconds / 0.25)) if seconds else 0
        for step in range(steps + 1):
            now = self._started(identity, sleep)
            if (
                now.get("InvocationID") != identity
                or now.get("ActiveState") != "active"
                or now.get("MainPID") in ("0", "", None)
            ):
                raise self._ended(f"{self.name} did not stay up", _state(now), identity)
            if step < steps:
                sleep(seconds / steps)

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
        killed = last_words.killed(self.name, identity, self.run)
        shown = "" if last_words.kind(words) and not killed else f" ({state})"
        return UnitError(f"{what}{shown}. {last_words.sentence(words, self.name, killed)}")


def _is_kubelet(program: str) -> bool:
    return os.path.basename(program).startswith("kubelet")


def _last(done: Any) -> str:
    text = (done.stderr or done.stdout or "").strip()
    return text.splitlines()[-1].rstrip(". ") if text else ""


def _state(shown: dict[str, str]) -> str:
    state = f"{shown.get('ActiveState')}/{shown.get('SubState')}"
    return f"{state}, result {shown.get('Result')}, {shown.get('NRestarts')} restarts by systemd"
