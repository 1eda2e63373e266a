# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides from the live cluster whether a batch of nodes may begin, and which nodes of a group are away.

A batch waits for window, pause, budget and control plane, in this order.

Each check is one GET (pause), one PATCH (Lease) and one LIST of nodes. If a Node has not been written for a long time,
one LIST of heartbeats follows, and a GET of the configz of each kubelet that is silent. If the batch is a control-plane
node, one LIST of pods follows.
"""

from __future__ import annotations

import time
import typing as t

from ..._config.forecast import admission, machine_size
from ..._config.values import amounts, node_row
from ..api import timestamps
from ..api.errors import ClusterError
from ..api.session import Session
from ..objects import kubelets, node_requests, nodes, pods
from ..objects.lease import Keeper
from ..stages import diagnose, node_rows, soak
from . import drain_steps, pause

# Seconds between two checks.
_POLL = 2.0
# Seconds without a heartbeat after which a kubelet counts as dead. A kubelet renews its Lease every 10 s and writes its
# Node at least every 5 minutes. The Node of a dead kubelet stays Ready until the node controller reacts after 40 s.
_SILENT = 60.0
# The state of a node that a rollout skips.
_SKIPPED = "skipped"

_Nodes = t.Mapping[str, nodes.Node]
_Result = t.Dict[str, t.Any]


def gate(session: Session, options: dict[str, t.Any], check_mode: bool) -> _Result:
    """Wait until the batch may begin, at most `timeout` seconds; check mode does not wait.

    Raises ClusterError with the obstacles if the batch may not begin, and if pods would be lost.
    """
    batch = group = list(dict.fromkeys(options["nodes"]))
    if options["group_nodes"] is not None:
        group = list(dict.fromkeys(options["group_nodes"]))
    _check_names(batch, group)
    _limit(options["max_unavailable"], batch, len(group))
    loss = soak.allowed(options["allow_pod_loss"])
    started = end = time.monotonic()
    if not check_mode:
        end += options["timeout"]
    while True:
        began = time.monotonic()
        result: _Result = {"changed": False, "nodes": {}, "budget": {}, "paused": None, "pods": {}}
        pause.check_window(options["window"] or {}, result)
        pause.check_pause(session, options, result)
        Keeper(session, options["lease"], check_mode).keep()
        found = node_requests.find(session, group)
        # What was planned is not there: it takes nothing from the budget, and the others of its batch begin without it.
        uids = options["uids"] or {}
        gone = node_requests.lost(session, {name: uids.get(name, "") for name in batch}, found)
        present = [name for name in batch if name not in gone]
        allowed = _limit(options["max_unavailable"], present, len(found))
        _note_absent(session, batch, group, found, gone, result)
        obstacles = _obstacles(session, options, present, allowed, found, result)
        now = time.monotonic()
        if not obstacles:
            return _begun(session, options, present, loss, found, result)
        if now >= end:
            waited = timestamps.span(now - started)
            first = f"{', '.join(batch)}: may still not begin after {waited}; nothing was changed there."
            raise ClusterError("\n".join([first, *obstacles]), result)
        time.sleep(min(max(_POLL, 2 * (now - began)), end - now))


def _begun(
    session: Session, options: dict[str, t.Any], batch: list[str], loss: int | None, found: _Nodes, result: _Result
) -> _Result:
    """Return the result with the pods of the batch and the time. Raises ClusterError if pods would be lost."""
    if options["pods"]:
        result["pods"] = pods.snapshot(session, batch, {name: found[name].labels for name in batch})
        undrained = [name for name in batch if name not in options["drained"]]
        _check_labels(undrained, loss, result)
    window = options["window"] or {}
    result["window"] = {"began": [*window.get("began", ()), time.time()]}
    return result


def _check_names(batch: list[str], group: list[str]) -> None:
    """Raise ClusterError for a batch that is not of the group."""
    strangers = sorted(set(batch) - set(group))
    if strangers:
        raise ClusterError(
            f"{', '.join(strangers)}: named in nodes but not in group_nodes; the budget is counted on group_nodes, "
            "so name the whole group there"
        )


def _limit(wanted: t.Any, batch: list[str], nodes_of_group: int) -> int:
    """Return how many nodes of the group may be unavailable.

    Raises ClusterError for invalid options, and for a batch that could never begin.
    """
    try:
        allowed = node_limit(wanted, nodes_of_group)
    except ValueError as error:
        raise ClusterError(f"max_unavailable: {error}") from error
    if len(batch) > allowed:
        raise ClusterError(
            f"the batch has {len(batch)} nodes ({', '.join(batch)}), and {_counted(wanted, allowed, nodes_of_group)}: "
            f"set serial to at most {allowed}, or raise max_unavailable"
        )
    return allowed


def _counted(wanted: t.Any, allowed: int, nodes_of_group: int) -> str:
    how = f"of {nodes_of_group}"
    if "%" in str(wanted):
        how = f"{wanted} of {nodes_of_group}, rounded down, at least 1"
    return f"at most {allowed} of the group may be unavailable at once (max_unavailable: {how})"


def _obstacles(
    session: Session,
    options: dict[str, t.Any],
    batch: list[str],
    allowed: int,
    found: _Nodes,
    result: _Result,
) -> list[str]:
    """Return the messages of all obstacles that may pass, and add the budget to the result.

    Raises ClusterError for an obstacle that cannot pass.
    """
    masters = _masters(batch, found, result)
    down = unavailable(session, found, options["reverted"])
    shown = {}
    for name, reasons in down.items():
        # Our cordon is that of a node drained for its change, also by an earlier run that was interrupted.
        under_way = name in batch and found[name].cordoned is not None and set(reasons) == {"cordoned"}
        if not under_way:
            shown[name] = "; ".join(reasons.values())
    left = room_left(allowed, shown, batch)
    result["budget"] = {"nodes": len(found), "limit": allowed, "unavailable": shown, "left": left}
    obstacles = []
    if len(batch) > left:
        obstacles += _over_budget(_counted(options["max_unavailable"], allowed, len(found)), left, batch, shown)
    if not options["allow_unready"]:
        obstacles += _unready(batch, down)
    if masters and not obstacles:
        return _control_plane(session, masters)
    return obstacles


def _note_absent(
    session: Session,
    batch: list[str],
    group: list[str],
    found: _Nodes,
    gone: t.Mapping[str, node_row.Row],
    result: _Result,
) -> None:
    """Add to the result a row for each node of the batch, and a warning with the others that do not exist."""
    begins = node_row.Row(True, "begins", "may begin")
    others = [name for name in group if name not in found and name not in batch]
    if others:
        result["warnings"] = [f"group_nodes: the cluster at {session.host} has no Node named {', '.join(others)}"]
    result["nodes"] = {name: gone.get(name, begins).shown() for name in batch}


def _masters(batch: list[str], found: _Nodes, result: _Result) -> list[str]:
    """Return the control-plane nodes of a batch. Raises ClusterError if it has others beside one."""
    masters = [name for name in batch if found[name].control_plane]
    if masters and len(batch) > 1:
        raise ClusterError(
            f"{', '.join(masters)}: control-plane nodes are changed one at a time, but the batch is "
            f"{', '.join(batch)}. Put each of them in its own batch (serial 1)",
            result,
        )
    return masters


def _check_labels(batch: list[str], allowed: int | None, result: _Result) -> None:
    """Raise ClusterError if the restart of a kubelet would cost its node more pods than allowed, because they require
    labels that the Node no longer has.
    """
    if allowed is None:
        return
    lines = []
    for name in batch:
        lost = _misplaced(result["pods"][name])
        if len(lost) > allowed:
            lines.append(f"{name}: {node_row.first_of(lost, between='; ', last='; and ')}")
    if lines:
        first = (
            "the batch may not begin, and nothing was changed on its nodes. Their restarted kubelets would "
            f"reject pods. {admission.REASON}:"
        )
        last = (
            "Correct the labels, move these pods to other nodes first, or accept their loss: "
            f"{soak.LIMIT} on each node (in roles: kubelet_config_allow_pod_loss)."
        )
        raise ClusterError("\n".join([first, *lines, last]), result)


def _misplaced(found: pods.Rows) -> list[str]:
    """Return the pods of a node whose labels it lacks, in words."""
    return [f"{row['namespace']}/{row['name']} needs {row['misplaced']}" for row in found.values() if row["misplaced"]]


def _over_budget(counted: str, left: int, batch: list[str], shown: dict[str, str]) -> list[str]:
    """Return what the batch exceeds, and a line for each unavailable node outside it."""
    others = [f"{name}: {why}" for name, why in shown.items() if name not in batch]
    verb = "is" if len(others) == 1 else "are"
    first = (
        f"{counted}, and {len(others)} outside the batch {verb}, whatever the cause: "
        f"{left} may begin, not {len(batch)}. Make them available, or raise max_unavailable, then run again:"
    )
    return [first, *others]


def _unready(batch: list[str], down: dict[str, dict[str, str]]) -> list[str]:
    """Return a line for each node of the batch that is not Ready."""
    lines = []
    for name in batch:
        if "ready" in down.get(name, ()):
            lines.append(
                f"{name}: in the batch and {down[name]['ready']}, so its new configuration could not be verified. "
                "Make it Ready first, or set allow_unready"
            )
    return lines


def unavailable(session: Session, found: _Nodes, reverted: t.Collection[str] = ()) -> dict[str, dict[str, str]]:
    """Return why nodes are unavailable, whatever the cause: by node, then by `ready`, `cordoned` and `failed`.

    What failed on the `reverted` nodes is known to the caller, and does not count once they are Ready again.
    """
    ages = _ages(session, found)
    down: dict[str, dict[str, str]] = {}
    for name, node in found.items():
        reasons = _reasons(node, ages.get(name), name in reverted)
        if reasons:
            down[name] = reasons
    return down


def _reasons(node: nodes.Node, silent_for: float | None, reverted: bool) -> dict[str, str]:
    """Return why one node is unavailable. `silent_for`: the seconds without a heartbeat, None if it sends them."""
    reasons = {}
    if node.ready != "True":
        reasons["ready"] = f"not Ready ({node.ready_reason or node.ready})"
    elif silent_for is not None:
        reasons["ready"] = (
            f"silent: its kubelet has sent no heartbeat for {timestamps.span(silent_for)} by the API server's "
            "clock, but its Node is still Ready"
        )
    if node.unschedulable:
        reasons["cordoned"] = "cordoned"
        if node.cordoned is not None:
            reasons["cordoned"] = drain_steps.cordon_in_words(node.cordoned)
    # A node that runs what it fell back to lacks nothing: its error is the evidence for its next change.
    if node.error and not reverted and not nodes.fell_back(node):
        reasons["failed"] = f"its configuration failed: {node.error}"
    return reasons


def _ages(session: Session, found: _Nodes) -> dict[str, float]:
    """Return the seconds since the last heartbeat, from the Leases, of Ready nodes that were not written for long.

    Nodes without a heartbeat or without a Lease are absent, and those whose kubelet answers: its clock is wrong.
    """
    ready = [name for name, node in found.items() if node.ready == "True"]
    if not ready:
        return {}
    now = session.server_time()
    old = []
    for name in ready:
        written = timestamps.parse(found[name].heartbeat)
        if written is not None and now - written > _SILENT:
            old.append(name)
    if not old:
        return {}
    ages = diagnose.silence(session, old)
    silent = [name for name, age in ages.items() if age > _SILENT]
    alive = _answering(session, found, silent)
    return {name: ages[name] for name in silent if name not in alive}


def _answering(session: Session, found: _Nodes, names: t.Iterable[str]) -> set[str]:
    """Return those of the nodes `found` and `names` whose kubelet answers: one GET of its configz for each."""
    outcomes = kubelets.live_configs(session, names, found)
    return {outcome.item for outcome in outcomes if outcome.error is None}


def _control_plane(session: Session, masters: list[str]) -> list[str]:
    """Return a message for each API server and etcd member on another node that is not Ready."""
    lines = []
    for node, row in pods.control_plane(session):
        if node not in masters and not row["ready"]:
            lines.append(
                f"{row['namespace']}/{row['name']} on {node or 'no node'} is not Ready "
                f"({row['reason'] or row['phase'] or 'unknown'}): the control-plane node {', '.join(masters)} waits "
                "for it. See `kubectl -n kube-system describe pod`, then run again"
            )
    return lines


def node_limit(wanted: t.Any, nodes: int) -> int:
    """Return how many of `nodes` nodes may be unavailable. `wanted` is a number or a percentage such as ``20%``.

    Raises ValueError with a message for operators for 0, for more than 100 % and for other values.
    """
    found = amounts.parse_node_count(wanted)
    if found is None:
        raise ValueError(f"{wanted!r} is neither a number nor a percentage of nodes: set for example 2 or 20%")
    if not found.number:
        raise ValueError(f"{str(wanted).strip()} allows no node to be changed: set 1 or more")
    if found.percent and found.number > 100:
        raise ValueError(f"{str(wanted).strip()} is more than all nodes: set at most 100%")
    return found.of(nodes)


def room_left(allowed: int, unavailable: t.Collection[str], batch: t.Collection[str]) -> int:
    """Return how many nodes a batch may have now: `allowed` less the unavailable nodes outside the batch, at least 0.

    Nodes of the batch count once, whatever their state. The batch may begin if it has no more nodes than this.
    """
    return max(0, allowed - len(set(unavailable) - set(batch)))


def info(session: Session, options: dict[str, t.Any], check_mode: bool) -> _Result:
    """Return a row for each node and the counts that budgets use; with the option `skip`, also who is away.

    A node is away if it does not exist, is not Ready, or is silent (see `unavailable`). With `unready`, one that is not
    Ready is away only if its kubelet does not answer: one GET of its configz. With `capacity`, also what the machine of
    each node has. Raises ClusterError.
    """
    found: _Nodes
    away: dict[str, t.Any] = {}
    if options["skip"]:
        found, away = _skipping(session, options)
    else:
        found = node_requests.read(session, options["nodes"], options["label_selectors"] or ())
    rows = {name: {**node_rows.row(node), "uid": node.uid} for name, node in found.items()}
    result: _Result = {"changed": False, "nodes": rows, "away": away, "summary": node_rows.summarise(rows)}
    if options.get("capacity"):
        result["capacity"] = {name: machine_size.capacity(node.capacity) for name, node in found.items()}
    return result


def _skipping(session: Session, options: dict[str, t.Any]) -> tuple[_Nodes, dict[str, t.Any]]:
    """Return the nodes that exist, and the rows of those that are away."""
    if not options["nodes"] or options["label_selectors"]:
        raise ClusterError("skip: name the nodes in the option nodes, without label_selectors")
    found = node_requests.find(session, options["nodes"])
    why = _away(session, options, found)
    # Not under `skipped`, which Ansible takes for a skipped task.
    away = {name: node_row.Row(False, _SKIPPED, why[name]).shown() for name in options["nodes"] if name in why}
    return found, away


def _away(session: Session, options: dict[str, t.Any], found: _Nodes) -> dict[str, str]:
    gone = node_requests.lost(session, dict.fromkeys(options["nodes"], ""), found)
    why = {name: row.message for name, row in gone.items()}
    for name, down in unavailable(session, found).items():
        if "ready" in down:
            why[name] = down["ready"]
    if options["unready"]:
        alive = _answering(session, found, why)
        return {name: reason for name, reason in why.items() if name not in alive}
    return why
