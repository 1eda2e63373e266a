# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The three patches of the API (RFC 7386, RFC 6902, strategic merge patch), on JSON values that are never changed."""

from __future__ import annotations

import copy
import typing as t

from tests.sim.api.refusal import Refusal

MERGE, STRATEGIC, JSON = (f"application/{kind}+json" for kind in ("merge-patch", "strategic-merge-patch", "json-patch"))
# patchMergeKey of the lists that kubelets patch (staging/src/k8s.io/api/core/v1/types.go). Other lists are replaced.
KEYS = {"conditions": "type", "addresses": "type", "ownerReferences": "uid"}
FAILED_TEST = "the server rejected our request due to an error in our request"


def apply(kind: str, value: t.Any, patch: t.Any) -> t.Any:
    """Return a patched copy. Raises Refusal: 415 for another content type, 422 for a JSON patch that does not fit."""
    if kind == MERGE:
        return _merged(value, patch, {})
    if kind == STRATEGIC:
        return _merged(value, patch, KEYS)
    if kind == JSON:
        return _operated(value, patch)
    raise Refusal(415, f"the body of the request was in an unknown format - accepted media types include: {JSON}")


def _merged(old: t.Any, new: t.Any, keys: t.Mapping[str, str]) -> t.Any:
    if not isinstance(new, dict):
        return copy.deepcopy(new)
    result = dict(old) if isinstance(old, dict) else {}
    for name, value in new.items():
        if keys and name.startswith("$"):
            # Directives of a strategic patch, such as the order of list elements.
            continue
        if value is None:
            result.pop(name, None)
        elif name in keys and isinstance(value, list):
            result[name] = _listed(result.get(name) or [], value, keys[name], keys)
        else:
            result[name] = _merged(result.get(name), value, keys)
    return result


def _listed(old: list[t.Any], new: list[t.Any], key: str, keys: t.Mapping[str, str]) -> list[t.Any]:
    found = {item[key]: item for item in old}
    for item in new:
        if item.get("$patch") == "delete":
            found.pop(item[key], None)
        else:
            found[item[key]] = _merged(found.get(item[key]), item, keys)
    return list(found.values())


def _operated(value: t.Any, patch: list[dict[str, t.Any]]) -> t.Any:
    result = copy.deepcopy(value)
    for operation in patch:
        *parents, last = (
            part.replace("~1", "/").replace("~0", "~") for part in operation["path"].lstrip("/").split("/")
        )
        place: t.Any = result
        try:
            for parent in parents:
                place = place[int(parent) if isinstance(place, list) else parent]
        except (KeyError, IndexError, ValueError):
            raise Refusal(422, FAILED_TEST, "Invalid") from None
        _operate(place, last, operation)
    return result


def _operate(place: t.Any, last: str, operation: dict[str, t.Any]) -> None:
    at: t.Any = last
    if isinstance(place, list):
        at = len(place) if last == "-" else int(last)
    there = at < len(place) if isinstance(place, list) else at in place
    if operation["op"] != "add" and (not there or (operation["op"] == "test" and place[at] != operation["value"])):
        raise Refusal(422, FAILED_TEST, "Invalid")
    if operation["op"] == "remove":
        del place[at]
    elif operation["op"] == "add" and isinstance(place, list):
        place.insert(at, operation["value"])
    elif operation["op"] != "test":
        place[at] = operation["value"]
