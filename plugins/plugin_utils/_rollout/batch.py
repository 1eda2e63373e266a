# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One batch of a rollout, or the hosts of a play that lists the roles itself: what changes, and what was found out."""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from . import rows

Result = Mapping[str, Any]
"""What a module returns."""


class Batch(NamedTuple):
    """What changes, with the keys of value.of_host. It stays the same from the first step to the last."""

    hosts: Mapping[str, str]
    """The node names by host, as planned: Ansible drops failed hosts from a play's own list."""
    names: Sequence[str]
    """These node names."""
    sources: Mapping[str, Any]
    """What to assign, by node name."""
    expected: Mapping[str, Any] | None
    """What to verify, by node name; None for what is assigned to the nodes."""
    texts: Mapping[str, str]
    """The planned configurations by node name, for check mode: then nothing has pushed them."""
    soak: int | None
    """Seconds of the soak; None without one."""
    lease: Mapping[str, Any]
    name: str
    """The name of the rollout, empty without one."""
    undoes: Any
    """The rollout that a rollback undoes, else None."""
    steps: str = ""
    """The entry point of the role C(assign) that changes the nodes."""
    drain: Sequence[str] = ()
    """The nodes to drain."""
    reach: Sequence[str] = ()
    """Those of them whose host must be reached first."""
    on_nodes: bool = False
    """Whether steps on nodes are needed."""
    before: Mapping[str, Any] = {}
    """The variant of each node before the rollout."""
    uids: Mapping[str, str] = {}
    """The uid of each Node as planned, by node name."""
    transports: Mapping[str, str] = {}
    """Who takes a source to a node, by node name, for hosts that set it."""
    started: bool = False
    """Whether an earlier batch exists."""
    done: int = 0
    """How many hosts are done when the batch ends."""
    group: str = ""
    continues: bool = True
    """Whether so few nodes have failed that the rollout goes on after this batch."""


class Found(NamedTuple):
    """What the steps have found out so far. It goes from the result of one step to the next as C(passed) returns it."""

    begun: bool = False
    """Whether the gate has let the batch begin. False where a play lists the roles itself."""
    soak: int | None = None
    """Seconds that the guards wait in addition."""
    confirm: int | None = None
    """Seconds in which a node with a follower must be confirmed, with the soak; None outside a rollout."""
    rows: Mapping[str, Mapping[str, Any]] = {}
    """See rows.py."""
    before: Mapping[str, Any] = {}
    """What the nodes ran that get another drop-in, for their verification."""
    pods: Mapping[str, Any] = {}
    """The pods of the nodes when they begin to change."""
    drained: bool = False
    """Whether a drain was tried, so that nodes may be cordoned."""
    on_trial: Mapping[str, Any] = {}
    """The source of each node whose host will confirm or revert it."""
    moving: Mapping[str, Any] = {}
    """In a migration, the source of each node that takes part."""
    written: Sequence[str] = ()
    """In a migration, the nodes that have gone through all steps so far."""
    attempted: bool = False
    """Whether a migration has begun to remove Node.spec.configSource."""

    @classmethod
    def of(cls, passed: Mapping[str, Any]) -> Found:
        """Return what the step before has passed on; without one, nothing is known yet."""
        return cls(**json.loads(passed.get("found") or "{}"))

    def passed(self) -> dict[str, Any]:
        """Return this for the next step as one text, and beside it C(soak), which the role C(checkpoint) reads.

        Ansible visits each value of a mapping in every task that it goes through.
        """
        return {"soak": self.soak, "found": json.dumps(self._asdict())}

    def open(self, names: Sequence[str] | Mapping[str, Any]) -> list[str]:
        """Return those of the nodes that have not failed."""
        return rows.open_ones(self.rows, names)

    def adding(self, result: Result, **more: Any) -> Found:
        """Return this with the rows of a result."""
        return self._replace(rows=rows.added(self.rows, result.get("nodes")), **more)


class Play(NamedTuple):
    """The play in which a step runs."""

    variable: Callable[[str], Any]
    """Returns a variable as a task reads it, None if it is not set."""
    of_host: Callable[[str, str], Any]
    """Returns what an earlier task or role has left on a host, by host and variable. This is slow."""
    dump: Mapping[str, Any]
    """What the role C(dump) has found last, empty without it."""
    host: str
    """The host of the task."""
    present: Sequence[str]
    """The hosts that are left."""
    untouched: Sequence[str]
    """The hosts of later batches of the play."""
    check_mode: bool
    forks: int


class At(NamedTuple):
    """All that a step reads. C(rollout): see value.begin; empty without a rollout."""

    batch: Batch
    found: Found
    play: Play
    rollout: Mapping[str, Any]

    def failures(self) -> dict[str, str]:
        """Return by node name why nodes of the batch have failed so far."""
        return rows.failures(self.batch.hosts, self.found.rows, self.play.present)

    def collected(self, native: bool = False) -> At:
        """Return this with what the roles have left on the hosts in its rows; see rows.added_by_hosts."""
        more = rows.added_by_hosts(self.found.rows, self.batch.hosts, self.play.of_host, native)
        return self._replace(found=self.found._replace(rows=more))
