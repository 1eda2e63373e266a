# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the configurations of one node differ, and what of the node itself explains a value that its kubelet runs.

There is one rule for the stages verify and drift.

A field that a configuration does not set has the default of the kubelet's minor. Where that default is not known, the
field is not compared: the kubelet completes a configuration of few fields, and this is no difference.

What explains a value: the node's own file, another drop-in, a flag or a default. A switch changes what is declared and
nothing else. The node's own file may have changed since the kubelet's last start, and the restart of the switch then
takes that up, too.
"""

from __future__ import annotations

from typing import Any, Collection, Iterable, Iterator, Mapping, Sequence

from ..delivery import LINK
from ..fields import compare, fields, merged_dropins, overlay, shadow
from ..plan import host_facts
from ..plan.layers import Declared
from ..values import paths

STAGES = DECLARED, PUSHED, ASSIGNED, DISK, LIVE = ("declared", "pushed", "assigned", "disk", "live")
_CREATED = {"tlsCertFile": "/kubelet.crt", "tlsPrivateKeyFile": "/kubelet.key"}
"""How these paths end where they are not set: the kubelet creates a certificate, and shows where it is."""


def between(wanted: Mapping[str, Any], live: Mapping[str, Any], minor: int) -> list[tuple[str, Any, Any]]:
    """Return (path, wanted, live) for every value of a source that is not live, sorted by path.

    `wanted` may set few fields; `live` is complete. `minor` is that of the kubelet (20 for 1.20).
    """
    read = {ASSIGNED: compare.normalise(wanted, minor), LIVE: compare.normalise(live, minor)}
    return [(path, values[ASSIGNED], values[LIVE]) for path, values in differing(read, set(), minor)]


def of_dropin(declared: Mapping[str, Any], live: Mapping[str, Any], minor: int) -> list[tuple[str, Any, Any]]:
    """Return (path, wanted, live) for every declared value that is not live, sorted by path.

    A kubelet that runs what a drop-in declares would run the same if it was laid over that once more.
    """
    again = merged_dropins.merge(live, [declared])
    return [
        (change.path, change.after, change.before)
        for change in compare.changes(live, again, minor, True)
        if change.known or change.after is not None
    ]


def beside(
    before: Mapping[str, Any],
    live: Mapping[str, Any],
    declared: Declared,
    former: set[str],
    minor: int,
) -> list[tuple[str, Any, Any]]:
    """Return (path, before, live) for every value that has changed although nothing declares it, sorted by path.

    ``former`` are the paths that an earlier source declared: they revert.
    """
    names = {*former, *declared.keys}
    return [
        (change.path, change.before, change.after)
        for change in compare.changes(before, live, minor, True)
        if not overlay.is_set(change.path, names) and not any(overlay.is_set(name, {change.path}) for name in names)
    ]


def differing(
    read: Mapping[str, Mapping[str, Any]], declared: Collection[str], minor: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every path at which the known values of the stages differ, with these values by stage, sorted by path.

    `read` holds the configuration of each stage in the form of compare.normalise. Of the stage `declared` only the
    paths `declared` and those below them count.
    """
    tops = {stage: {paths.top(path) for path in values} for stage, values in read.items()}
    for path in sorted(set().union(*read.values())):
        if _alike(values.get(path) for values in read.values()):
            continue
        empty = any(values.get(path) == {} for values in read.values())
        values = {}
        for stage, known in read.items():
            if stage == DECLARED and not overlay.is_set(path, declared):
                continue
            if empty and path not in known and _has_keys(path, known):
                continue
            if stage != LIVE and path not in known and _created(path, read.get(LIVE, {})):
                continue
            if stage == LIVE or compare.is_known(path, known, tops[stage], minor):
                values[stage] = known.get(path)
        values = _without_secrets_of_the_disk(path, _resolved(path, values))
        if not _alike(values.values()):
            yield path, values


def _created(path: str, live: Mapping[str, Any]) -> bool:
    """Return whether a live path is that of a file which the kubelet creates unless its configuration names one."""
    return path in _CREATED and str(live.get(path)).endswith(_CREATED[path])


def _alike(values: Iterable[Any]) -> bool:
    first, *others = [*values] or [None]
    return all(compare.same(first, value) for value in others)


def _has_keys(path: str, known: Mapping[str, Any]) -> bool:
    """Return whether a stage has keys in the map, so that the rows of the keys show the difference."""
    return any(name.startswith((f"{path}.", f"{path}[")) for name in known)


