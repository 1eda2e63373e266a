# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs and removes the guard on a node: its program, its service, the step in the kubelet's unit.

The program consists of its two mains, guard_main and the follower's watching, and of the modules that they import, as
they are here, so that both always agree. Each version is one file, behind one link, so that a power cut never mixes
two.

::

    <config_dir>/guard/__main__.py             starts the program that `current` leads to
    <config_dir>/guard/current                 -> programs/<version>.zip
    <config_dir>/guard/programs/<version>.zip  the program's modules; the version is a digest of the file

Python writes byte code beside modules without making it durable, and a short file of byte code ends every later start
(before 3.12.8 and 3.13.1 it does not even notice a full disk). From a zip it reads sources only, and writes nothing.
"""

from __future__ import annotations

import functools
import io
import os
import re
import sys
import zipfile
from importlib import util
from importlib.machinery import ModuleSpec
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from ..guard import base, guard_main
from ..records import json_file
from ..store import installed
from ..store.trial import MEMORY, STOPPED
from ..system import files
from ..system.command import Run, execute
from ..unit import trust
from ..unit.unit import Unit

SERVICE_PATH = f"/etc/systemd/system/{guard_main.SERVICE}"
WANTED_BY = f"/etc/systemd/system/multi-user.target.wants/{guard_main.SERVICE}"
FOLLOWER = "livenodes-kubelet-follow.service"
"""The service of the follower, see `_node/follow`."""
FOLLOWER_PATH = f"/etc/systemd/system/{FOLLOWER}"
FOLLOWER_WANTED_BY = f"/etc/systemd/system/multi-user.target.wants/{FOLLOWER}"
SELINUX = "/sys/fs/selinux/enforce"
"""A file that exists while SELinux is enabled (selinux(8))."""

_MAINS = ("_node.guard.guard_main", "_node.follow.watching")
_IMPORT = re.compile(r"^ *from (\.+)([\w.]*) import (\([^)]*\)|[^#\n]*)", re.MULTILINE)
_COMMAND = re.compile(r"^ExecStart=(.*) watch$", re.MULTILINE)
PACKAGE = "livenodes_kubelet"
MAIN = f"""import os
import sys

folder = os.path.dirname(os.path.abspath(__file__))
# Resolved once: the link may change while this process runs.
sys.path.insert(0, os.path.realpath(os.path.join(folder, "current")))

if sys.argv[1:] == ["follow"]:
    # It runs all the time, without what the others need.
    from {PACKAGE}._node.follow.watching import main
else:
    from {PACKAGE}._node.guard.guard_main import main

sys.exit(main(folder, sys.argv[1:]))
""".encode()

_USABLE = "import sys, hashlib, http.client, ssl, zipimport; sys.exit(sys.version_info < (3, 7))"

_Program = Mapping[str, bytes]
# The second one is that of RHEL and its relatives.
STABLE_NAMES = ("/usr/bin/python3", "/usr/libexec/platform-python")


class FileChange(NamedTuple):
    """A file whose content differs from the wanted one. None: absent, or the content is not known."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o600


def program() -> dict[str, bytes]:
    """Return the files of the guard's program by their path below its folder: its mains, and what they import of ours.

    Their texts decide: several modules of this collection install the guard, and each of them loads others.
    """
    above = __name__.rsplit(".", 3)[0]
    found = {f"{PACKAGE}/__init__.py": b""}
    known: set[str] = set()
    left = {*_MAINS}
    while left:
        name = left.pop()
        known.add(name)
        spec = util.find_spec(f"{above}.{name}")
        source, path = "", f"{PACKAGE}/{name.replace('.', '/')}"
        if spec and spec.loader:
            # The loaders of files and of Ansible's zip have get_source; the type of a spec's loader does not. That of
            # collections, in Ansible's own process, returns bytes.
            source = spec.loader.get_source(spec.name) or ""  # type: ignore[attr-defined]
            source = source.decode() if isinstance(source, bytes) else source
        if _is_room(spec):
            path += "/__init__"
        found[f"{path}.py"] = source.encode()
        for holder, names in _imports(name, source):
            left.update(set(_with_packages(holder)) - known)
            if _is_room(util.find_spec(f"{above}.{holder}")):
                left.update({f"{holder}.{module}" for module in names} - known)
    return found


def _is_room(spec: ModuleSpec | None) -> bool:
    """Return whether a module is a folder: what is imported from it is a module."""
    return spec is not None and spec.submodule_search_locations is not None


def _imports(name: str, source: str) -> Iterator[tuple[str, list[str]]]:
    """Yield from where a module imports ours, functions included, and which names."""
    here = name.split(".")
    for dots, inner, names in _IMPORT.findall(source):
        holder = ".".join([*here[: -len(dots)], *filter(None, inner.split("."))])
        yield holder, re.findall(r"\w+", names)


