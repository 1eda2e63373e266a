# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Place the checkout where Ansible looks for a collection, at <somewhere>/ansible_collections/livenodes/kubelet; keep
what the caller's shell has set for other work away from it.
"""

from __future__ import annotations

import shutil
import subprocess
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "livenodes.kubelet"
INSIDE = Path("ansible_collections/livenodes/kubelet")

# Variables for Ansible, Kubernetes, Python and pytest, and for the callback, which would replace the caller's report.
# LIVENODES_LAB*, LAB, LAB_KUBERNETES, CI, CORE and TIER are ours. Without its files of bytecode Python would compile
# Ansible and all tests again in each process.
PREFIXES = (
    *("ANSIBLE_", "AWX_", "CONTROLLER_", "GALAXY_", "K8S_AUTH_", "KUBE", "LIVENODES_KUBELET_", "MOLECULE_", "RUNNER_"),
    "TOWER_",
)
NAMES = (
    *("JOB_ID", "MYPYPATH", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED"),
    *("PYTHONHOME", "PYTHONOPTIMIZE", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "PYTHONSAFEPATH", "PYTHONSTARTUP"),
    *("PYTHONWARNINGS", "RUFF_CONFIG", "YAMLLINT_CONFIG_FILE"),
)


def clean(environment: t.MutableMapping[str, str]) -> None:
    """Remove the variables that would change what a gate or a test does."""
    for name in list(environment):
        if name.startswith(PREFIXES) or name in NAMES:
            del environment[name]


def link(above: Path) -> Path:
    """Make `above`/ansible_collections/livenodes/kubelet a symbolic link to the checkout; return `above`.

    Enough for pytest, ansible-playbook and ansible-doc. Tracebacks then name the files of the checkout.
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
    """Copy all files that git tracks, or would add, to `above`/ansible_collections/livenodes/kubelet; return that path.

    ansible-test refuses a collection in any other place, resolves symbolic links first, and lists files with git. In a
    folder that the checkout ignores it would find no files, so the copy is a git repository of its own. Files keep
    their times, so caches beside the copy stay valid.
    """
    place = above / INSIDE
    shutil.rmtree(place, ignore_errors=True)
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in listed.rstrip("\0").split("\0"):
        # Git still lists a file that was deleted.
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    subprocess.run(["git", "init", "--quiet"], cwd=place, check=True)
    subprocess.run(["git", "add", "--all"], cwd=place, check=True)
    return place
