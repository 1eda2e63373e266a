# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finding where two configurations mean something different to a kubelet, and showing both without their secrets."""

from __future__ import annotations

import copy
import datetime
import re
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, Mapping

from ..values import amounts, paths
from ..values.document import render
from ..values.paths import Config
from . import fields, gates
from .field_row import Field
from .shadow import HIDDEN

FLUSH_TEXT = 28
"""The first minor that takes a text where others take nanoseconds only (component-base/logs/api/v1/types.go)."""


@dataclass(frozen=True)
class Change:
    """One value that differs. None stands for absent."""

    path: str
    """In the notation of paths.py, one path for every key of a map: ``evictionHard["memory.available"]``."""
    before: Any
    after: Any
    known: bool
    """False when one value is absent and the kubelet's default is not known: the two values may be equal."""


def normalise(config: Config, minor: int, complete: bool | None = None, runs: bool = False) -> dict[str, Any]:
    """Return every value of a configuration by its path, in a form in which equal values mean the same to a kubelet.

    Objects and maps are split into their members, lists are not. Values have their canonical form, and a zero that
    equals absence is omitted. A quantity in a field of texts, such as kubeReserved, keeps its notation, because
    /configz does not change it. kind and apiVersion are omitted, and what the kubelet merges into evictionHard is
    filled in.

    With ``complete``, the defaults of the minor are filled in, as far as they are known. Without it, what is not set
    may also be a value of the node's own. By default it follows from the minor: the sources of 1.20 are whole
    configurations, those of later minors need not be.

    With ``runs``, it is what a kubelet with drop-ins runs. Defaults were merged into evictionHard before the drop-ins
    were laid over it, and a drop-in may have removed some of them.
    """
    config = paths.without_header(config)
    if complete or (complete is None and _complete(minor)):
        config = with_defaults(config, minor)
    if not runs:
        config = with_thresholds(config, minor)
    return dict(_leaves(config, (), minor))


def changed_keys(before: Config, after: Config) -> list[str]:
    """Return the keys whose values differ, sorted."""
    return sorted(key for key in {*before, *after} if before.get(key) != after.get(key))


def with_thresholds(config: Config, minor: int) -> dict[str, Any]:
    """Return a config file with the default thresholds that the kubelet merges into its evictionHard."""
    result = dict(config)
    if result.get(_MERGE.path) is True and _MERGE.exists_at(minor) and isinstance(result.get("evictionHard"), Mapping):
        result["evictionHard"] = {**_MERGED, **result["evictionHard"]}
    return result


def changes(before: Config, after: Config, minor: int, runs: bool = False) -> list[Change]:
    """Return the differences between a complete live configuration and a complete desired one, sorted by path.

    What the desired configuration does not have gets the default of this minor. If that is not known, it is a change
    all the same: it may be any other value. ``runs`` as in normalise(), for both.
    """
    old, new = normalise(before, minor, True, runs), normalise(after, minor, True, runs)
    present = set(map(paths.top, new))
    found = []
    for path in sorted(set(old) | set(new)):
        if _is_empty_beside_keys(path, old, new) or _is_empty_beside_keys(path, new, old):
            continue
        if path in old and path in new:
            if not same(old[path], new[path]):
                found.append(Change(path, old[path], new[path], True))
        elif path in new:
            found.append(Change(path, None, new[path], _absence_known(path, minor, True)))
        else:
            found.append(Change(path, old[path], None, is_known(path, new, present, minor, True)))
    return found


def before(found: Iterable[Change]) -> dict[str, Any]:
    """Return the values that changes replace, by path."""
    return {change.path: change.before for change in found}


def after(found: Iterable[Change]) -> dict[str, Any]:
    """Return the values that changes lead to, by path."""
    return {change.path: change.after for change in found}


