# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters rollout_order, rollout_batch, rollout_failures and rollback_plan: who comes when in a rollout, and what
became of them.
"""

from __future__ import annotations

import itertools
import re
import typing as t

from ansible.errors import AnsibleFilterError

Table = t.Mapping[str, t.Mapping[str, t.Any]]
LAST = "last"
FIRST = "first"
NATIVE = "native"
FAILURES = ("assign_failure", "verify_failure")
"""Variables of a host: why the role assign could not switch it, and why the role verify could not confirm it or take it
back.
"""
LOST = (
    "the host could not be reached to the end of the work. Without a confirmation its guard takes the configuration back; run again when it can be "
    "reached"
)


def rollout_order(
    plan: t.Mapping[str, t.Any],
    table: Table,
    rows: t.Mapping[str, t.Mapping[str, t.Any]],
    serial: t.Any = None,
    max_unavailable: t.Any = 1,
    control_plane: str = LAST,
    unready_first: bool = False,
) -> dict[str, t.Any]:
    """Return the hosts that have something to do, in their order, as two stages: workers and control plane, the latter
    one at a time.

    C(stages): each with its C(hosts) and the C(serial) of its play. C(hosts): both stages' hosts. C(resets): in the
    same form those that a rollback brings to their local config. C(batches): the node names of each batch of all these,
    by host. C(rest): hosts with nothing to do. C(rows) are those of node_config_info. A C(serial) in percent is of the
    play's hosts, as in Ansible; without one it is a single canary, then as many as may be unavailable.
    """
    if control_plane not in (LAST, FIRST):
        raise AnsibleFilterError(f"kubelet_config_control_plane is {control_plane!r}: use {LAST} or {FIRST}")
    busy = [
        name
        for name in table["hosts"]
        if name in plan["nodes"] and (plan["nodes"][name]["action"] == "assign" or plan["nodes"][name]["changes"])
    ]
    if unready_first:
        busy.sort(key=lambda name: rows[name]["ready"])
    sizes = _sizes([1, max_unavailable] if serial in (None, "") else serial, len(table["hosts"]))
    workers = [name for name in busy if not rows[name]["control_plane"]]
    masters = [name for name in busy if rows[name]["control_plane"]]
    local = [name for name in plan.get("local", ()) if name in table["hosts"]]
    stages = [_stage(table, workers, sizes), _stage(table, masters, [1])]
    if control_plane == FIRST:
        stages.reverse()
    resets = _stage(table, local, [1] if any(rows[name]["control_plane"] for name in local) else sizes)
    hosts = [host for stage in stages for host in stage["hosts"]]
    busy_hosts = {*hosts, *resets["hosts"]}
    names = {host: name for name, host in table["hosts"].items()}
    batches = [
        {host: names[host] for host in batch}
        for stage in (*stages, resets)
        for batch in _batches(stage["hosts"], stage["serial"])
    ]
    return {
        "stages": stages,
        "hosts": hosts,
        "resets": resets,
        "batches": batches,
        "rest": [host for host in table["hosts"].values() if host not in busy_hosts],
    }


def _stage(table: Table, names: t.Sequence[str], serial: list[int]) -> dict[str, t.Any]:
    return {"hosts": [table["hosts"][name] for name in names], "serial": serial}


def _batches(hosts: t.Sequence[str], serial: t.Sequence[int]) -> t.Iterator[t.Sequence[str]]:
    """Yield the batches of a play as Ansible makes them: the last size serves all that are left."""
    start = 0
    for size in itertools.chain(serial, itertools.repeat(serial[-1])):
        if start >= len(hosts):
            return
        yield hosts[start : start + size]
        start += size


def _sizes(serial: t.Any, hosts: int) -> list[int]:
    """Return batch sizes. A survey of AWX has no lists, so commas do as well."""
    given = serial if isinstance(serial, (list, tuple)) else str(serial).split(",")
    return [_size(str(item).strip(), hosts) for item in given]


def _size(item: str, hosts: int) -> int:
    found = re.fullmatch(r"(\d+)(%?)", item)
    if not found or not int(found[1]):
        raise AnsibleFilterError(
            f"kubelet_config_serial has {item!r}: use numbers above 0 or percentages, for example 1 or [1, '10%', '25%']"
        )
    # As Ansible counts: rounded down, one at least.
    return max(1, int(found[1]) * hosts // 100) if found[2] else int(found[1])


def rollout_batch(order: t.Mapping[str, t.Any], host: str) -> dict[str, t.Any]:
    """Return the batch of a host of rollout_order, and where it stands.

    C(nodes): its node names by host, as it was when the rollout began (a play's own list loses the hosts that fail).
    C(names): these names. C(started): whether another came before it. C(done): how many hosts have had their turn when
    it ends. C(untouched): the hosts that come after it.
    """
    hosts = [*order["hosts"], *order["resets"]["hosts"]]
    nodes = next((batch for batch in order["batches"] if host in batch), None)
    if nodes is None:
        raise AnsibleFilterError(f"rollout_batch: host {host} is in no batch")
    begin = hosts.index(next(iter(nodes)))
    end = begin + len(nodes)
    return {"nodes": nodes, "names": list(nodes.values()), "started": begin > 0, "done": end, "untouched": hosts[end:]}


def rollout_failures(
    batch: t.Mapping[str, str],
    hosts: t.Container[str],
    hostvars: t.Mapping[str, t.Mapping[str, t.Any]],
    *results: t.Any,
) -> dict[str, str]:
    """Return why nodes failed, by name, from the results of the bulk calls of a batch and from what went wrong on the
    hosts themselves.

    C(batch): the node names, by host, with which the batch began. Those of them that are not among the C(hosts) any
    more were lost on the way.
    """
    rows: dict[str, list[t.Mapping[str, t.Any]]] = {}
    for result in results:
        for name, row in ((result or {}).get("nodes") or {}).items():
            rows.setdefault(name, []).append(row)
    reasons = {}
    for host, name in batch.items():
        told = rows.get(name, [])
        reasons[name] = [LOST] if host not in hosts else []
        reasons[name] += [row["message"] for row in told if not row.get("ok", True)]
        # Nothing is done on the host of a node with native delivery, and to ask for the variables of all hosts takes
        # longer than the rest of this.
        if not any(row.get("delivery") == NATIVE for row in told):
            reasons[name] += filter(None, map(hostvars[host].get, FAILURES))
    return {name: "; ".join(given) for name, given in reasons.items() if given}


def rollback_plan(
    rows: t.Mapping[str, t.Mapping[str, t.Any]], source: t.Mapping[str, str] | None = None
) -> dict[str, t.Any]:
    """Return a plan that gives nodes what they ran before, or all of them one C(source), by the rows of
    node_config_info.

    C(local): nodes that ran their local config before. C(unknown): nodes of which nothing is known, since nobody has
    rolled out to them. C(text): for people.
    """
    plan: dict[str, t.Any] = {"nodes": {}, "variants": {}, "local": [], "unknown": [], "text": []}
    for name, row in rows.items():
        goal = source or row["previous"]
        if goal is None:
            plan["unknown"].append(name)
        elif not goal:
            if row["source"] or row["config_source"]:
                plan["local"].append(name)
        elif not row["settled"] or _place(row["active"]) != _place(goal):
            plan["nodes"][name] = {"action": "assign", "source": _place(goal), "changes": [], "effect": None}
            plan["text"].append(f"{name}: {_told(row['active'])} -> {_told(goal)}")
    plan["text"] += [f"{name}: {_told(rows[name]['active'])} -> its local config" for name in plan["local"]]
    plan["text"] += [f"{name}: left alone, it is not known what it ran before" for name in plan["unknown"]]
    return plan


def _told(reference: t.Mapping[str, str] | None) -> str:
    return f"{reference['namespace']}/{reference['name']}" if reference else "its local config"


def _place(reference: t.Mapping[str, str] | None) -> dict[str, str]:
    return (
        {key: reference[key] for key in ("namespace", "name", "kubeletConfigKey") if key in reference}
        if reference
        else {}
    )


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {
            "rollout_order": rollout_order,
            "rollout_batch": rollout_batch,
            "rollout_failures": rollout_failures,
            "rollback_plan": rollback_plan,
        }
