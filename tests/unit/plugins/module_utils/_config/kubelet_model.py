# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a 1.20 kubelet does with a configuration, as a model made from the facts alone and not from the code under test.

It fills in defaults and renders /configz by tools/data/fields-1.20.yaml, and offers hypothesis strategies for
configurations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

FACTS = Path(__file__).resolve().parents[5] / "tools" / "data" / "fields-1.20.yaml"
ROWS: list[dict[str, Any]] = yaml.safe_load(FACTS.read_text(encoding="utf-8"))["fields"]
LEAVES = [row for row in ROWS if row["type"] != "object"]
HEADER = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}

# As written, as Go prints it.
DURATIONS = {
    "90s": "1m30s",
    "1.5m": "1m30s",
    "1m30s": "1m30s",
    "0s": "0s",
    "0": "0s",
    "100ms": "100ms",
    "4h": "4h0m0s",
    "0.5s": "500ms",
    "1h0m1s": "1h0m1s",
}
ZERO = {
    "bool": False,
    "int32": 0,
    "int64": 0,
    "string": "",
    "duration": "0s",
    "[]string": [],
    "map[string]string": {},
    "map[string]bool": {},
    "map[string][]string": {},
}
_TEXT = st.sampled_from(["", "a", "b.c", "/var/x"])
_KEY = st.sampled_from(["a", "memory.available", "nodefs.available", "cpu"])
_BY_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int32": st.integers(-3, 70000),
    "int64": st.integers(-3, 2**40),
    "string": _TEXT,
    "duration": st.sampled_from(sorted(DURATIONS)),
    "[]string": st.lists(_TEXT, max_size=2),
    "map[string]string": st.dictionaries(_KEY, st.sampled_from(["1", "5%", "1Gi"]), max_size=2),
    "map[string]bool": st.dictionaries(_KEY, st.booleans(), max_size=2),
    "map[string][]string": st.dictionaries(_KEY, st.lists(_TEXT, max_size=2), max_size=2),
}


def get(config: Any, path: str) -> Any:
    """Return the value at a dotted path, None when there is none."""
    for key in path.split("."):
        config = (config or {}).get(key)
    return config


def put(config: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a dotted path."""
    *parents, name = path.split(".")
    for key in parents:
        config = config.setdefault(key, {})
    config[name] = value


def configz(config: dict[str, Any]) -> dict[str, Any]:
    """Return the kubeletconfig object that /configz of a kubelet with this configuration shows."""
    shown: dict[str, Any] = {}
    for row in ROWS:
        if row["type"] == "object":
            put(shown, row["name"], {})
    for row in LEAVES:
        value = _effective(config, row)
        if row["zero_shown"] == "shown" or value != ZERO[row["type"]]:
            put(shown, row["name"], value)
    return shown


def _effective(config: dict[str, Any], row: dict[str, Any]) -> Any:
    value, zero, default = get(config, row["name"]), ZERO[row["type"]], row["default"]
    if row["type"] == "duration" and value is not None:
        value = DURATIONS[value]
    if row["name"] == "nodeStatusReportFrequency" and value in (None, zero):
        update = get(config, "nodeStatusUpdateFrequency")
        default = default if update is None or DURATIONS[update] == "0s" else DURATIONS[update]
    if row["name"] == "podPidsLimit" and value is not None and value < 0:
        return -1
    if value is None or (row["unset"] == "zero" and value == zero):
        value = default
    return zero if value is None else value


for _shown in [
    *DURATIONS.values(),
    *(row["default"] for row in LEAVES if row["type"] == "duration" and row["default"]),
]:
    DURATIONS.setdefault(_shown, _shown)


@st.composite
def configs(draw: st.DrawFn, most: int = 12) -> dict[str, Any]:
    """Return fragments of configurations: any fields, any values of their types, zero and empty ones often."""
    config: dict[str, Any] = {}
    for row in draw(st.lists(st.sampled_from(LEAVES), max_size=most, unique_by=lambda row: row["name"])):
        put(config, row["name"], draw(st.one_of(st.just(ZERO[row["type"]]), _BY_TYPE[row["type"]])))
    return config
