# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the profiles find of a node: a verdict for each item, from what its kubelet runs and not from its files."""

from __future__ import annotations

import datetime
import json
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from ..fields import compare, complete_config, fields, gates, shadow
from ..host_facts import HostFacts
from ..values import amounts, paths
from ..values.node_row import first_of
from . import profiles
from .profiles import FIELD, FILE, FLAG, PROFILES, Item

PASS, FAIL, MANUAL, NOT_CHECKED, EXCEPTED = VERDICTS = ("pass", "fail", "manual", "not checked", "excepted")
_GATES = "featureGates"
_DEFAULT, _UNKNOWN = "default", ""
_ROLLOUT = "Set kubelet_config_profile and run the playbook rollout"
_KEYS = ("owner", "until", "reason")


class ExceptionError(ValueError):
    """An exception cannot be used. The text names it, the cause and the remedy."""


class Facts(NamedTuple):
    """What is known of a node. `host`: what was seen there, with its disk; None without a result of it."""

    minor: int | None
    live: Mapping[str, Any] | None
    """The configuration that its kubelet runs, None if that could not be read."""
    unread: str = ""
    """Why not."""
    host: HostFacts | None = None
    no_host: str = "Ansible did not log in to the node"
    """Why there is no result of the node."""


class _Found(NamedTuple):
    verdict: str
    value: str = ""
    origin: str = _UNKNOWN
    message: str = ""


def of_node(
    facts: Facts, names: Sequence[str], exceptions: Mapping[str, Mapping[str, Any]], today: datetime.date
) -> list[dict[str, Any]]:
    """Return a row for each item of these profiles; ``exceptions`` as exceptions_of() returns them.

    An exception counts until the end of its last day, and changes every verdict but `pass`.
    """
    rows = []
    for name in dict.fromkeys(names):
        for item in PROFILES[name]:
            excepted = exceptions.get(item.id)
            found = _judged(item, facts)
            if excepted and found.verdict != PASS:
                found = _with_exception(found, excepted, today)
            row = {"profile": name, "item": item.id, "title": item.title, **found._asdict()}
            rows.append({**row, "exception": dict(excepted) if excepted else None})
    return rows


def exceptions_of(given: Any, names: Sequence[str], origin: str) -> dict[str, dict[str, str]]:
    """Return the exceptions of a node by item: `owner`, `until` (a date such as 2027-03-31) and `reason`.

    Raises ExceptionError, which names `origin`, for an item that no profile of these `names` has, and for an exception
    without an owner or a date.
    """
    if not isinstance(given or {}, Mapping):
        raise ExceptionError(f"{origin} is not a mapping: name the items, each with owner, until and reason")
    known = {item.id for name in names for item in PROFILES[name]}
    found = {}
    for key, terms in (given or {}).items():
        name = f"{origin}, item {key}"
        if key not in known:
            raise ExceptionError(f"{name}: {' and '.join(names) or 'no profile'} has no such item. Correct its number")
        if not isinstance(terms, Mapping) or not terms.get("owner") or not set(terms) <= set(_KEYS):
            raise ExceptionError(f"{name}: set owner, until (a date) and reason, and nothing else")
        try:
            datetime.date.fromisoformat(str(terms.get("until")))
        except ValueError:
            raise ExceptionError(f"{name}: until is {terms.get('until')}, not a date such as 2027-03-31") from None
        found[key] = {part: str(terms.get(part) or "") for part in _KEYS}
    return found


def _with_exception(found: _Found, excepted: Mapping[str, Any], today: datetime.date) -> _Found:
    owner, until = excepted["owner"], excepted["until"]
    if today <= datetime.date.fromisoformat(until):
        why = f"excepted by {owner} until {until}: {excepted['reason']}"
        if found.verdict == NOT_CHECKED:
            why += f"; not checked: {found.message}"
        return found._replace(verdict=EXCEPTED, message=why)
    ended = f"the exception by {owner} ended on {until}"
    return found._replace(verdict=FAIL, message="; ".join(filter(None, [found.message, ended])))


def _judged(item: Item, facts: Facts) -> _Found:
    if facts.minor is not None and not item.is_of(facts.minor):
        return _Found(NOT_CHECKED, message=f"kubelets of 1.{facts.minor} do not have it")
    return _KINDS[item.kind](item, facts)


def _of_field(item: Item, facts: Facts) -> _Found:
    if facts.live is None:
        return _Found(NOT_CHECKED, message=facts.unread)
    value = _value(item, facts.live, facts.minor)
    if item.rule == profiles.GATE and value is None:
        return _Found(NOT_CHECKED, message=f"the default of this gate in 1.{facts.minor} is not known")
    shown, (origin, remedy) = _shown(value), _origin(item.of, value, facts.host)
    if item.rule == profiles.BY_HAND:
        return _Found(MANUAL, shown, origin, "the site decides whether the value suits")
    if _RULES[item.rule](value, item, facts.live):
        return _Found(PASS, shown, origin)
    if not remedy:
        remedy = _ROLLOUT if item.sets is not None else f"Set {item.of} in kubelet_config and run the playbook rollout"
    return _Found(FAIL, shown, origin, f"{item.of} is {shown}{f' ({origin})' if origin else ''}. {remedy}")


