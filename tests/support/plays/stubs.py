# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""This checkout as a collection in which some modules are stand-ins, and some hosts are lost."""

from __future__ import annotations

import typing as t
from pathlib import Path

from .ansible import ROOT

LOST = "livenodes.kubelet.lost"
"""The connection to a host on this machine that can be lost."""
ALWAYS = """
def lost(host):
    return True
"""
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
        self._reach()
        return super().exec_command(*given, **named)

    def put_file(self, *given, **named):
        self._reach()
        return super().put_file(*given, **named)

    def _reach(self):
        if lost(self._play_context.remote_addr):
            raise AnsibleConnectionFailure("Failed to connect to the host via ssh: No route to host")

"""


def collection(
    home: Path, modules: t.Mapping[str, str], lost: str = ALWAYS, actions: t.Collection[str] | None = None
) -> None:
    """Make the collection below `home`, with these texts in place of the modules.

    `lost`: the source of a function of this name, whether a call on a host fails. `actions`: those of the checkout that
    it has, by default all.
    """
    place = home / "collections/ansible_collections/livenodes/kubelet"
    place.unlink(missing_ok=True)
    _link(ROOT, place, ("roles", "playbooks", "meta", "galaxy.yml"))
    plugins = ROOT / "plugins"
    _link(plugins, place / "plugins", {entry.name for entry in plugins.iterdir()} - {"action", "modules"})
    if actions is None:
        _link(plugins, place / "plugins", ["action"])
    else:
        _link(plugins / "action", place / "plugins/action", [f"{name}.py" for name in actions])
    own = {path.stem for path in (plugins / "modules").glob("*.py")} - modules.keys()
    _link(plugins / "modules", place / "plugins/modules", [f"{name}.py" for name in own])
    for name, text in modules.items():
        (place / f"plugins/modules/{name}.py").write_text(text)
    (place / "plugins/connection").mkdir()
    (place / "plugins/connection/lost.py").write_text(_CONNECTION + lost)


def _link(folder: Path, place: Path, names: t.Iterable[str]) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for name in names:
        (place / name).symlink_to(folder / name)
