# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was seen on a node, and whether facts have the shape in which the modules on nodes return them.

Root on a node may return anything. What one node returns must not end a run for the others: facts of another shape
count as unknown.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, NamedTuple, Sequence

from .fields import binary_facts, merged_dropins
from .fields.binary_facts import BinaryFacts
from .values import document, paths

_TOP = "the top level"


class _Each(NamedTuple):
    """A mapping: the shape of each key, and that of each value."""

    key: Any
    shape: Any


NOT_READ = "kubelet_preflight_info has not read it"


@dataclasses.dataclass(frozen=True)
class HostFacts:
    """What a node showed of itself. Secrets are masked, and a content is None if it could not be read."""

    file: str = ""
    """The config file that the kubelet reads, with links resolved."""
    content: Mapping[str, Any] | None = None
    reference: tuple[str, str] | None = None
    """uid and resourceVersion of the file's checkpoint; None: the file is not a checkpoint."""
    damage: str = ""
    """Why the checkpoint does not match its digest."""
    outdated: bool = False
    """Files that the kubelet reads were changed after its process started."""
    other_command: bool = False
    """The next start uses another command line than the running process."""
    flags: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    """The flags that hide fields, by path: flag, file, line."""
    dropins: Mapping[str, Mapping[str, Any] | None] = dataclasses.field(default_factory=dict)
    """The drop-ins of --config-dir, by file, in the kubelet's order."""
    given_by: str = ""
    """File and line that set the config file apart from our drop-in, or why the unit is not readable."""
    local_config: str = ""
    """The config file that the unit names without this collection."""
    own: Mapping[str, Mapping[str, Any] | None] | None = None
    """That file and the drop-ins of others, by file, in the kubelet's order; None if they were not looked at."""
    unreadable: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Why a file cannot be read, by file."""
    foreign: Sequence[str] = ()
    """The names of the drop-ins of others, also where their content was not looked at."""
    link: str = ""
    """Where our drop-in is, or would be; empty if that was not looked at."""
    linked: bool = False
    """Our drop-in is there."""
    command: Sequence[str] = ()
    """The words of the kubelet's command line."""
    owned: Mapping[str, Sequence[Mapping[str, str]]] | None = None
    """By kind of file: path, mode and owner of each one; None if they were not looked at, as by a follower."""
    binary: BinaryFacts | None = None
    """What the binary of the kubelet's next start answered."""
    fault: str = ""
    """Why nothing is known of the node: all else is empty then."""

    @property
    def ours(self) -> Mapping[str, Any] | None:
        """Our drop-in as the kubelet reads it, None without one."""
        if not self.linked:
            return None
        return self.dropins.get(self.link)

    def binary_of(self, minor: int) -> BinaryFacts | None:
        """Return what the binary answered, None if it is not of this minor, that of the running kubelet."""
        return self.binary if self.binary and self.binary.minor == minor else None


def is_result(given: Any) -> bool:
    """Return whether the task that inspects a node was run for it."""
    return isinstance(given, Mapping) and not given.get("skipped")


def read(given: Any) -> HostFacts:
    """Return the facts in a result of kubelet_preflight_info, or in a part of it. Never raises: see `fault`."""
    result = given if isinstance(given, Mapping) else {}
    wrong = of_preflight(result)
    if wrong:
        return HostFacts(fault=f"what its host returned is malformed at {wrong}")
    if result.get("kubelet") is None:
        return HostFacts(fault=str(result.get("msg") or NOT_READ).rstrip("."))
    kubelet, disk, place = result["kubelet"], _part(result, "disk"), _part(result, "dropin")
    checkpoint = disk.get("checkpoint")
    return HostFacts(
        file=_text(disk, "path"),
        content=disk.get("content"),
        reference=(checkpoint["uid"], checkpoint["resourceVersion"]) if checkpoint else None,
        damage=_text(_part(disk, "checkpoint"), "damage"),
        outdated=_is_outdated(disk),
        other_command=bool(kubelet.get("changes_at_restart")),
        flags=_part(kubelet, "shadowed"),
        dropins=_part(disk, "dropins"),
        given_by=_given_by(kubelet),
        local_config=_text(kubelet, "local_config"),
        own=_own(result),
        unreadable=_unreadable(result, disk),
        foreign=kubelet.get("config_dir_files") or (),
        link=_text(place, "link"),
        linked=bool(place.get("linked")),
        command=kubelet.get("command") or (),
        owned=result.get("files"),
        binary=binary_facts.read(kubelet.get("facts")),
    )


