# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a batch: which module each of them calls with which options, and what its result adds.

A step is called with what the steps before it have found out, and never asks an API server or a host itself. The tables
C(STEPS) of this file, of endings.py and of moves.py are the whole list.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Mapping, NamedTuple

from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils._cluster.rollout import settle
from ...module_utils._config import delivery as deliveries
from ...module_utils._config.delivery import DROPIN, NATIVE
from ...module_utils._config.values import paths
from . import clock, rows
from .batch import At, Found, Result

Options = Mapping[str, Any]
LOADED = (settle,)
"""What most steps call, and all that it imports. Ansible compiles it once here, else in the process of each task."""
NODE_NAME = "kubelet_config_node_name"
PLANNED = (NODE_NAME, "kubelet_config_plan", "kubelet_config_sources", "kubelet_config_delivery")
"""The variables with what a play that lists the roles itself assigns and verifies."""
WAIT, POD_LOSS, PODS = "kubelet_config_wait_timeout", "kubelet_config_allow_pod_loss", "kubelet_config_pods_timeout"
TRIAL, CONFIRM = "kubelet_config_trial_seconds", "kubelet_config_confirm_seconds"
NODE_SECONDS = "kubelet_config_node_seconds"
PLACEHOLDER = {"uid": "00000000-0000-0000-0000-000000000000", "resourceVersion": "0"}
"""In check mode, push has not created the ConfigMap."""


def _unless_stopped(result: Result) -> bool:
    """Return whether a module has gone on with the other nodes."""
    return result.get("stop") is False


def with_rows(result: Result) -> bool:
    """Return whether a module has reached a verdict on each node."""
    return "nodes" in result


def never(_result: Result) -> bool:
    """Return that a failure concerns the whole batch."""
    return False


class Step(NamedTuple):
    """A step: one call of a module, or none if there is nothing to do."""

    options: Callable[[At], Options | None]
    """Returns the options of the call, None if there is nothing to do."""
    module: str = "node_config_source"
    reads: tuple[str, ...] = (NODE_NAME,)
    """The variables that it reads."""
    begin: Callable[[At], At] = lambda at: at
    """Completes what the step works with by what hosts have returned since the last one."""
    goes_on: Callable[[Result], bool] = _unless_stopped
    """Returns whether a failed call concerns single nodes only: it is in their rows, and the others continue."""
    after: Callable[[At, Result], Found] = lambda at, result: at.found.adding(result)
    """Returns what is known after the call."""
    more: Callable[[At, Result], Mapping[str, Any]] = lambda _at, _result: {}
    """Returns what else the roles need, with the result of C(after). The result is empty without a call.

    C(on_hosts): which hosts have work to do next, and what each needs for it.
    """
    problem: Callable[[At, str], str] = lambda _at, _reason: ""
    """Returns why the step fails without a call, for the message of the task that failed before it."""
    dry_run: bool = False
    """Whether the module runs as in check mode: it asks the API server, and writes nothing."""


def _gate(at: At) -> Options:
    batch, variable = at.batch, at.play.variable
    options = {
        "nodes": batch.names,
        "uids": batch.uids,
        "group_nodes": at.rollout["names"],
        "max_unavailable": variable("kubelet_config_max_unavailable"),
        "allow_unready": boolean(variable("kubelet_config_unready_first"), strict=False),
        "reverted": list(at.rollout["failed"]),
        "pause": boolean(variable("kubelet_config_pause"), strict=False),
        "started": batch.started,
        "timeout": variable("kubelet_config_gate_timeout"),
        "lease": batch.lease,
        "pods": True,
        "allow_pod_loss": variable(POD_LOSS),
        "drained": batch.drain,
    }
    if int(float(variable("kubelet_config_window_minutes") or 0)):
        options["window"] = _window(at)
    return options


def _confirm_seconds(at: At, node_seconds: Any) -> int:
    """Return how long the guards of a batch wait for the confirmation."""
    variable = at.play.variable
    return clock.confirm_seconds(
        at.batch.names,
        at.play.forks,
        own=variable(CONFIRM),
        soak_seconds=at.batch.soak,
        wait_timeout=variable(WAIT),
        pods_timeout=variable(PODS),
        node_seconds=node_seconds,
    )


def _window(at: At) -> Options:
    batch, variable = at.batch, at.play.variable
    most = _confirm_seconds(at, variable(NODE_SECONDS) if batch.on_nodes else 0)
    return clock.of_rollout(
        at.rollout,
        batch._asdict(),
        variable("kubelet_config_window_minutes"),
        at.play.forks,
        at.play.of_host,
        time.time(),
        most=most,
        drain=variable("kubelet_config_drain_timeout"),
    )


