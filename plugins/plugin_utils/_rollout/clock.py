# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the steps of a batch may take: for the confirmation, the Lease of the rollout and its window."""

from __future__ import annotations

import typing as t

from ...module_utils._config.delivery import NATIVE

NODE_SECONDS = 90
"""Seconds that one node may need for all steps on it: 60 until healthz answers, which the handler of the role
checkpoint allows, and 10 each for arming, stopping and confirming, with the connection.
"""
HOST_SECONDS = 1
"""Seconds of the controller for each host of the batch, one host after the other. About ten tasks lie between arming
and confirmation, and a task costs the controller 0.02 to 0.1 s for each host.
"""
MARGIN_SECONDS = 30
"""Seconds for the tasks that run once, and for what the calls on the controller need after their timeouts."""
_LEASE_SECONDS = 300
"""Seconds of a Lease that each call renews in time."""


def needed_seconds(
    hosts: int,
    forks: int,
    wait_timeout: float = 180,
    pods_timeout: float = 120,
    soak_seconds: float = 0,
    node_seconds: float = NODE_SECONDS,
) -> int:
    """Return the seconds between the first arming in a batch of C(hosts) and its last confirmation, at most.

    One wave is added for nodes that fail in the switch: the controller restarts them with their previous configuration
    before it goes on with the others.
    """
    waves = -(-max(1, hosts) // max(1, forks))
    at_nodes = (waves + 1) * node_seconds + hosts * HOST_SECONDS
    return round(at_nodes + wait_timeout + pods_timeout + soak_seconds + MARGIN_SECONDS)


def confirm_seconds(hosts: t.Sized, forks: t.Any, own: t.Any = None, soak_seconds: t.Any = 0, **parts: t.Any) -> int:
    """Return the seconds after which the guard of a node in the batch C(hosts) reverts an unconfirmed configuration.

    C(own) is the operator's choice, to which the soak is added; without it, the sum of what the batch may need. The
    other parts are those of C(needed_seconds).
    """
    soak = float(soak_seconds or 0)
    if own not in (None, ""):
        return round(float(own) + soak)
    return needed_seconds(len(hosts), int(forks), soak_seconds=soak, **_numbers(parts))


def confirm_problem(batches: t.Iterable[t.Sized], forks: t.Any, own: t.Any = None, **parts: t.Any) -> str:
    """Return why the operator's C(own) time is too short for the largest of the batches; empty if it is long enough.

    The soak does not matter, because it is added to both.
    """
    size = max(map(len, batches), default=0)
    if own in (None, "") or not size:
        return ""
    needed = needed_seconds(size, int(forks), **_numbers(parts))
    if float(own) >= needed:
        return ""
    return (
        f"kubelet_config_confirm_seconds is {own}, but a batch of {size} with {forks} forks may need {needed} s from "
        "the switch to the confirmation. The guards would revert good nodes. Remove the variable, use smaller "
        "batches or more forks, or lower kubelet_config_node_seconds"
    )


def lease_seconds(
    batches: t.Iterable[t.Sized],
    rows: t.Mapping[str, t.Mapping[str, t.Any]],
    forks: t.Any,
    own: t.Any = None,
    node_seconds: t.Any = NODE_SECONDS,
    on_nodes: bool | None = None,
) -> int:
    """Return the seconds after which a rollout that does not renew its Lease counts as dead: C(own) if set.

    Each call on the controller renews the Lease, but the steps on the nodes of a batch cannot: they have no access to
    it. So the duration covers all steps on the nodes of the largest of the C(batches), and the third of it that may
    have passed since the last renewal before them. Without such steps, _LEASE_SECONDS are enough. C(on_nodes): whether
    there are any; by default, C(rows) show it, the status of the group by node. With a shorter choice of the operator,
    another rollout may begin during these steps; then the next call on the controller stops this one.
    """
    if own not in (None, ""):
        return int(float(own))
    size = max(map(len, batches), default=0)
    if on_nodes is None:
        on_nodes = any(row.get("delivery") != NATIVE for row in rows.values())
    if not size or not on_nodes:
        return _LEASE_SECONDS
    steps = needed_seconds(size, int(forks), 0, 0, 0, float(node_seconds))
    return max(_LEASE_SECONDS, -(-steps * 3 // 2))


def _numbers(parts: t.Mapping[str, t.Any]) -> dict[str, float]:
    """Return the parts as numbers: AWX passes some variables as text."""
    return {name: float(value) for name, value in parts.items()}


class BatchTime(t.NamedTuple):
    """What decides how long a batch takes.

    C(waves): in how many waves Ansible works on its hosts, 1 without steps on nodes. C(soak): its seconds. C(drains):
    whether nodes are drained.
    """

    waves: int
    soak: float
    drains: bool


def needed(batch: BatchTime, done: t.Sequence[BatchTime], took: t.Sequence[float], most: float, drain: float) -> float:
    """Return the seconds that a batch is expected to take.

    C(took): the seconds that each batch before it (C(done)) took. The slowest of them counts without its soak. If it
    had fewer waves than this one, its time grows with the waves. Before the first batch nothing is known, so it
    counts with C(most), what the guards allow from the switch to the confirmation. C(drain): what a drain may take,
    until a batch has shown it.
    """
    first_drain = 0.0
    if batch.drains and not any(one.drains for one in done):
        first_drain = drain
    if not done:
        return most + first_drain
    slowest = 0.0
    for one, seconds in zip(done, took):
        slowest = max(slowest, (seconds - one.soak) * max(1.0, batch.waves / one.waves))
    return slowest + batch.soak + first_drain


def of_rollout(
    rollout: t.Mapping[str, t.Any],
    batch: t.Mapping[str, t.Any],
    minutes: t.Any,
    forks: t.Any,
    of_host: t.Callable[[str, str], t.Any],
    now: float,
    most: t.Any,
    drain: t.Any,
) -> dict[str, t.Any]:
    """Return the window as the gate of a batch gets it: C(minutes), C(ends), C(needs) and C(began).

    C(ends): when the window ends, in seconds since 1970, from C(minutes) and the start of the run. C(needs): the
    seconds that the batch is expected to take. C(began): when each batch before it began. The gate of the last one has
    returned it, and C(of_host) reads it in the variable C(rollout_gate) of its hosts. C(now): the time, at which the
    last batch has ended.
    """
    before = [one for one in rollout["batches"] if one["done"] < batch["done"]]
    began = _began(before[-1], of_host) if before else []
    took = [end - begin for begin, end in zip(began, [*began[1:], now])]
    done = [_batch(one, int(forks)) for one in before[: len(took)]]
    return {
        "minutes": int(float(minutes)),
        "ends": rollout["began"] + 60 * int(float(minutes)),
        "needs": needed(_batch(batch, int(forks)), done, took, float(most), float(drain)),
        "began": began,
    }


def _began(batch: t.Mapping[str, t.Any], of_host: t.Callable[[str, str], t.Any]) -> list[float]:
    """Return when the batches up to this one began, from the first of its hosts that knows."""
    for host in batch["hosts"]:
        window = (of_host(host, "rollout_gate") or {}).get("window") or {}
        if window.get("began"):
            return list(window["began"])
    return []


def _batch(batch: t.Mapping[str, t.Any], forks: int) -> BatchTime:
    waves = -(-len(batch["hosts"]) // forks) if batch["on_nodes"] else 1
    return BatchTime(waves, float(batch["soak"]), bool(batch["drain"]))
