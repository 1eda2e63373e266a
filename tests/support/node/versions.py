# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node's code of this checkout, and that of an older commit: on a node the guard of one version and the module of
another read each other's files.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import subprocess
import sys
import tempfile
import typing as t
from unittest import mock

from tools.collection_tree import ROOT

if t.TYPE_CHECKING:
    from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.base import Started
    from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.guard import Guard
    from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
    from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Moment

LANDED = "f2de5fb59d8babd2eb25c9256e536ac42a6240e6"
"""The commit that nodes in use may still have the code of. To raise it, write the full hash of a later commit here."""
PACKAGE = "livenodes_kubelet_landed"


class Code:
    """The code of one version, as far as a simulated node runs it."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.guard_main = self.module("guard.guard_main")
        self.new_binary = self.module("guard.new_binary")
        self.observe = self.module("guard.observe")
        self.pacing = self.module("guard.pacing")
        self.kept_files = self.module("store.kept_files")
        self.statefiles = self.module("store.statefiles")
        self.checkpoint_module = self.module("switch.checkpoint_module")
        self.binary = self.module("system.binary")
        self.files = self.module("system.files")
        self.lock = self.module("system.lock")
        self.Guard: type[Guard] = self.module("guard.guard").Guard
        self.Started: type[Started] = self.module("guard.guard").Started
        self.Store: type[Store] = self.module("store.store").Store
        self.Moment: type[Moment] = self.module("store.trial").Moment
        # Each version has its own classes of errors.
        self.errors: tuple[type[Exception], ...] = (self.module("system.files").StoreError, OSError)

    def apply(self, options: t.Mapping[str, t.Any], pretend: bool = False, store: t.Any = None) -> dict[str, t.Any]:
        """Bring the store into a state, as one step of the module does; return the result.

        `options` also hold what an inspection of the node found, and `lock_timeout`, the seconds to wait for the lock.
        """
        given = dict(options)
        kind = self.module("switch.values").Inspected
        found = {name: given.pop(name) for name in kind._fields if given.get(name) is not None}
        with mock.patch.object(self.lock, "PATIENCE", given.pop("lock_timeout", 1)):
            return t.cast("dict[str, t.Any]", self.checkpoint_module.apply(given, pretend, kind(**found), store))

    def module(self, name: str) -> t.Any:
        """Return a module of the node's code."""
        return importlib.import_module(f"{self.package}._node.{name}")


OURS = Code("ansible_collections.livenodes.kubelet.plugins.module_utils")


@functools.cache
def without_landed() -> str:
    """Make the code of LANDED importable; return why that is not possible, empty if it is."""
    command = ["git", "-C", str(ROOT), "archive", f"--prefix={PACKAGE}/", f"{LANDED}:plugins/module_utils"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        return f"git does not run: {error}"
    if done.returncode:
        return f"the history of this checkout has no commit {LANDED[:8]}: {done.stderr.decode().strip()}"
    # Until this process ends: the code imports some of its modules late.
    folder = tempfile.TemporaryDirectory(prefix="livenodes-landed-")
    atexit.register(folder.cleanup)
    subprocess.run(["tar", "-x", "-C", folder.name], input=done.stdout, check=True)
    sys.path.append(folder.name)
    return ""


@functools.cache
def landed() -> Code:
    """Return the code of LANDED; see `without_landed`."""
    return Code(PACKAGE)
