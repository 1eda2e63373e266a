# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print what users can name, as JSON: plugins and roles with their options, playbooks with their plays, variables.

Needs ansible-doc in PATH, and the checkout where Ansible finds its collections; `nox -s tape` has both.
"""

from __future__ import annotations

import json
import subprocess

import yaml

from tools.collection_tree import NAME, ROOT

FILES = {
    "argument_specs": "roles/*/meta/argument_specs.yml",
    "defaults": "roles/*/defaults/*.yml",
    "playbooks": "playbooks/*.yml",
    "awx": "playbooks/awx/*.yml",
    "meta": "meta/*.yml",
}
NOT_NAMED = ("tasks", "pre_tasks", "post_tasks", "handlers")
"""Parts of a play that users cannot name."""

# Text that Ansible does not render.
yaml.SafeLoader.add_constructor("!unsafe", yaml.SafeLoader.construct_yaml_str)


def main() -> None:
    """Print the whole surface. Raises CalledProcessError."""
    shown = subprocess.run(["ansible-doc", "--metadata-dump", NAME], check=True, stdout=subprocess.PIPE).stdout
    found = {kind: plugins for kind, plugins in json.loads(shown)["all"].items() if plugins and kind != "keyword"}
    for kind, pattern in FILES.items():
        found[kind] = {}
        for path in sorted(ROOT.glob(pattern)):
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            if kind in ("playbooks", "awx"):
                for play in content:
                    for part in NOT_NAMED:
                        play.pop(part, None)
            found[kind][path.relative_to(ROOT).as_posix()] = content
    print(json.dumps(found, indent=1, sort_keys=True).replace(str(ROOT), "<root>"))


if __name__ == "__main__":
    main()