def _with_packages(name: str) -> list[str]:
    """Return a module and the packages that it is in."""
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


def python() -> str:
    """Return the interpreter for the guard: that of the system, which survives an upgrade, else this one.

    Ansible takes the newest one of a node. That may be removed later, and another controller may take another one.
    """
    this = os.path.realpath(sys.executable)
    for name in STABLE_NAMES:
        if os.path.realpath(name) == this or _is_usable(os.path.realpath(name)):
            return name
    return sys.executable


@functools.lru_cache(maxsize=None)
def _is_usable(interpreter: str) -> bool:
    """Return whether an interpreter is new enough and has the whole library: that of a minimal system has not."""
    return execute([interpreter, "-I", "-c", _USABLE]).returncode == 0


def command(config_dir: str) -> str:
    """Return the command line of the guard's program, up to the name of one of its commands."""
    return " ".join(installed.program(python(), config_dir))


def prestart(config_dir: str) -> str:
    """Return the line for the kubelet's drop-in.

    Its failure never keeps the kubelet from starting (`-`), and the sandbox of the kubelet's unit does not apply (`+`).
    systemd ignores it without a trace then, also when the interpreter is gone or the script is empty. The shell
    therefore expects the program's word, and logs its absence as an error of the kubelet (`<3>`, sd-daemon(3)).
    """
    report = (
        "<3>The guard did not run (exit status $$code), so nothing reverts a kubelet configuration that fails. "
        "Correct the cause in the line before, or run the role checkpoint again."
    )
    step = f"word=$$({command(config_dir)} prestart); code=$$?"
    check = f'[ "$$word" = {guard_main.RAN} ] || echo "{report}" >&2'
    return f"ExecStartPre=-+/bin/sh -c '{step}; {check}'"


def service_text(config_dir: str) -> str:
    """Return the text of the guard's service. It ends when nothing is left to watch, and restarts when killed.

    Its start fails when the interpreter is gone (`Type=exec`; systemd before 240 ignores that type).

    The limit of memory leaves room for the credential plugin of a kubeconfig.
    """
    return f"""# Written by livenodes.kubelet. Watches a configuration on trial, then ends.
[Unit]
Description=Guard of the kubelet's configuration
ConditionPathExists=|{config_dir}/store/trial
ConditionPathExists=|{config_dir}/store/report
ConditionPathExists=|{config_dir}/store/progress
ConditionPathExists=|{MEMORY}/{STOPPED}
RequiresMountsFor={config_dir}
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={command(config_dir)} watch
Restart=on-failure
RestartSec=1
OOMScoreAdjust=-500
MemoryMax=256M

[Install]
WantedBy=multi-user.target
"""


def changes(config_dir: str, settings: dict[str, Any]) -> list[FileChange]:
    """Return which files of the guard must be written; those of its program without their content.

    Raises files.FileError, also when the units cannot name the program, or when others than root could replace it.
    """
    trust.check_config_dir(config_dir)
    place = installed.path(config_dir)
    wanted = (
        FileChange(place, files.read(place), json_file.encode(settings)),
        FileChange(SERVICE_PATH, files.read(SERVICE_PATH), service_text(config_dir).encode(), 0o644),
    )
    found = [change for change in wanted if change.before != change.after]
    program_paths = outdated(os.path.join(config_dir, "guard"), program())
    return found + [FileChange(path, None, None) for path in program_paths]


def present(config_dir: str, unit: Unit, settings: dict[str, Any], check: bool = False) -> list[FileChange]:
    """Install the guard; return what changed, or would. A guard that runs is replaced. Raises files.FileError.

    `Unit.install` writes the kubelet's drop-in, with the line of `prestart`.
    """
    done = changes(config_dir, settings)
    if check:
        return done
    folder = os.path.join(config_dir, "guard")
    files.make_folder(folder)
    for change in done:
        if change.after is not None:
            files.write(change.path, change.after, change.mode)
    install_program(folder, program())
    if not os.path.islink(WANTED_BY):
        files.make_folder(os.path.dirname(WANTED_BY), mode=0o755)
        files.swap_link(WANTED_BY, SERVICE_PATH)
    if any(change.path == SERVICE_PATH for change in done):
        unit.run(["systemctl", "daemon-reload"])
    if done:
        # It does not run unless there is a trial or a report. What it has decided is on the disk.
        unit.run(["systemctl", "try-restart", guard_main.SERVICE])
    return done


