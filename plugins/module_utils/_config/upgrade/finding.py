# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an upgrade would do to a node's kubelet, as rows."""

from __future__ import annotations

from typing import NamedTuple

STOPS = "stops"
"""The kubelet, or a static pod of it, would not start, or would end."""
UNKNOWN = "unknown"
"""It was not possible to find out whether the kubelet would start."""
CHANGES = "changes"
"""The kubelet would start and behave differently."""
STAYS = "stays"
"""Something stays as it is that would change without this collection."""
SEVERITIES = (STOPS, UNKNOWN, CHANGES, STAYS)
"""In the order in which they are shown."""

FLAG, GATE, FIELD, DEFAULT, VALUE, CGROUP, RUNTIME, POD, DELIVERY, BINARY, VERSION = KINDS = (
    "flag",
    "gate",
    "field",
    "default",
    "value",
    "cgroup",
    "runtime",
    "pod",
    "delivery",
    "binary",
    "version",
)
"""What a row is about."""


class Finding(NamedTuple):
    """One row. `message` states the cause, `remedy` what to do."""

    severity: str
    kind: str
    name: str
    """The flag, the gate, or the path of the field; empty for a finding about the whole node."""
    message: str
    remedy: str
    where: str = ""
    """The files that contain it, with the line where it is known; empty for a finding that has no place."""


def order(finding: Finding) -> tuple[int, int, str]:
    """Return the key to sort findings by: what stops a kubelet comes first."""
    return (SEVERITIES.index(finding.severity), KINDS.index(finding.kind), finding.name)
