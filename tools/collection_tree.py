# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lay the checkout where Ansible looks for a collection: at <somewhere>/ansible_collections/livenodes/kubelet."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INSIDE = Path("ansible_collections/livenodes/kubelet")


def link(above: Path) -> Path:
    """Make `above`/ansible_collections/livenodes/kubelet a symbolic link to the checkout; return `above`.

    Enough for pytest, ansible-playbook and ansible-doc, and what one sees in a traceback is the file one edits.
    """
    place = above / INSIDE
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        place.symlink_to(ROOT, target_is_directory=True)
    except FileExistsError:
        if place.resolve() != ROOT:
            raise RuntimeError(f"{place} exists and is not a link to {ROOT}: remove it") from None
    return above


def copy(above: Path) -> Path:
    """Copy what git knows, or would add, to `above`/ansible_collections/livenodes/kubelet; return that folder.

    ansible-test refuses a collection that lies anywhere else, resolves symbolic links first, and asks git for the
    files: where the copy lies in a folder that the checkout ignores it would see none. So the copy is a repository of
    its own. Files keep their times, so caches beside the copy stay good; files that are gone from the checkout go from
    the copy.
    """
    place = above / INSIDE
    place.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for name in wanted:
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    for folder, folders, files in os.walk(place, topdown=False):
        here = Path(folder)
        # tests/output is where ansible-test keeps its own results.
        if here.relative_to(place).parts[:2] == ("tests", "output") or ".git" in here.relative_to(place).parts:
            continue
        for name in files:
            if str((here / name).relative_to(place)) not in wanted:
                (here / name).unlink()
        for name in folders:
            if not any((here / name).iterdir()):
                (here / name).rmdir()
    if not (place / ".git").exists():
        subprocess.run(["git", "init", "--quiet"], cwd=place, check=True)
    subprocess.run(["git", "add", "--all"], cwd=place, check=True)
    return place
