# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node's own config file as it is now: what a checkpoint is built on, and what a drop-in is laid over.

Such a source holds no defaults, and what kubeadm, a package or a person changes in that file comes in with the next
rollout.
"""

from __future__ import annotations

from typing import Any, Collection, Mapping, NamedTuple, Sequence

from ..delivery import LINK, of_row
from ..fields import compare, fields, merged_dropins, overlay, shadow
from ..host_facts import NOT_READ, HostFacts
from ..values import following
from ..values.short_texts import minor_of
from .layers import Declared

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


def needed(
    current: Mapping[str, Any], deliveries: Mapping[str, str], transports: Mapping[str, str] | None = None
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


def of_facts(facts: HostFacts, live: Mapping[str, Any]) -> Files:
    """Return the files that were seen on a node with `disk` and the delivery `dropin`.

    The node hides secrets, so those of ``live`` take their place. Raises OwnFileError.
    """
    if facts.own is None:
        raise OwnFileError(facts.fault or NOT_READ)
    path, contents = facts.local_config, dict(facts.own)
    own = contents.pop(path, None) if path else {}
    if own is None:
        raise OwnFileError(_unread(facts, path, path))
    read: Mapping[str, Any] | None = own
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
    return undeclared(found, declared)


def pending(
    files: Files, ours: Mapping[str, Any], declared: Declared, live: Mapping[str, Any], minor: int
) -> list[compare.Change]:
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


def undeclared(changes: Sequence[compare.Change], declared: Declared) -> list[compare.Change]:
    """Return the changes that no layer declares: they come from the own file."""
    return _not_set(changes, declared.names)


def _not_set(changes: Sequence[compare.Change], names: Collection[str]) -> list[compare.Change]:
    return [change for change in changes if not overlay.is_set(change.path, names)]


def certain(
    changes: Sequence[compare.Change], files: Files, live: Mapping[str, Any], minor: int
) -> list[compare.Change]:
    """Return those changes of the files that a kubelet certainly takes up at its next start."""
    found = []
    for change in changes:
        overridden = overlay.is_set(change.path, files.overridden)
        computed = shadow.computed(change.path, live, minor)
        set_by_kubelet = change.after is None and fields.is_of_machine(change.path)
        if change.known and not (overridden or computed or set_by_kubelet):
            found.append(change)
    return found


def _revealed(config: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
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
