# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges from the status of one node whether it runs the source it should: a pure function, called on every poll.

The meaning of the fields follows the code of the kubelet (pkg/kubelet/kubeletconfig of 1.20): assigned and active
change only when a kubelet starts, the error contains no details, and a node without dynamic configuration has no
status.config.
"""

from __future__ import annotations

import collections
import dataclasses
import typing as t

from ..._config import delivery as deliveries
from ..._config.values import node_row
from ..._config.values.forms import LATER, SourceForm
from ..._config.values.reference import same_place
from ..objects.nodes import Node, describe, is_sync_error

MEANING_FOLLOWS = ", that is, "
"""Between the error of a kubelet and its meaning."""
_UNKNOWN = "an error that this collection does not know"
REASSIGNED = "reassigned"
LONGEST_MESSAGE = 360
"""The most characters of a message about a node, apart from the words of a kubelet or a guard in it."""
# The meaning of each status.config.error (pkg/kubelet/kubeletconfig/status/status.go).
MEANING = {
    "failed to load config, see Kubelet log for details": "the kubelet could not read or decode it",
    "failed to validate config, see Kubelet log for details": "it contains an invalid value",
    "internal failure, see Kubelet log for details": "the kubelet failed while handling it",
}


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The state of a node. `state` is a key of STATES; `final` means that waiting longer cannot change it."""

    state: str
    message: str
    final: bool = False


STATES = {
    "pending": "the kubelet has not taken up the source yet",
    "active": "the kubelet runs the source",
    "local": "the kubelet runs its local config, as requested",
    "fell_back": "the kubelet refused the source and reverted to last-known-good or local",
    "refused": "the follower of the node refused the source, and the kubelet runs what it ran",
    "sync_error": "the kubelet cannot get the ConfigMap",
    REASSIGNED: "another user or program changed what the node should run",
    "not_listening": "the kubelet reports no status.config",
    "malformed": "an annotation, or a field that it replaces, does not show what the node runs",
    "not_ready": "the source is active but the Node is not Ready, or its kubelet does not answer",
    "differs": "the source is active but the live configuration differs from it",
    "silent": "the kubelet sends no heartbeats: it is dead or in a crash loop",
    node_row.GONE: "there is no such Node",
    node_row.REPLACED: "the Node, or the machine behind it, is another one than before",
    "not_restarting": "the kubelet is alive but does not take up the source",
}


def judge(node: Node, expected: dict[str, str] | None, beaten: bool = False) -> Verdict:
    """Judge a node by its source and status alone. `expected` is the full reference (five fields), None for local.

    `beaten`: its kubelet is known to have sent a heartbeat. Without that, the last one must be later than its start.
    """
    if node.fault:
        # The guard or the kubelet may still write its status again; it never writes the source.
        return Verdict("malformed", node.fault, bool(node.source_fault(node.delivery)))
    if not same_place(node.source, expected):
        place = deliveries.of(node.delivery).source_place.replace("the ", "")
        return Verdict(
            REASSIGNED,
            f"its {place} names {describe(node.source)}, not {describe(expected)}: "
            "another user or program changed it; assign again",
            True,
        )
    answered = _judge_answer(node, expected) if node.by_follower else None
    if answered:
        return answered
    if expected is None:
        return _judge_local(node)
    if node.reimaged:
        return Verdict(
            node_row.REPLACED,
            f"{describe(expected)} was assigned to another machine: this one is new or newly installed, and does not "
            "have it on its disk. Run the rollout again, which plans it anew",
            True,
        )
    if node.status is None:
        return _judge_without_status(node)
    return _judge_status(node, expected, beaten)


def _judge_answer(node: Node, expected: dict[str, str] | None) -> Verdict | None:
    """Judge a node by the answer of its follower; None if it has switched the node, so that the status counts."""
    answer = node.follower
    if answer is None or answer.attempt != node.orders.attempt or answer.source != node.source:
        return Verdict(
            "pending",
            f"waiting for the follower on the node to take up {describe(expected)}; see "
            "`journalctl -u livenodes-kubelet-follow` there. The playbook follow repairs a follower whose files were "
            "damaged or removed",
        )
    if answer.refused and not node.error:
        return Verdict("refused", answer.refused, True)
    return None


def _judge_status(node: Node, expected: dict[str, str], beaten: bool) -> Verdict:
    """Judge a node that reports a status of the source that it should run."""
    assigned, active = node.part("assigned"), node.part("active")
    if is_sync_error(node):
        return Verdict(
            "sync_error", f"its kubelet still runs {describe(active)} and reports `{node.error}`{meaning(node)}"
        )
    if assigned != expected:
        older = describe(assigned)
        if same_place(assigned, expected):
            older = "an earlier revision of it"
        return Verdict(
            "pending", f"waiting for its kubelet to take up {describe(expected)}; it still reports {older} as assigned"
        )
    if node.error and node.on_node and active == expected:
        return Verdict("not_ready", f"its config is active, and the guard on the node reports: `{node.error}`", True)
    if node.error:
        return _fell_back(node, expected)
    if active != expected:
        return Verdict("pending", f"waiting for {describe(expected)} to become active; active is {describe(active)}")
    return _judge_active(node, expected, beaten)


