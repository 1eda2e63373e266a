# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the kubelet's systemd unit: what it really runs, what systemd would start, and what its files have."""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import os
import re
from typing import Any, Iterator, NamedTuple, Sequence

from ..system import files, health
from ..system.command import Run, execute, number
from . import unit_override, unitfile
from .unitfile import Setting

_PROPERTIES = (
    "Id,LoadState,Type,User,RootDirectory,RootImage,WorkingDirectory,ExecStart,EnvironmentFiles,PassEnvironment,"
    "UnsetEnvironment,FragmentPath,DropInPaths,NeedDaemonReload,MainPID,InvocationID,ActiveState,SubState,NRestarts,"
    "Result"
)
DROPIN = "zzz-livenodes-kubelet.conf"
"""Drop-ins are read in the order of their names, whatever folder they are in, and the last one wins."""

# Distributions that run a kubelet without a unit of its own, by their units, and what to do.
_NAME_BOTH = (
    "The kubelet of this node is run by {{units}}: set kubelet_config_unit to that unit, and kubelet_config_dropin_dir "
    "to its drop-in folder, {}."
)
_FOREIGN = "The kubelet of this node is run by {units}, which manages its arguments: it is not supported."
_OTHERS = {
    "k3s*.service": _NAME_BOTH.format("/var/lib/rancher/k3s/agent/etc/kubelet.conf.d"),
    "rke2-*.service": _NAME_BOTH.format("/var/lib/rancher/rke2/agent/etc/kubelet.conf.d"),
    "k0s*.service": _FOREIGN,
    "snap.*kubelet*.service": _FOREIGN,
    "*microk8s*.service": _FOREIGN,
}
# Where systemd looks for a program without a path: DEFAULT_PATH in its src/basic/path-util.h.
_SEARCHED = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


class UnitError(Exception):
    """The unit is absent, is not understood, or did not do as requested. The text names the cause and the remedy."""


class Command(NamedTuple):
    """A command line and its source."""

    argv: list[str]
    source: str
    """`process`: the running kubelet; `systemd`: what systemd would start now."""


