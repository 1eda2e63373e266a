# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's program: each version is one file, behind one link, so that a power cut never mixes two.

::

    <config_dir>/guard/__main__.py             starts the program that `current` leads to
    <config_dir>/guard/current                 -> programs/<version>.zip
    <config_dir>/guard/programs/<version>.zip  the program's modules; the version is a digest of the file

Python writes byte code beside modules without making it durable, and a short file of byte code ends every later start
(before 3.12.8 and 3.13.1 it does not even notice a full disk). From a zip it reads sources only, and writes nothing.
"""

from __future__ import annotations

import io
import os
import typing as t
import zipfile

from ..store.installed import SCRIPT
from ..system import files
from ..system.files import DISK, OS

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


def packed(program: Program) -> bytes:
    """Return a program as one file: equal programs have equal bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(program):
            archive.writestr(zipfile.ZipInfo(name), program[name])
    return out.getvalue()


def place(program: Program) -> str:
    """Return where a program is installed, relative to the guard's folder."""
    return f"programs/{files.sha256(packed(program))[:16]}.zip"


def outdated(folder: str, program: Program, main: bytes = MAIN, fs: OS = DISK) -> list[str]:
    """Return the paths below the guard's folder that `install` would write. Raises files.FileError."""
    wanted = {os.path.join(folder, place(program)): packed(program), os.path.join(folder, SCRIPT): main}
    found = [path for path, data in wanted.items() if files.read(path, fs) != data]
    if files.link_target(os.path.join(folder, "current"), fs) != place(program):
        found.append(os.path.join(folder, "current"))
    return found


def install(folder: str, program: Program, main: bytes = MAIN, fs: OS = DISK) -> bool:
    """Install a program in the guard's folder; return whether another one was there. Raises files.FileError.

    The former program stays until the next call: a step of the kubelet's unit may still run it. After a power cut at
    any point one whole program starts, the former or this one.
    """
    _tidy(folder, fs)
    wanted = outdated(folder, program, main, fs)
    file, script, link = (os.path.join(folder, name) for name in (place(program), SCRIPT, "current"))
    if file in wanted:
        files.make_folder(os.path.dirname(file), fs)
        files.write(file, packed(program), fs=fs)
    if link in wanted:
        files.swap_link(link, place(program), fs)
    if script in wanted:
        files.write(script, main, fs=fs)
    return bool(wanted)


def _tidy(folder: str, fs: OS) -> None:
    """Remove what no process uses any more: versions that are not current, what a power cut left, byte code."""
    if not files.check_folder(folder, fs):
        return
    for entry in fs.listdir(folder):
        if entry.startswith(files.TEMPORARY) or entry == "__pycache__":
            files.remove_any(os.path.join(folder, entry), fs)
    versions = os.path.join(folder, "programs")
    current = os.path.basename(files.link_target(os.path.join(folder, "current"), fs) or "")
    for entry in fs.listdir(versions) if files.check_folder(versions, fs) else ():
        if entry != current:
            files.remove_any(os.path.join(versions, entry), fs)
