# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Place the checkout where Ansible looks for a collection, at <somewhere>/ansible_collections/livenodes/kubelet; keep
what the caller's shell has set for other work away from it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "livenodes.kubelet"
INSIDE = Path("ansible_collections/livenodes/kubelet")

# Variables for Ansible, Kubernetes, Python and pytest. LIVENODES_LAB*, LAB, LAB_KUBERNETES, CI, CORE and TIER are ours.
PREFIXES = ("ANSIBLE_", "AWX_", "CONTROLLER_", "GALAXY_", "K8S_AUTH_", "KUBE", "MOLECULE_", "RUNNER_", "TOWER_")
NAMES = (
    *("JOB_ID", "MYPYPATH", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONHASHSEED", "PYTHONHOME", "PYTHONOPTIMIZE"),
    *("PYTHONPATH", "PYTHONSAFEPATH", "PYTHONSTARTUP", "PYTHONWARNINGS", "RUFF_CONFIG", "YAMLLINT_CONFIG_FILE"),
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
    their times, so caches beside the copy stay valid. Files that were deleted from the checkout are deleted from the
    copy.
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
    _clean(place, wanted)
    if not (place / ".git").exists():
        subprocess.run(["git", "init", "--quiet"], cwd=place, check=True)
    subprocess.run(["git", "add", "--all"], cwd=place, check=True)
    return place


def _clean(place: Path, wanted: set[str]) -> None:
    """Remove all other files from a copy, and the folders that are empty then."""
    for folder, folders, files in os.walk(place, topdown=False):
        here = Path(folder)
        parts = here.relative_to(place).parts
        # ansible-test keeps its results in tests/output.
        if parts[:2] == ("tests", "output") or ".git" in parts:
            continue
        for name in files:
            if str((here / name).relative_to(place)) not in wanted:
                (here / name).unlink()
        for name in folders:
            if not any((here / name).iterdir()):
                (here / name).rmdir()


def public_names() -> dict[str, set[str]]:
    """Return the public names of the collection by kind, as `ansible-doc --type` has them."""
    found: dict[str, set[str]] = {
        "module": _stems("plugins/modules/*.py"),
        "inventory": _stems("plugins/inventory/*.py"),
        "callback": _stems("plugins/callback/*.py"),
        "filter": _stems("plugins/filter/*.yml"),
        "role": {path.parts[-3] for path in ROOT.glob("roles/*/meta/argument_specs.yml")},
    }
    # Only filters without a documentation file of their own lie in a file of their name.
    for path in ROOT.glob("plugins/filter/*.py"):
        if "DOCUMENTATION" in path.read_text(encoding="utf-8"):
            found["filter"].add(path.stem)
    return found


def _stems(pattern: str) -> set[str]:
    return {path.stem for path in ROOT.glob(pattern)} - {"__init__"}
