# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One rollout at a time on a node: who may begin, who has to wait, and who is dead.

Two rollouts whose nodes overlap exclude each other, others do not know of each other. The order of the steps is the
proof: each creates its claim, then lists all claims, then goes on or withdraws. Of two claims the one created second is
listed with the first, and gives way; so both can never be held, and the first is never stopped by the second. A dead
holder's Lease is deleted, only as it was read, before a new one is held.
"""

from __future__ import annotations

import time
import typing as t

from ..api import timestamps
from ..api.errors import ApiError, ClusterError
from ..api.session import Session
from . import lease_objects

# Seconds between two looks at a holder that may be dead.
POLL = 2.0
# How many nodes a message names.
NAMED = 10


def lease(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Hold or release the Lease of a rollout."""
    if options["state"] == "released":
        return _release(session, options["lease"], check_mode)
    if not options["nodes"]:
        raise ClusterError("nodes is an empty list: name the nodes of the rollout")
    if options["duration"] < 1:
        raise ClusterError(
            f"duration is {options['duration']}: give the seconds after which a holder that does not renew counts as dead, such as 300"
        )
    if options["wait"] is None:
        options = {**options, "wait": options["duration"] + 10}
    if check_mode:
        return _forecast(session, options)
    return _hold(session, options)


def renew(session: Session, lease: dict[str, t.Any] | None) -> None:
    """Tell the others that the rollout is alive (one PATCH); nothing without a lease, or with that of check mode, which
    has no name.

    Raises ClusterError when the lease is not ours any more.
    """
    if lease and lease.get("name"):
        _check(lease)
        lease_objects.renew(session, lease)


def _hold(session: Session, options: dict[str, t.Any]) -> dict[str, t.Any]:
    """Claim until the claim is held. Without obstacles: one POST, one LIST, one PATCH."""
    end = time.monotonic() + options["wait"]
    taken_over: list[dict[str, t.Any]] = []
    while True:
        held, obstacles = _claim(session, options, taken_over)
        if held:
            return {"changed": True, "lease": held.lease(), "taken_over": taken_over, "obstacles": []}
        _outlast(session, options, obstacles, end)


def _claim(
    session: Session, options: dict[str, t.Any], taken_over: list[dict[str, t.Any]]
) -> tuple[lease_objects.Claim | None, list[lease_objects.Claim]]:
    """Return our claim, held, or what stands in its way; note in `taken_over` whose Lease was deleted for it."""
    before = time.time()
    own = lease_objects.create(
        session, options["namespace"], options["holder"], options["group"], options["nodes"], options["duration"]
    )
    try:
        _check_clock(session, own, before, time.time())
        others = [
            claim for claim in lease_objects.read(session, own.namespace, options["nodes"]) if claim.uid != own.uid
        ]
        now = time.time()
        dead = [claim for claim in others if now > claim.expires]
        obstacles = [claim for claim in others if claim not in dead and (claim.held or claim.older(own))]
        for claim in dead if not obstacles else ():
            if lease_objects.delete(session, claim.namespace, claim.name, claim.uid, claim.revision):
                taken_over.append(_row(claim))
            else:
                # Somebody was faster, or it is alive after all.
                obstacles.append(claim)
        if not obstacles:
            lease_objects.renew(session, own.lease(), held=True)
            return own, []
    except BaseException:
        _withdraw(session, own)
        raise
    lease_objects.delete(session, own.namespace, own.name, own.uid)
    return None, obstacles


def _withdraw(session: Session, own: lease_objects.Claim) -> None:
    """Remove our claim on the way out; the cause of that is what is told, and a claim that stays expires."""
    try:
        lease_objects.delete(session, own.namespace, own.name, own.uid)
    except ApiError:
        return


def _outlast(session: Session, options: dict[str, t.Any], obstacles: list[lease_objects.Claim], end: float) -> None:
    """Wait until nothing is in the way any more. Raises ClusterError as soon as a holder shows that it is alive, or
    cannot expire in time.
    """
    first = {claim.uid: claim.renewed for claim in obstacles}
    while obstacles:
        now, left = time.time(), end - time.monotonic()
        holders = [claim for claim in obstacles if claim.held]
        alive = any(first.get(claim.uid) != claim.renewed for claim in holders)
        if alive or left <= 0 or any(claim.expires - now > left for claim in holders):
            raise ClusterError(
                _refusal(options, obstacles, now), {"changed": False, "obstacles": [_row(claim) for claim in obstacles]}
            )
        time.sleep(min(POLL, left))
        obstacles = _standing(session, options)


