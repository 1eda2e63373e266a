# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is a node's own: the record of its values, which sources of this collection replaced and which count again once
the inventory does not declare them any more; and its config file as it is now, on which a checkpoint is built, and over
which a drop-in is laid.

A source on that file holds no defaults, and what kubeadm, a package or a person changes in the file comes in with the
next rollout.

A record is a mapping: ``own`` has the value of each replaced path, as a list of one value (None: absent), or an empty
list if the value is not known. ``complete`` is false if sources without a record came before, so that a value found on
the node may be one of theirs. ``absent`` has the paths that the source named by ``source`` leaves to the kubelet, whose
default is not known. ``capacity`` is what the machine had when that source was assigned, as in Node.status.capacity,
where that is known.
"""

from __future__ import annotations

import json
from typing import Any, Collection, Dict, Iterable, Iterator, Mapping, NamedTuple, Sequence

from ..delivery import LINK, of_row
from ..fields import compare, fields, merged_dropins, overlay, shadow
from ..host_facts import NOT_READ, HostFacts
from ..rules.problem import WARNING, Problem
from ..values import annotation, following, paths, reference
from ..values.paths import Config
from ..values.short_texts import minor_of
from .layers import Declared

Record = Dict[str, Any]

NO_RECORD: Record = {"complete": True, "source": "", "absent": [], "own": {}}
"""The record of a node on its local config, which has only values of its own."""
CAPACITY = "capacity"
LIMIT = 64 * 1024
"""Bytes of a record: all annotations of an object together may have 256 KiB
(apimachinery/pkg/api/validation, TotalAnnotationSizeLimitB).
"""


def read(value: Any) -> tuple[Record | None, dict[str, str]]:
    """Return the record that an annotation holds, and by the annotation what is malformed and how to repair it.

    The record is None without an annotation, and if it is malformed. Never raises.
    """
    found, fault = annotation.mapping(value)
    fault = fault or (_fault(found) if found is not None else "")
    if fault:
        return None, {
            annotation.OWN: f"its annotation {annotation.OWN} is malformed: {fault}. The next assignment writes it; "
            "values that it replaced are not known any more"
        }
    if found is None:
        return None, {}
    return paths.only(found, (*_SHAPE, CAPACITY)), {}


def given(value: Any) -> Record | None:
    """Return the record in a row of a plan, None if there is none. Raises ValueError with what is malformed."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("it is not a mapping")
    fault = _fault(value)
    if fault:
        raise ValueError(fault)
    return value


def of_node(row: Config) -> Record:
    """Return the record that applies to a node, from its row in a dump, without its capacity.

    ``absent`` is empty unless the node runs that source.
    """
    record = row.get("own")
    malformed = row.get("malformed") or {}
    source = row.get("source")
    if source is None and not {annotation.SOURCE, annotation.SPEC} & set(malformed):
        return NO_RECORD
    if not isinstance(record, dict):
        return {**NO_RECORD, "complete": False}
    # What it had then makes no plan different.
    record = paths.without(record, (CAPACITY,))
    status = row.get("status") or {}
    active = reference.held(status.get("active")).get("name")
    runs = active and active == record["source"] == reference.held(source).get("name") and not status.get("error")
    return record if runs else {**record, "source": "", "absent": []}


def text(record: Record) -> str:
    """Return the value of the annotation for a record; one that is too large is replaced by one that knows nothing."""
    found = annotation.text(record)
    return found if len(found.encode()) <= LIMIT else annotation.text({**NO_RECORD, "complete": False})


_SHAPE = {"complete": bool, "source": str, "absent": list, "own": dict}


def _fault(found: Config) -> str:
    """Return what is wrong with a record, empty if nothing is."""
    for name, kind in _SHAPE.items():
        if not isinstance(found.get(name), kind):
            return f"{name} is not a {kind.__name__}"
    had = found.get(CAPACITY, {})
    if not isinstance(had, dict) or not all(isinstance(text, str) for text in had.values()):
        return "capacity is not a dict of texts"
    fault = _fault_of_values(found)
    if fault:
        return fault
    try:
        # JSON in Python may hold infinite numbers, and half a surrogate pair.
        json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return "it holds a value that is not JSON"
    return ""


