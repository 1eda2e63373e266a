# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration on the node's disk: what delivery `dropin` builds on (the node's own config file, its drop-in
folder, what is in it), what the kubelet would read now, whether that changed since its start or its staging, and whose
the files are.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

from ..._config.fields import compare, fields, merged_dropins
from ..._config.values import paths
from ..._config.values.short_texts import flag
from ..guard import observe
from ..store import checkpoints, meta
from ..store.store_reader import wrong
from ..system import binary, command, config_summary, files
from ..system.files import StoreError
from ..unit import dropin_folder
from ..unit.dropin_folder import Folder
from ..unit.unit import Unit, UnitError
from ..unit.unit_override import CHILD

Config = Mapping[str, Any]
CLIENT_CA = "authentication.x509.clientCAFile"


class Seen(NamedTuple):
    """What was found. Paths are those of the node, contents are None where they cannot be read.

    `words`: the kubelet's command line without our systemd drop-in. `base_path`: its config file, empty for none;
    `unreadable`: why that cannot be read, empty if it can. `others`: the drop-ins that are not ours, in the kubelet's
    order; `reasons`: why those cannot be read, by path. `linked`: whether our link is in its place; None if something
    else has its name.
    """

    folder: Folder
    words: Sequence[str]
    base_path: str
    base: Config
    unreadable: str
    others: Mapping[str, Config | None]
    linked: bool | None
    root: str = "/"
    reasons: Mapping[str, str] = {}

    def layers(self, declared: Config) -> list[Config]:
        """Return the drop-ins with the declared fields in our place, as far as they can be read."""
        after = self.after()
        before: list[Config] = [content or {} for path, content in self.others.items() if path not in after]
        return [*before, declared, *(content or {} for content in after.values())]

    def effective(self, declared: Config) -> Config:
        """Return the fields that a kubelet would read with these declared; without defaults and flags."""
        return merged_dropins.merge(self.base, self.layers(declared))

    def after(self) -> dict[str, Config | None]:
        """Return the drop-ins that the kubelet merges after ours."""
        return {path: self.others[path] for path in dropin_folder.after_ours(self.folder.path, list(self.others))}

    def check(
        self, text: str, program: str, minor: Callable[[], int | None], run: command.Run, beside: ThreadPoolExecutor
    ) -> binary.Verdict:
        """Return the verdict of the kubelet's binary on a drop-in in our place. It names no unknown field of one, so it
        is also asked, at the same time, about this text alone.
        """
        try:
            beneath = dropin_folder.beneath(self.words, self.folder.path, self.root)
        except OSError as error:
            return binary.Verdict(binary.NOT_CHECKED, [str(error)], [])
        alone = beside.submit(lambda: binary.check(text, self.words, program, minor, run))
        found = binary.check(text, self.words, program, minor, run, beneath=beneath)
        return found._replace(unknown_fields=config_summary.unknown(alone.result().unknown_fields, text, minor()))

    def own(self) -> list[dict[str, Any]]:
        """Return the node's own layers as the module returns them: the config file first, secrets masked."""
        base = None if self.unreadable else self.base
        own = {self.base_path: base} if self.base_path else {}
        return layers_shown({**own, **self.others}, {**self.reasons, self.base_path: self.unreadable})

    def shown(self) -> dict[str, Any]:
        """Return what the module returns of the folder."""
        folder = self.folder
        return {
            "folder": folder.path,
            "named_by": folder.source,
            "exists": folder.exists,
            "is_link": folder.is_link,
            "link": folder.link,
            "linked": bool(self.linked),
        }


def see(unit: Unit, running: Sequence[str], dropin_dir: str, config_dir: str, key: str, root: str = "/") -> Seen:
    """Return what delivery `dropin` finds. `running`: the kubelet's command line; `key`: the file below `active`."""
    words = list(running)
    with contextlib.suppress(UnitError):
        if unit.form(layered=True).kind != CHILD:
            words = unit.own_words()
    folder = dropin_folder.find(words, dropin_dir, config_dir, root)
    path = flag(words, "config") or ""
    base, unreadable = read(path, root) if path else (None, "")
    others, reasons = contents(dropin_folder.others(folder.path, root), root)
    linked = dropin_folder.leads(folder, f"{config_dir}/active/{key}", root)
    return Seen(folder, words, path, _absolute(base or {}, path), unreadable, others, linked, root, reasons)


