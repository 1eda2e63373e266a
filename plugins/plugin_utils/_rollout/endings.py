# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps at the end of a batch: reverts, cordons that are undone, verdicts. See steps.py."""

from __future__ import annotations

from typing import Any, Mapping

from . import goals, rows
from .batch import At, Found, Result
from .steps import NODE_NAME, WAIT, Options, Step, Verifying


class Revert(Verifying):
    """Count the failed nodes of a batch, and revert those that were assigned a source."""

    module = "node_config_revert"
    reads = (NODE_NAME, WAIT)

    def begin(self, at: At) -> At:
        """See Step."""
        at = at.collected()
        failures = rows.failures(at.batch.hosts, at.found.rows, at.play.present)
        return at._replace(found=at.found._replace(failures=failures, present=list(at.play.present)))

    def options(self, at: At) -> Options | None:
        """See Step."""
        reverts = rows.to_revert(at.found.rows, at.found.failures)
        # A reset or a migration that failed leaves the node in the state that its row names.
        if at.play.check_mode or at.batch.steps != goals.ASSIGN or not reverts:
            return None
        return {
            "nodes": reverts,
            "current": {"nodes": at.batch.before},
            "wait_timeout": at.play.variable(WAIT),
            "lease": at.batch.lease,
        }

    def after(self, at: At, result: Result) -> Found:
        """See Step."""
        return at.found._replace(reverted=result.get("nodes") or {})

    def more(self, at: At, result: Result) -> Mapping[str, Any]:
        """See Step. C(verdicts): see rows.verdicts. C(continues): whether the rollout goes on after this batch."""
        found = at.found
        failed = {**at.rollout["failed"], **found.failures}
        continues = len(failed) <= at.rollout["max_failed"]
        later = [] if continues else untouched(at)
        verdicts = rows.verdicts(at.batch.hosts, found.failures, found.present, found.reverted, later)
        return {"failures": found.failures, "verdicts": verdicts, "continues": continues}


class Uncordon(Step):
    """Undo the cordons of this rollout on the nodes of the batch.

    It needs no lease, which is already released if the batch failed. The next holder has cordoned no node of this batch
    yet.
    """

    module = "node_drain"

    def options(self, at: At) -> Options | None:
        """See Step."""
        if not at.found.drained:
            return None
        return {"state": "restored", "nodes": at.batch.drain}

    def after(self, at: At, result: Result) -> Found:
        """See Step. A node that was deleted has no cordon."""
        return at.found


class Stop(Step):
    """Report where the rollout stopped and which hosts are untouched."""

    def options(self, at: At) -> None:
        """See Step."""

    def problem(self, at: At, reason: str) -> str:
        """See Step."""
        return rows.stopped(
            at.batch.group, at.batch.steps, at.batch.names, reason or "see above", at.found.begun, untouched(at)
        )


class Verdict(Step):
    """Report on its host a node that failed, in a play that lists the roles itself. The host is the task's own."""

    def __init__(self, last: bool = False) -> None:
        # Whether the play ends with it.
        self._last = last

    def begin(self, at: At) -> At:
        """See Step."""
        own = {host: name for host, name in at.batch.hosts.items() if host == at.play.host}
        return at._replace(batch=at.batch._replace(hosts=own)).collected()

    def options(self, at: At) -> None:
        """See Step."""

    def problem(self, at: At, reason: str) -> str:
        """See Step."""
        later = at.play.untouched if self._last else ()
        for name, why in rows.failures(at.batch.hosts, at.found.rows, at.play.present).items():
            return rows.node_message(why, name, at.play.host, untouched=later)
        return ""


def untouched(at: At) -> list[str]:
    """Return the hosts of later batches of the rollout."""
    return list(at.rollout["hosts"])[at.batch.done :]
