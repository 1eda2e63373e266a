# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The forms in which YAML can write a value, each with what a kubelet makes of it: for the reader and for kubelets."""

from __future__ import annotations

import typing as t


class Form(t.NamedTuple):
    """A field, its value as written behind `field:`, and that value in the kubelet's /configz.

    `default`: the value stands for none, so that /configz shows the kubelet's default, `live`.
    `since`: the first minor whose kubelet has the field.
    """

    field: str
    written: str
    live: t.Any
    default: bool = False
    since: int = 0

    @property
    def text(self) -> str:
        """The lines of a config file."""
        return f"{self.field}:{self.written}\n"

    @property
    def read(self) -> t.Any:
        """What a reader finds."""
        return None if self.default else self.live


# Harmless on a node, in every minor, and shown by /configz.
_SWITCHES = ("cpuCFSQuota", "serializeImagePulls", "makeIPTablesUtilChains", "enableContentionProfiling")
_NUMBERS = ("maxPods", "registryBurst", "nodeLeaseDurationSeconds", "containerLogMaxFiles", "eventBurst")
# The last two mean nothing unless these reservations are enforced.
_NAMES = ("clusterDomain", "systemReservedCgroup", "kubeReservedCgroup")
_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_42 = (
    *("42", "+42", "052", "0o52", "0O52", "0x2A", "0X2a", "+0x2a", "0b101010", "0B101010", "4_2", "42_", "0_52"),
    *("0x_2a", "4.2e1", "4.2E+01", "420e-1", "42.", "42.0"),
)
_INTEGERS = {**dict.fromkeys(_42, 42), "08": 8, "9_0.0": 90}
_FLOATS = {"0.8": 0.8, ".8": 0.8, "+.8": 0.8, "8e-1": 0.8, "0.8_0": 0.8, "00.8": 0.8, ".8E0": 0.8, "1": 1, "1.": 1}
# Values that are text, and look like something else.
_PLAIN = (
    *("cluster.local", "1.2.3.4", "0-3,8", "1220k", "2001-01-01", "12:30:45", "0b2", "0xg", "0o9", "1e", "_1", "1e400"),
    *("tRue", "nULL", "yess", "fe80::1", "a#b", "a:b"),
)
_TEXTS = {
    **{text: text for text in _PLAIN},
    "cluster.local # a comment": "cluster.local",
    "'no'": "no",
    '"no"': "no",
    "'it''s'": "it's",
    '"\\x61\\u0062\\U00000063\\t\\""': 'abc\t"',
    "several words": "several words",
    "several\n  words": "several words",
    "'several\n\n  words'": "several\nwords",
    '"several \\\n  words"': "several words",
    "|-\n  cluster.local": "cluster.local",
    ">-\n  several\n  words": "several words",
    "|\n  several\n  words": "several\nwords\n",
    ">+\n  several\n": "several\n\n",
    "|2-\n   several": " several",
}
_QUANTITIES = {
    " {cpu: 10m, memory: 10Mi}": {"cpu": "10m", "memory": "10Mi"},
    ' {"cpu":10m,"memory":"10Mi",}': {"cpu": "10m", "memory": "10Mi"},
    "\n  cpu: 10m\n  memory: 10Mi": {"cpu": "10m", "memory": "10Mi"},
    " { # a comment\n  cpu: 10m,\n  'memory' : '10Mi'\n  }": {"cpu": "10m", "memory": "10Mi"},
    " {}": {},
}
_LISTS = {
    ' ["10.96.0.10"]': ["10.96.0.10"],
    " [10.96.0.10, fd00::a]": ["10.96.0.10", "fd00::a"],
    "\n- 10.96.0.10\n- 'fd00::a'": ["10.96.0.10", "fd00::a"],
    "\n    - 10.96.0.10": ["10.96.0.10"],
    "\n-\n  10.96.0.10": ["10.96.0.10"],
    " [\n  10.96.0.10,\n  ]": ["10.96.0.10"],
}
_NOTHING = ("", " ~", " null", " Null", " NULL", " # a comment")

FORMS = (
    *(Form(_SWITCHES[at % 4], f" {word}", True) for at, word in enumerate(_TRUE)),
    *(Form(_SWITCHES[at % 4], f" {word}", False) for at, word in enumerate(_FALSE)),
    *(Form(_NUMBERS[at % 5], f" {word}", number) for at, (word, number) in enumerate(_INTEGERS.items())),
    *(Form("memoryThrottlingFactor", f" {word}", number, since=22) for word, number in _FLOATS.items()),
    *(Form(_NAMES[at % 3], f" {word}", text) for at, (word, text) in enumerate(_TEXTS.items())),
    *(Form("systemReserved", word, found) for word, found in _QUANTITIES.items()),
    *(Form("clusterDNS", word, found) for word, found in _LISTS.items()),
    *(Form("podPidsLimit", word, -1, default=True) for word in _NOTHING),
)


def rounds(minor: int) -> list[list[Form]]:
    """Return the forms for a kubelet of this minor in few lists, each with at most one form of a field."""
    found: list[list[Form]] = []
    for form in FORMS:
        if form.since > minor:
            continue
        free = [one for one in found if form.field not in {other.field for other in one}]
        if free:
            free[0].append(form)
        else:
            found.append([form])
    return found
