# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of every leaf of KubeletConfiguration in notations that Go writes differently, made from the field table.

The unit tests of `canonical` compare them with themselves, `tests/e2e_modern/test_values.py` with what a kubelet shows.
"""

from __future__ import annotations

import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.canonical import FLUSH_TEXT
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import paths

Config = dict[str, t.Any]

DURATIONS = ("1m", "90s", "1.5h", "0.5s", "1h1h", "+5m", "1000000us", "1.123456789123s", "0", "0s", ".5m")
QUANTITIES = (
    "2048Mi",
    "1.5Gi",
    "1024Ki",
    "1000",
    1000,
    1.5,
    "0.5",
    " 1Gi ",
    "1e3",
    "1000m",
    "1.1Ki",
    "0Mi",
    "+1",
    "100n",
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