class UnitReader:
    """A kubelet's unit. `root` is the folder that its file paths are relative to, `run` runs a command. `child`: the
    unit may run another program, which starts the kubelet with a known drop-in folder.
    """

    def __init__(self, name: str = "kubelet.service", root: str = "/", run: Run = execute, child: bool = False) -> None:
        self.child = child
        self.name = name if "." in name else f"{name}.service"
        self.root = root
        self.run = run
        self._known: dict[str, str] = {}
        self._next: list[str] | None = None

    def show(self, fresh: bool = False) -> dict[str, str]:
        """Return the unit's properties as `systemctl show` prints them, read once unless `fresh`.

        Several values of one property are joined by newlines. Raises UnitError.
        """
        if fresh or not self._known:
            done = self.run(["systemctl", "show", f"--property={_PROPERTIES}", self.name])
            if done.returncode:
                raise UnitError(
                    f"systemctl show {self.name} failed: {last_line(done)}. The kubelet must be run by systemd."
                )
            found: dict[str, str] = {}
            for line in done.stdout.splitlines():
                key, _equals, value = line.partition("=")
                if key in found:
                    value = f"{found[key]}\n{value}"
                found[key] = value
            self._known, self._next = found, None
        return self._known

    def pid(self) -> int:
        """Return the kubelet's process id, 0 when it does not run."""
        return number(self.show().get("MainPID"))

    def lacking(self) -> str:
        """Return what does not exist and without which systemd starts no kubelet, empty for nothing: the unit, or an
        environment file that it requires. Raises UnitError.
        """
        if self.show().get("LoadState") == "not-found":
            return self.name
        for pattern, is_required, places in self._environment_files():
            if is_required and not places:
                return pattern
        return ""

    def command_line(self) -> Setting:
        """Return ExecStart= as the unit's own files have it. Raises UnitError unless it is one command."""
        found = unitfile.effective(self._settings(), "ExecStart")
        commands = self.show().get("ExecStart", "").count("argv[]=")
        if len(found) == commands == 1:
            return found[0]
        places = ", ".join(f"{setting.file}, line {setting.line}" for setting in found) or "its files"
        raise UnitError(
            f"{self.name}: {places}: systemd has {commands} commands of ExecStart=, its files set {len(found)}. "
            f"Let the unit run one.{self._reload_hint()}"
        )

    def own_words(self) -> list[str]:
        """Return the command line of the next start as it is without our drop-in. Raises UnitError."""
        words = self.next_command().argv
        ours = self.installed()
        if ours is None:
            return words
        return self._resolved(unit_override.without(words, ours, self._settings()))

    def program(self) -> str:
        """Return the path of the program that the unit runs, empty for none. Raises UnitError."""
        shown = self.show()
        match = re.search(r"path=(.*?) ; argv\[\]=", shown.get("ExecStart", ""))
        if not match or shown.get("LoadState") != "loaded":
            return ""
        name = match.group(1)
        if name and "/" not in name:
            for folder in _SEARCHED:
                if os.path.exists(self._at(f"{folder}/{name}")):
                    return f"{folder}/{name}"
        return name

    def place(self, word: str) -> tuple[str, int] | None:
        """Return file and line of a word of the command line, None if no file has it or none can be read."""
        try:
            return unitfile.place(word, self._texts() + self._environment())
        except UnitError:
            return None

    def _settings(self) -> list[Setting]:
        found: list[Setting] = []
        for path, text in self._texts():
            found += unitfile.settings(text, path)
        return found

    def files(self) -> list[str]:
        """Return the unit's own files, then its drop-ins, in systemd's order. Raises UnitError without systemd."""
        shown = self.show()
        return list(filter(None, [shown.get("FragmentPath", ""), *shown.get("DropInPaths", "").split()]))

    def _texts(self) -> list[tuple[str, str]]:
        """Return path and text of the unit's own files, in systemd's order."""
        shown = self.show()
        if shown.get("LoadState") != "loaded":
            raise UnitError(self._not_loaded(shown.get("LoadState", "")))
        try:
            return [(path, files.text(self._at(path))) for path in self.files() if path != self.dropin_path]
        except OSError as error:
            raise UnitError(f"{self.name}: {error}.{self._reload_hint()}") from error

    def _environment(self) -> list[tuple[str, str]]:
        """Return path and text of the environment files that can be read, in systemd's order."""
        texts = []
        for _pattern, _is_required, places in self._environment_files():
            for place in places:
                with contextlib.suppress(OSError):
                    texts.append((os.path.join("/", os.path.relpath(place, self.root)), files.text(place)))
        return texts

    def _environment_files(self) -> Iterator[tuple[str, bool, list[str]]]:
        """Yield each EnvironmentFile= in systemd's order, whether it is required, and the files that are there."""
        for line in self.show().get("EnvironmentFiles", "").splitlines():
            pattern, _blank, ignore_errors = line.rpartition(" (")
            yield pattern, ignore_errors == "ignore_errors=no)", sorted(glob.glob(self._at(pattern)))

    def _at(self, path: str) -> str:
        return files.below(self.root, path)

    def _reload_hint(self) -> str:
        if self.show().get("NeedDaemonReload") == "yes":
            return " Its files changed after systemd read them: check the change, then run `systemctl daemon-reload`."
        return ""

    def _not_loaded(self, state: str) -> str:
        if state == "not-found":
            listed = self.run(["systemctl", "list-unit-files", "--no-legend", "--plain", *_OTHERS]).stdout.split()
            for pattern, remedy in _OTHERS.items():
                units = [unit for unit in listed if fnmatch.fnmatch(unit, pattern)]
                if units:
                    return f"{self.name}: there is no such unit. {remedy.format(units=' or '.join(units))}"
            return f"{self.name}: there is no such unit. Let systemd run the kubelet as {self.name}."
        return f"{self.name}: systemd reports LoadState={state or 'nothing'}. Repair or unmask the unit first."

    def argv(self) -> list[str]:
        """Return the command line of the running kubelet, else what systemd would start now. Raises UnitError."""
        return self.command().argv

    def command(self) -> Command:
        """Return the command line as `argv` does, with its source. Raises UnitError."""
        running = self._process()
        if running:
            return Command(running, "process")
        return self.next_command()

    def _process(self) -> list[str]:
        read = health.argv_of_child if self.child else health.argv
        return read(self.pid(), self.root)

    def next_command(self) -> Command:
        """Return what systemd would start now, with the current environment files. Raises UnitError.

        What another program would start is not known: then it is what it has started.
        """
        if self.child and not health.is_kubelet(self.program()):
            running = self._process()
            if running and health.is_kubelet(running[0]):
                return Command(running, "process")
        words = self._from_systemd()
        if words is None:
            raise UnitError(
                f"{self.name}: busctl or systemd-run does not show what systemd would start. Start the system bus of "
                "the node (dbus.service), and restore environment files that the unit requires."
            )
        return Command(self._resolved(words), "systemd")

    def _from_systemd(self) -> list[str] | None:
        """Return the words of the next start, asked once of systemd; None without an answer."""
        if self._next is None:
            literal = ":" in unit_override.prefix(self.command_line())
            found = unitfile.ask(self.name, self.run)
            if found and literal:
                self._next = found.words
            elif found:
                self._next = unitfile.starts(found, self.show(), self.run)
        return self._next

    def _resolved(self, words: list[str]) -> list[str]:
        # systemd shows `!` before a folder that may be absent, and `~` for the home of the user.
        folder = self.show().get("WorkingDirectory", "").lstrip("!") or "/"
        if folder == "~":
            folder = "/root"
        return health.resolved(words, folder)

    def shadowed(self, minor: int | None, running: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the fields that a flag of a kubelet of this minor (None: not known) overrides: path -> {flag, file,
        line}, of the use that wins.

        File and line are None when no file contains the flag any more.
        """
        # Its table of all fields is the largest module, and a restart does not need it.
        from ..._config.fields import shadow

        result = {}
        for path, flag in shadow.shadows(running, minor).items():
            words = [word for word in running if path in shadow.shadows([word], minor)]
            place = self.place(words[-1]) if words else None
            file, line = place or (None, None)
            result[path] = {"flag": flag, "file": file, "line": line}
        return result

    def unread(self) -> bool:
        """Return whether systemd must still read an edit of the unit's files that is not ours. Raises UnitError."""
        shown, ours = self.show(), self.installed()
        listed = self.dropin_path in shown.get("DropInPaths", "").split()
        # Our drop-in, or its removal, may wait for the same.
        if shown.get("NeedDaemonReload") != "yes" or listed != (ours is not None):
            return False
        try:
            # Where systemd has our drop-in, another file has changed.
            return ours is None or self.own_words() != self.next_command().argv
        except UnitError:
            return False

    def form(self, layered: bool = False) -> unit_override.Form:
        """Return what this unit is without our drop-in, see `unit_override.Form` and `judge`.

        A unit that cannot be used is `refused`; it does not make this raise.
        """
        try:
            shown = self.show()
            environment = self._environment()
            seen = unit_override.Found(
                self.command_line(),
                self.program(),
                self.own_words(),
                self._settings(),
                [*self._texts(), *environment],
                [path for path, _text in environment],
            )
            found = unit_override.judge(shown, seen, self.root, layered, self.child)
            later = [path for path in shown.get("DropInPaths", "").split() if os.path.basename(path) > DROPIN]
            if later and found.kind != unit_override.REFUSED:
                return unit_override.Form(
                    unit_override.REFUSED,
                    f"{later[-1]}: systemd reads a drop-in of this name after ours ({DROPIN}), so it could "
                    "override it. Rename it.",
                )
            return found
        except UnitError as error:
            return unit_override.Form(unit_override.REFUSED, str(error))

    @property
    def dropin_path(self) -> str:
        """The path of our drop-in, below `root`."""
        return f"/etc/systemd/system/{self.name}.d/{DROPIN}"

    def installed(self) -> str | None:
        """Return the text of our installed drop-in as `dropin` returned it, None when there is none."""
        text = self._written()
        if text is not None and text.startswith(unit_override.FOLDER_MARK):
            return text[len(unit_override.FOLDER_MARK) + 1 :]
        return text

    def _written(self) -> str | None:
        try:
            return files.text(self._at(self.dropin_path))
        except FileNotFoundError:
            return None


def last_line(done: Any) -> str:
    """Return the last line that a command printed, empty for none."""
    text = (done.stderr or done.stdout or "").strip()
    return text.splitlines()[-1].rstrip(". ") if text else ""