def _part(result: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return result.get(key) or {}


def _text(result: Mapping[str, Any], key: str) -> str:
    return result.get(key) or ""


def _is_outdated(disk: Mapping[str, Any]) -> bool:
    """Return whether the config file has changed since the kubelet's start, as far as both times are known."""
    started, changed = disk.get("started"), disk.get("changed")
    return bool(started and changed and changed > started)


def _given_by(kubelet: Mapping[str, Any]) -> str:
    """Return where --config is given, else why that is unknown."""
    named = _part(kubelet, "config_given_by")
    if named.get("file"):
        return f"{named['file']}, line {named['line']}"
    return _text(kubelet, "reason")


def _own(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    rows = result.get("own")
    return None if rows is None else {row["path"]: row["content"] for row in rows}


def _unreadable(result: Mapping[str, Any], disk: Mapping[str, Any]) -> Mapping[str, str]:
    """Return by path why a file of the node cannot be read."""
    reasons = {row["path"]: _text(row, "unreadable") for row in result.get("own") or ()}
    if _text(disk, "path") and _text(disk, "unreadable"):
        reasons[disk["path"]] = disk["unreadable"]
    return {path: why for path, why in reasons.items() if why}


def of_preflight(facts: Any) -> str:
    """Return where the result of kubelet_preflight_info, or a part of it, is malformed; empty if it is not."""
    return _wrong(facts, _PREFLIGHT)


def of_upgrade(facts: Any) -> str:
    """Return where the result of kubelet_upgrade_info is malformed, empty if it is not."""
    return _wrong(facts, _UPGRADE)


def _wrong(value: Any, shape: Any, at: str = "") -> str:
    """Return the path of the first part that has another shape, empty if none has.

    A shape is a type, a check, a list with the shape of each item, _Each, or a mapping with the shape of each key. A
    key that ends in `!` must be there; others may be absent or None.
    """
    if isinstance(shape, type):
        return "" if isinstance(value, shape) else at
    if isinstance(shape, list):
        return _first(value, shape[0], at) if isinstance(value, (list, tuple)) else at
    if not isinstance(shape, (_Each, dict)):
        return "" if shape(value) else at
    if not isinstance(value, Mapping):
        return at or _TOP
    if isinstance(shape, dict):
        return _wrong_key(value, shape, at)
    return _wrong_entry(value, shape, at)


def _wrong_entry(value: Mapping[Any, Any], shape: _Each, at: str) -> str:
    for key in value:
        if _wrong(key, shape.key, _TOP):
            return at or _TOP
    return _first(value.values(), shape.shape, at)


def _wrong_key(value: Mapping[str, Any], shapes: Mapping[str, Any], at: str) -> str:
    for key, shape in shapes.items():
        name = key.rstrip("!")
        place = f"{at}.{name}" if at else name
        needed = name != key
        if needed and name not in value:
            return place
        if not needed and value.get(name) is None:
            continue
        found = _wrong(value[name], shape, place)
        if found:
            return found
    return ""


def _first(values: Any, shape: Any, at: str) -> str:
    for value in values:
        found = _wrong(value, shape, at)
        if found:
            return found
    return ""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _is_path(value: Any) -> bool:
    try:
        return bool(paths.parse(value))
    except (TypeError, ValueError):
        return False


def _is_config(value: Any) -> bool:
    """Return whether a value can be a configuration, or is None for one that cannot be read."""
    if value is None:
        return True
    try:
        document.accept(value, "")
    except document.DocumentError:
        return False
    return True


def _is_place(value: Any) -> bool:
    """Return whether a mapping names a file with a line, or no file."""
    if not isinstance(value, Mapping):
        return False
    return not value.get("file") or (isinstance(value["file"], str) and "line" in value)


def _is_mode(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and set(value) <= set("01234567")


def _is_dropin(value: Any) -> bool:
    return isinstance(value, str) and bool(merged_dropins.in_order([value]))


def _is_use(value: Any) -> bool:
    return _is_place(value) and isinstance(value.get("flag"), str)


def _is_argument(value: Any) -> bool:
    return _is_place(value) and isinstance(value.get("text"), str)


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


_FACTS = {"version!": str, "flags!": [str], "gates!": _Each(str, _is_word), "fields!": _Each(str, bool)}
_KUBELET = {
    "version": str,
    "local_config": str,
    "reason": str,
    "config_given_by": _is_place,
    "shadowed": _Each(_is_path, _is_use),
    "config_dir_files": [str],
    "command": [str],
    "facts": _FACTS,
}
_DISK = {
    "path": str,
    "content": _is_config,
    "unreadable": str,
    "checkpoint": {"uid!": str, "resourceVersion!": str, "damage": str},
    "dropins": _Each(str, _is_config),
    "started": _is_number,
    "changed": _is_number,
}
_FILE = {"path!": str, "content!": _is_config, "unreadable": str}
_ANSWER = {
    "binary!": str,
    "version": str,
    "verdict!": str,
    "messages!": [str],
    "refused_flags!": [str],
    "unknown_fields!": [str],
    "facts": _FACTS,
}
_MODE = {"path!": str, "mode!": _is_mode, "owner!": str}
_PREFLIGHT = {
    "kubelet": _KUBELET,
    "disk": _DISK,
    "own": [_FILE],
    "dropin": {"link": _is_dropin},
    "files": _Each(str, [_MODE]),
}
_UPGRADE = {
    "kubelet!": _KUBELET,
    "disk!": _DISK,
    "host!": {"container_runtime!": {"name": str, "endpoint": str}},
    "words!": [_is_argument],
    "own": _FILE,
    "cgroup_version": _is_number,
    "runtime_version": str,
    "huge_pages": _is_number,
    "lines": _Each(str, _Each(str, _is_number)),
    "static_pods": [{"file!": str, "name!": str, "refers_to!": [str], "unreadable": str}],
    "target": _ANSWER,
}
