# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of every leaf of KubeletConfiguration in notations that Go writes differently, made from the field table.

`leaves` has values of every kind, for the unit tests of `compare.canonical`. `respelt` has what a kubelet runs already,
for `tests/contract/test_values.py` and `tests/e2e_modern/test_kubelet_answers.py`, which give it to kubelets.
"""

from __future__ import annotations

import copy
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, fields, gates
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.compare import FLUSH_TEXT
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.field_row import Field
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import amounts, paths

Config = dict[str, t.Any]

DURATIONS = ("1m", "90s", "1.5h", "0.5s", "1h1h", "+5m", "1000000us", "1.123456789123s", "0", "0s", ".5m")
QUANTITIES = (
    *("2048Mi", "1.5Gi", "1024Ki", "1000", 1000, 1.5, "0.5", " 1Gi ", "1e3", "1000m", "1.1Ki", "0Mi", "+1", "100n"),
)
OF_TYPE: dict[str, tuple[t.Any, ...]] = {
    "bool": (True, False),
    "int32": (0, 1, 7),
    "int64": (0, 1, 2**40),
    "uint32": (0, 1, 2**31 - 1),
    "float": (1, 0.5, 0.80),
    "string": ("", "a"),
    "duration": DURATIONS,
    "quantity": QUANTITIES,
    "time": ("2024-01-01T01:00:00.5+02:00", "2024-01-01T01:00:00Z", "2024-01-01T01:00:00,25-11:30"),
}


def leaves(minor: int) -> t.Iterator[tuple[str, t.Any]]:
    """Yield the path of every leaf that a kubelet of this minor has, with each of its odd values."""
    for path, field in fields.ALL.items():
        if field.type != "object" and field.exists_at(minor):
            yield from ((path, value) for value in _values(field.type, path, minor))


def config_of(path: str, value: t.Any) -> Config:
    """Return a configuration that sets one leaf; where its path leads into a list, in one object of that list."""
    config: t.Any = value
    for name in reversed(path.split(".")):
        config = {name[:-2]: [config]} if name.endswith("[]") else {name: config}
    return t.cast("Config", config)


def joined(values: t.Mapping[str, t.Any]) -> Config:
    """Return the configuration that has these values at their paths."""
    result: Config = {}
    for path, value in values.items():
        *above, name = paths.parse(path)
        inside = result
        for key in above:
            inside = inside.setdefault(str(key), {})
        inside[str(name)] = value
    return result


def _values(kind: str, path: str, minor: int) -> tuple[t.Any, ...]:
    if kind == "duration or nanoseconds":
        return (0, 60, 5 * 10**9, *(DURATIONS if minor >= FLUSH_TEXT else ()))
    if kind == "list[object]":
        # One object with nothing, and one with something at each member.
        members = [fields.ALL[f"{path}[].{name}"] for name in fields.children(f"{path}[]")]
        full = [{m.path.rpartition(".")[2]: _values(m.type, m.path, minor)[-1] for m in members}]
        return ([], full, [{}, *full])
    if kind.startswith("list["):
        return ([], [inner for inner in _values(kind[len("list[") : -1], path, minor) if inner != ""])
    if kind.startswith("map["):
        return ({}, *({"a": inner} for inner in _values(kind[len("map[string]") :], path, minor)))
    return OF_TYPE[kind]


TURNS = 8
"""How many notations of a duration `respelt` has, the zero that means a default included."""
OPTIONS_GATE, OPTIONS_SINCE = "LoggingAlphaOptions", 25
"""What the sizes of buffers need, from the first minor that looks at it."""
# What /configz does not show by itself, in forms that Go changes, and that start on every node. Nothing changes by them
# on a Node that exists.
ADDED: dict[str, t.Any] = {
    "registerWithTaints": [
        {"key": "livenodes.test/a", "value": "", "effect": "PreferNoSchedule"},
        {"value": None, "key": "livenodes.test/b", "effect": "PreferNoSchedule", "timeAdded": None},
    ],
    "reservedMemory": [{"limits": {"memory": "1024Mi"}}],
    "logging.vmodule": [{"filePattern": "nothing*"}, {"filePattern": "nothing_else", "verbosity": 2}],
    "logging.options.json.infoBufferSize": "2048Ki",
    "logging.options.text.infoBufferSize": "0.5Mi",
    "imageMaximumGCAge": "90000s",
    "crashLoopBackOff.maxContainerRestartPeriod": "90s",
    "tracing.samplingRatePerMillion": 0,
}
NEEDS = {
    "crashLoopBackOff.maxContainerRestartPeriod": "KubeletCrashLoopBackOffMax",
    "imageMaximumGCAge": "ImageMaximumGCAge",
    "tracing.samplingRatePerMillion": "KubeletTracing",
}
"""The gates that are not switched here: without them, their fields are left as they are."""


def respelt(shown: t.Mapping[str, t.Any], minor: int, turn: int) -> Config:
    """Return what a kubelet shows in /configz with every leaf in another notation, the `turn`-th of TURNS.

    The last turn has a zero at each leaf where that means the default which the kubelet runs. The values ADDED are
    added, where the minor has them.
    """
    result = copy.deepcopy(dict(shown))
    leaves_of = {p: f for p, f in fields.ALL.items() if f.type != "object" and "[" not in p and f.exists_at(minor)}
    for path, field in leaves_of.items():
        above, name = _inside(result, path)
        if name in above:
            above[name] = _respelt(above[name], field, minor, turn)
    for path in leaves_of.keys() & ADDED.keys():
        if path not in NEEDS or gates.default(NEEDS[path], minor):
            above, name = _inside(result, path, create=True)
            above[name] = ADDED[path]
    if minor >= OPTIONS_SINCE:
        result["featureGates"] = {**(result.get("featureGates") or {}), OPTIONS_GATE: True}
    return result


def _respelt(value: t.Any, field: Field, minor: int, turn: int) -> t.Any:
    zero = (
        field.unset_at(minor) == "zero" and field.path != "nodeStatusReportFrequency"
    )  # Its zero follows a neighbour.
    if turn == TURNS - 1 and zero and compare.same(value, field.default_at(minor)):
        return {"string": "", "duration": "0", "quantity": "0Mi"}.get(field.type, 0)
    if field.type == "quantity":
        whole = int(amounts.parse_quantity(value))
        return (whole, str(whole), f"{whole}000m", f"{whole}.0")[turn % 4]
    if "duration" not in field.type or isinstance(value, int):
        return value
    given = amounts.parse_duration(value)
    sign, size = ("-" if given < 0 else ""), abs(given)
    return (
        f"{sign}{size}ns",
        f"{sign}{size // 1000}us{size % 1000}ns",
        f"{sign}{size // 1000}\u03bcs{size % 1000}ns",
        f"{sign}0h{size // 10**6}ms{size % 10**6}ns",
        f"{sign}{size % 10**9}ns{size // 10**9}s",
        f"{sign or '+'}{size // 10**9}.{size % 10**9:09}s",
        f"{sign}0.5ns{size}ns",
        given if field.type != "duration" else value,
    )[turn]


def _inside(config: Config, path: str, create: bool = False) -> tuple[Config, str]:
    """Return the object that has the leaf of a path, and its name there; an empty one if there is none to create."""
    *above, name = path.split(".")
    for key in above:
        config = config.setdefault(key, {}) if create else config.get(key) or {}
    return config, name
