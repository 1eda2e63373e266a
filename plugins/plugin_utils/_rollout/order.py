# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of a rollout: which hosts change, in which stages and batches."""

from __future__ import annotations

import itertools
from typing import Any, Iterator, Mapping, Sequence

from ansible.inventory.manager import split_host_pattern

from ...module_utils._config import delivery as deliveries
from ...module_utils._config.values import amounts, following
from ...module_utils._config.values.node_row import first_of
from ...module_utils._config.values.short_texts import items_of
from . import goals

Table = Mapping[str, Mapping[str, Any]]
LAST, FIRST = "last", "first"


def order(
    plan: Mapping[str, Any],
    goal: str,
    table: Table,
    rows: Table,
    max_unavailable: Any,
    serial: Any = None,
    control_plane: str = LAST,
    unready_first: bool = False,
    lost: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the hosts that the plan changes, in rollout order, as two stages: the workers and the control plane.

    With C(control_plane=first), the control plane is first. In each stage, the nodes that are assigned a source precede
    those that the plan returns to their local configuration (its C(local)). A batch has nodes of one kind only.

    C(rows) are those of node_config_info for the Nodes of the group that exist; percentages count only these. C(lost):
    by name, why nodes of the group are away; those that exist use up the budget. C(serial) is Ansible's; a percentage
    counts the hosts of the play. Without C(serial), the first batch is a single canary and each further one has as many
    nodes as C(max_unavailable) leaves. Control-plane nodes are always changed one at a time.

    Nodes that have failed are first, since no other node needs to be risked for them; with C(unready_first), those that
    are not Ready precede them.

    Keys of the result: C(stages), each with the C(hosts) and the C(serial) of its play, where each host is a pattern;
    C(hosts), those of all stages by name; C(batches), each with its C(nodes) (node names by host) and C(steps) (the
    entry point of the role `assign` that changes them); C(rest), the hosts that need no change.

    Raises ValueError for an unknown C(control_plane), C(serial) or C(max_unavailable), for a batch that could never
    begin, since the budget is smaller, and for a node that its transport does not reach.
    """
    if control_plane not in (LAST, FIRST):
        raise ValueError(f"kubelet_config_control_plane is {control_plane!r}: use {LAST} or {FIRST}")
    allowed = _size("kubelet_config_max_unavailable", max_unavailable, len(rows))
    away = {name: why for name, why in (lost or {}).items() if name in rows}
    left = allowed - len(away)
    present = rows.keys() & table["hosts"].keys()
    sizes = _sizes(serial, len(present)) or [1, max(1, left)]
    kinds = _kinds(plan, goal, table, rows, unready_first)
    if goal not in (goals.CHECKPOINT, goals.NATIVE):
        # Those migrations log in.
        _refuse_unreached(kinds, plan, table, rows)
    stages = [_stage(table, _of_role(kinds, rows, False), sizes), _stage(table, _of_role(kinds, rows, True), [1])]
    if control_plane == FIRST:
        stages.reverse()
    plays = [_play(stage) for stage in stages]
    batches = [*stages[0], *stages[1]]
    hosts = _hosts(batches)
    _refuse_above(max([0, *plays[0]["serial"], *plays[1]["serial"]]), left, allowed, away)
    changed = set(hosts)
    return {
        "stages": plays,
        "hosts": hosts,
        "batches": batches,
        "rest": [host for host in table["hosts"].values() if host not in changed],
    }


Kinds = Sequence["tuple[str, Sequence[str]]"]


def _kinds(plan: Mapping[str, Any], goal: str, table: Table, rows: Table, unready_first: bool) -> Kinds:
    """Return the nodes to assign a source, and those to return to their local configuration, with their steps."""

    def rank(name: str) -> tuple[bool, bool]:
        return unready_first and bool(rows[name]["ready"]), not rows[name].get("error")

    assigned = []
    for name in table["hosts"]:
        if name in plan["nodes"] and changes(plan["nodes"][name]):
            assigned.append(name)
    local = [name for name in plan.get("local", ()) if name in table["hosts"]]
    return [(goals.entry_point(goal), sorted(assigned, key=rank)), (goals.RESET, sorted(local, key=rank))]


def _refuse_above(largest: int, left: int, allowed: int, away: Mapping[str, str]) -> None:
    """Raise ValueError if the largest batch has more nodes than the budget leaves: its gate would refuse it."""
    if largest <= max(0, left):
        return
    used = "".join(f"\n{name}: {why}" for name, why in away.items())
    counted, smaller = "", ""
    if away:
        counted = f", and {len(away)} of the group are away"
    if left > 0:
        smaller = f"set kubelet_config_serial to at most {left}, or "
    raise ValueError(
        f"the largest batch has {largest} nodes, but at most {allowed} of the group may be unavailable at once "
        f"(kubelet_config_max_unavailable){counted}. Nothing was changed. To go on, {smaller}raise "
        f"kubelet_config_max_unavailable to at least {largest + len(away)}{used}"
    )


def _refuse_unreached(kinds: Kinds, plan: Mapping[str, Any], table: Table, rows: Table) -> None:
    """Raise ValueError if a node that changes has no follower for its transport: its batch would stop the rollout."""
    faults: dict[str, list[str]] = {}
    for _steps, names in kinds:
        for name in names:
            row = rows[name]
            delivery = plan["nodes"].get(name, {}).get("delivery") or row.get("delivery")
            if not deliveries.of(delivery).on_node:
                continue
            reported = (row.get("follower") or {}).get("format")
            transport = table.get("transports", {}).get(name, following.AUTO)
            faults.setdefault(following.unreached(reported, transport), []).append(name)
    faults.pop("", None)
    if faults:
        found = "; ".join(f"{first_of(names)}: {why}" for why, names in faults.items())
        raise ValueError(f"{found}. Nothing was changed")


def changes(row: Mapping[str, Any]) -> bool:
    """Return whether a plan changes the node of this row, or must verify it since its live configuration differs."""
    return row["action"] == "assign" or bool(row["changes"])


def _of_role(kinds: Kinds, rows: Table, control_plane: bool) -> Kinds:
    """Return the nodes of each kind that are control-plane nodes, or that are workers."""
    found = []
    for steps, names in kinds:
        found.append((steps, [name for name in names if rows[name]["control_plane"] is control_plane]))
    return found


def _stage(table: Table, kinds: Kinds, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Return the batches of a stage."""
    stage = []
    for steps, names in kinds:
        for batch in _batches(names, sizes):
            stage.append({"steps": steps, "nodes": {table["hosts"][name]: name for name in batch}})
    return stage


def _hosts(batches: Sequence[Mapping[str, Any]]) -> list[str]:
    hosts: list[str] = []
    for batch in batches:
        hosts += batch["nodes"]
    return hosts


def changing(ordered: Mapping[str, Any]) -> list[str]:
    """Return the nodes that an order changes, by name."""
    names: list[str] = []
    for batch in ordered["batches"]:
        names += batch["nodes"].values()
    return names


def _play(stage: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the hosts and the serial of the play of a stage. Each size is given, since no batch has two kinds."""
    hosts: list[str] = []
    serial: list[int] = []
    for batch in stage:
        hosts += map(pattern, batch["nodes"])
        serial.append(len(batch["nodes"]))
    return {"hosts": hosts, "serial": serial}


def pattern(host: str) -> str:
    """Return the pattern by which the C(hosts) of a play name one host, which is its name if Ansible reads that as one.

    Ansible splits a name at spaces, commas and colons, and leaves out hosts after an exclamation mark.
    """
    if split_host_pattern(host) == [host] and host[0] not in "!&":
        return host
    # An escape has none of the characters that Ansible splits at.
    escaped = "".join(sign if sign.isalnum() else f"\\U{ord(sign):08x}" for sign in host)
    return f"~^{escaped}$"


def _batches(names: Sequence[str], sizes: Sequence[int]) -> Iterator[Sequence[str]]:
    """Yield the batches as Ansible makes them: the last size is used for all further batches."""
    start = 0
    for size in itertools.chain(sizes, itertools.repeat(sizes[-1])):
        if start >= len(names):
            return
        yield names[start : start + size]
        start += size


def _sizes(serial: Any, hosts: int) -> list[int]:
    """Return batch sizes, none if C(serial) is not set."""
    if serial in (None, ""):
        return []
    return [_size("kubelet_config_serial", item, hosts) for item in items_of(serial)]


def _size(variable: str, item: Any, hosts: int) -> int:
    found = amounts.parse_node_count(item)
    if not found or not found.number:
        raise ValueError(
            f"{variable} contains {str(item).strip()!r}: use numbers above 0 or percentages, "
            "for example 1 or [1, '10%', '25%']"
        )
    return found.of(hosts)