def _without_secrets_of_the_disk(path: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values without those of the disk for a secret: the node masks it, so it cannot be compared.

    The digest of the checkpoint shows whether a secret was changed.
    """
    field = fields.owner(path)
    return (
        {stage: value for stage, value in values.items() if stage != DISK}
        if field is not None and field.secret
        else values
    )


def _resolved(path: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with relative file paths replaced by the kubelet's absolute path.

    The kubelet resolves a relative path against the folder of its config file.
    """
    field, live = fields.owner(path), values.get(LIVE)
    if field is None or not field.path_ref or not isinstance(live, str) or not live.startswith("/"):
        return values
    return {
        stage: live
        if isinstance(value, str) and value and not value.startswith("/") and live.endswith(f"/{value}")
        else value
        for stage, value in values.items()
    }


Config = Mapping[str, Any]


class Inspected:
    """What the inspection of a node found of it, just before its kubelet was restarted.

    ``facts`` are those of kubelet_preflight_info: ``own`` (the config file, then the other drop-ins in the kubelet's
    order, secrets masked, a content is None if it could not be read) and ``kubelet`` (``local_config``, the path of
    that file, and ``shadowed``, the flags by path). Malformed ones count as none.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        if host_facts.of_preflight(facts):
            facts = {}
        kubelet = facts.get("kubelet") or {}
        self._flags = {path: str(use["flag"]) for path, use in (kubelet.get("shadowed") or {}).items()}
        rows = facts.get("own") or []
        self._file = kubelet.get("local_config") or ""
        self._base: Config | None = next(
            (row["content"] for row in rows if row["path"] == self._file), {} if rows else None
        )
        others = [(row["path"], row["content"]) for row in rows if row["path"] != self._file]
        self._earlier = [row for row in others if _name(row[0]) < LINK]
        self._later = [row for row in others if _name(row[0]) >= LINK]

    @property
    def known(self) -> bool:
        """Whether the node's own file and its drop-ins are known."""
        return self._base is not None and all(content is not None for _path, content in [*self._earlier, *self._later])

    def overrides(self, path: str, source: Config, minor: int) -> bool:
        """Return whether something of the node wins over the value that a whole configuration has at a path."""
        return (
            shadow.shadow_of(path, self._flags) is not None
            or any(content is None or _sets(content, path) for _file, content in [*self._earlier, *self._later])
            or (bool(self._earlier or self._later) and paths.top(path) in merged_dropins.forgotten(source, minor))
            or shadow.computed(path, source, minor)
        )

    def causes(self, changed: Mapping[str, Any], declared: Config, minor: int) -> dict[str, str]:
        """Return what explains each of the values that a kubelet with a drop-in runs, empty where nothing does.

        ``changed`` has the live values by path, None for absent; ``declared`` is our drop-in.
        """
        if not changed or not self.known:
            return dict.fromkeys(changed, "what the node itself sets is not known")
        own = dict(self._base or {})
        layers = [
            *(content or {} for _file, content in self._earlier),
            declared,
            *(content or {} for _file, content in self._later),
        ]
        config = merged_dropins.effective(own, layers, minor)
        values = compare.normalise(config, minor, True, True)
        given = {paths.top(path) for path in values}
        return {path: self._cause(path, value, values, given, config, minor) for path, value in sorted(changed.items())}

    def _cause(
        self, path: str, live: Any, values: Mapping[str, Any], given: set[str], config: Config, minor: int
    ) -> str:
        flag = shadow.shadow_of(path, self._flags)
        if flag is not None:
            return f"the flag {flag} sets it"
        file = next((name for name, content in reversed(self._files()) if _sets(content, path)), "")
        field = fields.owner(path)
        if field is not None and field.secret and file:
            return f"{file} has a secret there"
        if compare.same(values.get(path), live):
            return (
                f"{file} changed" if file else f"{self._file or 'the node itself'} leaves it to the kubelet's default"
            )
        if shadow.computed(path, config, minor) or (field is not None and field.machine and path not in values):
            return "the kubelet sets it itself"
        if path not in values and not compare.is_known(path, values, given, minor, True):
            return "the kubelet's default there is not known"
        return ""

    def _files(self) -> Sequence[tuple[str, Config]]:
        rows = [(self._file, self._base), *self._earlier, *self._later]
        return [(name, content) for name, content in rows if content is not None]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _sets(config: Config, path: str) -> bool:
    """Return whether a file sets a path, or what contains it, or what it contains; also if it sets null."""
    names = {paths.show(at) for at, _value in overlay.written(config, True)}
    return overlay.is_set(path, names) or any(overlay.is_set(name, {path}) for name in names)
