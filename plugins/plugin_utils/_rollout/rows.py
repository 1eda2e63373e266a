# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of a batch: what each stage adds to them, who has failed and why, and the verdicts.

A row has the keys of `node_row`. `assigned` is what the assignment returned and a revert needs. The first failure of a
node is its cause: what follows from it is left out.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Collection, Iterable, Mapping, Sequence

from ...module_utils._config.delivery import AUTO, NATIVE
from ...module_utils._config.drift import drift_cause
from ...module_utils._config.values import amounts, following, node_row, paths
from ...module_utils._config.values.node_row import printable

Rows = Mapping[str, Mapping[str, Any]]
OfHost = Callable[[str, str], Any]
"""Returns what an earlier task or role has left on a host, by host and variable; None without."""
UNREACHED = "unreached"
"""The state of a node on whose host no call succeeds."""
HOST_ROW = "__kubelet_config_row"
"""The variable in which the role `checkpoint` returns the row of its host."""
KEPT = ("ok", "state", "message", "changed", "delivery", "source", "error", "differences", "seen")
_OF_HOST = ("kubelet", "files")
"""What the preflight has found on a host: the kubelet, and the node's own config file with its drop-ins."""
_OF_ASSIGNMENT = ("changed", "delivery", "source", "previous", "uid")
LOST = (
    "the connection to the host was lost during the batch. Its guard reverts a configuration that is not confirmed in "
    "time. Run again once the host is reachable"
)
RESTORED = (
    "Its spec.configSource was restored, so its kubelet runs what that names, as before. The checkpoint is "
    "on the node too. Remove the cause and run again, in either direction"
)


def added(rows: Rows, found: Rows | None) -> dict[str, Any]:
    """Return the rows with those that a call of a stage has returned; None if it was skipped."""
    result = dict(rows)
    for name, row in (found or {}).items():
        before = result.get(name, {})
        if before.get("ok", True):
            result[name] = _merged(before, row)
    return result


