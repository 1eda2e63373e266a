# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node's own config file as it is now: what a checkpoint is built on, and what a drop-in is laid over.

Such a source holds no defaults, and what kubeadm, a package or a person changes in that file comes in with the next
rollout.
"""

from __future__ import annotations

import functools
import posixpath
from typing import Any, Collection, Container, Mapping, NamedTuple, Sequence

from ..delivery import LINK, of_row
from ..fields import compare, fields, merged_dropins, overlay, shadow
from ..values import paths
from ..values.document import API_VERSION, KIND
from ..values.own_values import NO_RECORD, Record
from ..values.short_texts import minor_of
from . import former, host_facts
from .dropin_plan import Source

_SECRETS = sorted(field.path for field in fields.ALL.values() if field.secret)


class Files(NamedTuple):
    """The node's own config file, and the one that its kubelet reads now: the same, or a checkpoint."""

    own: dict[str, Any]
    read: dict[str, Any]
    earlier: Sequence[Mapping[str, Any]] = ()
    """The drop-ins of others that the kubelet lays before ours, in its order."""
    later: Sequence[Mapping[str, Any]] = ()
    outdated: bool = False
    """Files that the kubelet reads were changed after its process started."""
    overridden: Sequence[str] = ()
    """The paths that flags of its next start override."""


class OwnFileError(ValueError):
    """The own file of a node is not known. The text is the cause."""


def needed(current: Mapping[str, Any], deliveries: Mapping[str, str]) -> list[str]:
    """Return the nodes of a dump whose plan needs their own config file, by their requested deliveries."""
    found = []
    for name, row in current.get("nodes", {}).items():
        minor = minor_of(row.get("kubelet_version"))
        if minor is not None and of_row(deliveries.get(name), row, minor).needs_file(minor):
            found.append(name)
    return found


def of_facts(facts: Any, live: Mapping[str, Any]) -> Files:
    """Return the files from the result of kubelet_preflight_info with `disk` and the delivery `dropin`.

    The node hides secrets, so those of ``live`` take their place. Raises OwnFileError.
    """
    if not isinstance(facts, Mapping) or not isinstance(facts.get("own"), list):
        given = facts if isinstance(facts, Mapping) else {}
        raise OwnFileError(str(given.get("msg") or "kubelet_preflight_info has not read it").rstrip("."))
    wrong = host_facts.of_preflight(facts)
    if wrong:
        raise OwnFileError(f"what its host returned is malformed at {wrong}")
    path = (facts.get("kubelet") or {}).get("local_config")
    contents = {row["path"]: row["content"] for row in facts["own"]}
    own = contents.get(path) if path else {}
    if own is None:
        raise OwnFileError(f"{path} cannot be read")
    disk = facts.get("disk") or {}
    read = own
    if disk.get("checkpoint"):
        if disk.get("content") is None:
            raise OwnFileError(f"{disk.get('path')}, which the kubelet reads, cannot be read")
        read = disk["content"]
    others = [row["path"] for row in facts["own"] if row["path"] != path]
    if any(contents[other] is None for other in others):
        raise OwnFileError("one of its drop-ins cannot be read")
    ours = posixpath.normpath((facts.get("dropin") or {}).get("link") or LINK)
    ordered = merged_dropins.in_order([*others, ours])
    at = ordered.index(ours)
    before, after = ([contents[other] for other in side] for side in (ordered[:at], ordered[at + 1 :]))
    overridden = [*((facts.get("kubelet") or {}).get("shadowed") or {})]
    return Files(_revealed(own, live), _revealed(read, live), before, after, is_outdated(facts), overridden)


def is_outdated(facts: Mapping[str, Any]) -> bool:
    """Return whether files that the kubelet reads were changed after its process started."""
    disk = facts.get("disk") or {}
    started, changed = disk.get("started"), disk.get("changed")
    return bool(started and changed and changed > started)


def source(live: Mapping[str, Any], files: Files, layers: Sequence[Mapping[str, Any]], minor: int) -> Source:
    """Return the source that lays the layers over the own file, and its effect on a kubelet that runs ``live``.

    What flags and drop-ins override stays overridden: only what differs between the file that the kubelet reads and the
    new one changes, and what the layers declare. Raises OverlayError.
    """
    config = functools.reduce(overlay.merge, layers, {"kind": KIND, "apiVersion": API_VERSION, **files.own})
    names = {paths.show(path) for layer in layers for path, _value in overlay.written(layer)}
    moved = {change.path: change.after for change in compare.changes(files.read, config, minor)}
    expected = functools.reduce(overlay.merge, layers, former.revert(live, moved))
    changes = compare.changes(live, expected, minor)
    replaced = {
        change.path: change.before
        for change in compare.changes(files.own, config, minor)
        if overlay.is_set(change.path, names)
    }
    return _made(config, expected, changes, moved, names, replaced)