def is_known(path: str, config: Config, given: set[str], minor: int, complete: bool | None = None) -> bool:
    """Return whether the value that a normalised configuration gives a path on kubelets of a minor is known.

    `given` holds the top-level fields that the configuration sets. A value that is set is known. One that is not set is
    known if its default is. ``complete`` as in normalise().
    """
    if complete is None:
        complete = _complete(minor)
    field = fields.owner(path)
    if field is not None and not (complete and fields.default_known(field, minor)):
        later = field.since is not None and field.since > fields.OLDEST_MINOR
        if later and not field.type.startswith("map["):
            return path in config
    return path in config or _absence_known(path, minor, complete) or _key_removed(path, given)


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; unlike Python, true is not 1."""
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(left, right) for left, right in zip(one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return bool(one == other)


def all_same(values: Iterable[Any]) -> bool:
    """Return whether no JSON value differs from another."""
    first, *others = [*values] or [None]
    return all(same(first, value) for value in others)


def with_defaults(config: Config, minor: int) -> dict[str, Any]:
    """Return a configuration with the defaults of this minor, as far as they are known.

    Source: pkg/kubelet/apis/config/v1beta1/defaults.go.
    """
    result = with_gate_defaults(config, minor)
    if not fields.OLDEST_MINOR <= minor <= fields.NEWEST_MINOR:
        return result
    _fill_dependent(result, minor)
    for field in fields.ALL.values():
        default = field.default_at(minor)
        if default is not None and field.exists_at(minor):
            _fill(result, field, default, minor)
    return result


def with_gate_defaults(config: Config, minor: int) -> dict[str, Any]:
    """Return a configuration with the defaults that its feature gates decide about.

    The kubelet fills them into its config file before it reads a drop-in, which may turn the gate off.
    """
    result: dict[str, Any] = copy.deepcopy(dict(config))
    for path, default in gate_defaults(config, minor).items():
        _fill(result, fields.ALL[path], default, minor)
    return result


def gate_defaults(config: Config, minor: int) -> dict[str, Any]:
    """Return the defaults, by path, that fields have because a feature gate is on with this configuration."""
    given, found = paths.typed(config.get("featureGates"), dict), {}
    for path, name, default in _BY_GATE:
        gate = gates.lookup(name)
        if gate and minor <= fields.NEWEST_MINOR and gate.enabled(minor, given):
            found[path] = default
    return found


def _fill_dependent(config: dict[str, Any], minor: int) -> None:
    """Fill in the defaults that depend on other fields."""
    # An unset report frequency takes the value of an update frequency that is set.
    update = config.get("nodeStatusUpdateFrequency")
    if is_zero(config.get("nodeStatusReportFrequency"), _DURATION) and not is_zero(update, _DURATION):
        config["nodeStatusReportFrequency"] = update
    pulls = config.get("maxParallelImagePulls")
    if minor >= 27 and config.get("serializeImagePulls") is None and isinstance(pulls, int) and pulls > 1:
        config["serializeImagePulls"] = False


def _fill(config: dict[str, Any], field: Field, default: Any, minor: int) -> None:
    """Fill in a default, unless a value of another type is in the place of an object above."""
    *parents, name = field.path.split(".")
    inside: Any = config
    for parent in parents:
        if inside.get(parent) is None:
            inside[parent] = {}
        inside = inside[parent]
        if not isinstance(inside, dict):
            return
    if is_unset(inside.get(name), field, minor):
        inside[name] = copy.deepcopy(default)


def canonical(value: Any, field: Field, minor: int) -> Any:
    """Return a value of this field in the form in which a kubelet of a minor shows it in /configz.

    Equal forms mean the same to the kubelet. Durations, times and quantities are in Go's notation. The members of an
    object in a list are as Go writes them: without those that it omits, with those that it always shows. A negative
    podPidsLimit is -1 (pkg/kubelet/apis/config/v1beta1/defaults.go). From FLUSH_TEXT on, a number of nanoseconds has
    the form of the duration that it means, though the kubelet shows the number. A value of a wrong type stays as it is.
    """
    if field.path == "podPidsLimit" and isinstance(value, int) and not isinstance(value, bool):
        return max(value, -1)
    return _of_type(field.type, value, field, minor)


def is_zero(value: Any, field: Field) -> bool:
    """Return whether a value is absent or the zero or empty value of the field's type."""
    if isinstance(value, str):
        return bool(canonical(value, field, FLUSH_TEXT) == _ZEROS.get(field.type, ""))
    return value is None or (isinstance(value, (bool, int, float, list, dict)) and not value)


def is_unset(value: Any, field: Field, minor: int) -> bool:
    """Return whether a kubelet of a minor takes a value of the field for absent, such as the 0s that kubeadm writes."""
    return value is None or (field.unset_at(minor) == "zero" and is_zero(value, field))


def moment(text: str) -> str:
    """Return a time of RFC 3339 in UTC without fractions of a second, as Go writes it. Raises ValueError."""
    found = _TIME.fullmatch(text)
    wrong = ValueError(f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00"')
    if found is None:
        raise wrong
    zone = datetime.timedelta(hours=int(found.group(3) or 0), minutes=int(found.group(4) or 0))
    try:
        at = datetime.datetime.fromisoformat(found.group(1))
        if found.group(2) == "-":
            zone = -zone
        return f"{(at - zone).isoformat()}Z"
    except (OverflowError, ValueError) as error:
        raise wrong from error


_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d+)?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_NO_TIME = "0001-01-01T00:00:00Z"
"""Go's zero time, which counts as absent."""
_LIMIT_DIGITS = 3
"""The digits of a quantity in a map: SetDefaults_ResourceList in pkg/apis/core/v1/defaults.go rounds the others up."""
_ZEROS = {"duration": "0s", "duration or nanoseconds": "0s", "quantity": "0", "string": ""}
_MERGE = fields.ALL["mergeDefaultEvictionSettings"]
# What the kubelet adds to evictionHard with this field, and to no other map (kubernetes,
# pkg/kubelet/apis/config/types.go, MergeDefaultEvictionSettings; pkg/kubelet/eviction/defaults_linux.go).
_MERGED = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}
_DURATION = fields.ALL["nodeStatusUpdateFrequency"]
# Fields that have a default while a feature gate is on, and that the kubelet refuses while it is off.
_BY_GATE = (
    ("crashLoopBackOff.maxContainerRestartPeriod", "KubeletCrashLoopBackOffMax", "5m0s"),
    ("imagePullCredentialsVerificationPolicy", "KubeletEnsureSecretPulledImages", "NeverVerifyPreloadedImages"),
)