def by_status(found: Verdict, field: str) -> Verdict:
    """Return a good verdict on a node whose kubelet shows no live configuration, since a `field` is false."""
    proof = f"by its status and its heartbeat: its live values cannot be read with {field}: false"
    return dataclasses.replace(found, message=f"{found.message}, {proof}")


def _judge_without_status(node: Node) -> Verdict:
    if node.on_node:
        return Verdict(
            "pending", "waiting for the guard on the node to report; see `journalctl -u livenodes-kubelet-guard` there"
        )
    return Verdict(
        "not_listening",
        f"its kubelet is not listening: it reports no {node.form.status_name}. It needs {node.form.needs}",
    )


def _judge_active(node: Node, expected: dict[str, str], beaten: bool) -> Verdict:
    if node.ready != "True":
        return Verdict(
            "not_ready", f"its config is active but the Node is not Ready ({node.ready_reason or node.ready})"
        )
    started = (node.status or {}).get("started") or ""
    # Both times are by the node's clock, in one format. A heartbeat of the previous process is not evidence.
    if node.heartbeat < started and not beaten:
        return Verdict(
            "not_ready",
            f"its config is active, but the Node has sent no heartbeat since its kubelet started at {started}",
        )
    return Verdict("active", f"runs {describe(expected)}")


def _fell_back(node: Node, expected: dict[str, str]) -> Verdict:
    active = node.part("active")
    current = "its local config"
    if active:
        current = f"its last-known-good, {describe(active)}"
    current = node.form.fallbacks.get(node.place, current)
    means = ""
    if not node.on_node:
        # The guard reports the cause; a kubelet writes it only to its log.
        means = meaning(node) or f"{MEANING_FOLLOWS}{_UNKNOWN}"
    return Verdict(
        "fell_back", f"its kubelet refused {describe(expected)} and reverted to {current}: `{node.error}`{means}", True
    )


def meaning(node: Node) -> str:
    """Return the meaning of an error after MEANING_FOLLOWS, empty for one of an unknown meaning."""
    words = MEANING.get(node.error)
    if node.form.explains_errors:
        words = node.form.meaning_of_error(node.error)
    return f"{MEANING_FOLLOWS}{words}" if words else ""


def _judge_local(node: Node) -> Verdict:
    left = [name for name in ("assigned", "active", "lastKnownGood") if node.part(name)]
    if node.form.clears_sync_error and is_sync_error(node):
        # Until then its disk has the source that it had.
        return Verdict("sync_error", f"its kubelet reports `{node.error}`{meaning(node)}")
    if left:
        return Verdict(
            "pending",
            f"waiting for its kubelet to revert to its local config; status.config still has {', '.join(left)}",
        )
    if node.error:
        # A kubelet that never stored the source does not restart, and keeps the error until its next restart.
        return Verdict(
            "local",
            f"runs its local config; the error `{node.error}` in its status is a leftover that its next restart clears",
        )
    return Verdict("local", "runs its local config")


def at_timeout(
    verdict: Verdict, delivery: str, silent_for: float | None, seconds: float, form: SourceForm = LATER
) -> Verdict:
    """Return the final verdict on a node at the timeout of `seconds` seconds.

    `silent_for` is the age of its last heartbeat in seconds, None if unknown; `form` that of its source.
    """
    on_node = deliveries.of(delivery).on_node
    if silent_for is not None and silent_for > 40:
        remedy = (
            "The API cannot repair it: on the node, see `journalctl -u kubelet` and empty "
            f"{form.assigned_file} in its --dynamic-config-dir"
        )
        if on_node:
            remedy = (
                "Its guard reverts a configuration that is not confirmed, and reports why: on the node, see "
                "`journalctl -u kubelet -u livenodes-kubelet-guard`"
            )
        message = (
            f"its kubelet has sent no heartbeat for {silent_for:.0f} s: it is dead or in a crash loop. {remedy}. "
            "Last seen: "
        )
        return Verdict("silent", message + _clipped(verdict.message, LONGEST_MESSAGE - len(message)), True)
    if verdict.state == "pending" and not on_node and (silent_for is not None or not form.has_lease):
        message = f". After {seconds:.0f} s its kubelet {form.to_restart}"
        return Verdict("not_restarting", _clipped(verdict.message, LONGEST_MESSAGE - len(message)) + message, True)
    return dataclasses.replace(verdict, message=f"{verdict.message} (gave up after {seconds:.0f} s)", final=True)


def _clipped(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 3].rstrip('.,;: ')}..."


def ok(verdict: Verdict) -> bool:
    """Return whether a node runs what it should."""
    return verdict.state in ("active", "local")


def result(rows: dict[str, dict[str, t.Any]], seconds: float) -> dict[str, t.Any]:
    """Return the result of a module that judged these nodes for some seconds."""
    good = sum(row["ok"] for row in rows.values())
    states = collections.Counter(row["state"] for row in rows.values())
    counts = {"nodes": len(rows), "ok": good, "failed": len(rows) - good, "states": dict(sorted(states.items()))}
    return {"changed": False, "nodes": rows, "summary": {**counts, "waited_seconds": round(seconds, 1)}}
