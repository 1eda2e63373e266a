# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The window of a rollout: when it ends, and how long its next batch will take."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence


class Batch(NamedTuple):
    """What decides how long a batch takes.

    C(waves): in how many waves Ansible works on its hosts, 1 without steps on nodes. C(soak): its seconds. C(drains):
    whether nodes are drained.
    """

    waves: int
    soak: float
    drains: bool


def needed(batch: Batch, done: Sequence[Batch], took: Sequence[float], most: float, drain: float) -> float:
    """Return the seconds that a batch is expected to take.

    The batches before it (C(done)) C(took) so many seconds. The slowest of them counts without its soak. If it had
    fewer waves than this one, its time grows with the waves. Before the first batch nothing is known, so it counts with
    C(most), what the guards allow from the switch to the confirmation. C(drain): what a drain may take, until a batch
    has shown it.
    """
    first_drain = drain if batch.drains and not any(one.drains for one in done) else 0.0
    if not done:
        return most + first_drain
    slowest = max(max(0.0, seconds - one.soak) * max(1.0, batch.waves / one.waves) for one, seconds in zip(done, took))
    return slowest + batch.soak + first_drain


def of_rollout(
    rollout: Mapping[str, Any],
    batch: Mapping[str, Any],
    minutes: Any,
    forks: Any,
    hostvars: Mapping[str, Mapping[str, Any]],
    now: float,
    most: Any,
    drain: Any,
) -> dict[str, Any]:
    """Return the window as the gate of a batch gets it: C(minutes), C(ends), C(needs) and C(began).

    C(ends): when the window ends, in seconds since 1970, from C(minutes) and the start of the run. C(needs): the
    seconds that the batch is expected to take. C(began): when each batch before it began; the gate of the last one has
    returned it, in the variable C(rollout_gate) of its hosts. C(now): the time, at which the last batch has ended.
    """
    before = [one for one in rollout["batches"] if one["done"] < batch["done"]]
    began = _began(before[-1], hostvars) if before else []
    took = [end - begin for begin, end in zip(began, [*began[1:], now])]
    done = [_batch(one, int(forks)) for one in before[: len(took)]]
    return {
        "minutes": int(float(minutes)),
        "ends": rollout["began"] + 60 * int(float(minutes)),
        "needs": needed(_batch(batch, int(forks)), done, took, float(most), float(drain)),
        "began": began,
    }


def _began(batch: Mapping[str, Any], hostvars: Mapping[str, Mapping[str, Any]]) -> list[float]:
    """Return when the batches up to this one began, from the first of its hosts that knows."""
    found = (((hostvars[host].get("rollout_gate") or {}).get("window") or {}).get("began") for host in batch["hosts"])
    return list(next(filter(None, found), []))


def _batch(batch: Mapping[str, Any], forks: int) -> Batch:
    waves = -(-len(batch["hosts"]) // forks) if batch["on_nodes"] else 1
    return Batch(waves, float(batch["soak"]), bool(batch["drain"]))
