# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that order the nodes of a rollout, collect the failures of a batch, and plan what is no rollout."""

from __future__ import annotations

import itertools
import re
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.livenodes.kubelet.plugins.filter.batch import moving_sources
from ansible_collections.livenodes.kubelet.plugins.filter.message import node_message
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift import drift_cause

Table = t.Mapping[str, t.Mapping[str, t.Any]]
Rows = t.Mapping[str, t.Mapping[str, t.Any]]
LAST = "last"
FIRST = "first"
NATIVE = "native"
CHECKPOINT = "checkpoint"
FAILURES = ("assign_failure", "verify_failure")
"""Host variables: why the role assign could not switch the host, and why the role verify could not confirm it."""
LOST = (
    "the connection to the host was lost during the batch. Its guard reverts a configuration that is not confirmed in "
    "time. Run again once the host is reachable"
)


def rollout_order(
    plan: t.Mapping[str, t.Any],
    table: Table,
    rows: Rows,
    serial: t.Any = None,
    max_unavailable: t.Any = 1,
    control_plane: str = LAST,
    unready_first: bool = False,
) -> dict[str, t.Any]:
    """Return the hosts that the plan changes, in rollout order, as four stages.

    Workers and control plane that are assigned a source, then workers and control plane that the plan returns to their
    local configuration (its C(local)). With C(control_plane=first), the control plane is first of each pair.

    C(rows) are those of node_config_info. C(serial) is Ansible's; a percentage counts the hosts of the play. Without
    C(serial), the first batch is a single canary and each further one has C(max_unavailable) nodes. Control-plane nodes
    are always changed one at a time.

    Keys of the result: C(stages), each with its C(hosts) and the C(serial) of its play; C(hosts), those of all stages;
    C(batches), the node names of each batch by host; C(rest), the hosts that need no change.

    Raises AnsibleFilterError for an unknown C(control_plane) or C(serial).
    """
    if control_plane not in (LAST, FIRST):
        raise AnsibleFilterError(f"kubelet_config_control_plane is {control_plane!r}: use {LAST} or {FIRST}")
    sizes = _sizes([1, max_unavailable] if serial in (None, "") else serial, len(table["hosts"]))
    kinds = (_changed_names(plan, table), [name for name in plan.get("local", ()) if name in table["hosts"]])
    stages = []
    for names in kinds:
        pair = _stages(
            table, rows, sorted(names, key=lambda name: rows[name]["ready"]) if unready_first else names, sizes
        )
        stages += reversed(pair) if control_plane == FIRST else pair
    hosts = [host for stage in stages for host in stage["hosts"]]
    return {
        "stages": stages,
        "hosts": hosts,
        "batches": _named_batches(table, stages),
        "rest": _without(table["hosts"].values(), set(hosts)),
    }


def _changed_names(plan: t.Mapping[str, t.Any], table: Table) -> list[str]:
    """Return the nodes of the table that the plan assigns a source to, in the order of the table."""
    return [name for name in table["hosts"] if name in plan["nodes"] and _changes(plan["nodes"][name])]


def _changes(row: t.Mapping[str, t.Any]) -> bool:
    return row["action"] == "assign" or bool(row["changes"])


def _stages(table: Table, rows: Rows, names: t.Sequence[str], sizes: list[int]) -> list[dict[str, t.Any]]:
    """Return the stage of the workers and the stage of the control plane."""
    workers = [name for name in names if not rows[name]["control_plane"]]
    masters = [name for name in names if rows[name]["control_plane"]]
    return [_stage(table, workers, sizes), _stage(table, masters, [1])]


def _named_batches(table: Table, stages: t.Iterable[t.Mapping[str, t.Any]]) -> list[dict[str, str]]:
    """Return the batches of the stages, each as node names by host."""
    names = {host: name for name, host in table["hosts"].items()}
    found = itertools.chain.from_iterable(_batches(stage["hosts"], stage["serial"]) for stage in stages)
    return [{host: names[host] for host in batch} for batch in found]


def _without(hosts: t.Iterable[str], known: t.Container[str]) -> list[str]:
    return [host for host in hosts if host not in known]


def _stage(table: Table, names: t.Sequence[str], serial: list[int]) -> dict[str, t.Any]:
    return {"hosts": [table["hosts"][name] for name in names], "serial": serial}


def _batches(hosts: t.Sequence[str], serial: t.Sequence[int]) -> t.Iterator[t.Sequence[str]]:
    """Yield the batches of a play as Ansible makes them: the last size is used for all further batches."""
    start = 0
    for size in itertools.chain(serial, itertools.repeat(serial[-1])):
        if start >= len(hosts):
            return
        yield hosts[start : start + size]
        start += size


def _sizes(serial: t.Any, hosts: int) -> list[int]:
    """Return batch sizes. AWX surveys have no lists, so C(serial) may also be a text with commas."""
    given = serial if isinstance(serial, (list, tuple)) else str(serial).split(",")
    return [_size(str(item).strip(), hosts) for item in given]


