# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's program: each version in a folder of its own, behind one link, so that a power cut never mixes two.

::

    <config_dir>/guard/__main__.py          starts the program that `current` leads to
    <config_dir>/guard/current              -> programs/<version>
    <config_dir>/guard/programs/<version>/  the program; the version is a digest of its files

Version 1.0.0 had the program's package beside `__main__.py`, which then used that one.
"""

from __future__ import annotations

import os
import typing as t

from ..system import files
from ..system.files import OS

PACKAGE = "livenodes_kubelet"
MAIN = f"""import os
import sys

folder = os.path.dirname(os.path.abspath(__file__))
# Resolved once: the link may change while this process runs.
sys.path.insert(0, os.path.realpath(os.path.join(folder, "current")))

from {PACKAGE}._node.guard.guard_main import main

sys.exit(main(folder, sys.argv[1:]))
""".encode()

Program = t.Mapping[str, bytes]


def version(program: Program) -> str:
    """Return the version of a program, from the names and contents of its files."""
    digests = "".join(f"{name}\0{files.sha256(program[name])}\n" for name in sorted(program))
    return files.sha256(digests.encode())[:16]


def outdated(folder: str, program: Program, main: bytes = MAIN, fs: OS | None = None) -> list[str]:
    """Return the paths below the guard's folder that `install` would write. Raises files.FileError."""
    fs = fs or OS()
    found = _torn(folder, program, fs) or []
    if _target(folder, fs) != f"programs/{version(program)}":
        found.append(os.path.join(folder, "current"))
    if files.read(os.path.join(folder, "__main__.py"), fs) != main:
        found.append(os.path.join(folder, "__main__.py"))
    return found


def install(folder: str, program: Program, main: bytes = MAIN, fs: OS | None = None) -> bool:
    """Install a program in the guard's folder; return whether another one was there. Raises files.FileError.

    The former program stays until the next call: a step of the kubelet's unit may still run it. After a power cut at
    any point one whole program starts, the former or this one.
    """
    fs = fs or OS()
    _tidy(folder, main, fs)
    wanted = outdated(folder, program, main, fs)
    target = os.path.join(folder, "programs", version(program))
    torn = _torn(folder, program, fs)
    if torn is None:
        files.make_folder(os.path.dirname(target), fs)
        files.write_folder(target, {name: (data, 0o600) for name, data in program.items()}, fs)
    for path in torn or []:
        # Its name is that of its content, so each file is right by itself.
        files.make_folder(os.path.dirname(path), fs)
        files.write(path, program[os.path.relpath(path, target)], fs=fs)
    if os.path.join(folder, "current") in wanted:
        files.swap_link(os.path.join(folder, "current"), os.path.relpath(target, folder), fs)
    if os.path.join(folder, "__main__.py") in wanted:
        files.write(os.path.join(folder, "__main__.py"), main, fs=fs)
    return bool(wanted)


def _torn(folder: str, program: Program, fs: OS) -> list[str] | None:
    """Return the files of this version that are not as they must be, None when the version is not there."""
    place = os.path.join(folder, "programs", version(program))
    if not files.check_folder(place, fs):
        return None
    paths = {os.path.join(place, name): data for name, data in sorted(program.items())}
    return [path for path, data in paths.items() if files.read(path, fs) != data]


def _target(folder: str, fs: OS) -> str | None:
    try:
        return fs.readlink(os.path.join(folder, "current"))
    except OSError:
        return None


def _tidy(folder: str, main: bytes, fs: OS) -> None:
    """Remove what no process uses any more: versions that are not current, and what a power cut left behind."""
    if not files.check_folder(folder, fs):
        return
    for entry in fs.listdir(folder):
        if entry.startswith(files.TEMPORARY):
            files.remove_any(os.path.join(folder, entry), fs)
    versions = os.path.join(folder, "programs")
    current = os.path.basename(_target(folder, fs) or "")
    for entry in fs.listdir(versions) if files.check_folder(versions, fs) else ():
        if entry != current:
            files.remove_any(os.path.join(versions, entry), fs)
    if files.read(os.path.join(folder, "__main__.py"), fs) == main:
        # The layout of version 1.0.0.
        files.remove_any(os.path.join(folder, PACKAGE), fs)