def _standing(session: Session, options: dict[str, t.Any]) -> list[lease_objects.Claim]:
    """Return the claims on our nodes whose holders are not dead (one LIST)."""
    found = lease_objects.read(session, options["namespace"], options["nodes"])
    now = time.time()
    return [claim for claim in found if now <= claim.expires]


def _check_clock(session: Session, own: lease_objects.Claim, before: float, after: float) -> None:
    """Refuse to judge others by a clock that is wrong: a live holder would be taken for a dead one, or we for dead. The
    API server's is what all share.
    """
    tolerated = own.duration / 4
    # creationTimestamp has whole seconds.
    off = max(before - tolerated - own.created - 1, own.created - after - tolerated)
    if off > 0:
        raise ClusterError(
            f"this machine's clock and that of {session.host} differ by {timestamps.span(off + tolerated)}: whether another rollout is alive cannot "
            "be told. Set the clocks (NTP), then run again; nothing was changed"
        )


def _forecast(session: Session, options: dict[str, t.Any]) -> dict[str, t.Any]:
    """Tell what would stand in the way, and create nothing (one LIST)."""
    obstacles = _standing(session, options)
    return {
        "changed": True,
        "lease": {},
        "taken_over": [],
        "obstacles": [_row(claim) for claim in obstacles],
        "warnings": [_refusal(options, obstacles, time.time())] if obstacles else [],
    }


def _release(session: Session, lease: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Delete our Lease, as we made it. One that is gone, or another one by now, is none of our business."""
    changed = False
    if lease.get("name"):
        _check(lease)
        changed = (
            lease_objects.exists(session, lease)
            if check_mode
            else lease_objects.delete(session, lease["namespace"], lease["name"], lease["uid"])
        )
    return {"changed": changed, "lease": lease, "taken_over": [], "obstacles": []}


def _check(lease: dict[str, t.Any]) -> None:
    absent = {"namespace", "uid", "holder", "duration"} - set(lease)
    if absent:
        raise ClusterError(
            f"lease has no {', '.join(sorted(absent))}: give what kubelet_rollout_lease returned as lease, unchanged"
        )


def _row(claim: lease_objects.Claim) -> dict[str, t.Any]:
    return {"name": claim.name, "holder": claim.holder, "group": claim.group, "renewed": timestamps.text(claim.renewed)}


def _refusal(options: dict[str, t.Any], obstacles: t.Sequence[lease_objects.Claim], now: float) -> str:
    lines = [f"another rollout is under way on nodes of {options['group']}; nothing was changed."]
    for claim in obstacles:
        shared = claim.shared(options["nodes"])
        names = ", ".join(shared[:NAMED]) + (f" and {len(shared) - NAMED} more" if len(shared) > NAMED else "")
        did = "rolls out to" if claim.held else "is about to roll out to"
        lines.append(
            f"{claim.holder} {did} {claim.group or 'an unnamed group'} since {timestamps.text(claim.acquired)}, renewed its Lease {claim.namespace}/{claim.name} "
            f"{timestamps.span(now - claim.renewed)} ago and counts as dead when it has not for {claim.duration} s; nodes in both: {names}."
        )
    lines.append(
        "Wait until it is done and run again. If you know that it is dead: run again, which waits until its Lease expires, or "
        f"`kubectl -n {obstacles[0].namespace} delete lease {' '.join(claim.name for claim in obstacles)}`."
    )
    return "\n".join(lines)


class Keeper:
    """Renews a lease (without a name: there is none, as in check mode) whenever a third of its duration is over, the
    first time at once.

    One that was renewed a moment ago is `fresh`: its turn comes after a third of the duration.
    """

    def __init__(self, session: Session, held: dict[str, t.Any] | None, fresh: bool = False) -> None:
        self.session = session
        self.lease = held if held and held.get("name") else None
        self.every = float(self.lease["duration"]) / 3 if self.lease else 0.0
        self._due = time.monotonic() + (self.every if fresh else 0.0)

    def keep(self) -> None:
        """Renew it if it is time. Raises ClusterError when it is not ours any more, ApiError when it could not be asked for."""
        if self.lease and time.monotonic() >= self._due:
            lease_objects.renew(self.session, self.lease)
            self._due = time.monotonic() + self.every

    def nap(self, seconds: float) -> float:
        """Return how long one may sleep at most so that the lease is renewed in time."""
        left = self._due - time.monotonic()
        return min(seconds, left) if self.lease and left > 0 else seconds
