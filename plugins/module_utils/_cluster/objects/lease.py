# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One rollout at a time on a node: which rollout may begin, which must wait, and which holder is dead.

Two rollouts whose nodes overlap exclude each other, and two that change control-plane nodes; others run in parallel.
Each rollout creates its claim, lists all claims, and then holds its claim or withdraws it. Of two claims, the one
created second sees the first in its list and withdraws. So both are never held, and the second never stops the first.
The Lease of a dead holder is deleted before a new one is held, and only if it has not changed since it was read.

All times of Leases are compared with the API server's clock. The clocks of the controllers do not matter.
"""

from __future__ import annotations

import contextlib
import socket
import time
import typing as t

from ..._config.values.node_row import first_of, printable
from ..api import timestamps
from ..api.errors import Accepting, ApiError, ClusterError
from ..api.session import Json, Session
from . import lease_objects

# Seconds between two reads of a Lease whose holder may be dead.
_POLL = 2.0
# The number of nodes that a message names.
_NAMED = 10
NO_LEASES = (
    "the API server has no Leases (coordination.k8s.io/v1, from 1.14 on), so nothing keeps two rollouts off the same "
    "nodes: run one at a time"
)
# The Lease of a run on all nodes that takes a moment: its seconds, and those that it waits for another one that ends.
_SHORT, _PATIENCE = 30, 10


def lease(session: Session, options: Json, check_mode: bool) -> Json:
    """Hold or release the Lease of a rollout and return the module's result. Raises ClusterError."""
    if options["state"] == "released":
        return _release(session, options["lease"], check_mode)
    if not options["nodes"]:
        raise ClusterError("nodes is an empty list: name the nodes of the rollout")
    if options["duration"] < 1:
        raise ClusterError(
            f"duration is {options['duration']}: set the seconds without a renewal after which a holder "
            "counts as dead, such as 300"
        )
    if options.get("control_plane"):
        options = {**options, "nodes": [*options["nodes"], lease_objects.CONTROL_PLANE]}
    if options["wait"] is None:
        options = {**options, "wait": options["duration"] + 10}
    try:
        return _hold(session, options, check_mode)
    except ApiError as error:
        # One that does not serve Leases answers without a reason; a namespace that does not exist has one.
        if error.status != 404 or error.reason:
            raise
    return {"changed": False, "lease": {}, "taken_over": [], "obstacles": [], "warnings": [NO_LEASES]}


@contextlib.contextmanager
def whole_cluster(session: Session, what: str, refusal: str, check_mode: bool) -> t.Iterator[tuple[Keeper, list[str]]]:
    """Hold a Lease on all nodes while the block runs; yield what renews it, and a list of warnings.

    These are the warnings of check mode and, after the block, that the Lease could not be removed.

    `what` is done meanwhile; `refusal` begins the message of the ClusterError that is raised if any rollout is under
    way. API servers before 1.14 have no Leases, so that no rollout can hold one.
    """
    options = {
        "namespace": lease_objects.NAMESPACE,
        "holder": f"{what} on {socket.gethostname()}",
        "group": "all nodes",
        "nodes": None,
        "duration": _SHORT,
        "wait": _PATIENCE,
        "refusal": refusal,
    }
    result: Json = {"lease": {}}
    with Accepting(404):
        result = _hold(session, options, check_mode)
    warnings = list(result.get("warnings") or [])
    try:
        yield Keeper(session, result["lease"], fresh=True), warnings
    finally:
        try:
            _release(session, result["lease"], check_mode)
        except ApiError as error:
            warnings.append(
                f"the Lease that kept rollouts off was not removed ({error.message}): it expires after {_SHORT} s. "
                "Until then no rollout begins"
            )


def _hold(session: Session, options: Json, check_mode: bool) -> Json:
    """Create claims until one is held; check mode returns the current obstacles (one LIST) and creates nothing.

    Without obstacles: one POST, one LIST, one PATCH.
    """
    if check_mode:
        return _forecast(session, options)
    end = time.monotonic() + options["wait"]
    taken_over: list[Json] = []
    while True:
        held, obstacles = _claim(session, options, taken_over)
        if held:
            warnings = list(map(_of_the_dead, taken_over))
            found = {"changed": True, "lease": held.lease(), "taken_over": taken_over, "obstacles": []}
            return {**found, "warnings": warnings}
        _wait_for_others(session, options, obstacles, end)