def _value(item: Item, live: Mapping[str, Any], minor: int | None) -> Any:
    if item.rule != profiles.GATE:
        value = paths.value_at(live, paths.parse(item.of))
        # /configz omits some values that are zero.
        return item.wanted if item.rule == profiles.IS and _is_equal(value, item.wanted) else value
    gate, given = gates.lookup(item.of.partition(".")[2]), paths.typed(live.get(_GATES), dict)
    if gate and minor and minor < gate.states[0].since:
        return given.get(gate.name)
    if gate is None or minor is None or gate.at(minor) is None:
        return item.wanted
    return gate.enabled(minor, given)


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "not set"
    return value if isinstance(value, str) else json.dumps(value)


def _is_equal(value: Any, wanted: Any) -> bool:
    """Return whether a value is the wanted one. None is equal to a zero."""
    return value == wanted or (not value and not wanted)


def _lasts(value: Any, item: Item, dummy: Mapping[str, Any]) -> bool:
    try:
        return amounts.parse_duration(str(value)) >= amounts.parse_duration(item.wanted)
    except ValueError:
        return False


def _are_among(values: Any, wanted: Sequence[Any]) -> bool:
    return isinstance(values, list) and all(value in wanted for value in values)


def _is_of_site(value: Any, item: Item, live: Mapping[str, Any]) -> bool:
    if item.wanted and live.get(item.wanted):
        return True
    return bool(value) and not complete_config.is_created(item.of, value)


_RULES: Mapping[str, Callable[[Any, Item, Mapping[str, Any]], bool]] = {
    profiles.IS: lambda value, item, live: _is_equal(value, item.wanted),
    profiles.GATE: lambda value, item, live: value is item.wanted,
    profiles.NOT: lambda value, item, live: bool(value) and value != item.wanted,
    profiles.GIVEN: lambda value, item, live: bool(value),
    profiles.ABSENT: lambda value, item, live: not value,
    profiles.AMONG: lambda value, item, live: bool(value) and _are_among(value, item.wanted),
    profiles.ABOVE: lambda value, item, live: isinstance(value, int) and value > item.wanted,
    profiles.DURATION: _lasts,
    profiles.SITE_FILE: _is_of_site,
}


def _origin(path: str, live: Any, host: HostFacts | None) -> tuple[str, str]:
    """Return where a live value comes from, and the remedy that follows from that; both empty if unknown."""
    if host is None:
        return _UNKNOWN, ""
    use = shadow.shadow_of(path, host.flags)
    if use:
        where = f"{use['file']}, line {use['line']}" if use.get("file") else "no file sets it any more"
        return f"flag {use['flag']}: {where}", "Remove the flag and restart the kubelet"
    layers = [(f"file {host.file}", host.content)]
    layers += [(f"drop-in {file}", content) for file, content in host.dropins.items()]
    keys = paths.parse(path)
    for origin, content in reversed(layers):
        if content is None:
            return _UNKNOWN, ""
        if not _decides(content, keys):
            continue
        value = paths.value_at(content, keys)
        if value is None or _is_unset(path, value):
            break
        return origin if _is_same(path, value, live) else f"{origin}, which has changed since", ""
    return _DEFAULT, ""


def _decides(content: Any, keys: paths.Path) -> bool:
    """Return whether a file sets a path, or removes it with a null, itself or an object above it."""
    for key in keys:
        if not isinstance(content, Mapping) or key not in content:
            return content is None
        content = content[key]
    return True


def _is_unset(path: str, value: Any) -> bool:
    """Return whether a kubelet takes a zero in a file for unset, such as the 0s that kubeadm writes."""
    field = fields.owner(path)
    return field is not None and field.unset == "zero" and compare.is_zero(value, field)


def _is_same(path: str, value: Any, live: Any) -> bool:
    """Return whether a kubelet that reads this value runs the live one. It makes the paths of files absolute."""
    field = fields.owner(path)
    if field is None or field.path_ref:
        return True
    one, other = (compare.canonical(each, field, fields.NEWEST_MINOR) for each in (value, live))
    return _is_equal(one, other)


def _of_flag(item: Item, facts: Facts) -> _Found:
    if facts.host is None:
        return _Found(NOT_CHECKED, message=facts.no_host)
    words = facts.host.command
    if not words:
        return _Found(NOT_CHECKED, message="the kubelet's command line is not known")
    used = [str(word) for word in words if str(word).partition("=")[0].replace("_", "-") == item.of]
    if not used:
        return _Found(PASS, "not set", _DEFAULT)
    return _Found(FAIL, used[-1], "flag", f"the kubelet has the flag {used[-1]}. Remove it and restart the kubelet")


def _of_file(item: Item, facts: Facts) -> _Found:
    if facts.host is None or facts.host.owned is None:
        return _Found(NOT_CHECKED, message=facts.no_host)
    rows = facts.host.owned.get(item.of) or []
    if not rows:
        return _Found(NOT_CHECKED, message="the node has no such file")
    for row in rows:
        mode, path, message = row["mode"], row["path"], ""
        if item.rule == profiles.MODE and int(mode, 8) & ~item.wanted:
            message = f"the mode of {path} is {mode}. Run chmod {item.wanted:04o} {path}"
        if item.rule == profiles.OWNER and row["owner"] != item.wanted:
            message = f"{path} belongs to {row['owner']}. Run chown {item.wanted} {path}"
        if message:
            return _Found(FAIL, row[item.rule], f"file {path}", message)
    values = dict.fromkeys(row[item.rule] for row in rows)
    return _Found(PASS, ", ".join(values), first_of([f"file {row['path']}" for row in rows], most=1))


_KINDS: Mapping[str, Callable[[Item, Facts], _Found]] = {FIELD: _of_field, FLAG: _of_flag, FILE: _of_file}