def _fault_of_values(found: Config) -> str:
    for path in (*found["absent"], *found["own"]):
        if not isinstance(path, str) or not _is_path(path):
            return f"{ascii(path)[:40]} is not the path of a field"
    for path, held in found["own"].items():
        if not isinstance(held, list) or len(held) > 1:
            return f"own[{ascii(path)[:40]}] is not a list of at most one value"
    return ""


def _is_path(path: str) -> bool:
    try:
        keys = paths.parse(path)
    except ValueError:
        return False
    return bool(keys) and keys[0] not in paths.HEADER and all(isinstance(key, str) for key in keys)


class Undeclared(NamedTuple):
    """The paths that former sources replaced and no layer sets."""

    known: dict[str, Any]
    """The node's own value, where it differs from the live one; None: absent."""
    unknown: list[str]
    """The paths whose own value is not known."""

    def removals(self, values: Config) -> list[compare.Change]:
        """Return the changes of the values at these paths, whose result is not known."""
        return [compare.Change(path, values[path], None, False) for path in self.unknown if path in values]


NOTHING = Undeclared({}, [])
"""Where no former source matters."""


def undeclared(record: Record, declared: Declared, live: Config, minor: int, by_key: bool = False) -> Undeclared:
    """Return what a record has of a node that no layer sets. ``live`` is its complete live configuration.

    With ``by_key``, a layer sets of every map only the keys that it names, as in a drop-in.
    """
    values = compare.normalise(live, minor, runs=by_key)
    known: dict[str, Any] = {}
    unknown = []
    for path in no_longer_set(record, declared, by_key):
        held = record["own"][path]
        if not held or not _fits(live, paths.parse(path)):
            unknown.append(path)
        elif not compare.same(held[0], values.get(path)):
            known[path] = held[0]
    return Undeclared(known, unknown)


def no_longer_set(record: Record, declared: Declared, by_key: bool) -> list[str]:
    """Return the paths that a record has and no layer sets. ``by_key`` as in undeclared()."""
    names = declared.paths(by_key)
    return sorted(path for path in record["own"] if not overlay.overlaps(path, names))


def warnings(unknown: Iterable[str]) -> Iterator[Problem]:
    """Yield a warning for each path that is no longer declared and whose own value is not known."""
    for path in unknown:
        cause = "no longer declared, but the node's own value is not known, so the live value is not changed"
        remedy = "Declare the value that you want, or run the playbook reset for the node."
        yield Problem(WARNING, path, cause, remedy, "no-longer-declared")


def record_after(before: Record, source: str, replaced: Config, absent: Iterable[str]) -> Record:
    """Return the record of a node to which ``source`` is assigned.

    ``replaced`` has the value that each path had before, ``absent`` the paths that the source leaves to the kubelet.
    """
    own = {path: [value] if before["complete"] and not _is_secret(path) else [] for path, value in replaced.items()}
    return {"complete": before["complete"], "source": source, "absent": [*absent], "own": {**own, **before["own"]}}


def absent_after(changes: Iterable[compare.Change]) -> list[str]:
    """Return the paths whose value is removed and replaced by the kubelet with a default that is not known."""
    return [change.path for change in changes if change.after is None and not change.known]


def _is_secret(path: str) -> bool:
    """Return whether a value must not be on a Node, which more users may read than ConfigMaps.

    What an unknown field holds is not known either.
    """
    field = fields.owner(path)
    return field is None or field.secret


def _fits(config: Any, path: paths.Path) -> bool:
    """Return whether a value can be at this path: all its parents are mappings or absent."""
    for key in path[:-1]:
        if not isinstance(config, Mapping):
            return False
        config = config.get(key)
        if config is None:
            return True
    return isinstance(config, Mapping)


_SECRETS = sorted(field.path for field in fields.ALL.values() if field.secret)


class Files(NamedTuple):
    """The node's own config file, and the one that its kubelet reads now: the same, or a checkpoint."""

    own: dict[str, Any]
    read: dict[str, Any]
    earlier: Sequence[Config] = ()
    """The drop-ins of others that the kubelet lays before ours, in its order."""
    later: Sequence[Config] = ()
    outdated: bool = False
    """Files that the kubelet reads were changed after its process started."""
    overridden: Sequence[str] = ()
    """The paths that flags of its next start override."""


class OwnFileError(ValueError):
    """The own file of a node is not known. The text is the cause."""


