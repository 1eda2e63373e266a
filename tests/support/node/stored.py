# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's store on real files, which look as if root had made them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import File, Moment, Store, Trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import OS

NOW = Moment("boot", 1.0, 2.0)
CONFIG = "/var/lib/kubelet/config.yaml"
LOCAL = b"kind: KubeletConfiguration\n"


def source(name: str, **other: str) -> dict[str, str]:
    return {
        "namespace": "kube-system",
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        "kubeletConfigKey": "kubelet",
        **other,
    }


A, B, C = source("a"), source("b"), source("c")


class Owners(OS):
    """Real files that look as if root had made them, but for those `given` to another user: works without root, too."""

    def __init__(self, user: int = 0) -> None:
        self.reader = user
        self.given: set[str] = set()

    def give(self, path: Path) -> None:
        self.given.add(str(path))

    def user(self) -> int:
        return self.reader

    def lstat(self, path: str) -> os.stat_result:
        """Return the status of a file with its owner."""
        found = list(super().lstat(path))
        found[stat.ST_UID] = 12345 if str(path) in self.given else 0
        return os.stat_result(found)

    def rename(self, path: str, target: str) -> None:
        """Rename a file; the new one is root's."""
        super().rename(path, target)
        self.given.discard(str(target))

    def unlink(self, path: str) -> None:
        super().unlink(path)
        self.given.discard(str(path))


def assign(store: Store, item: dict[str, str]) -> None:
    store.arm(Trial(item, store.last_known_good(), NOW))
    store.switch(item)


def under(store: Store, *parts: str) -> Path:
    """Return a path in the folder of a store."""
    return Path(store.config_dir, *parts)


def stored(place: Path, owners: Owners) -> Store:
    """Return a store in which a is known good and active, and b and c are staged."""
    store = Store(str(place / "config"), owners)
    store.remember_local({CONFIG: File(LOCAL)}, CONFIG)
    for item in (A, B, C):
        store.stage(item, {"kubelet": f"# {item['name']}\n", "ca.crt": "x"})
    assign(store, A)
    store.graduate(A, "v1.20.2")
    return store