def layers_shown(layers: Mapping[str, Config | None], reasons: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a config file, and the drop-ins that the kubelet lays over it, as the modules return them.

    `reasons`: why those without a content cannot be read.
    """
    rows = []
    for file, content in layers.items():
        row = {"path": file, "content": shown(content)}
        if content is None:
            row["unreadable"] = reasons[file]
        rows.append(row)
    return rows


def shown(content: Config | None) -> Config | None:
    """Return the fields of a file with secrets masked."""
    return None if content is None else compare.masked(content)


def contents(places: Iterable[str], root: str = "/") -> tuple[dict[str, Config | None], dict[str, str]]:
    """Return the fields of each file, None where it cannot be read, and why not; empty where it can."""
    found: dict[str, Config | None] = {}
    reasons: dict[str, str] = {}
    for place in places:
        found[place], reasons[place] = read(place, root)
    return found, reasons


def read(path: str, root: str = "/") -> tuple[Config | None, str]:
    """Return the fields of a file, or why it cannot be read."""
    try:
        with open(files.below(root, path), encoding="utf-8") as stream:
            return config_summary.load(stream.read()), ""
    except (OSError, ValueError) as error:
        return None, str(error)


def _absolute(base: Config, path: str) -> Config:
    """Return a config file with absolute paths, as the kubelet makes them: relative ones start beside that file."""
    result: dict[str, Any] = dict(base)
    for name, field in fields.ALL.items():
        if not field.path_ref or "[" in name:
            continue
        value = value_at(base, name)
        if not isinstance(value, str) or not value or value.startswith("/"):
            continue
        patch: Any = os.path.normpath(os.path.join(os.path.dirname(path), value))
        for part in reversed(name.split(".")):
            patch = {part: patch}
        result = merged_dropins.merge(result, [patch])
    return result


def value_at(config: Config, path: str, absent: Any = None) -> Any:
    """Return the value of a configuration at a path (paths.py), `absent` where it has none."""
    value: Any = config
    for key in paths.parse(path):
        if not isinstance(value, Mapping):
            return absent
        value = value.get(key, absent)
    return value


def on_disk(argv: Sequence[str], dropins: Sequence[str], name: str, root: str, run: command.Run) -> dict[str, Any]:
    """Return the config file that a kubelet with this command line reads: content (secrets masked), checkpoint and age.

    With --dynamic-config-dir this is the assigned checkpoint in that folder, while one is assigned.
    """
    ways = _ways(argv, root)
    path = on_node = ""
    content: Config | None = None
    unreadable = "the command line names no config file"
    if ways[-1]:
        path = os.path.realpath(files.below(root, ways[-1]))
        on_node = "/" + os.path.relpath(path, os.path.realpath(root))
        content, unreadable = read(path)
    seen = observe.kubelet(name, run)
    found, _reasons = contents(dropins, root)
    return {
        "path": on_node or None,
        "content": shown(content),
        "unreadable": unreadable or None,
        "checkpoint": _checkpoint(path),
        "changed": _changed([*ways, on_node, *_our_targets(dropins, root)], root),
        "started": seen.since() if seen else None,
        "dropins": {file: shown(each) for file, each in found.items()},
    }


def _our_targets(dropins: Sequence[str], root: str) -> list[str]:
    """Return what our link leads to: a switch by drop-in renames that, and no other drop-in."""
    places = [files.below(root, file) for file in dropins if dropin_folder.is_link(file)]
    return [os.readlink(place) for place in places if os.path.islink(place)]


def _ways(argv: Sequence[str], root: str) -> list[str]:
    """Return the files that decide what the kubelet reads, at the end the config file itself; empty for none."""
    folder = flag(argv, "dynamic-config-dir")
    dynamic = _dynamic(folder, root) if folder else ""
    if not dynamic:
        return [flag(argv, "config") or ""]
    # A kubelet also writes the file `assigned` for its local config, long after its start.
    return [f"{folder}/store/meta/assigned", dynamic]


def _dynamic(folder: str, root: str) -> str:
    """Return the path of the checkpoint that is assigned in a --dynamic-config-dir.

    Empty for the local config, or when it cannot be determined.
    """
    try:
        with open(files.below(root, f"{folder}/store/meta/assigned"), "rb") as stream:
            source = meta.decode(stream.read())
    except (OSError, StoreError):
        return ""
    if source is None:
        return ""
    return f"{folder}/store/checkpoints/{source['uid']}/{source['resourceVersion']}/{source['kubeletConfigKey']}"


def _checkpoint(path: str) -> dict[str, Any] | None:
    """Return the checkpoint a file belongs to, None when it belongs to none.

    Checkpoints of the kubelet itself have no digests, so damage to them cannot be detected.
    """
    parts = path.split("/")
    if parts[-5:-3] != ["store", "checkpoints"]:
        return None
    folder, damage = os.path.dirname(path), ""
    if os.path.exists(folder + checkpoints.SUMS):
        known = checkpoints.Checkpoints(os.path.dirname(os.path.dirname(folder)), files.DISK)
        damage = wrong(lambda: known.whole(folder))
    return {"uid": parts[-3], "resourceVersion": parts[-2], "damage": damage or None}


def _changed(ways: Sequence[str], root: str) -> float | None:
    """Return when the files, or the links in their paths, last changed, in seconds since the epoch.

    A switch replaces links. This is the change time (ctime): a copy may set the modification time to an older one.
    """
    moments = []
    for way in filter(None, ways):
        for place in (way, os.path.dirname(way)):
            try:
                found = os.lstat(files.below(root, place))
            except OSError:
                continue
            if place == way or os.path.islink(files.below(root, place)):
                moments.append(found.st_ctime)
    return max(moments, default=None)


def owned(
    unit_files: Sequence[str], argv: Sequence[str], config: Config, layers: Sequence[str], root: str = "/"
) -> dict[str, list[dict[str, str]]]:
    """Return owner and mode of the kubelet's files that are there, links resolved: those of its unit, its kubeconfig,
    the CA of its clients, its config file and drop-ins (`layers`). `config`: what these set.
    """
    places = {
        "unit": unit_files,
        "kubeconfig": [flag(argv, "kubeconfig") or ""],
        "client_ca": [flag(argv, "client-ca-file") or value_at(config, CLIENT_CA) or ""],
        "config": layers,
    }
    return {kind: list(_owned(paths, root)) for kind, paths in places.items()}


def _owned(paths: Sequence[Any], root: str) -> Iterator[dict[str, str]]:
    for path in paths:
        if not str(path).startswith("/"):
            # A relative path starts from a folder that is not known here.
            continue
        try:
            found = os.stat(files.below(root, path))
        except (OSError, ValueError):
            continue
        owner = f"{_name(pwd.getpwuid, found.st_uid)}:{_name(grp.getgrgid, found.st_gid)}"
        yield {"path": path, "mode": f"{stat.S_IMODE(found.st_mode):04o}", "owner": owner}


def _name(look_up: Callable[[int], Any], number: int) -> str:
    """Return the name of a user or group, its number if it has none."""
    try:
        return str(look_up(number)[0])
    except KeyError:
        return str(number)
