# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet's drop-in folder (--config-dir) on this node: which one it reads, what is in it, and our link there.

The link leads to ``<config_dir>/active/<key>``. It is made once and never changes: a switch and a revert rename
``active``. Where the unit names no folder, the kubelet gets one below the config folder: only this collection
writes there, so our flag activates no file that the kubelet did not read before, and `reset` removes the folder.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Sequence

from ..._config.fields import merged_dropins
from ..._config.values.short_texts import flag
from ..store.local import LINK
from ..store.store_reader import StoreReader, quietly
from ..system import files

if TYPE_CHECKING:
    from ..system.binary import BaseFiles

BY_UNIT, BY_OPTION, BY_US = "unit", "option", "us"
_OF_AGENT = "/agent", "/etc/kubelet.conf.d"
"""The ends of the folder of an agent of RKE2 or k3s, and of its drop-in folder in that."""


class Folder(NamedTuple):
    """A drop-in folder.

    `path`: as the kubelet names it; a slash at its end has a meaning. `source`: who names it, `unit`, `option`
    (`dropin_dir`) or `us`. `other`: the folder that the unit names although the option names `path`.
    """

    path: str
    source: str
    exists: bool
    is_link: bool
    other: str = ""

    @property
    def ignored(self) -> bool:
        """Whether the kubelet ignores this folder: it follows a link only if its name ends in a slash."""
        return self.is_link and not self.path.endswith("/")

    @property
    def link(self) -> str:
        """The path of our link in it."""
        return os.path.join(self.path, LINK)

    @property
    def added(self) -> str:
        """The folder that our systemd drop-in must name, empty if the unit does."""
        return "" if self.source == BY_UNIT else self.path


def find(own_words: Sequence[str], given: str, config_dir: str, root: str = "/") -> Folder:
    """Return the folder for our link. `own_words`: the command line without our drop-in; `given`: the one to use."""
    named = flag(own_words, "config-dir") or ""
    path, source, other = ours(config_dir), BY_US, ""
    if named and (not given or os.path.normpath(named) == os.path.normpath(given)):
        path, source = named, BY_UNIT
    elif given:
        path, source, other = given, BY_OPTION, named
    place = files.below(root, path.rstrip("/"))
    return Folder(path, source, os.path.isdir(place), os.path.islink(place), other)


def ours(config_dir: str) -> str:
    """Return the folder that the kubelet gets where its unit names none."""
    return os.path.join(config_dir, "conf.d")


def with_kubeconfig(words: Sequence[str], settings: Mapping[str, Any]) -> list[str]:
    """Return a command line with the kubeconfig of its kubelet, also if it is that of an agent of RKE2, which has not
    started the kubelet yet, or of k3s, which is the kubelet. Both have it in their folder, as `kubelet.kubeconfig`.

    `settings`: those of the guard.
    """
    followed = (settings.get("follow") or {}).get("options") or {}
    folder = (settings.get("folder") or followed.get("dropin_dir") or "").rstrip("/")
    if flag(words, "kubeconfig") or not folder.endswith("".join(_OF_AGENT)):
        return list(words)
    return [*words, f"--kubeconfig={folder[: -len(_OF_AGENT[1])]}/kubelet.kubeconfig"]


def installed(config_dir: str) -> str:
    """Return our link if the store of this node belongs to delivery `dropin`; empty if not."""
    known = quietly(StoreReader(config_dir).local)
    return known.config if known and is_link(known.config) else ""


def is_link(path: str | None) -> bool:
    """Return whether a path is that of our link in some drop-in folder."""
    return os.path.basename(path or "") == LINK


def listed(folder: str | None, root: str = "/") -> list[str]:
    """Return the drop-ins that the kubelet merges over its config, in its order, subfolders included (KEP-3983)."""
    found: list[str] = []
    # A kubelet ignores a folder that is a link, unless its name ends in a slash.
    if folder and (folder.endswith("/") or not os.path.islink(files.below(root, folder))):
        for place, _folders, names in os.walk(files.below(root, folder)):
            for name in names:
                inside = os.path.relpath(os.path.join(place, name), root)
                found.append(os.path.join("/", inside))
    return merged_dropins.in_order(found)


def others(folder: str, root: str = "/") -> list[str]:
    """Return the drop-ins in a folder that are not ours, in the kubelet's order."""
    link = os.path.normpath(os.path.join(folder, LINK))
    return [path for path in listed(folder, root) if path != link]


def after_ours(folder: str, paths: Sequence[str]) -> list[str]:
    """Return those of some drop-ins that the kubelet merges after ours."""
    link = os.path.normpath(os.path.join(folder, LINK))
    inside = merged_dropins.in_order([*paths, link])
    return inside[inside.index(link) + 1 :]


def beneath(words: Sequence[str], folder: str, root: str = "/") -> BaseFiles:
    """Return what a kubelet with this command line lays a file in our place over, as texts. Raises OSError."""
    # Asking a binary is large and rare: a guard that only waits does not load it.
    from ..system.binary import BaseFiles

    texts = {}
    for path in others(folder, root):
        texts[os.path.relpath(path, os.path.normpath(folder))] = files.text(files.below(root, path))
    config = flag(words, "config")
    base = files.text(files.below(root, config)) if config else None
    return BaseFiles(base, texts, LINK)


def leads(folder: Folder, target: str, root: str = "/") -> bool | None:
    """Return whether our link is in the folder and leads to `target`; None if something else has its name."""
    try:
        return os.readlink(files.below(root, folder.link)) == target
    except FileNotFoundError:
        return False
    except OSError:
        return None


def make(folder: Folder, target: str, config_dir: str, fs: files.OS = files.DISK) -> bool:
    """Create the link to `target`, and the folder if it is ours; return whether anything changed. Raises FileError.

    Not by a rename: the kubelet would read a temporary link that a power cut left behind.
    """
    if folder.path == ours(config_dir):
        files.make_folder(folder.path, fs)
    found = files.link_target(folder.link, fs)
    if found == target:
        return False
    if found is not None:
        files.remove(folder.link, fs)
    try:
        fs.symlink(target, folder.link)
    except OSError as error:
        raise files.FileError.of(folder.link, "create the link", error) from error
    files.sync_folder(folder.path, fs)
    return True


def remove(link: str, fs: files.OS = files.DISK) -> bool:
    """Remove our link; return whether there was one. A file of the same name stays. Raises FileError."""
    return files.link_target(link, fs) is not None and files.remove(link, fs)
