# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A strict reader of Prometheus' text format, version 0.0.4, as far as gauges use it.

It refuses more than node_exporter does: every metric has one HELP and one TYPE line, in this order, before its samples.
"""

from __future__ import annotations

import re
import typing as t

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"'
HELP = re.compile(rf"# HELP ({NAME}) ((?:[^\\\n]|\\\\|\\n)+)")
TYPE = re.compile(rf"# TYPE ({NAME}) gauge")
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? ([01])")
PREFIX = "kubelet_node_config_"


class Sample(t.NamedTuple):
    """One line: a value with its labels."""

    name: str
    labels: dict[str, str]
    value: int


def samples(text: str) -> list[Sample]:
    """Return the samples of a text. Raises ValueError with the first line that is not as it must be."""
    if not text.endswith("\n"):
        raise ValueError("the last line has no end")
    described, typed, found = "", "", []
    for line in text[:-1].split("\n"):
        help_line, type_line, sample = (kind.fullmatch(line) for kind in (HELP, TYPE, SAMPLE))
        if help_line:
            if any(sample.name == help_line[1] for sample in found):
                raise ValueError(f"a second description: {line}")
            described = help_line[1]
        elif type_line:
            typed = type_line[1]
            if typed != described:
                raise ValueError(f"a type without a description: {line}")
        elif sample and sample[1] == typed == described:
            labels = [(name, unescaped(value)) for name, value in re.findall(LABEL, sample[2] or "")]
            if len(dict(labels)) != len(labels):
                raise ValueError(f"a label twice: {line}")
            found.append(Sample(sample[1], dict(labels), int(sample[sample.re.groups])))
        else:
            raise ValueError(f"neither a description, a type nor a sample: {line}")
    return found


def unescaped(value: str) -> str:
    """Return a label's value without its escapes."""
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], value)


def short(text: str) -> dict[str, str]:
    """Return what the kubelet's metrics of its configuration state: the uid (local: `local`) of each part, the error.

    Raises ValueError for a text that is not as kubelets 1.11 to 1.23 served it.
    """
    found = {}
    for name, labels, value in samples(text):
        if name == f"{PREFIX}error" and not labels:
            found["error"] = str(value)
            continue
        if value != 1 or sorted(labels) != [
            "node_config_kubelet_key",
            "node_config_resource_version",
            "node_config_source",
            "node_config_uid",
        ]:
            raise ValueError(f"{name}{labels} {value}")
        found[name[len(PREFIX) :]] = labels["node_config_uid"] or labels["node_config_source"]
    return found
