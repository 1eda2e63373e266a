# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes of a play are skipped, since the cluster itself reports that they are away, and how many may be."""

from __future__ import annotations

from typing import Any, Mapping

from ...module_utils._config.values import amounts


def of_play(found: Mapping[str, Any], hosts: Mapping[str, str], limit: Any = None) -> dict[str, str]:
    """Return by node name why nodes of a play are skipped.

    C(found): the result of node_config_info for the group with C(skip). C(hosts): the inventory hosts of the play by
    node name. C(limit): how many of them may be skipped, as a number or a percentage of the Nodes of the group that
    exist; None for any number.

    Raises ValueError if there are more, if no node is left, and for an invalid C(limit).
    """
    skipped = {name: str(row["message"]) for name, row in found["away"].items() if name in hosts}
    if not skipped:
        return {}
    lines = "\n".join(named(skipped))
    counted = f"{len(skipped)} of {len(hosts)} nodes cannot take part"
    if len(skipped) == len(hosts):
        raise ValueError(f"{counted}, so there is nothing to do. Nothing was changed.\n{lines}")
    allowed = None if limit in (None, "") else allowed_of(limit, len(found["nodes"]))
    if allowed is not None and len(skipped) > allowed:
        raise ValueError(
            f"{counted}, and at most {allowed} may be skipped (kubelet_config_max_skipped, by default "
            "kubelet_config_max_unavailable). Repair them, remove their hosts from the inventory or the play, or raise "
            f"kubelet_config_max_skipped. Nothing was changed.\n{lines}"
        )
    return skipped


def named(skipped: Mapping[str, str]) -> list[str]:
    """Return a line for each skipped node, with the reason."""
    return [f"{name}: {why}" for name, why in skipped.items()]


def allowed_of(limit: Any, nodes: int) -> int:
    """Return how many of so many nodes may be skipped; unlike a budget, also none. Raises ValueError."""
    found = amounts.parse_node_count(limit)
    if found is None or (found.percent and found.number > 100):
        raise ValueError(f"kubelet_config_max_skipped is {limit!r}: use a number or a percentage, such as 2 or 5%")
    return found.of(nodes) if found.number else 0