def _claim(
    session: Session, options: Json, taken_over: list[Json]
) -> tuple[lease_objects.Claim | None, list[lease_objects.Claim]]:
    """Return our held claim, or the claims that prevent it; add to `taken_over` the claims of deleted Leases."""
    own = lease_objects.create(
        session, options["namespace"], options["holder"], options["group"], options["nodes"], options["duration"]
    )
    try:
        claims = lease_objects.read(session, own.namespace, options["nodes"])
        others = [claim for claim in claims if claim.uid != own.uid]
        now = session.server_time()
        obstacles = [claim for claim in others if now <= claim.expires and (claim.held or claim.older(own))]
        if not obstacles:
            obstacles = _take_over(session, others, now, taken_over)
        if not obstacles:
            lease_objects.renew(session, own.lease(), held=True)
            return own, []
    except BaseException:
        # Only this failure is reported: a claim that cannot be deleted expires.
        with contextlib.suppress(ApiError):
            lease_objects.delete(session, own.namespace, own.name, own.uid)
        raise
    lease_objects.delete(session, own.namespace, own.name, own.uid)
    return None, obstacles


def _take_over(
    session: Session, claims: list[lease_objects.Claim], now: float, taken_over: list[Json]
) -> list[lease_objects.Claim]:
    """Delete the expired ones of the claims, and return those that could not be."""
    kept = []
    for claim in claims:
        if now <= claim.expires:
            continue
        if lease_objects.delete(session, claim.namespace, claim.name, claim.uid, claim.revision):
            taken_over.append(_row(claim))
        else:
            # Another rollout deleted it first, or its holder has renewed it.
            kept.append(claim)
    return kept


def _lasts(claim: lease_objects.Claim, first: t.Mapping[str, t.Any], end: float) -> bool:
    """Return whether an obstacle lasts beyond the server's time C(end): its holder has renewed it since C(first), when
    it was seen, or it cannot expire by then. What is not held does not expire.
    """
    return claim.held and (first.get(claim.uid) != claim.renewed or claim.expires > end)


def _wait_for_others(session: Session, options: Json, obstacles: list[lease_objects.Claim], end: float) -> None:
    """Wait until no obstacle is left.

    Raises ClusterError as soon as a holder renews its Lease, and if a Lease cannot expire before `end`. A rollout does
    not wait for another one to end: what that has done is not in its plan.
    """
    first = {claim.uid: claim.renewed for claim in obstacles}
    # A Lease on all nodes is one of prune, which assigns nothing.
    rollouts = [claim for claim in obstacles if claim.held and claim.nodes]
    while obstacles:
        now, left = session.server_time(), end - time.monotonic()
        if left <= 0 or any(_lasts(claim, first, now + left) for claim in obstacles):
            raise ClusterError(
                _refusal(options, obstacles, now), {"changed": False, "obstacles": list(map(_row, obstacles))}
            )
        time.sleep(min(_POLL, left))
        obstacles = _standing(session, options)
    _check_removed(session, options, rollouts)


def _check_removed(session: Session, options: Json, rollouts: list[lease_objects.Claim]) -> None:
    """Raise ClusterError if a rollout that was waited for has ended before its Lease expired: it was removed."""
    now = session.server_time()
    ended = [claim.holder for claim in rollouts if now <= claim.expires]
    if options["nodes"] and ended:
        raise ClusterError(
            f"the Lease of {', '.join(ended)} was removed while this rollout waited for it, so another one may have "
            "changed what this one was planned from. Run it again. Nothing was changed"
        )


def _standing(session: Session, options: Json) -> list[lease_objects.Claim]:
    """Return the claims on our nodes that have not expired (one LIST)."""
    found = lease_objects.read(session, options["namespace"], options["nodes"])
    now = session.server_time()
    return [claim for claim in found if now <= claim.expires]


