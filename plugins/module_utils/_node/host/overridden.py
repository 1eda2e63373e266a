# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which values of a configuration never become live, because a flag or a drop-in of this node overrides them, and what
would keep declared fields in a drop-in from becoming live, or would harm the kubelet: known before a restart.

A kubelet merges the drop-ins of --config-dir over its config file, in the order of their names, as JSON merge patches
(KEP-3983). Its flags override both. It reports success regardless: it ignores a folder or a field without a word, or
runs on without its thresholds.
"""

from __future__ import annotations

from typing import Any, Collection, Iterator, Mapping, Sequence

from ..._config.fields import compare, fields, merged_dropins, shadow
from ..._config.values import amounts, paths
from ..store.store_reader import wrong
from ..system import files
from ..unit import dropin_folder, trust, unitfile
from .dropin_look import Config, Seen, value_at
from .preflight_decisions import Findings

_ABSENT = object()
_OTHER = "use delivery checkpoint"
OLDEST, RESOLV_CONF = 30, 32
"""The first minors whose kubelets read a drop-in folder, and take resolvConf from it."""

Uses = Mapping[str, Mapping[str, Any]]
_Dropins = Mapping[str, Any]
"""The content of each drop-in by its path, in the kubelet's order; None for one that cannot be read."""


def by_flags(config: Config, current: Config, argv: Sequence[str], minor: int | None, uses: Uses) -> Findings:
    """Return which values a flag overrides.

    `current`: the config file that the kubelet reads now. `minor`: the kubelet's, None if it is not known. `uses`: the
    flags by path, with file and line, if known.
    A value that the current file has too is a warning: the switch changes nothing about it.
    """
    reasons: list[str] = []
    warnings: list[str] = []
    shown = shadow.shadows(argv, minor)
    for path, live in shadow.values(argv, minor).items():
        wanted = value_at(config, path)
        if wanted is None or _equal(path, wanted, live):
            continue
        if wanted == "" and value_at(current, path) == "":
            # kubeadm writes `containerRuntimeEndpoint: ""` and names the socket by a flag: the file sets nothing.
            continue
        use = uses.get(path) or {}
        where = f" ({use['file']}, line {use['line']})" if use.get("file") else ""
        text = (
            f"{path}: the flag {shown[path]}{where} overrides {_shown(path, wanted)}. "
            "Remove the flag and restart the kubelet, or omit the field from kubelet_config"
        )
        if live is shadow.UNKNOWN or _equal(path, wanted, value_at(current, path, _ABSENT)):
            warnings.append(text)
        else:
            reasons.append(text)
    return Findings(reasons, warnings)


def by_dropins(config: Config, current: Config, dropins: _Dropins, flags: Mapping[str, str]) -> Findings:
    """Return which values a drop-in of --config-dir overrides, except for those that a flag (by path) overrides too."""
    reasons: list[str] = []
    warnings = _unread(dropins)
    for keys, (live, file) in _merged(dropins).items():
        path = paths.show(keys)
        wanted = value_at(config, path)
        if wanted is None or shadow.shadow_of(path, flags) or _equal(path, wanted, live):
            continue
        text = (
            f"{path}: the drop-in {file} in --config-dir overrides {_shown(path, wanted)}. "
            "Remove the field there and restart the kubelet, or omit it from kubelet_config"
        )
        # A null removes the value, and the default need not be another one.
        if live is None or _equal(path, wanted, value_at(current, path, _ABSENT)):
            warnings.append(text)
        else:
            reasons.append(text)
    return Findings(reasons, warnings)


def by_folder(config: Config, current: Config, minor: int | None, decided: Collection[str]) -> Findings:
    """Return which empty values of a config file a kubelet with a drop-in folder forgets, also with an empty one.

    `decided`: the fields that flags or drop-ins decide.
    """
    if minor is None:
        return Findings([], [])
    before = merged_dropins.forgotten(current, minor)
    found = [name for name in merged_dropins.forgotten(config, minor) if name not in decided]
    text = (
        "{}: a kubelet with --config-dir forgets an empty value of its config file and uses its default. "
        "Use delivery dropin, or omit the field from kubelet_config"
    )
    reasons = [text.format(name) for name in found if name not in before]
    return Findings(reasons, [text.format(name) for name in found if name in before])


def by_later(declared: Config, dropins: _Dropins) -> Findings:
    """Return which fields of our drop-in never become live, because a later drop-in has them."""
    layers = {file: paths.without_header(each or {}) for file, each in dropins.items()}
    live = merged_dropins.merge({}, [declared, *layers.values()])
    reasons = []
    for keys, wanted in _leaves(paths.without_header(declared), ()):
        path = paths.show(keys)
        if _is_live(path, wanted, live):
            continue
        last = _last_with(keys, layers)
        if not last:
            # A null of evictionHard, which the merge shows as an empty map.
            continue
        reasons.append(
            f"{path}: the drop-in {last} comes after ours and overrides {_shown(path, wanted)}. "
            "Remove the field there, or omit it from kubelet_config"
        )
    return Findings(reasons, _unread(dropins))


