# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a follower does next, from the annotations of its Node and from the store: a pure function."""

from __future__ import annotations

from typing import NamedTuple

from ..._config.values import annotation, following
from ..._config.values.following import Answer, Orders
from ..store.meta import Source
from ..store.trial import Trial

NOTHING, ANSWER, ASSIGN, RESET = "nothing", "answer", "assign", "reset"
CONFIRM, REVERT, REFUSE = "confirm", "revert", "refuse"
RETURN = "return"
"""A revert that no verdict asks for."""
REPLACED = "it was assigned to another machine or Node: this one is new. Run the rollout again, which plans it anew"


class Seen(NamedTuple):
    """What the decision follows from."""

    source: Source | None
    """The source in the annotation of the Node, None for the local configuration."""
    orders: Orders
    answer: Answer
    """The last answer; the defaults before the first one."""
    assigned: Source | None
    """The source that the store has as assigned."""
    trial: Trial | None
    """The last trial, None without one."""
    has_store: bool = False
    """Whether the node has a store. A reset removes it."""
    is_other_machine: bool = False
    """Whether the annotation names another machine or Node."""
    fault: str = ""
    """Why the annotations cannot be read; it begins with `its annotation` and the name of one."""


class Action(NamedTuple):
    """What is done. C(reason): of a revert, a return or a refusal."""

    kind: str
    reason: str = ""


def action(seen: Seen) -> Action:
    """Return what a follower does next."""
    orders = seen.orders
    if orders.transport == following.SSH:
        return Action(NOTHING)
    if orders.trial and orders.trial != seen.answer.judged:
        return Action(REVERT if orders.reason else CONFIRM, orders.reason)
    if _is_answered(seen):
        return Action(NOTHING)
    refusal = _refusal(seen)
    if refusal:
        return Action(REFUSE, refusal)
    return _change(seen)


def _change(seen: Seen) -> Action:
    """Return how the node gets what its Node names."""
    trial = seen.trial
    if _is_done(seen) and (trial is None or _is_of_seed(seen, trial)):
        return Action(ANSWER)
    if seen.source is None:
        # A malformed source was removed to be written again, as its message asks.
        return Action(ANSWER if _was_malformed(seen, annotation.SOURCE) else RESET)
    if trial is not None and _is_undecided(trial) and following.fits(seen.source, trial.revert_to):
        return Action(RETURN, "its previous source was assigned again")
    return Action(ASSIGN)


def _refusal(seen: Seen) -> str:
    """Return why what the Node names is refused before anything is done; empty if it is not."""
    if seen.fault:
        return seen.fault
    if seen.is_other_machine:
        return REPLACED
    if seen.trial is not None and _was_tried(seen, seen.trial):
        return seen.trial.failed
    return ""


def _is_undecided(trial: Trial) -> bool:
    return not trial.failed and not trial.confirmed


def _is_of_seed(seen: Seen, trial: Trial) -> bool:
    """Return whether what is assigned came with the machine: no controller asked for it, and nothing is left to do."""
    return not seen.orders.attempt and not seen.answer.configMap and not _is_undecided(trial)


def _is_answered(seen: Seen) -> bool:
    """Return whether the last answer is about the present source and attempt, and still holds.

    A Node that was created again names no source and has no answer. That is not the removal of a source.
    """
    answer = seen.answer
    if seen.fault:
        return answer.refused == seen.fault
    if answer.source != seen.source or answer.attempt != seen.orders.attempt or _was_malformed(seen):
        return False
    return bool(answer.refused) or seen.source is None or _is_done(seen) or _has_returned(seen)


def _was_malformed(seen: Seen, place: str = annotation.PREFIX) -> bool:
    """Return whether the last answer refuses an annotation, of this name or of any, as malformed (see Seen.fault)."""
    return seen.answer.refused.startswith(f"its annotation {place}")


def _was_tried(seen: Seen, trial: Trial) -> bool:
    """Return whether this attempt has failed before it was answered."""
    if seen.source is None or not following.fits(seen.source, trial.to):
        return False
    return bool(trial.extra.get("attempt") == seen.orders.attempt)


def _has_returned(seen: Seen) -> bool:
    """Return whether a revert has led to the source: the store keeps as assigned what has failed."""
    trial = seen.trial
    if trial is None or seen.source is None:
        return False
    return bool(trial.failed) and following.fits(seen.source, trial.revert_to)


def _is_done(seen: Seen) -> bool:
    """Return whether the store has what the Node names."""
    if seen.source is None:
        return seen.assigned is None and not seen.has_store
    return following.fits(seen.source, seen.assigned)
