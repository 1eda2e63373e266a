# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps at the end of a batch: reverts, cordons that are undone, verdicts. See steps.py."""

from __future__ import annotations

import functools
from typing import Any, Mapping

from . import goals, rows
from .batch import At, Found, Result
from .steps import NODE_NAME, WAIT, Options, Step, with_rows


def _revert(at: At) -> Options | None:
    reverts = rows.to_revert(at.found.rows, at.failures())
    # A reset or a migration that failed leaves the node in the state that its row names.
    if at.play.check_mode or at.batch.steps != goals.ASSIGN or not reverts:
        return None
    return {
        "nodes": reverts,
        "current": {"nodes": at.batch.before},
        "wait_timeout": at.play.variable(WAIT),
        "lease": at.batch.lease,
    }


def _verdicts(at: At, result: Result) -> Mapping[str, Any]:
    """C(verdicts): see rows.verdicts. C(continues): whether the rollout goes on after this batch."""
    failures = at.failures()
    continues = len({**at.rollout["failed"], **failures}) <= at.rollout["max_failed"]
    later = [] if continues else _untouched(at)
    reverted = result.get("nodes") or {}
    verdicts = rows.verdicts(at.batch.hosts, failures, at.play.present, reverted, later)
    return {"failures": failures, "verdicts": verdicts, "continues": continues}


def _uncordon(at: At) -> Options | None:
    """It needs no lease, which is already released if the batch failed. The next holder has cordoned no node of this
    batch yet.
    """
    if not at.found.drained:
        return None
    return {"state": "restored", "nodes": at.batch.drain}


def _nothing_new(at: At, _result: Result) -> Found:
    """The rows stay: those of a revert are in the verdicts, and a node that was deleted has no cordon."""
    return at.found


def _no_call(_at: At) -> None:
    return None


def _stopped(at: At, reason: str) -> str:
    batch, later = at.batch, _untouched(at)
    return rows.stopped(batch.group, batch.steps, batch.names, reason or "see above", at.found.begun, later)


def _own(at: At) -> At:
    """Return this for the host of the task alone."""
    own = {host: name for host, name in at.batch.hosts.items() if host == at.play.host}
    return at._replace(batch=at.batch._replace(hosts=own)).collected()


def _verdict(at: At, _reason: str, last: bool) -> str:
    """Return why the node of the host has failed. C(last): whether the play ends with it."""
    later = at.play.untouched if last else ()
    for name, why in at.failures().items():
        return rows.node_message(why, name, at.play.host, untouched=later)
    return ""


def _untouched(at: At) -> list[str]:
    """Return the hosts of later batches of the rollout."""
    return list(at.rollout["hosts"])[at.batch.done :]


STEPS = {
    # Count the failed nodes of a batch, and revert those that were assigned a source.
    "revert": Step(
        _revert,
        "node_config_revert",
        reads=(NODE_NAME, WAIT),
        begin=At.collected,
        goes_on=with_rows,
        after=_nothing_new,
        more=_verdicts,
    ),
    # Undo the cordons of this rollout on the nodes of the batch.
    "uncordon": Step(_uncordon, "node_drain", after=_nothing_new),
    # Report where the rollout stopped and which hosts are untouched.
    "stop": Step(_no_call, problem=_stopped),
    # Report on its host a node that failed, in a play that lists the roles itself.
    "report_assigned": Step(_no_call, begin=_own, problem=functools.partial(_verdict, last=False)),
    "report_verified": Step(_no_call, begin=_own, problem=functools.partial(_verdict, last=True)),
}