def _leaves(value: Any, at: paths.Path, minor: int) -> Iterator[tuple[str, Any]]:
    if value is None:
        return
    field = fields.lookup(at)
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*at, key), minor)
        # An empty map has a meaning only if absence means the default, or if the field is unknown.
        if not value and at and (field.unset_at(minor) == "nil" if field else fields.owner(at) is None):
            yield paths.show(at), {}
    elif field is None:
        yield paths.show(at), value
    elif field.unset_at(minor) == "nil" or not is_zero(value, field):
        yield paths.show(at), canonical(value, field, minor)


def _complete(minor: int) -> bool:
    """Return whether every source of this minor is a whole configuration."""
    return minor == fields.OLDEST_MINOR


def _absence_known(path: str, minor: int, complete: bool) -> bool:
    """Return whether the absence of this path is unambiguous at this minor.

    It is when the field has no default, or when its default was filled in.
    """
    field = fields.owner(path)
    return field is not None and ((complete and fields.default_known(field, minor)) or field.unset_at(minor) == "none")


def _is_empty_beside_keys(path: str, side: Config, other: Config) -> bool:
    """Return whether the map is empty in `side` but has keys in `other`, whose rows already show the change."""
    return side.get(path) == {} and path not in other and has_keys(path, other)


def has_keys(path: str, values: Config) -> bool:
    """Return whether normalised values have some below a path."""
    return any(path in paths.above(name) for name in values)


def _key_removed(path: str, present: set[str]) -> bool:
    """Return whether a map lost this key and keeps others: no default replaces a key of a map that is set."""
    field = fields.owner(path)
    return field is not None and field.type.startswith("map[") and field.path in present


def _of_type(kind: str, value: Any, field: Field, minor: int) -> Any:
    if kind == "object" and isinstance(value, Mapping) and field.type == "list[object]":
        return _element(value, field, minor)
    if kind.startswith("list[") and isinstance(value, list):
        return [_of_type(kind[len("list[") : -1], entry, field, minor) for entry in value]
    if kind.startswith("map[") and isinstance(value, Mapping):
        return {key: _of_type(kind[len("map[string]") :], inner, field, minor) for key, inner in value.items()}
    if isinstance(value, bool):
        return value
    return _of_scalar(kind, value, field, minor)


def _of_scalar(kind: str, value: Any, field: Field, minor: int) -> Any:
    if kind == "duration or nanoseconds" and isinstance(value, int) and minor >= FLUSH_TEXT:
        return amounts.format_duration(value)
    if kind == "quantity" and isinstance(value, (int, float, str)):
        digits = _LIMIT_DIGITS if field.type.startswith("map[") else 9
        return _or_as_written(value, lambda text: amounts.canonical_quantity(text.strip(" "), digits))
    if kind in _TEXTS and isinstance(value, str):
        return _or_as_written(value, _TEXTS[kind])
    return value


def _or_as_written(value: Any, form: Callable[[str], str]) -> Any:
    try:
        return form(str(value))
    except ValueError:
        return value


def _duration(text: str) -> str:
    return amounts.format_duration(amounts.parse_duration(text))


_TEXTS: dict[str, Callable[[str], str]] = {"duration": _duration, "duration or nanoseconds": _duration, "time": moment}


def _element(entry: Config, field: Field, minor: int) -> dict[str, Any]:
    """Return an object of a list with its members as Go writes them; members that no kubelet knows stay."""
    result = paths.present(entry)
    for name in fields.children(f"{field.path}[]"):
        member = fields.ALL[f"{field.path}[].{name}"]
        value = canonical(result.pop(name, None), member, minor)
        if value is None and member.unset != "nil":
            value = {} if member.type.startswith("map[") else _ZEROS.get(member.type, 0)
        if not (value in (None, _NO_TIME) or (member.zero_omitted and is_zero(value, member))):
            result[name] = value
    return result


def mask(path: str, value: Any) -> Any:
    """Return a value for display: the values of a secret field are hidden, its shape and keys are not."""
    return _hide(value) if fields.is_secret(path) else value


def masked(config: Config) -> dict[str, Any]:
    """Return a configuration for display, with secrets masked."""
    return {key: mask(paths.show((key,)), value) for key, value in config.items()}


def diff(before: Config | None, after: Config | None, before_header: str, after_header: str) -> dict[str, str]:
    """Return an entry of Ansible's ``diff`` for two configurations; None stands for an absent one."""
    return {
        "before": render(masked(before)) if before is not None else "",
        "after": render(masked(after)) if after is not None else "",
        "before_header": before_header,
        "after_header": after_header,
    }


def _hide(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _hide(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return list(map(_hide, value))
    return value if value is None else HIDDEN