def _merged(before: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a node with what one more call has returned."""
    merged: dict[str, Any] = {}
    if set(_OF_ASSIGNMENT) <= set(row):
        merged["assigned"] = paths.only(row, _OF_ASSIGNMENT)
    merged.update(paths.only(row, ("transport",)))
    # The first assignment has what the node ran before.
    merged.update(paths.only(before, ("assigned", "transport", *_OF_HOST)))
    merged.update(paths.only(row, KEPT))
    merged["changed"] = bool(before.get("changed") or row.get("changed"))
    return merged


def added_by_hosts(rows: Rows, hosts: Mapping[str, str], of_host: OfHost, native: bool = False) -> dict[str, Any]:
    """Return the rows with what the steps on the nodes have returned. C(hosts): the node names by host.

    A node with native delivery has such steps only if it was migrated to it (C(native)). Reading the variables of a
    host is slow, so it is skipped otherwise.
    """
    result = dict(rows)
    for host, name in hosts.items():
        row = result.get(name)
        if row is None or (row.get("delivery") == NATIVE and not native) or by_follower(row):
            continue
        own = of_host(host, HOST_ROW) or {}
        merged = dict(row)
        for key in _OF_HOST:
            if own.get(key):
                merged[key] = own[key]
        if own and not own["ok"]:
            reasons = [own["message"]]
            if not row["ok"]:
                reasons.insert(0, row["message"])
            message = node_message(reasons, name, host, node="")
            merged.update(ok=False, message=message, error=message)
        result[name] = merged
    return result


def is_logged_in(row: Mapping[str, Any], delivery: str | None, transport: str | None) -> bool:
    """Return whether Ansible logs in to the host of a node to change it.

    C(row): from node_config_info. C(delivery), C(transport): those that are requested for it, None for none.
    """
    if row.get("follower") and transport != following.SSH:
        return False
    if delivery in (None, AUTO):
        delivery = row["delivery"]
    return delivery != NATIVE


def to_inspect(nodes: Rows, deliveries: Mapping[str, str], transports: Mapping[str, str]) -> list[str]:
    """Return the nodes whose host shows what the API does not. C(nodes): the rows of node_config_info."""
    return [name for name, row in nodes.items() if is_logged_in(row, deliveries.get(name), transports.get(name))]


def by_follower(row: Mapping[str, Any]) -> bool:
    """Return whether the follower of a node takes its source there, so that no step on its host does."""
    return row.get("transport") == following.API


def unreached(hosts: Mapping[str, str], of_host: OfHost, key: str) -> dict[str, Any]:
    """Return rows for the nodes on whose host the preflight failed: the switch would fail as well, since the host
    cannot be reached, or lacks Python, sudo or systemd. C(key): the result of the preflight on each host.
    """
    found = {}
    for host, name in hosts.items():
        result = of_host(host, key) or {}
        if result.get("msg") and "reasons" not in result:
            why = str(result["msg"]).rstrip(".")
            found[name] = node_row.Row(False, UNREACHED, f"was not switched: {why}", error=why).shown()
    return found


def found_on_hosts(rows: Rows) -> dict[str, Any]:
    """Return what the preflights of a batch have found on the hosts, as the option C(hosts) of a verification."""
    found = {}
    for name, row in rows.items():
        if set(_OF_HOST) <= set(row):
            found[name] = {"kubelet": row["kubelet"], "own": row["files"]}
    return found


def results(names: Iterable[str], hosts: Mapping[str, str], hostvars: Rows, key: str) -> dict[str, Any]:
    """Return by node name what a call on their hosts has returned. C(hosts): the inventory hosts by node name."""
    return {name: hostvars[hosts[name]].get(key) for name in names}


def open_ones(rows: Rows, names: Iterable[str]) -> list[str]:
    """Return the nodes that have not failed."""
    return [name for name in names if rows.get(name, {}).get("ok", True)]


def open_sources(sources: Mapping[str, Any], rows: Rows) -> dict[str, Any]:
    """Return the sources of the nodes that have not failed."""
    return paths.only(sources, open_ones(rows, sources))


def unsettled(found: Rows) -> dict[str, Any]:
    """Return rows for the nodes that cannot be migrated, from those of node_config_info."""
    rows = {}
    for name, row in found.items():
        if row["delivery"] == NATIVE and not row["settled"]:
            named = "its spec.configSource names"
            if row["error"]:
                named += f" ({row['error']})"
            message = (
                f"it does not run what {named}, so there is no verified configuration to migrate. Roll out to it or "
                "reset it first. Nothing was changed"
            )
            rows[name] = node_row.Row(False, "unsettled", message, False, NATIVE, row["source"], row["error"]).shown()
    return rows


def lost_sources(rows: Rows, names: Iterable[str]) -> dict[str, Any]:
    """Return the sources that were assigned to those of the nodes that have failed."""
    return {name: rows[name]["assigned"]["source"] for name in names if not rows[name]["ok"]}


def restored(rows: Rows, found: Rows) -> dict[str, Any]:
    """Return the rows after nodes got their spec.configSource back. C(found): what the call for that returned."""
    result = dict(rows)
    for name, row in found.items():
        more = RESTORED
        if not row["ok"]:
            more = f"Its spec.configSource could not be restored: {row['message']}"
        before = str(rows[name]["message"]).rstrip(".")
        result[name] = {**rows[name], "message": f"{before}. {more}"}
    return result


def failures(hosts: Mapping[str, str], rows: Rows, present: Collection[str]) -> dict[str, str]:
    """Return by node name why nodes of a batch failed.

    C(hosts): the node names by host at the start of the batch. A host that is missing in C(present) was lost during the
    batch.
    """
    reasons = {}
    for host, name in hosts.items():
        row = rows.get(name, {})
        given = [] if host in present else [LOST]
        if not row.get("ok", True):
            given += [row["message"], *_overrides(row)]
        if given:
            reasons[name] = node_message(given, name, node="")
    return reasons


def _overrides(row: Mapping[str, Any]) -> list[str]:
    """Return what overrides values that are not live, from what the preflight found on the host."""
    kubelet = row.get("kubelet")
    if not kubelet or row.get("state") != "differs":
        return []
    differing = [item["path"] for item in row.get("differences") or ()]
    if not differing:
        return []
    return drift_cause.of_override(differing, kubelet)


def to_revert(rows: Rows, names: Iterable[str]) -> dict[str, Any]:
    """Return what the assignment returned of the failed nodes that it concerned, for node_config_revert."""
    return {name: rows[name]["assigned"] for name in names if "assigned" in rows.get(name, {})}


def verdicts(
    hosts: Mapping[str, str],
    reasons: Mapping[str, str],
    present: Collection[str],
    reverted: Rows,
    untouched: Sequence[str],
) -> dict[str, Any]:
    """Return the verdict on each failed host, by host, and under C(lost) one message on all hosts that were lost.

    C(hosts): the node names by host. C(reverted): what node_config_revert returned, empty if it was not needed.
    C(untouched): the hosts that the rollout will not reach.
    """
    found: dict[str, str] = {}
    lost: dict[str, list[str]] = {}
    for host, name in hosts.items():
        if name not in reasons:
            continue
        if host not in present:
            lost.setdefault(reasons[name], []).append(name)
            continue
        then = str(reverted.get(name, {}).get("message") or "")
        found[host] = node_message(reasons[name], name, then=then, untouched=untouched)
    message = ". ".join(node_message(reason, ", ".join(names)) for reason, names in lost.items())
    if lost:
        message = _with_untouched(message, untouched)
    return {"hosts": found, "lost": message}


def stopped(group: str, steps: str, names: Sequence[str], reason: str, begun: bool, untouched: Sequence[str]) -> str:
    """Return where a rollout stopped, why, and which hosts are untouched.

    C(steps): the entry point of the role C(assign) that changes the batch. C(names): its nodes. C(begun): whether the
    gate had let it begin.
    """
    what = f"The rollout to {group}"
    if steps == "reset":
        what = f"The return of {group} to its local configuration"
    elif steps.startswith("to_"):
        what = f"The migration of {group}"
    rest = "Run again to complete it." if begun else "Nothing was changed there."
    return (
        f"{what} stopped at {', '.join(names)}: {reason.rstrip('.')}. {rest} "
        f"Untouched hosts: {', '.join(untouched) or 'none'}"
    )


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
    if limit in (None, ""):
        return skipped
    allowed = allowed_of(limit, len(found["nodes"]))
    if len(skipped) > allowed:
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


UNKNOWN = "the task that failed reported no reason"
# What follows the name of the node without a colon.
_PREDICATE = re.compile(r"(?:was|cannot be) ")


def node_message(
    reasons: Any, name: str, host: str = "", then: str = "", untouched: Sequence[str] = (), node: str = "Node"
) -> str:
    """Return the reasons as one message that names the node once, at its beginning.

    Each reason may be a message of its own: the name of the node or of its C(host) at its beginning, and a full stop at
    its end, are removed. Empty reasons, and those that another one contains, are left out. C(then): what followed.
    C(untouched): the hosts that a rollout has not reached. An empty C(node) leaves out the name, for a part of a
    message.
    """
    given = [reasons] if isinstance(reasons, str) else reasons or ()
    bare = [_bare(str(reason or ""), [name, host]) for reason in (*given, then)]
    text = _with_untouched("; ".join(_distinct(bare)) or UNKNOWN, untouched)
    if not node:
        return text
    colon = "" if _PREDICATE.match(text) else ":"
    return f"{node} {name}{colon} {text}"


def _distinct(reasons: Iterable[str]) -> list[str]:
    """Return the reasons that are not empty and that no other one contains."""
    parts: list[str] = []
    for reason in filter(None, reasons):
        if not any(reason in other for other in parts):
            parts = [other for other in parts if other not in reason]
            parts.append(reason)
    return parts


def _with_untouched(text: str, untouched: Sequence[str]) -> str:
    """Return a message with the hosts that a rollout has not reached, if there are any."""
    if untouched:
        return f"{text}. Untouched hosts: {', '.join(untouched)}"
    return text


def _bare(reason: str, names: Sequence[str]) -> str:
    """Return a reason without the node's name and without its full stop."""
    named = "|".join(re.escape(one) for one in names if one)
    text = " ".join(printable(reason).split())
    while named:
        shorter = re.sub(rf"^(?:Node (?:{named})(?::|(?=\s))|(?:{named}):)\s*", "", text)
        if shorter == text:
            break
        text = shorter
    if named:
        text = re.sub(rf"\b(?:[Tt]he )?Node (?:{named})(?![\w.-]*\w)", "the Node", text)
    return text.rstrip(". ")