def _unread(dropins: _Dropins) -> list[str]:
    unread = [file for file, content in dropins.items() if content is None]
    return [f"{file} cannot be read on the node, and its fields override the configuration" for file in unread]


def _is_live(path: str, wanted: Any, live: Config) -> bool:
    found = value_at(live, path, _ABSENT)
    if wanted is None:
        return found is _ABSENT
    return _equal(path, wanted, found)


def _last_with(keys: paths.Path, layers: Mapping[str, Config]) -> str:
    """Return the last drop-in that sets the field, or what is above or below it; empty for none."""
    last = ""
    for file, layer in layers.items():
        if any(_meet(keys, each) for each, _value in _leaves(layer, ())):
            last = file
    return last


def _meet(one: paths.Path, other: paths.Path) -> bool:
    """Whether one of two paths is the other, or above it."""
    return one[: len(other)] == other[: len(one)]


def hidden(argv: Sequence[str], minor: int | None, dropins: _Dropins) -> set[str]:
    """Return the fields that flags or drop-ins decide, whatever the configuration has."""
    return {*shadow.shadows(argv, minor), *map(paths.show, _merged(dropins))}


def _merged(dropins: _Dropins) -> dict[paths.Path, tuple[Any, str]]:
    """Return the values of the drop-ins by path, each with the last file that has it."""
    found: dict[paths.Path, tuple[Any, str]] = {}
    for file, content in dropins.items():
        for keys, value in _leaves(paths.without_header(content or {}), ()):
            # A scalar replaces what an earlier file has below it, and the reverse.
            found = {old: row for old, row in found.items() if not _meet(old, keys)}
            found[keys] = (value, file)
    return found


def _leaves(value: Any, at: paths.Path) -> Iterator[tuple[paths.Path, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*at, key))
    else:
        yield at, value


def _equal(path: str, one: Any, other: Any) -> bool:
    """Whether two values of a field mean the same to a kubelet."""
    field = fields.owner(path)
    if field is None:
        return compare.same(one, other)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same_amount(one[key], other[key]) for key in one)
    one = compare.canonical(one, field, fields.NEWEST_MINOR)
    other = compare.canonical(other, field, fields.NEWEST_MINOR)
    return compare.same(one, other) or (field.type.startswith("map[") and _same_amount(one, other))


def _same_amount(one: Any, other: Any) -> bool:
    try:
        return compare.same(one, other) or amounts.parse_quantity(str(one)) == amounts.parse_quantity(str(other))
    except ValueError:
        return False


def _shown(path: str, value: Any) -> str:
    field = fields.owner(path)
    if field is not None and field.secret:
        return shadow.HIDDEN
    return str(value)[:100]


def of_dropin(declared: Config, seen: Seen, minor: int | None) -> list[str]:
    """Return why these fields must not be assigned as a drop-in, each with the remedy; `minor` None: not known."""
    return [*of_node(seen, minor), *_of_fields(declared, minor)]


def of_node(seen: Seen, minor: int | None) -> list[str]:
    """Return why no drop-in can be used on this node."""
    found = []
    if minor is not None and minor < OLDEST:
        found.append(f"a kubelet of 1.{minor} reads no drop-in folder, 1.{OLDEST} is the first: {_OTHER}")
    found += _of_folder(seen)
    if seen.linked is None:
        found.append(f"{seen.folder.link}: this file is not ours, and its name is that of our link. Rename it")
    if seen.unreadable:
        found.append(f"{seen.base_path}, the node's own file: {seen.unreadable}. Correct it")
    if seen.folder.source == dropin_folder.BY_US and minor is not None:
        for name in merged_dropins.forgotten(seen.base, minor):
            found.append(
                f"{name}: {seen.base_path} sets it to an empty value, which a kubelet with a drop-in folder forgets. "
                f"Remove the field there, or {_OTHER}"
            )
    return found


def _of_folder(seen: Seen) -> list[str]:
    folder = seen.folder
    found = []
    unfit = unitfile.unfit(folder.path)
    if unfit and folder.source == dropin_folder.BY_OPTION:
        found.append(f"{folder.path}: {unfit}. Name another folder, or {_OTHER}")
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
        place = files.below(seen.root, folder.path)
        untrusted = wrong(lambda: trust.check_chain(place, instead=_OTHER))
        if untrusted:
            found.append(untrusted)
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
    for keys, value in _leaves(declared, ()):
        path = paths.show(keys)
        field = fields.ALL.get(path)
        names_file = field is not None and field.path_ref and isinstance(value, str)
        if names_file and value and not value.startswith("/"):
            found.append(
                f"{path}: {value} is a relative path, which in a drop-in starts from the kubelet's working directory. "
                "Make it absolute"
            )
    return found


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