def problem(service: str, trial: str, run: Run) -> str:
    """Return why the guard of the installed `service` cannot watch the armed trial of this name; empty if it can.

    It is asked itself, for its status, with the interpreter and the command line of its service: the start of a
    service shows only that its interpreter was started (`Type=exec`; systemd before 240 ignores that type).
    """
    text = (files.read(service) or b"").decode("utf-8", "replace")
    line = _COMMAND.search(text)
    if line is None:
        return f"{service} has no command of the guard: run the role checkpoint again"
    done = run([*line.group(1).split(), "status"])
    try:
        shown = json_file.decode(done.stdout.encode())
        seen = shown.get("trial", trial)
    except (ValueError, AttributeError):
        lines = done.stderr.strip().splitlines() or ["it printed nothing"]
        return f"the installed guard does not run ({lines[-1]}): run the role checkpoint again"
    if seen != trial:
        return f"the installed guard does not see the trial {trial}, but {seen}: run the role checkpoint again"
    return ""


def restore_labels(paths: Sequence[str], run: Run, enabled: str = SELINUX) -> list[str]:
    """Give files and folders the SELinux labels of the node's policy; return warnings.

    New files get the label of their folder. A policy may have another one for them.
    """
    if not os.path.exists(enabled):
        return []
    done = run(["restorecon", "-R", *paths])
    if done.returncode == 0:
        return []
    lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit {done.returncode}"]
    return [f"the SELinux labels of {', '.join(paths)} were not restored: {lines[-1]}. Run restorecon -R on them"]


def absent(config_dir: str, unit: Unit, check: bool = False, keep_follower: bool = False) -> bool:
    """Stop the guard's service and remove its files; return whether there were any. Raises files.FileError.

    The follower goes with it: both are one program. With `keep_follower` that stays, with all files of both.
    """
    folder = os.path.join(config_dir, "guard")
    there = any(map(os.path.lexists, (SERVICE_PATH, WANTED_BY, FOLLOWER_PATH, folder)))
    if check or not there:
        return there
    unit.run(["systemctl", "stop", guard_main.SERVICE])
    if not keep_follower:
        stop_follower(unit)
        for path in (WANTED_BY, SERVICE_PATH):
            files.remove(path)
        files.remove_folder(folder)
        files.remove_folder(os.path.dirname(base.STARTED))
        unit.run(["systemctl", "daemon-reload"])
    return there


def stop_follower(unit: Unit) -> None:
    """Stop the follower and remove its service. Raises files.FileError."""
    if os.path.lexists(FOLLOWER_PATH):
        unit.run(["systemctl", "stop", FOLLOWER])
        for path in (FOLLOWER_WANTED_BY, FOLLOWER_PATH):
            files.remove(path)
        unit.run(["systemctl", "daemon-reload"])


def packed(modules: _Program) -> bytes:
    """Return a program as one file: equal programs have equal bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(modules):
            archive.writestr(zipfile.ZipInfo(name), modules[name])
    return out.getvalue()


def place(modules: _Program) -> str:
    """Return where a program is installed, relative to the guard's folder."""
    return f"programs/{files.sha256(packed(modules))[:16]}.zip"


def outdated(folder: str, modules: _Program, main: bytes = MAIN, fs: files.OS = files.DISK) -> list[str]:
    """Return the paths below the guard's folder that `install` would write. Raises files.FileError."""
    wanted = {os.path.join(folder, place(modules)): packed(modules), os.path.join(folder, installed.SCRIPT): main}
    found = [path for path, data in wanted.items() if files.read(path, fs) != data]
    if files.link_target(os.path.join(folder, "current"), fs) != place(modules):
        found.append(os.path.join(folder, "current"))
    return found


def install_program(folder: str, modules: _Program, main: bytes = MAIN, fs: files.OS = files.DISK) -> None:
    """Install a program in the guard's folder. Raises files.FileError.

    The former program stays until the next call: a step of the kubelet's unit may still run it. After a power cut at
    any point one whole program starts, the former or this one.
    """
    _tidy(folder, fs)
    wanted = outdated(folder, modules, main, fs)
    file = os.path.join(folder, place(modules))
    if file in wanted:
        files.make_folder(os.path.dirname(file), fs)
        files.write(file, packed(modules), fs=fs)
    link, script = os.path.join(folder, "current"), os.path.join(folder, installed.SCRIPT)
    if link in wanted:
        files.swap_link(link, place(modules), fs)
    if script in wanted:
        files.write(script, main, fs=fs)


def _tidy(folder: str, fs: files.OS) -> None:
    """Remove what no process uses any more: versions that are not current, what a power cut left, byte code."""
    if not files.check_folder(folder, fs):
        return
    for entry in fs.listdir(folder):
        if entry.startswith(files.TEMPORARY) or entry == "__pycache__":
            files.remove_any(os.path.join(folder, entry), fs)
    versions = os.path.join(folder, "programs")
    current = os.path.basename(files.link_target(os.path.join(folder, "current"), fs) or "")
    if not files.check_folder(versions, fs):
        return
    for entry in fs.listdir(versions):
        if entry != current:
            files.remove_any(os.path.join(versions, entry), fs)