def files_needed(
    current: Config, deliveries: Mapping[str, str], transports: Mapping[str, str] | None = None
) -> list[str]:
    """Return the nodes of a dump whose plan needs their own config file, by their requested deliveries and transports.

    A follower has reported that of its node already.
    """
    found = []
    for name, row in current.get("nodes", {}).items():
        minor = minor_of(row.get("kubelet_version"))
        by_ssh = (transports or {}).get(name, following.AUTO) == following.SSH
        if row.get("follower") and not by_ssh:
            continue
        if minor is not None and of_row(deliveries.get(name), row, minor).needs_file(minor):
            found.append(name)
    return found


def files_of(facts: HostFacts, live: Config) -> Files:
    """Return the files that were seen on a node with `disk` and the delivery `dropin`.

    The node hides secrets, so those of ``live`` take their place. Raises OwnFileError.
    """
    if facts.own is None:
        raise OwnFileError(facts.fault or NOT_READ)
    path, contents = facts.local_config, dict(facts.own)
    own = contents.pop(path, None) if path else {}
    if own is None:
        raise OwnFileError(_unread(facts, path, path))
    read: Config | None = own
    if facts.reference:
        read = facts.content
    if read is None:
        raise OwnFileError(_unread(facts, facts.file, f"{facts.file}, which the kubelet reads,"))
    for dropin, content in contents.items():
        if content is None:
            raise OwnFileError(_unread(facts, dropin, f"its drop-in {dropin}"))
    before, after = merged_dropins.around(contents, facts.link or LINK)
    earlier, later = list(before.values()), list(after.values())
    return Files(_revealed(own, live), _revealed(read, live), earlier, later, facts.outdated, list(facts.flags))


def _unread(facts: HostFacts, path: str, what: str) -> str:
    """Return in words that a file cannot be read, and why if the node has reported that."""
    why = facts.unreadable.get(path, "").rstrip(".")
    return f"{what} cannot be read" + (f": {why}" if why else "")


def later(files: Files, declared: Declared, minor: int) -> list[compare.Change]:
    """Return the changes from the file that the kubelet reads to the own file, where no layer declares anything.

    Raises OverlayError.
    """
    found = compare.changes(files.read, declared.over(files.own), minor)
    return not_declared(found, declared)


def pending(files: Files, ours: Config, declared: Declared, live: Config, minor: int) -> list[compare.Change]:
    """Return what a restart changes on a node whose own file changed since its kubelet started, if nothing declares it.

    ``ours`` is our drop-in. Only values whose effect is known count. A kubelet whose file is older than it is also runs
    values that it has computed itself, so nothing is pending there.
    """
    if not files.outdated:
        return []
    expected = merged_dropins.effective(files.own, [*files.earlier, ours, *files.later], minor)
    names = declared.keys | Declared([ours]).keys
    found = compare.changes(live, expected, minor, True)
    return _not_set(certain(found, files, live, minor), names)


def not_declared(changes: Sequence[compare.Change], declared: Declared) -> list[compare.Change]:
    """Return the changes that no layer declares: they come from the own file."""
    return _not_set(changes, declared.names)


def _not_set(changes: Sequence[compare.Change], names: Collection[str]) -> list[compare.Change]:
    return [change for change in changes if not overlay.is_set(change.path, names)]


def certain(changes: Sequence[compare.Change], files: Files, live: Config, minor: int) -> list[compare.Change]:
    """Return those changes of the files that a kubelet certainly takes up at its next start."""
    found = []
    for change in changes:
        overridden = overlay.is_set(change.path, files.overridden)
        computed = shadow.computed(change.path, live, minor)
        set_by_kubelet = change.after is None and fields.is_of_machine(change.path)
        if change.known and not (overridden or computed or set_by_kubelet):
            found.append(change)
    return found


def _revealed(config: Config, live: Config) -> dict[str, Any]:
    """Return a configuration whose hidden secrets are those that the kubelet runs."""
    result = dict(config)
    for name in _SECRETS:
        if name in result and _hides(result[name]):
            if live.get(name) is None:
                raise OwnFileError(f"its {name} is secret, and the kubelet does not run it")
            result[name] = live[name]
    return result


def _hides(value: Any) -> bool:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        return any(map(_hides, value))
    return bool(value == shadow.HIDDEN)