def _forecast(session: Session, options: Json) -> Json:
    obstacles = _standing(session, options)
    warnings = []
    if obstacles:
        warnings.append(_refusal(options, obstacles, session.server_time()))
    rows = list(map(_row, obstacles))
    return {"changed": True, "lease": {}, "taken_over": [], "obstacles": rows, "warnings": warnings}


def _release(session: Session, lease: Json, check_mode: bool) -> Json:
    """Delete our Lease. One that was deleted or replaced is not an error."""
    changed = False
    if lease.get("name"):
        _check(lease)
        if check_mode:
            changed = lease_objects.exists(session, lease)
        else:
            changed = lease_objects.delete(session, lease["namespace"], lease["name"], lease["uid"])
    return {"changed": changed, "lease": lease, "taken_over": [], "obstacles": []}


def _check(lease: Json) -> None:
    absent = {"namespace", "uid", "holder", "duration"} - set(lease)
    if absent:
        raise ClusterError(
            f"lease has no {', '.join(sorted(absent))}: pass the value `lease` of kubelet_rollout_lease unchanged"
        )


def _row(claim: lease_objects.Claim) -> Json:
    return {"name": claim.name, "holder": claim.holder, "group": claim.group, "renewed": timestamps.text(claim.renewed)}


def _of_the_dead(row: t.Mapping[str, t.Any]) -> str:
    return printable(
        f"the Lease {row['name']} of {row['holder']} was taken over, which was last renewed at {row['renewed']}: that "
        f"run, on {row['group'] or 'an unnamed group'}, ended without removing it"
    )


def _refusal(options: Json, obstacles: t.Sequence[lease_objects.Claim], now: float) -> str:
    lines = [
        options.get("refusal") or f"another rollout is running on nodes of {options['group']}; nothing was changed."
    ]
    lines += [_in_words(claim, options["nodes"] or (), now) for claim in obstacles]
    names = " ".join(claim.name for claim in obstacles)
    lines.append(
        "Wait until it is done and run again. If you know that it is dead, run again and wait until its Lease expires, "
        f"or run `kubectl -n {obstacles[0].namespace} delete lease {names}`."
    )
    return "\n".join(lines)


def _in_words(claim: lease_objects.Claim, nodes: t.Iterable[str], now: float) -> str:
    """Return what the holder of a claim does, and why that excludes a rollout to these nodes."""
    state = "has been rolling out to" if claim.held else "has been waiting to roll out to"
    names = first_of(claim.shared(set(nodes) - {lease_objects.CONTROL_PLANE}), _NAMED)
    both = ""
    if names:
        both = f" Nodes in both rollouts: {names}."
    elif claim.nodes and lease_objects.CONTROL_PLANE in claim.nodes:
        both = " Both change control-plane nodes, and the cluster changes these in one rollout at a time."
    return (
        f"{claim.holder} {state} {claim.group or 'an unnamed group'} since {timestamps.text(claim.acquired)}. "
        f"It renewed its Lease {claim.namespace}/{claim.name} {timestamps.span(now - claim.renewed)} ago, which "
        f"expires {claim.duration} s after the last renewal.{both}"
    )


class Keeper:
    """Renews a lease whenever a third of its duration is over.

    The first renewal is immediate, for a `fresh` lease (just renewed) after a third of the duration. Without a lease,
    or with the nameless lease of check mode, it does nothing; in `check_mode` with no lease at all.
    """

    def __init__(self, session: Session, held: Json | None, check_mode: bool = False, fresh: bool = False) -> None:
        self.session = session
        self.lease: Json | None = None
        self.every = 0.0
        self._due = time.monotonic()
        if held and held.get("name") and not check_mode:
            _check(held)
            self.lease = held
            self.every = float(held["duration"]) / 3
        if fresh:
            self._due += self.every

    def keep(self) -> None:
        """Renew the lease if due. Raises LeaseLost if another rollout took it over, ApiError if the PATCH fails."""
        if self.lease and time.monotonic() >= self._due:
            lease_objects.renew(self.session, self.lease)
            self._due = time.monotonic() + self.every

    def bounded_pause(self, seconds: float) -> float:
        """Return `seconds`, or less if the lease is due earlier: the longest sleep that allows a renewal in time."""
        left = self._due - time.monotonic()
        return min(seconds, left) if self.lease and left > 0 else seconds
