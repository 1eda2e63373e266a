# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a batch of nodes may begin, by what the live cluster says now: pause, budget, control plane, in this order.

Each look is one PATCH (Lease), one GET (pause), one LIST of nodes; one LIST of heartbeats where a Node has not been
written for long, and one of pods where a control-plane node is to begin.
"""

from __future__ import annotations

import re
import time
import typing as t

from ..api import timestamps
from ..api.errors import ClusterError
from ..api.session import Session
from ..objects import configmaps, lease, nodes, pods
from ..stages import diagnose

# Seconds between two looks.
POLL = 2.0
# A kubelet writes its Node every 5 minutes at least and renews its heartbeat Lease every 10 s. Without a node
# controller, or in the 40 s before that one notices, the Node of a dead one still says Ready.
SILENT = 60.0
# The key of a ConfigMap with which anybody can pause rollouts by kubectl.
PAUSED, REASON = "paused", "reason"
# What else stands there is a pause: somebody wrote it to stop something.
NOT_PAUSED = frozenset({"", "0", "false", "n", "no", "off"})
_NUMBER = re.compile(r"([0-9]+) ?(%?)", re.ASCII)


def gate(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Wait until the batch may begin, at most `timeout` seconds, in check mode not at all.

    Raises ClusterError, with what was seen, when it may not.
    """
    batch = list(dict.fromkeys(options["nodes"]))
    group = list(dict.fromkeys(batch if options["group_nodes"] is None else options["group_nodes"]))
    allowed = _limit(options["max_unavailable"], batch, group)
    started = time.monotonic()
    end = started + (0 if check_mode else options["timeout"])
    while True:
        began = time.monotonic()
        if not check_mode:
            lease.renew(session, options["lease"])
        result: dict[str, t.Any] = {"changed": False, "budget": {}, "paused": None, "pods": {}}
        _check_pause(session, options, result)
        obstacles = _obstacles(session, options, batch, group, allowed, result)
        now = time.monotonic()
        if not obstacles:
            result["pods"] = pods.snapshot(session, batch) if options["pods"] else {}
            return result
        if now >= end:
            raise ClusterError(
                "\n".join(
                    [
                        f"{', '.join(batch)}: must not begin, also after {timestamps.span(now - started)}; nothing was changed there.",
                        *obstacles,
                    ]
                ),
                result,
            )
        time.sleep(min(max(POLL, 2 * (now - began)), end - now))


def _limit(wanted: t.Any, batch: list[str], group: list[str]) -> int:
    """Return how many nodes of the group may be unavailable. Raises ClusterError for nonsense, and for a batch that
    could never begin.
    """
    strangers = sorted(set(batch) - set(group))
    if strangers:
        raise ClusterError(
            f"{', '.join(strangers)}: in nodes, but not in group_nodes, which has to name the whole group that the budget is counted on"
        )
    try:
        allowed = node_limit(wanted, len(group))
    except ValueError as error:
        raise ClusterError(f"max_unavailable: {error}") from error
    if len(batch) > allowed:
        raise ClusterError(
            f"the batch has {len(batch)} nodes ({', '.join(batch)}) and {_counted(wanted, allowed, group)}: make batches (serial) of {allowed} "
            "at most, or raise max_unavailable"
        )
    return allowed


def _counted(wanted: t.Any, allowed: int, group: list[str]) -> str:
    how = f"{wanted} of {len(group)}, rounded down, but 1 at least" if "%" in str(wanted) else f"of {len(group)}"
    return f"at most {allowed} of the group may be unavailable at once (max_unavailable: {how})"


def _check_pause(session: Session, options: dict[str, t.Any], result: dict[str, t.Any]) -> None:
    """Raise ClusterError when rollouts are paused, or this one is after what it has done."""
    if options["pause"] and options["started"]:
        result["paused"] = {"since": timestamps.text(time.time()), "by": "the option pause", "reason": ""}
        raise ClusterError(
            "paused by the option pause after the batch before; nothing was changed on the nodes after it. Run again without it: "
            "the rollout goes on where it stopped",
            result,
        )
    namespace, name = options["namespace"], options["pause_configmap"]
    result["paused"] = read_pause(session, namespace, name) if name else None
    if result["paused"]:
        by, why = result["paused"]["by"], result["paused"]["reason"]
        raise ClusterError(
            f"rollouts are paused since {result['paused']['since']}{f' by {by}' if by else ''}{f': {why}' if why else ', without a reason given'} (key "
            f"{PAUSED} of the ConfigMap {namespace}/{name}). Nothing was begun. End the pause with `{end_of_pause(namespace, name)}`, then run again: "
            "the rollout goes on where it stopped",
            result,
        )