def _begun(at: At, result: Result) -> Found:
    begun = not result.get("failed")
    confirm = _confirm_seconds(at, at.play.variable(NODE_SECONDS))
    return Found(begun=begun, soak=at.batch.soak, confirm=confirm, pods=result.get("pods") or {}).adding(result)


def _to_reach(at: At, _result: Result) -> Mapping[str, Any]:
    """A drain must not cost a node its pods if nothing can be changed on it then."""
    reached: dict[str, Any] = {host: {} for host, name in at.batch.hosts.items() if name in at.batch.reach}
    return {"on_hosts": reached, "steps": at.batch.steps, "on_nodes": at.batch.on_nodes}


def _drain(at: At) -> Options | None:
    names = at.found.open(at.batch.drain)
    if not names:
        return None
    variable = at.play.variable
    return {
        "state": "drained",
        "nodes": names,
        "timeout": variable("kubelet_config_drain_timeout"),
        "delete_emptydir_data": boolean(variable("kubelet_config_drain_emptydir"), strict=False),
        "force": boolean(variable("kubelet_config_drain_force"), strict=False),
        "lease": at.batch.lease,
    }


def _drained(at: At, result: Result) -> Found:
    """After a drain, pods that have moved are not lost."""
    pods = {**at.found.pods, **(result.get("pods") or {})}
    return at.found.adding(result, pods=pods, drained=True)


def assign(at: At) -> Options:
    """Return the options of the assignment."""
    return {
        "sources": by_transport(at, rows.open_sources(at.batch.sources, at.found.rows)),
        "rollout": at.batch.name,
        "undo": at.batch.undoes is not None,
        **_dumped(at),
        **following(at),
        **leased(at),
    }


def _dumped(at: At) -> dict[str, Any]:
    """Return the option with the dump of the nodes that get a drop-in, which saves another read of their kubelets.

    The dump may be of another rollout by now: only what this one was planned from counts.
    """
    nodes, known = at.play.dump.get("nodes") or {}, at.play.dump.get("variants") or {}
    dumped, variants = {}, {}
    for name, source in at.batch.sources.items():
        variant = (at.batch.before.get(name) or {}).get("variant")
        is_known = name in nodes and nodes[name]["variant"] == variant and variant in known
        if is_known and source.get("delivery") == DROPIN:
            dumped[name] = paths.only(nodes[name], ("variant", "source", "kubelet_version"))
            variants[variant] = known[variant]
    return {"current": {"nodes": dumped, "variants": variants}} if dumped else {}


def _rehearse(at: At) -> Options:
    # What is staged is copied: a follower takes up what is assigned.
    return {"sources": at.batch.sources, "transport": "ssh"}


def following(at: At) -> dict[str, Any]:
    """Return the options for nodes with a follower: how long its guard waits."""
    return paths.present({"trial_seconds": at.play.variable(TRIAL), "confirm_seconds": at.found.confirm})


