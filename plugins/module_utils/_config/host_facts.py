# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether facts have the shape in which the modules on nodes return them. Root on a node may return anything.

What one node returns must not end a run for the others: facts of another shape count as unknown.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple

from .fields import binary_facts, merged_dropins
from .fields.binary_facts import BinaryFacts
from .values import document, paths

Check = Callable[[Any], bool]
_TOP = "the top level"


class Each(NamedTuple):
    """A mapping: what its keys are, and the shape of each value."""

    key: Check
    shape: Any


def of_preflight(facts: Any) -> str:
    """Return where the result of kubelet_preflight_info, or a part of it, is malformed; empty if it is not."""
    return _wrong(facts, _PREFLIGHT)


def binary_of(facts: Any, minor: int) -> BinaryFacts | None:
    """Return what the binary of a node answered, from the result of kubelet_preflight_info.

    None if it is not of this minor, that of the running kubelet, was not asked, or if the result is malformed.
    """
    if not isinstance(facts, Mapping) or of_preflight(facts):
        return None
    found = binary_facts.read((facts.get("kubelet") or {}).get("facts"))
    return found if found and found.minor == minor else None


def of_upgrade(facts: Any) -> str:
    """Return where the result of kubelet_upgrade_info is malformed, empty if it is not."""
    return _wrong(facts, _UPGRADE)


def _wrong(value: Any, shape: Any, at: str = "") -> str:
    """Return the path of the first part that has another shape, empty if none has.

    A shape is a check, a list with the shape of each item, Each, or a mapping with the shape of each key. A key that
    ends in `!` must be there; others may be absent or None.
    """
    if isinstance(shape, list):
        return _first(value, shape[0], at) if isinstance(value, (list, tuple)) else at
    if not isinstance(shape, (Each, dict)):
        return "" if shape(value) else at
    if not isinstance(value, Mapping):
        return at or _TOP
    if isinstance(shape, dict):
        return _wrong_key(value, shape, at)
    if not all(map(shape.key, value)):
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


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


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
    return isinstance(value, Mapping) and (not value.get("file") or (_is_text(value["file"]) and "line" in value))


def _is_mode(value: Any) -> bool:
    return _is_text(value) and bool(value) and set(value) <= set("01234567")


def _is_dropin(value: Any) -> bool:
    return _is_text(value) and bool(merged_dropins.in_order([value]))


def _is_use(value: Any) -> bool:
    return _is_place(value) and _is_text(value.get("flag"))


def _is_word(value: Any) -> bool:
    return _is_place(value) and _is_text(value.get("text"))


def _is_word_of_gate(value: Any) -> bool:
    return _is_text(value) and bool(value)


_FACTS = {
    "version!": _is_text,
    "flags!": [_is_text],
    "gates!": Each(_is_text, _is_word_of_gate),
    "fields!": Each(_is_text, lambda value: isinstance(value, bool)),
}
_KUBELET = {
    "version": _is_text,
    "local_config": _is_text,
    "reason": _is_text,
    "config_given_by": _is_place,
    "shadowed": Each(_is_path, _is_use),
    "config_dir_files": [_is_text],
    "command": [_is_text],
    "facts": _FACTS,
}
_DISK = {
    "path": _is_text,
    "content": _is_config,
    "unreadable": _is_text,
    "checkpoint": {"uid!": _is_text, "resourceVersion!": _is_text, "damage": _is_text},
    "dropins": Each(_is_text, _is_config),
    "started": _is_number,
    "changed": _is_number,
}
_FILE = {"path!": _is_text, "content!": _is_config}
_ANSWER = {
    "binary!": _is_text,
    "version": _is_text,
    "verdict!": _is_text,
    "messages!": [_is_text],
    "refused_flags!": [_is_text],
    "unknown_fields!": [_is_text],
    "facts": _FACTS,
}
_MODE = {"path!": _is_text, "mode!": _is_mode, "owner!": _is_text}
_PREFLIGHT = {
    "kubelet": _KUBELET,
    "disk": _DISK,
    "own": [_FILE],
    "dropin": {"link": _is_dropin},
    "files": Each(_is_text, [_MODE]),
}
_UPGRADE = {
    "kubelet!": _KUBELET,
    "disk!": _DISK,
    "host!": {"container_runtime!": {"name": _is_text, "endpoint": _is_text}},
    "words!": [_is_word],
    "own": _FILE,
    "cgroup_version": _is_number,
    "runtime_version": _is_text,
    "huge_pages": _is_number,
    "lines": Each(_is_text, Each(_is_text, _is_number)),
    "static_pods": [{"file!": _is_text, "name!": _is_text, "refers_to!": [_is_text], "unreadable": _is_text}],
    "target": _ANSWER,
}
