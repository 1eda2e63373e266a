# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print what users can name, as JSON: plugins and roles with their options, playbooks with their plays, variables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import yaml

from tools.collection_tree import NAME, ROOT, link, public_names

NOT_NAMED = ("tasks", "pre_tasks", "post_tasks", "handlers")
"""Parts of a play that users cannot name."""

# Text that Ansible does not render.
yaml.SafeLoader.add_constructor("!unsafe", yaml.SafeLoader.construct_yaml_str)


def documented(kind: str, names: t.Iterable[str]) -> t.Any:
    """Return what ansible-doc shows of plugins of a kind. Raises CalledProcessError."""
    home = ROOT / ".nox" / ".cache"
    program = str(Path(sys.executable).with_name("ansible-doc"))
    paths = {"ANSIBLE_COLLECTIONS_PATH": str(link(home / "link")), "ANSIBLE_HOME": str(home / "ansible")}
    words = [program, "--json", "--type", kind, *sorted(f"{NAME}.{name}" for name in names)]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, env={**os.environ, **paths}).stdout)


def surface() -> dict[str, t.Any]:
    """Return the whole surface."""
    found: dict[str, t.Any] = {kind: documented(kind, names) for kind, names in public_names().items()}
    for kind, pattern in {
        "argument_specs": "roles/*/meta/argument_specs.yml",
        "defaults": "roles/*/defaults/*.yml",
        "playbooks": "playbooks/*.yml",
        "awx": "playbooks/awx/*.yml",
        "meta": "meta/*.yml",
    }.items():
        paths = sorted(ROOT.glob(pattern))
        found[kind] = {path.relative_to(ROOT).as_posix(): yaml.safe_load(path.read_text("utf-8")) for path in paths}
    for play in (play for kind in ("playbooks", "awx") for plays in found[kind].values() for play in plays):
        for part in NOT_NAMED:
            play.pop(part, None)
    return found


if __name__ == "__main__":
    print(json.dumps(surface(), indent=1, sort_keys=True).replace(str(ROOT), "<root>"))
