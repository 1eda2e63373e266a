# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""This checkout as a collection in which some modules on the node are stand-ins, and some hosts are lost."""

from __future__ import annotations

import typing as t
from pathlib import Path

from .ansible import ROOT

LOST = "livenodes.kubelet.lost"
"""The connection of a host that cannot be reached."""
_CONNECTION = """
DOCUMENTATION = '''
name: lost
short_description: A host that cannot be reached
description: For tests.
author: tests
'''
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import local


class Connection(local.Connection):
    transport = "livenodes.kubelet.lost"

    def exec_command(self, *given, **named):
        raise AnsibleConnectionFailure("ssh: no route to host")
"""
_LINKED = (
    *("roles", "meta", "playbooks"),
    *(f"plugins/{name}" for name in ("action", "filter", "module_utils", "plugin_utils", "doc_fragments")),
)


def collection(home: Path, modules: t.Mapping[str, str]) -> Path:
    """Make the collection below `home`, with these texts in place of the modules, and return its folder."""
    place = home / "collections/ansible_collections/livenodes/kubelet"
    place.unlink(missing_ok=True)
    for folder in ("plugins/modules", "plugins/connection"):
        (place / folder).mkdir(parents=True)
    for name in _LINKED:
        (place / name).symlink_to(ROOT / name)
    for path in (ROOT / "plugins/modules").glob("*.py"):
        if path.stem not in modules:
            (place / "plugins/modules" / path.name).symlink_to(path)
    for name, text in modules.items():
        (place / f"plugins/modules/{name}.py").write_text(text)
    (place / "plugins/connection/lost.py").write_text(_CONNECTION)
    return place
