# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would keep declared fields in a drop-in from becoming live, or would harm the kubelet: known before a restart.

The kubelet reports none of it: it ignores a folder or a field without a word, or runs on without its thresholds.
"""

from __future__ import annotations

import os
from typing import Any, Iterator, Mapping

from ..._config.fields import compare, fields, merged_dropins
from ..system import files
from ..unit import dropin_folder, trust, unitfile
from .dropin_look import Seen

OLDEST, RESOLV_CONF = 30, 32
"""The first minors whose kubelets read a drop-in folder, and take resolvConf from it."""

Config = Mapping[str, Any]


def reasons(declared: Config, seen: Seen, minor: int | None) -> list[str]:
    """Return why these fields must not be assigned as a drop-in, each with the remedy; `minor` None: not known."""
    return [*of_node(seen, minor), *_of_fields(declared, minor)]


def of_node(seen: Seen, minor: int | None) -> list[str]:
    """Return why no drop-in can be used on this node."""
    folder = seen.folder
    other = "use delivery checkpoint"
    found = []
    if minor is not None and minor < OLDEST:
        found.append(f"a kubelet of 1.{minor} reads no drop-in folder, 1.{OLDEST} is the first: {other}")
    unfit = unitfile.unfit(folder.path) if folder.source == dropin_folder.BY_OPTION else ""
    if unfit:
        found.append(f"{folder.path}: {unfit}. Name another folder, or {other}")
    if folder.other:
        found.append(
            f"{folder.path}: kubelet_config_dropin_dir names this folder, but the kubelet reads {folder.other} "
            "(--config-dir). Name that one, or none"
        )
    if folder.ignored:
        found.append(
            f"{folder.path}: this drop-in folder is a symbolic link, which the kubelet ignores. "
            "Name its target in --config-dir, or add a slash to its end"
        )
    elif not folder.exists and folder.source != dropin_folder.BY_US:
        found.append(f"{folder.path}: there is no such drop-in folder. Create it, or correct its name")
    else:
        # A user who may write to it can add a drop-in after ours, and root's kubelet reads it.
        try:
            trust.check_chain(os.path.join(seen.root, folder.path.lstrip("/")), instead=other)
        except files.FileError as error:
            found.append(str(error))
    if seen.linked is None:
        found.append(f"{folder.link}: this file is not ours, and its name is that of our link. Rename it")
    if seen.unreadable:
        found.append(f"{seen.base_path}, the node's own file: {seen.unreadable}. Correct it")
    if folder.source == dropin_folder.BY_US and minor is not None:
        found += [
            f"{name}: {seen.base_path} sets it to an empty value, which a kubelet with a drop-in folder forgets. "
            f"Remove the field there, or {other}"
            for name in merged_dropins.forgotten(seen.base, minor)
        ]
    return found


def _of_fields(declared: Config, minor: int | None) -> list[str]:
    found = []
    if declared.get("evictionHard", "") is None:
        found.append(
            "evictionHard: null in a drop-in leaves the kubelet without any threshold, not with the defaults. "
            "Set the keys that you want to change, or omit the field"
        )
    if minor is not None and minor < RESOLV_CONF and "resolvConf" in declared:
        found.append(
            f"resolvConf: a kubelet of 1.{minor} ignores it in a drop-in, 1.{RESOLV_CONF} is the first that does not. "
            "Set it in the node's own file, or use delivery checkpoint"
        )
    for path, value in _paths(declared, ()):
        if value and not value.startswith("/"):
            found.append(
                f"{path}: {value} is a relative path, which in a drop-in starts from the kubelet's working directory. "
                "Make it absolute"
            )
    return found


def _paths(config: Config, at: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the fields that name files."""
    for name, value in config.items():
        path = ".".join((*at, name))
        field = fields.ALL.get(path)
        if isinstance(value, Mapping):
            yield from _paths(value, (*at, name))
        elif field is not None and field.path_ref and isinstance(value, str):
            yield path, value


def way_back(former: Config, seen: Seen, now: Config, minor: int) -> list[str]:
    """Return why a node with delivery `checkpoint` could not be reverted to exactly what it runs.

    A revert lays its former checkpoint, a whole configuration, over the node's own file. `former`: that checkpoint;
    `now`: what the kubelet runs with it, drop-ins included.
    """
    after = merged_dropins.effective(seen.base, seen.layers(former), minor)
    found = compare.changes(now, after, minor, True)
    if not found:
        return []
    names = ", ".join(change.path for change in found[:5])
    return [
        f"a failed switch from delivery checkpoint to dropin could not restore {names}: the node's own file would add "
        "to it. Reset the node, then roll out again"
    ]