def to_dropin(live: Mapping[str, Any], files: Files, layers: Sequence[Mapping[str, Any]], minor: int) -> Source:
    """Return the drop-in that takes the place of a checkpoint, and its effect on a kubelet that runs ``live``.

    The kubelet then reads its own file again, so what the checkpoint has and neither that file nor a drop-in sets goes.
    Raises OverlayError.
    """
    declared = overlay.compose(layers)
    others = [*files.earlier, *files.later]
    now = merged_dropins.effective(files.read, others or None, minor)
    then = merged_dropins.effective(files.own, [*files.earlier, declared, *files.later], minor)
    without = compare.normalise(merged_dropins.effective(files.own, others, minor), minor, runs=True)
    moved = {change.path: change.after for change in compare.changes(now, then, minor, True)}
    expected = merged_dropins.merge(former.revert(live, moved), [declared])
    names = {paths.show(path) for path, _value in overlay.written(declared, True)}
    replaced = {path: without.get(path) for path in {*names, *without} if overlay.is_set(path, names)}
    config = {"kind": KIND, "apiVersion": API_VERSION, **declared}
    return _made(config, expected, compare.changes(live, expected, minor, True), moved, names, replaced)


def later(files: Files, layers: Sequence[Mapping[str, Any]], minor: int) -> list[compare.Change]:
    """Return the changes from the file that the kubelet reads to the own file, where no layer declares anything.

    Raises OverlayError.
    """
    config = functools.reduce(overlay.merge, layers, dict(files.own))
    found = compare.changes(files.read, config, minor)
    paths_of = {*undeclared(found, layers)}
    return [change for change in found if change.path in paths_of]


def pending(
    files: Files, ours: Mapping[str, Any], layers: Sequence[Mapping[str, Any]], live: Mapping[str, Any], minor: int
) -> list[compare.Change]:
    """Return what a restart changes on a node whose own file changed since its kubelet started, if nothing declares it.

    ``ours`` is our drop-in. Only values whose effect is known count. A kubelet whose file is older than it is also runs
    values that it has computed itself, so nothing is pending there.
    """
    if not files.outdated:
        return []
    expected = merged_dropins.effective(files.own, [*files.earlier, ours, *files.later], minor)
    names = {paths.show(path) for layer in (ours, *layers) for path, _value in overlay.written(layer, True)}
    found = compare.changes(live, expected, minor, True)
    return [change for change in _certain(found, files, live, minor) if not overlay.is_set(change.path, names)]


def own_now(record: Record, files: Files, live: Mapping[str, Any], minor: int) -> Record:
    """Return the record of a node with a drop-in, with the own values that its files have by now.

    They may have changed while the drop-in replaced them. What the files alone do not decide stays as it is.
    """
    without = merged_dropins.effective(files.own, [*files.earlier, *files.later], minor)
    found = compare.changes(live, without, minor, True)
    uncertain = {change.path for change in found} - {change.path for change in _certain(found, files, live, minor)}
    now = compare.normalise(without, minor, runs=True)
    own = {path: [now.get(path)] if held and path not in uncertain else held for path, held in record["own"].items()}
    return {**record, "own": own}


def taken_up(made: Source, found: Sequence[compare.Change], live: Mapping[str, Any], minor: int) -> Source:
    """Return the source of a drop-in with what the restart takes up from the own file in its effect."""
    if not found:
        return made
    expected = former.revert(made.expected, {change.path: change.after for change in found})
    unknown = [change for change in made.changes if not change.known]
    changes = {change.path: change for change in [*unknown, *compare.changes(live, expected, minor, True)]}
    return made._replace(expected=expected, changes=[changes[path] for path in sorted(changes)])


def undeclared(changes: Sequence[compare.Change], layers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the paths of the changes that no layer declares: they come from the own file."""
    names = {paths.show(path) for layer in layers for path, _value in overlay.written(layer)}
    return [change.path for change in changes if not overlay.is_set(change.path, names)]


def _certain(
    changes: Sequence[compare.Change], files: Files, live: Mapping[str, Any], minor: int
) -> list[compare.Change]:
    """Return those changes of the files that a kubelet certainly takes up at its next start."""
    return [
        change
        for change in changes
        if change.known
        and not overlay.is_set(change.path, files.overridden)
        and not shadow.computed(change.path, live, minor)
        and not (change.after is None and _is_machines(change.path))
    ]


def _made(
    config: dict[str, Any],
    expected: dict[str, Any],
    found: Sequence[compare.Change],
    moved: Container[str],
    names: Collection[str],
    replaced: Mapping[str, Any],
) -> Source:
    """Return a source of a node without a record, from all changes of its live configuration.

    ``moved``: the paths that differ between the file that the kubelet reads and the new one. What that file leaves to
    the kubelet already, the kubelet need not lose again.
    """
    absent = former.absent_after(found)
    changes = [change for change in found if change.path in moved or change.path not in absent]
    return Source(
        config, expected, changes, replaced, [path for path in absent if overlay.is_set(path, names)], NO_RECORD
    )


def _revealed(config: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration whose hidden secrets are those that the kubelet runs."""
    result = dict(config)
    for name in _SECRETS:
        if name in result and _hides(result[name]):
            if live.get(name) is None:
                raise OwnFileError(f"its {name} is secret, and the kubelet does not run it")
            result[name] = live[name]
    return result


def _is_machines(path: str) -> bool:
    """Return whether a value belongs to one machine. A kubelet may set such a value itself, as a serving certificate.

    Source: cmd/kubelet/app/server.go InitializeTLS.
    """
    field = fields.owner(path)
    return field is not None and field.machine


def _hides(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_hides(inner) for inner in value.values())
    return any(_hides(inner) for inner in value) if isinstance(value, list) else value == shadow.HIDDEN
