# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The terms of a trial, which kubelet still runs what was active before it, and which revert was not reported."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import decide, evidence, judging
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.decide import Facts, Unit
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Moment, Progress, Trial
from tests.support.node.guard_node import LOCAL, NEW, OTHER, SOURCE, Node

TRIAL = Trial(SOURCE, OTHER, Moment("b1", 5.0, 1e9), deadline_seconds=60, invocation="i0")
FORMER = "store/checkpoints/u2/1"


def test_the_terms_of_a_trial_without_options() -> None:
    terms = judging.terms_of(TRIAL)
    assert (terms.name, terms.boot, terms.armed, terms.invocation) == (TRIAL.name, "b1", 5.0, "i0")
    assert (terms.confirm_seconds, terms.hold_seconds, terms.unhealthy_seconds) == (60, 60, decide.UNHEALTHY_SECONDS)
    assert (terms.boot_grace_seconds, terms.recovery_seconds) == (
        evidence.BOOT_GRACE_SECONDS,
        evidence.RECOVERY_SECONDS,
    )
    assert (terms.was_healthy, terms.can_revert, terms.confirmed) == (True, True, False)


@pytest.mark.parametrize(
    "name", ["confirm_seconds", "was_healthy", "unhealthy_seconds", "boot_grace_seconds", "recovery_seconds"]
)
def test_each_option_of_a_trial_changes_its_term_alone(name: str) -> None:
    value = False if name == "was_healthy" else 7
    terms = judging.terms_of(TRIAL._replace(extra={name: value}))
    assert terms == judging.terms_of(TRIAL)._replace(**{name: value})


def test_a_trial_of_what_it_reverts_to_cannot_be_reverted() -> None:
    assert not judging.terms_of(TRIAL._replace(revert_to=SOURCE)).can_revert
    assert judging.terms_of(TRIAL._replace(confirmed=True)).confirmed


@pytest.mark.parametrize(
    ("replaced", "invocation", "boot", "read"),
    [
        (None, "i0", "b1", FORMER),
        (None, "i1", "b1", NEW),
        (None, "i0", "b2", NEW),
        ({"failed": ""}, "i0", "b1", ""),
        ({"failed": "it ended"}, "i0", "b1", FORMER),
    ],
)
def test_what_a_kubelet_has_read_whose_start_was_not_noted(
    node: Node, replaced: dict[str, t.Any] | None, invocation: str, boot: str, read: str
) -> None:
    facts = Facts(boot, 6.0, unit=Unit(invocation=invocation))
    assert node.guard().reverts.read(TRIAL._replace(replaced=replaced), facts) == read


@pytest.mark.parametrize(
    ("progress", "unreported"),
    [
        # The controller has recorded the revert, with or without the restart that is due.
        ({}, True),
        ({"due": 9.0, "verdict": "another reason"}, True),
        # The guard has, and was stopped before its report.
        ({"verdict": "it ended"}, True),
        ({"name": "b1/4.0", "verdict": "it ended"}, True),
        ({"verdict": "another reason"}, False),
        ({"name": "b1/4.0"}, False),
        *(({"due": 9.0, "verdict": "it ended", "reported": stage}, False) for stage in ("reverted", "stopped")),
    ],
)
def test_which_revert_was_not_reported(progress: dict[str, t.Any], unreported: bool) -> None:
    known = Progress(**{"name": TRIAL.name, **progress})
    assert judging._unreported(TRIAL._replace(failed="it ended"), known) == unreported


@pytest.mark.parametrize(
    ("replaced", "active", "interrupted"),
    [
        ({"to": OTHER, "failed": ""}, FORMER, True),
        ({"to": OTHER, "failed": ""}, NEW, False),
        ({"to": OTHER, "failed": "it ended"}, FORMER, False),
        ({"to": None, "failed": ""}, LOCAL, False),
        (None, FORMER, False),
    ],
)
def test_a_switch_within_a_trial_was_interrupted(
    node: Node, replaced: dict[str, t.Any] | None, active: str, interrupted: bool
) -> None:
    """Then what the former trial put there is still active. A revert leads away from it."""
    node.store.point(active)
    assert node.guard().reverts._never_switched(TRIAL._replace(replaced=replaced, revert_to=None)) == interrupted
