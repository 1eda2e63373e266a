# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task result says about a rollout: a pure function from the result of one of our modules to events.

Results come from outside: whatever does not have the expected shape is passed over, never an exception.
"""

from __future__ import annotations

import typing as t

STEPS = ("drained", "staged", "switched", "restarted", "verified", "soaked", "confirmed", "reverted", "restored")
"""What can happen to a node, in the usual order. `restored`: uncordoned again."""

PLAN, FORECAST, BATCH, GROUP, DELIVERY, FAILED, NOT_REVERTED, REFUSED, PAUSED = (
    "plan",
    "forecast",
    "batch",
    "group",
    "delivery",
    "failed",
    "not_reverted",
    "refused",
    "paused",
)

REMEDIES = {
    "fell_back": "Correct the value that is named, then run the rollout again. The kubelet's own log has more.",
    "differs": "A flag on the kubelet's command line wins over the file: remove the flag, or the field.",
    "silent": "Look at `journalctl -u kubelet` on the node. With checkpoint delivery its guard goes back by itself.",
    "not_ready": "See why the Node is not Ready (`kubectl describe node`), then run the rollout again.",
    "reassigned": "Find out who else changed what the node should run, then run the rollout again.",
    "pending": "Run the rollout again, with a longer kubelet_config_wait_timeout if the nodes are slow.",
    "sync_error": "Push again; look at the Node authorizer and at the network between node and API server.",
    "not_listening": "Start the kubelet with --dynamic-config-dir and the feature gate DynamicKubeletConfig, or use the delivery checkpoint.",
    "not_restarting": "Its unit needs Restart=always; where --dynamic-config-dir is gone use the delivery checkpoint.",
    "pods_lost": "See why the pods were evicted or restarted, or allow a loss with allow_pod_loss.",
    "pods_unready": "See why the pods on the node do not become Ready, then run the rollout again.",
    "restarted": "The kubelet restarted during the soak: look at `journalctl -u kubelet` on the node.",
    "unreachable": "Make the host reachable for Ansible, then run the rollout again: it goes on where it stopped.",
}
"""By the state a node failed with. Messages of other failures name their remedy themselves."""


class Event(t.NamedTuple):
    """One thing that happened. `kind` is a step or one of the names above; `node` is empty for what concerns the whole
    rollout.
    """

    kind: str
    node: str = ""
    message: str = ""
    state: str = ""
    detail: t.Any = None


def read(
    module: str, result: t.Mapping[str, t.Any], node: str, trouble: str = "", told: str = "", task: str = ""
) -> list[Event]:
    """Return what the result of a task says: of one of our modules (its short name), or of another task that speaks for
    a node or failed.

    `node` is the node of the host that the result belongs to, empty when the task ran once for all: bulk modules name
    their nodes themselves. `trouble` is empty, failed or unreachable. `told` is the task's variable
    kubelet_rollout_event: the name of the step where a play uses a module for another than the usual one, such as the
    way back; `planned` where the plan is a fact. `task` is the task's name, for failures that say nothing.
    """
    step = told if told in STEPS else ""
    reader = None if trouble == "unreachable" else _READERS.get(module, _way_back if told == "planned" else None)
    found = list(reader(result, node, bool(trouble), step)) if reader else []
    if trouble and not any(event.kind in (FAILED, REFUSED, PAUSED) for event in found):
        words = _message(result) or f"the task {task!r} failed; its own output has the cause"
        found.append(
            Event(FAILED, node, words, "unreachable" if trouble == "unreachable" else "")
            if node
            else Event(REFUSED, message=words)
        )
    elif not reader and not trouble and step and node:
        found.append(Event(step, node))
    return found


def _plan(result: t.Mapping[str, t.Any], _node: str, _failed: bool, _told: str) -> t.Iterator[Event]:
    plan = result.get("plan")
    if isinstance(plan, dict) and isinstance(plan.get("nodes"), dict):
        yield Event(PLAN, detail=plan)


def _way_back(result: t.Mapping[str, t.Any], _node: str, _failed: bool, _told: str) -> t.Iterator[Event]:
    # Which fields change is not planned there: its lines say of each node what it goes to.
    plan = _inner(result, "ansible_facts", "edit_result", "plan")
    lines = [str(line).partition(": ") for line in _inner(plan, "text") or ()]
    going = {*(_inner(plan, "nodes") or ()), *(_inner(plan, "local") or ())}
    if lines:
        yield Event(
            PLAN,
            detail={
                "nodes": {
                    name: {"action": "assign", "text": words}
                    if name in going
                    else {"action": "none", "problems": [{"severity": "warning", "message": words}]}
                    for name, _mark, words in lines
                }
            },
        )


def _forecast(result: t.Mapping[str, t.Any], _node: str, _failed: bool, _told: str) -> t.Iterator[Event]:
    if isinstance(result.get("summary"), dict):
        yield Event(
            FORECAST, detail={"summary": result["summary"], "text": [str(line) for line in result.get("text") or ()]}
        )


def _lease(result: t.Mapping[str, t.Any], _node: str, _failed: bool, _told: str) -> t.Iterator[Event]:
    group = _argument(result, "group")
    if group:
        yield Event(GROUP, message=str(group))


def _gate(result: t.Mapping[str, t.Any], _node: str, failed: bool, _told: str) -> t.Iterator[Event]:
    if failed:
        paused = result.get("paused")
        if isinstance(paused, dict):
            yield Event(PAUSED, message=_message(result), detail=paused)
    else:
        names = _argument(result, "nodes")
        yield Event(BATCH, detail=[str(name) for name in names] if isinstance(names, list) else [])


def _source(result: t.Mapping[str, t.Any], _node: str, failed: bool, told: str) -> t.Iterator[Event]:
    state = _argument(result, "state") or "present"
    # Rows of an assignment have no message; that of the failed task has a line a node.
    reasons = dict(line.split(": ", 1) for line in _message(result).splitlines() if ": " in line) if failed else {}
    for name, row in _rows(result):
        if row.get("delivery"):
            yield Event(DELIVERY, name, detail=str(row["delivery"]))
        if "ok" in row:
            yield from _verdict(name, row, told or "verified")
        elif name in reasons:
            yield Event(FAILED, name, reasons[name])
        elif state in ("present", "absent") and row.get("changed") and row.get("delivery") != "checkpoint":
            yield Event(told or "switched", name)


def _soak(result: t.Mapping[str, t.Any], _node: str, _failed: bool, told: str) -> t.Iterator[Event]:
    for name, row in _rows(result):
        yield from _verdict(name, row, told or "soaked")


def _back(result: t.Mapping[str, t.Any], _node: str, _failed: bool, _told: str) -> t.Iterator[Event]:
    for name, row in _rows(result):
        if "ok" in row:
            yield Event("reverted" if row["ok"] else NOT_REVERTED, name, _message(row))


def _drain(result: t.Mapping[str, t.Any], _node: str, failed: bool, told: str) -> t.Iterator[Event]:
    step = told or ("restored" if _argument(result, "state") == "restored" else "drained")
    for name, row in _rows(result):
        words = _message(row)
        # A row has no verdict; the message of the failed task repeats those of the rows that failed.
        if failed and words and words in _message(result):
            yield Event(FAILED, name, words, "drain")
        elif row.get("changed"):
            yield Event(step, name)


def _checkpoint(result: t.Mapping[str, t.Any], node: str, failed: bool, told: str) -> t.Iterator[Event]:
    yield Event(DELIVERY, node, detail="checkpoint")
    state = _argument(result, "state") or "assigned"
    if failed:
        return
    if state == "confirmed":
        yield Event(told or "confirmed", node)
    elif state == "rolled_back" and result.get("changed"):
        yield Event("reverted", node, str(result.get("error") or ""))
    elif state == "staged" or (state == "assigned" and (result.get("changed") or result.get("restart_needed"))):
        yield Event("staged", node)
        if state == "assigned":
            yield Event(told or "switched", node)


def _guard(result: t.Mapping[str, t.Any], node: str, failed: bool, told: str) -> t.Iterator[Event]:
    # The handler that restarts never fails (see the role checkpoint); a restart that was proven has its seconds.
    if "seconds" in result:
        yield Event(told or "restarted", node)
    elif not failed and _argument(result, "state") == "restarted" and result.get("msg"):
        yield Event(FAILED, node, _message(result))


def _verdict(name: str, row: t.Mapping[str, t.Any], step: str) -> t.Iterator[Event]:
    state = str(row.get("state") or "")
    if row.get("ok"):
        yield Event(step, name)
    else:
        yield Event(FAILED, name, _message(row), state)
        if state == "fell_back":
            # It is the kubelet itself that went back.
            yield Event("reverted", name)


def _rows(result: t.Mapping[str, t.Any]) -> t.Iterator[tuple[str, t.Mapping[str, t.Any]]]:
    rows = result.get("nodes")
    for name, row in rows.items() if isinstance(rows, dict) else ():
        if isinstance(row, dict):
            yield str(name), row


def _argument(result: t.Mapping[str, t.Any], name: str) -> t.Any:
    return _inner(result, "invocation", "module_args", name)


def _inner(value: t.Any, *keys: str) -> t.Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _message(row: t.Mapping[str, t.Any]) -> str:
    return str(row.get("message") or row.get("msg") or "").strip()


_READERS: dict[str, t.Callable[[t.Mapping[str, t.Any], str, bool, str], t.Iterator[Event]]] = {
    "kubelet_config_plan": _plan,
    "kubelet_config_forecast": _forecast,
    "kubelet_rollout_lease": _lease,
    "kubelet_rollout_gate": _gate,
    "node_config_source": _source,
    "node_soak": _soak,
    "node_config_revert": _back,
    "node_drain": _drain,
    "kubelet_checkpoint": _checkpoint,
    "kubelet_guard": _guard,
}
MODULES = frozenset(_READERS)
"""Short names of the modules whose results are read."""
