# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the configurations of one node differ: one rule for the stages verify and drift.

A field that a configuration does not set has the default of the kubelet's minor. Where that default is not known, the
field is not compared: the kubelet completes a configuration of few fields, and this is not a difference.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any, Collection, Iterator, Mapping

from ..fields import compare, fields, merged_dropins, overlay
from ..plan.layers import Declared
from ..values import paths

_UP = re.compile(r"^(?:\.\./)+")
STAGES = DECLARED, PUSHED, ASSIGNED, DISK, LIVE = ("declared", "pushed", "assigned", "disk", "live")


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


def undeclared(
    before: Mapping[str, Any], live: Mapping[str, Any], declared: Declared, former: set[str], minor: int
) -> list[tuple[str, Any, Any]]:
    """Return (path, before, live) for every value that has changed although nothing declares it, sorted by path.

    ``former`` are the paths that an earlier source declared: they revert.
    """
    names = {*former, *declared.keys}
    return [
        (change.path, change.before, change.after)
        for change in compare.changes(before, live, minor, True)
        if not overlay.overlaps(change.path, names)
    ]


def differing(
    read: Mapping[str, Mapping[str, Any]], declared: Collection[str], minor: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every path at which the known values of the stages differ, with these values by stage, sorted by path.

    `read` holds the configuration of each stage in the form of compare.normalise. Of the stage `declared` only the
    paths `declared` and those below them count.
    """
    tops = {stage: set(map(paths.top, values)) for stage, values in read.items()}
    for path in sorted(set().union(*read.values())):
        if compare.all_same(values.get(path) for values in read.values()):
            continue
        values = {}
        for stage, known in read.items():
            if stage == DECLARED and not overlay.is_set(path, declared):
                continue
            if path in known or _is_absence_known(path, stage, read, tops[stage], minor):
                values[stage] = known.get(path)
        values = _without_secrets_of_the_disk(path, _resolved(path, values))
        if not compare.all_same(values.values()):
            yield path, values


def _is_absence_known(
    path: str, stage: str, read: Mapping[str, Mapping[str, Any]], given: set[str], minor: int
) -> bool:
    """Return whether the absence of a path in a stage is a value that counts. `given`: its fields of the top level."""
    is_empty_map = any(values.get(path) == {} for values in read.values())
    if is_empty_map and compare.has_keys(path, read[stage]):
        # The rows of the keys show the difference.
        return False
    if stage == LIVE:
        return True
    if fields.is_created(path, read.get(LIVE, {}).get(path)):
        return False
    return compare.is_known(path, read[stage], given, minor)


def _without_secrets_of_the_disk(path: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values without those of the disk for a secret: the node masks it, so it cannot be compared.

    The digest of the checkpoint shows whether a secret was changed.
    """
    field = fields.owner(path)
    if field is None or not field.secret:
        return values
    return paths.without(values, (DISK,))


def _resolved(path: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with relative file paths replaced by the kubelet's absolute path.

    The kubelet resolves a relative path against the folder of its config file.
    """
    field, live = fields.owner(path), values.get(LIVE)
    if field is None or not field.path_ref or not isinstance(live, str) or not live.startswith("/"):
        return values
    relative = [stage for stage, value in values.items() if _is_end_of(live, value)]
    return {**values, **dict.fromkeys(relative, live)}


def _is_end_of(file: str, value: Any) -> bool:
    if not isinstance(value, str) or value == "" or value.startswith("/"):
        return False
    # The kubelet joins both with Go's filepath.Join, which resolves dots.
    return file.endswith(f"/{_UP.sub('', posixpath.normpath(value))}")
