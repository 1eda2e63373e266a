# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The events in a task result: a pure function from the result of a module of this collection to events.

Results come from outside: a value of an unexpected shape is skipped and never raises an exception.
"""

from __future__ import annotations

import typing as t

from ...module_utils._config import delivery as deliveries
from ...module_utils._config.values import following, paths

STEPS = ("drained", "staged", "switched", "restarted", "verified", "soaked", "confirmed", "reverted", "restored")
"""The steps of a node, in the usual order. `restored`: uncordoned again."""

BEGUN, PLAN, FORECAST, BATCH = "begun", "plan", "forecast", "batch"
GROUP, DELIVERY = "group", "delivery"
FAILED, NOT_REVERTED, KEPT, REFUSED, PAUSED = "failed", "not_reverted", "kept", "refused", "paused"

UNREACHABLE = "unreachable"
_SWITCHED = ("active", "fell_back", "differs", "not_ready")
"""The states of a node that its follower has switched."""
VALUE = "__kubelet_config_rollout"
"""The fact with the value of a rollout."""

REMEDIES = {
    "fell_back": "Correct the named value, then run the rollout again. The kubelet's log has the details.",
    "differs": "Run the playbook drift: it names the flag or drop-in that overrides the field. Remove one of them.",
    "silent": "Look at `journalctl -u kubelet` on the node. "
    f"With the deliveries {' and '.join(deliveries.ON_NODE)}, the guard reverts the node automatically.",
    "not_ready": "Find out why the Node is not Ready (`kubectl describe node`), then run the rollout again.",
    "reassigned": "Find out which other controller or user assigned another source, then run the rollout again.",
    "pending": "Run the rollout again, with a longer kubelet_config_wait_timeout if the nodes are slow.",
    "refused": "Remove the reason that the node names, then run the rollout again.",
    "unanswered": "Look at `journalctl -u livenodes-kubelet-follow` on the node. If its follower does not run, run the "
    "playbook follow. Then run the rollout again.",
    "sync_error": "Push again; check the Node authorizer and the network between node and API server.",
    "not_listening": "Start the kubelet with --dynamic-config-dir and the gate DynamicKubeletConfig, "
    "or use checkpoint delivery.",
    "not_restarting": "The unit needs Restart=always. Without --dynamic-config-dir, use checkpoint delivery.",
    "gone": "If the node was removed, remove its host from the inventory. Otherwise correct kubelet_config_node_name.",
    "replaced": "Run the rollout again: it plans the new machine anew.",
    "malformed": "Remove the annotation that the message names, as the message states, then run the rollout again.",
    "pods_lost": "Find out why the pods were evicted or restarted, or allow a loss with allow_pod_loss.",
    "pods_unready": "Find out why the pods on the node do not become Ready, then run the rollout again.",
    "restarted": "The kubelet restarted during the soak: look at `journalctl -u kubelet` on the node.",
    UNREACHABLE: "Make the host reachable for Ansible, then run the rollout again: it continues where it stopped.",
}
"""By the state of a failed node. Other failures name the remedy in their message."""


class Event(t.NamedTuple):
    """An event. `kind` is a step or one of the names above; `node` is empty for an event of the whole rollout."""

    kind: str
    node: str = ""
    message: str = ""
    state: str = ""
    detail: t.Any = None


def read(module: str, result: t.Mapping[str, t.Any], node: str, trouble: str = "", task: str = "") -> list[Event]:
    """Return the events in the result of a task.

    `module` is the short name of a module of this collection, or empty for another task that failed or that returned
    the value of a rollout. `node` is the node of the result's host. It is empty when the task ran once for all hosts:
    then the result names its nodes. `trouble` is empty, failed or unreachable. `task` is the task's name, for failures
    without a message.
    """
    # The actions of the modules on nodes return a lost connection as a failure.
    if trouble and result.get("state") == UNREACHABLE:
        trouble = UNREACHABLE
    found: list[Event] = []
    if trouble != UNREACHABLE:
        reader = _READERS.get(module, _begun)
        found += reader(result, node, bool(trouble))
    if not trouble or any(event.kind in (FAILED, REFUSED, PAUSED) for event in found):
        return found
    words = _message(result) or f"the task {task!r} failed; its own output has the cause"
    if not node:
        return [*found, Event(REFUSED, message=words)]
    state = UNREACHABLE if trouble == UNREACHABLE else ""
    return [*found, Event(FAILED, node, words, state)]


def _inputs(result: t.Mapping[str, t.Any], _node: str, _failed: bool) -> t.Iterator[Event]:
    """The check of the variables, with which each playbook begins. The roles check theirs without a time."""
    if "began" in result:
        yield Event(BEGUN)


def _plan(result: t.Mapping[str, t.Any], _node: str, _failed: bool) -> t.Iterator[Event]:
    if isinstance(_inner(result, "plan", "nodes"), dict):
        yield Event(PLAN, detail=result["plan"])


def begins(result: t.Mapping[str, t.Any]) -> bool:
    """Return whether a task returned the value of a rollout, which contains the plan of a rollback or a reset."""
    return bool(_inner(result, "ansible_facts", VALUE, "text"))


def _begun(result: t.Mapping[str, t.Any], _node: str, _failed: bool) -> t.Iterator[Event]:
    # The plan of a rollback does not list fields: its lines name the target of each node.
    value = _inner(result, "ansible_facts", VALUE)
    changing: set[str] = set()
    for batch in _items(_inner(value, "batches")):
        changing.update(map(str, _items(_inner(batch, "names"))))
    rows: dict[str, dict[str, t.Any]] = {}
    for line in _items(_inner(value, "text")):
        name, _mark, words = str(line).partition(": ")
        if name in changing:
            rows[name] = {"action": "assign", "text": words}
        else:
            rows[name] = {"action": "none", "problems": [{"severity": "warning", "message": words}]}
    if rows:
        yield Event(PLAN, detail={"nodes": rows})


def _forecast(result: t.Mapping[str, t.Any], _node: str, _failed: bool) -> t.Iterator[Event]:
    if isinstance(result.get("summary"), dict):
        counts = {key: count for key, count in result["summary"].items() if isinstance(count, int)}
        yield Event(FORECAST, detail={"summary": counts, "text": list(map(str, _items(result.get("text"))))})


def _lease(result: t.Mapping[str, t.Any], _node: str, _failed: bool) -> t.Iterator[Event]:
    group = _argument(result, "group")
    if group:
        yield Event(GROUP, message=str(group))


def _gate(result: t.Mapping[str, t.Any], _node: str, failed: bool) -> t.Iterator[Event]:
    if not failed:
        yield Event(BATCH, detail=list(map(str, _items(_argument(result, "nodes")))))
    elif isinstance(result.get("paused"), dict):
        yield Event(PAUSED, message=_message(result), detail=result["paused"])


def _source(result: t.Mapping[str, t.Any], _node: str, _failed: bool) -> t.Iterator[Event]:
    events_of = _assigned
    if _argument(result, "state") == "settled":
        events_of = _settled
    elif _argument(result, "state") == "verified" or _argument(result, "wait"):
        events_of = _verified
    for name, row in _rows(result):
        if row.get("delivery") in deliveries.NAMES:
            yield Event(DELIVERY, name, detail=str(row["delivery"]))
        yield from events_of(name, row)


def _assigned(name: str, row: t.Mapping[str, t.Any]) -> t.Iterator[Event]:
    if row.get("ok") is False:
        yield from _verified(name, row)
        return
    # The other nodes are switched by tasks on their hosts, or by their followers, which may refuse.
    if row.get("changed") and not deliveries.of(str(row.get("delivery"))).on_node:
        yield Event("switched", name)


def _settled(name: str, row: t.Mapping[str, t.Any]) -> t.Iterator[Event]:
    """A node that its follower reverts is in the result of the revert."""
    if "ok" in row and row.get("state") != "reverting":
        yield from _verdict(name, row, "confirmed")


def _verified(name: str, row: t.Mapping[str, t.Any]) -> t.Iterator[Event]:
    if _inner(row, "follower", "transport") == following.API and row.get("state") in _SWITCHED:
        yield Event("switched", name)
    if row.get("ok") is False and row.get("state") == "unchanged":
        yield Event(FAILED, name, _message(row), REFUSED)
        yield Event(KEPT, name)
    elif "ok" in row:
        yield from _verdict(name, row, "reverted" if row.get("state") == "local" else "verified")


def _soak(result: t.Mapping[str, t.Any], _node: str, _failed: bool) -> t.Iterator[Event]:
    # A soak of 0 seconds looks at pods and restarts only.
    soaked = str(_argument(result, "seconds")) != "0"
    for name, row in _rows(result):
        if soaked or not row.get("ok"):
            yield from _verdict(name, row, "soaked")


def _revert(result: t.Mapping[str, t.Any], _node: str, _failed: bool) -> t.Iterator[Event]:
    for name, row in _rows(result):
        if "ok" not in row:
            continue
        kind = NOT_REVERTED
        if row["ok"]:
            kind = KEPT if row.get("state") == REFUSED else "reverted"
        yield Event(kind, name, _message(row))


def _drain(result: t.Mapping[str, t.Any], _node: str, _failed: bool) -> t.Iterator[Event]:
    step = "restored" if _argument(result, "state") == "restored" else "drained"
    for name, row in _rows(result):
        if row.get("ok") is False:
            yield Event(FAILED, name, _message(row), "drain")
        elif row.get("changed"):
            yield Event(step, name)


def _checkpoint(result: t.Mapping[str, t.Any], node: str, failed: bool) -> t.Iterator[Event]:
    state = _argument(result, "state") or "assigned"
    if state in ("restarted", "updated"):
        yield from _restart(result, node, failed)
        return
    if state in ("assigned", "staged"):
        # Elsewhere the option has its default.
        yield Event(DELIVERY, node, detail=str(_argument(result, "delivery") or deliveries.CHECKPOINT))
    if not failed:
        yield from _checkpoint_done(state, result, node)


def _checkpoint_done(state: str, result: t.Mapping[str, t.Any], node: str) -> t.Iterator[Event]:
    """Yield the events of a call that has succeeded."""
    if state == "confirmed":
        yield Event("confirmed", node)
    elif state == "rolled_back" and result.get("changed"):
        yield Event("reverted", node, str(result.get("error") or ""))
    elif state == "staged":
        yield Event("staged", node)
    elif state == "assigned" and result.get("restart_needed"):
        # Otherwise the call may have updated the guard.
        yield Event("staged", node)
        yield Event("switched", node)


def _restart(result: t.Mapping[str, t.Any], node: str, failed: bool) -> t.Iterator[Event]:
    # A play may ignore the failure; only a verified restart has seconds.
    if "seconds" in result:
        yield Event("restarted", node)
    elif not failed and result.get("msg"):
        yield Event(FAILED, node, _message(result))


def _verdict(name: str, row: t.Mapping[str, t.Any], step: str) -> t.Iterator[Event]:
    state = str(row.get("state") or "")
    if row.get("ok"):
        yield Event(step, name)
    else:
        yield Event(FAILED, name, _message(row), state)
        if state == "fell_back":
            # The kubelet itself reverted.
            yield Event("reverted", name)


def _rows(result: t.Mapping[str, t.Any]) -> t.Iterator[tuple[str, t.Mapping[str, t.Any]]]:
    rows = result.get("nodes")
    if not isinstance(rows, dict):
        return
    for name, row in rows.items():
        if isinstance(row, dict):
            yield str(name), row


def _argument(result: t.Mapping[str, t.Any], name: str) -> t.Any:
    return _inner(result, "invocation", "module_args", name)


def _inner(value: t.Any, *keys: str) -> t.Any:
    return paths.value_at(value, keys)


def _items(value: t.Any) -> t.Sequence[t.Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _message(row: t.Mapping[str, t.Any]) -> str:
    return str(row.get("message") or row.get("msg") or "").strip()


def _step(result: t.Mapping[str, t.Any], node: str, failed: bool) -> t.Iterator[Event]:
    step = str(_argument(result, "step"))
    if not step.startswith("look"):
        yield from _OF_STEPS.get(step, _source)(result, node, failed)


_OF_STEPS = {"gate": _gate, "drain": _drain, "uncordon": _drain, "soak": _soak, "revert": _revert}
"""The steps of a batch that do not assign or verify."""
_READERS: dict[str, t.Callable[[t.Mapping[str, t.Any], str, bool], t.Iterator[Event]]] = {
    "kubelet_config_inputs": _inputs,
    "kubelet_config_plan": _plan,
    "kubelet_config_forecast": _forecast,
    "kubelet_rollout_lease": _lease,
    "kubelet_rollout_batch": _step,
    "kubelet_rollout_gate": _gate,
    "node_config_source": _source,
    "node_soak": _soak,
    "node_config_revert": _revert,
    "node_drain": _drain,
    "kubelet_checkpoint": _checkpoint,
}
MODULES = frozenset(_READERS)
"""Short names of the modules whose results are read."""
ON_NODES = frozenset({"kubelet_checkpoint"})
"""Those that run on the host of their node."""