def by_transport(at: At, sources: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return sources by node name, each with who takes it there as its host wants it; the module's default if unset."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, source in sources.items():
        found[name] = source
        if name in at.batch.transports:
            found[name] = {"transport": at.batch.transports[name], **source}
    return found


def _assigned(at: At, result: Result) -> Found:
    return at.found.adding(result, before=result.get("before") or {})


def good(at: At, result: Result) -> dict[str, Mapping[str, Any]]:
    """Return by host the rows of nodes for which a call has succeeded."""
    found = result.get("nodes") or {}
    return {host: found[name] for host, name in at.batch.hosts.items() if found.get(name, {}).get("ok")}


def copies(at: At, result: Result) -> Mapping[str, Any]:
    """Return what the role checkpoint copies to the node of each host: C(delivery), C(source) and C(data)."""
    on_hosts = {}
    for host, row in good(at, result).items():
        if row["delivery"] == NATIVE or rows.by_follower(row):
            continue
        source, name = row["source"], at.batch.hosts[host]
        data = result["configmaps"][f"{source['namespace']}/{source['name']}"]
        if not data and name in at.batch.texts:
            data = {source["kubeletConfigKey"]: at.batch.texts[name]}
        # In check mode without a plan, it is not known what push would create.
        if data:
            on_hosts[host] = {
                "delivery": deliveries.noted(row["delivery"]),
                "source": {**PLACEHOLDER, **source},
                "data": data,
            }
    return {"on_hosts": on_hosts}


def _verify(at: At) -> Options | None:
    if at.play.check_mode:
        return None
    options = {"state": "verified", "wait_timeout": at.play.variable(WAIT), **leased(at)}
    if at.batch.expected is None:
        options["nodes"] = at.found.open(at.batch.names)
    else:
        options["sources"] = rows.open_sources(at.batch.expected, at.found.rows)
    if at.found.before:
        options["before"] = at.found.before
    hosts = rows.found_on_hosts(at.found.rows)
    if hosts:
        options["hosts"] = hosts
    return options


def _verified(at: At, result: Result) -> Found:
    on_trial = {name: row["source"] for name, row in (result.get("nodes") or {}).items() if _is_on_trial(row)}
    # What the nodes ran before has served its purpose.
    return at.found.adding(result, on_trial=on_trial, before={})


def _is_on_trial(row: Mapping[str, Any]) -> bool:
    """Return whether a host can confirm or revert what a verification has found on its node.

    A source that another user or controller has assigned is not judged here, nor one that a follower has refused.
    """
    is_copied = deliveries.of(row.get("delivery")).on_node
    return is_copied and row["source"] is not None and row["state"] not in ("reassigned", "refused")


def _soak(at: At) -> Options | None:
    good = at.found.open(at.batch.names)
    if at.batch.soak is None or at.play.check_mode or not good:
        return None
    return {
        "nodes": good,
        "seconds": at.batch.soak,
        "pods": at.found.pods,
        "allow_pod_loss": at.play.variable(POD_LOSS),
        "pods_timeout": at.play.variable(PODS),
        **leased(at),
    }


def _settle(at: At) -> Options | None:
    """A follower confirms or reverts what its Node names."""
    failures = at.failures()
    verified = {name: source for name, source in at.found.on_trial.items() if rows.by_follower(at.found.rows[name])}
    if not verified or at.play.check_mode:
        return None
    verdicts = {name: failures.get(name, "") for name in verified}
    sources = {name: _with_seen(source, at.found.rows[name]) for name, source in verified.items()}
    options = {"sources": sources, "verdicts": verdicts, "wait_timeout": at.play.variable(WAIT)}
    return {"state": "settled", **options, **leased(at)}


def _with_seen(verified: Mapping[str, Any], row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a source with what the last look at its Node has seen, which saves another read. The soak looks at what is
    assigned by then, which may be another source than the one that was verified.
    """
    if row.get("seen") and row["source"] == verified:
        return {**verified, "seen": row["seen"]}
    return verified


def _to_confirm(at: At, _result: Result) -> Mapping[str, Any]:
    failures = at.failures()
    on_hosts = {}
    for host, name in at.batch.hosts.items():
        if name in at.found.on_trial and not rows.by_follower(at.found.rows[name]):
            on_hosts[host] = {"source": at.found.on_trial[name], "reason": failures.get(name, "")}
    return {"on_hosts": on_hosts}


def leased(at: At) -> dict[str, Any]:
    """Return the option for the lease, if there is one."""
    return {"lease": at.batch.lease} if at.batch.lease else {}


FOLLOWING = ("kubelet_config_transport", TRIAL)
_DRAINING = ("kubelet_config_drain_timeout", "kubelet_config_drain_emptydir", "kubelet_config_drain_force")
_GATING = (
    "kubelet_config_max_unavailable",
    "kubelet_config_unready_first",
    "kubelet_config_pause",
    "kubelet_config_gate_timeout",
    "kubelet_config_window_minutes",
    CONFIRM,
    NODE_SECONDS,
    "kubelet_config_drain_timeout",
)
STEPS = {
    # Check whether the batch may begin.
    "gate": Step(
        _gate,
        "kubelet_rollout_gate",
        reads=(NODE_NAME, *_GATING, POD_LOSS, PODS, WAIT),
        goes_on=never,
        after=_begun,
        more=_to_reach,
    ),
    # Drain the nodes that can be changed.
    "drain": Step(_drain, "node_drain", reads=(NODE_NAME, *_DRAINING), after=_drained),
    # Assign the config sources of the batch.
    "assign": Step(assign, reads=(*PLANNED, *FOLLOWING), after=_assigned, more=copies),
    # Ask the API server as for an assignment, and write nothing.
    "rehearse": Step(_rehearse, reads=PLANNED, after=_assigned, more=copies),
    # Wait until the kubelets of the batch run what they should.
    "verify": Step(_verify, reads=(*PLANNED, WAIT), begin=At.collected, goes_on=with_rows, after=_verified),
    # Watch the verified nodes for some time.
    "soak": Step(_soak, "node_soak", reads=(POD_LOSS, PODS), goes_on=with_rows),
    # Let the followers confirm what is verified, and revert the rest.
    "settle": Step(_settle, reads=(WAIT,), goes_on=with_rows, more=_to_confirm),
}