def _size(item: str, hosts: int) -> int:
    found = re.fullmatch(r"(\d+)(%?)", item)
    if not found or not int(found[1]):
        raise AnsibleFilterError(
            f"kubelet_config_serial contains {item!r}: use numbers above 0 or percentages, "
            "for example 1 or [1, '10%', '25%']"
        )
    # Ansible rounds down, to at least one host.
    return max(1, int(found[1]) * hosts // 100) if found[2] else int(found[1])


def rollout_batch(order: t.Mapping[str, t.Any], host: str) -> dict[str, t.Any]:
    """Return the batch of a host from the result of rollout_order, and its position in the rollout.

    C(nodes): its node names by host, as planned (Ansible drops failed hosts from a play's own list). C(names): these
    names. C(started): whether an earlier batch exists. C(done): how many hosts are done when the batch ends.
    C(untouched): the hosts of later batches.

    Raises AnsibleFilterError when the host is in no batch.
    """
    hosts = order["hosts"]
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
    """Return by node name why nodes of a batch failed, from the results of the controller's modules and of the hosts.

    C(batch): the node names by host at the start of the batch. A host of the batch that is missing in C(hosts) was lost
    during the batch. Of several results, the first that failed has the cause; what follows from it is left out.
    """
    rows: dict[str, list[t.Mapping[str, t.Any]]] = {}
    for result in results:
        for name, row in ((result or {}).get("nodes") or {}).items():
            rows.setdefault(name, []).append(row)
    reasons = {}
    for host, name in batch.items():
        found = rows.get(name, [])
        reasons[name] = [LOST] if host not in hosts else []
        reasons[name] += [row["message"] for row in found if not row.get("ok", True)][:1]
        # With native delivery no task runs on the host. Reading the variables of a host is slow, so it is skipped.
        if not any(row.get("delivery") == NATIVE for row in found):
            reasons[name] += _overrides(found, hostvars[host])
            reasons[name] += filter(None, map(hostvars[host].get, FAILURES))
    hosts_of = {name: host for host, name in batch.items()}
    return {name: node_message(given, name, hosts_of[name], node="") for name, given in reasons.items() if given}


def _overrides(rows: t.Iterable[t.Mapping[str, t.Any]], host: t.Mapping[str, t.Any]) -> list[str]:
    """Return what overrides values that are not live, from what the preflight found on the host."""
    kubelet = ((host.get("checkpoint_assigned") or {}).get("preflight") or {}).get("kubelet")
    paths = [item["path"] for row in rows if row.get("state") == "differs" for item in row.get("differences") or ()]
    return drift_cause.of_override(paths, kubelet) if kubelet and paths else []


def rollback_plan(rows: Rows) -> dict[str, t.Any]:
    """Return a plan that assigns to each node its previous source, from node_config_info's rows.

    C(local): nodes that ran their local configuration before. C(unknown): nodes whose previous configuration is unknown
    because no rollout has changed them. C(text): the plan for people, line by line.
    """
    plan: dict[str, t.Any] = {"nodes": {}, "variants": {}, "local": [], "unknown": [], "text": []}
    for name, row in rows.items():
        goal = row["previous"]
        if goal is None:
            plan["unknown"].append(name)
        elif not goal:
            if row["source"] or row["config_source"]:
                plan["local"].append(name)
        elif not row["settled"] or _place(row["active"]) != _place(goal):
            plan["nodes"][name] = {"action": "assign", "source": _place(goal), "changes": [], "effect": None}
            plan["text"].append(f"{name}: {_name(row['active'])} -> {_name(goal)}")
    plan["text"] += [f"{name}: {_name(rows[name]['active'])} -> its local config" for name in plan["local"]]
    plan["text"] += [f"{name}: not changed, its previous configuration is unknown" for name in plan["unknown"]]
    return plan


def reset_plan(rows: Rows) -> dict[str, t.Any]:
    """Return a plan that returns to their local configuration all nodes that do not run it, from the same rows.

    Includes nodes that only an annotation of this collection remains on. Keys as in the result of rollback_plan.
    """
    local = [name for name, row in rows.items() if _delivered(row)]
    text = [f"{name}: {_name(rows[name]['active'])} -> its local config" for name in local]
    return {"nodes": {}, "variants": {}, "local": local, "unknown": [], "text": text}


def _delivered(row: t.Mapping[str, t.Any]) -> bool:
    left = row["source"] or row["config_source"] or row["malformed"]
    return bool(left) or row["previous"] is not None or row["delivery"] == CHECKPOINT


def migration_plan(rows: Rows, delivery: str) -> dict[str, t.Any]:
    """Return a plan for the nodes to migrate to a delivery, from the same rows. It assigns the source that they run.

    Raises AnsibleFilterError for an unknown C(delivery).
    """
    sources = moving_sources(rows, delivery)
    nodes = {
        name: {"action": "assign", "source": source, "changes": [], "effect": None} for name, source in sources.items()
    }
    text = [f"{name}: {_name(source)} by delivery {delivery}" for name, source in sources.items()]
    return {"nodes": nodes, "variants": {}, "local": [], "unknown": [], "text": text}


def _name(reference: t.Mapping[str, str] | None) -> str:
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
            "reset_plan": reset_plan,
            "migration_plan": migration_plan,
        }