def _obstacles(
    session: Session,
    options: dict[str, t.Any],
    batch: list[str],
    group: list[str],
    allowed: int,
    result: dict[str, t.Any],
) -> list[str]:
    """Return in words what stands in the way and may pass; note the budget in the result. Raises ClusterError for what
    cannot pass.
    """
    found = nodes.read(session, group)
    masters = [name for name in batch if found[name].control_plane]
    if masters and len(batch) > 1:
        raise ClusterError(
            f"{', '.join(masters)}: of the control plane, whose nodes are changed one at a time, and the batch is {', '.join(batch)}. "
            "Give each of them a batch of its own (serial 1)",
            result,
        )
    down = unavailable(session, found)
    # Ours is the cordon of a node that was drained to be changed, and of a run that was cut off after that.
    under_way = {name for name in batch if found[name].cordoned is not None and set(down.get(name, ())) == {"cordoned"}}
    shown = {name: "; ".join(reasons.values()) for name, reasons in down.items() if name not in under_way}
    left = room_left(allowed, shown, batch)
    result["budget"] = {"nodes": len(group), "limit": allowed, "unavailable": shown, "left": left}
    obstacles = []
    if len(batch) > left:
        others = {name: why for name, why in shown.items() if name not in batch}
        verb = "is" if len(others) == 1 else "are"
        obstacles.append(
            f"{_counted(options['max_unavailable'], allowed, group)}, and {len(others)} outside the batch {verb}, whoever caused it: {left} may "
            f"begin, not {len(batch)}. Bring them back, or raise max_unavailable, then run again:"
        )
        obstacles += [f"{name}: {why}" for name, why in others.items()]
    if not options["allow_unready"]:
        obstacles += [
            f"{name}: in the batch and {down[name]['ready']}, so it could not be proven that it bears the change. Bring it back first, or set "
            "allow_unready"
            for name in batch
            if "ready" in down.get(name, ())
        ]
    return obstacles or (_control_plane(session, masters) if masters else [])


def unavailable(session: Session, found: t.Mapping[str, nodes.Node]) -> dict[str, dict[str, str]]:
    """Return for each node that is unavailable the reasons in words, under `ready`, `cordoned` and `failed`, whoever
    caused them.
    """
    ages = _ages(session, found)
    down: dict[str, dict[str, str]] = {}
    for name, node in found.items():
        reasons = {}
        if node.ready != "True":
            reasons["ready"] = f"not Ready ({node.ready_reason or node.ready})"
        elif ages.get(name, 0) > SILENT:
            reasons["ready"] = (
                f"silent: its kubelet has sent no heartbeat for {timestamps.span(ages[name])}, by this machine's clock, while its Node says Ready"
            )
        if node.unschedulable:
            reasons["cordoned"] = (
                "cordoned"
                if node.cordoned is None
                else (
                    f"cordoned by this collection for {node.cordoned.get('holder') or 'nobody known'} since {node.cordoned.get('time') or 'some time'}"
                )
            )
        if node.error:
            reasons["failed"] = f"its configuration failed: {node.error}"
        if reasons:
            down[name] = reasons
    return down


def _ages(session: Session, found: t.Mapping[str, nodes.Node]) -> dict[str, float]:
    """Return the seconds since the last sign of life, from heartbeat Leases, of the nodes that were not written for
    long.

    A Node without a heartbeat, or without a Lease, is not judged by it.
    """
    written = {name: timestamps.parse(node.heartbeat) for name, node in found.items() if node.ready == "True"}
    old = {name: time.time() - at for name, at in written.items() if at is not None and time.time() - at > SILENT}
    return diagnose.silence(session, old) if old else {}


def _control_plane(session: Session, masters: list[str]) -> list[str]:
    """Return which API servers and etcd members on other nodes are not Ready, so that this one must not go as well."""
    return [
        f"{row['namespace']}/{row['name']} on {node or 'no node'} is not Ready ({row['reason'] or row['phase'] or 'unknown'}): {', '.join(masters)} of the "
        "control plane waits until the others are whole. Look at `kubectl -n kube-system describe pod`, then run again"
        for node, row in pods.control_plane(session)
        if node not in masters and not row["ready"]
    ]


def read_pause(session: Session, namespace: str, name: str) -> dict[str, str] | None:
    """Return since when, by whom and why rollouts are paused, None when they are not (one GET)."""
    found = configmaps.read(session, namespace, name) or {}
    data = found.get("data") or {}
    if data.get(PAUSED, "").strip().lower() in NOT_PAUSED:
        return None
    writers = [
        entry
        for entry in found["metadata"].get("managedFields") or []
        if f"f:{PAUSED}" in ((entry.get("fieldsV1") or {}).get("f:data") or {})
    ]
    last: dict[str, t.Any] = max(writers, key=lambda entry: str(entry.get("time") or ""), default={})
    since = last.get("time") or found["metadata"].get("creationTimestamp") or ""
    return {"since": since, "by": last.get("manager") or "", "reason": (data.get(REASON) or "").strip()}


def end_of_pause(namespace: str, name: str) -> str:
    """Return the command that ends a pause."""
    return f"""kubectl -n {namespace} patch configmap {name} --type=merge -p '{{"data":{{"{PAUSED}":null}}}}'"""


def node_limit(wanted: t.Any, nodes: int) -> int:
    """Return how many of so many nodes may be unavailable, by a number or a percentage such as ``20%``.

    A percentage is rounded down, as Kubernetes does for maxUnavailable (``GetScaledValueFromIntOrPercent``), but to one
    node at least: none could never begin. Raises ValueError, worded for people, for none, for more than 100 % and for
    anything else.
    """
    found = None if isinstance(wanted, bool) else _NUMBER.fullmatch(str(wanted).strip())
    if found is None:
        raise ValueError(f"{wanted!r} is neither a number of nodes nor a percentage of them: give for example 2 or 20%")
    number, percent = int(found.group(1)), bool(found.group(2))
    if not number:
        raise ValueError(f"{str(wanted).strip()} would let no node be changed at all: give 1 or more")
    if percent and number > 100:
        raise ValueError(f"{str(wanted).strip()} is more than all nodes: give 100% at most")
    return max(1, nodes * number // 100) if percent else number


def room_left(allowed: int, unavailable: t.Collection[str], batch: t.Collection[str]) -> int:
    """Return how many nodes a batch may have now: what is allowed, less the unavailable nodes that are not in it; 0 at
    least.

    A node in the batch is under way whatever its state, so it counts once. The batch may begin when it has no more
    nodes than this.
    """
    return max(0, allowed - len(set(unavailable) - set(batch)))
