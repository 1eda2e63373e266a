# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.decide import (
    ASK,
    GRADUATE,
    KEEP,
    MOST_FAILURES,
    REVERT,
    WAIT,
    Action,
    Facts,
    Progress,
    Terms,
    Unit,
    decide,
    observe,
)

TERMS = Terms("t", "b1", 100.0, "old", confirm_seconds=300.0, hold_seconds=600.0, unhealthy_seconds=60.0)
CONFIRMED = TERMS._replace(confirmed=True)
NEW = Unit(invocation="new")


def play(terms: Terms, *seen: Facts) -> tuple[Action, Progress]:
    """Observe the facts one after the other; stop at the first action that is not waiting."""
    progress, action = Progress(), Action(WAIT)
    for facts in seen:
        progress = observe(terms, progress, facts)
        action = decide(terms, progress, facts)
        if action.what not in (WAIT, ASK):
            break
    return action, progress


def at(now: float, healthy: bool | None = True, boot: str = "b1", node: str | None = "", **unit: object) -> Facts:
    return Facts(boot=boot, now=now, unit=NEW._replace(**unit), healthy=healthy, node=node)


def starting(now: float, boot: str) -> Facts:
    return at(now, None, boot=boot, active="activating", sub="start-pre")


def killed(number: int) -> Facts:
    """Return the start after so many kubelets that a signal has ended."""
    return at(120 + number, None, restarts=number)._replace(killed=True)


HELD = "confirmed, and healthy for 600 s without interruption"
UNREADY, FORBIDDEN = "it is not Ready", "Forbidden"
OLD = at(110, invocation="old")
FORMER = at(110)._replace(former=True)
BREAK = at(110), at(400, False), at(410), at(1009)
BY_HAND = at(110), at(400, invocation="by hand"), at(999, invocation="by hand")
POWER_CUT = at(110), starting(20, "b2"), at(22, boot="b2"), at(319, boot="b2")
TWO_REBOOTS = at(110), at(20, boot="b2"), starting(20, "b3")
SICK_BOOT = at(110), at(20, False, boot="b2"), at(140, False, boot="b2"), at(199, False, boot="b2")
NEW_BOOT = at(110, restarts=1, invocation="i1"), at(3, boot="b2", invocation="i2")
ONE_END = (*NEW_BOOT, at(203, None, boot="b2", invocation="i3", restarts=1))
EARLY_REBOOT = Action(REVERT, "the node was rebooted before the kubelet was healthy with the configuration")
LATE = Action(REVERT, "the configuration was not confirmed within 300 s")
LATE_AFTER_BOOT = Action(REVERT, "the configuration was not confirmed within 300 s after the reboot")
SIGNALLED = Action(REVERT, "the kubelet ended 2 times; a signal ended it, not an error of its own")
GIVEN_UP = Action(REVERT, "systemd has given up starting the kubelet (start-limit-hit)")
SECOND_REBOOT = Action(REVERT, "the node was rebooted 2 times before the controller confirmed the configuration")
AS_BEFORE = Action(WAIT, "the kubelet ended 9 times, as before the configuration was changed")
KEPT = Action(KEEP, "the kubelet ended 5 times, although this configuration worked before: the cause lies elsewhere")
STILL_UNREADY = Action(WAIT, f"{HELD}; {UNREADY}")
BROKEN, PATIENT = TERMS._replace(was_healthy=False), TERMS._replace(confirm_seconds=9999)

# The terms of a trial, what is observed one after the other, and what it leads to.
CASES: dict[str, tuple[Terms, tuple[Facts, ...], str | Action]] = {
    "confirmed, before the end of the hold time": (CONFIRMED, (at(110), at(709)), WAIT),
    "confirmed, at its end": (CONFIRMED, (at(110), at(710)), GRADUATE),
    "its Node is not asked for before": (CONFIRMED, (at(110, node=None), at(709, node=None)), WAIT),
    "its Node is asked for then": (CONFIRMED, (at(110, node=None), at(710, node=None)), Action(ASK, HELD)),
    "its Node is waited for": (CONFIRMED, (at(110), at(710, node=UNREADY), at(87109, node=UNREADY)), STILL_UNREADY),
    "its Node is Ready late": (CONFIRMED, (at(110), at(710, node=UNREADY), at(99999)), GRADUATE),
    # After a day the controller's own verification must do: an end months later would be blamed on the configuration.
    "its Node is never known": (CONFIRMED, (at(110), at(710, node=FORBIDDEN), at(87110, node=FORBIDDEN)), GRADUATE),
    "a Node is no reason against a revert": (CONFIRMED, (at(110), at(720, None, restarts=2, node=UNREADY)), REVERT),
    "a Node is no reason to graduate": (
        CONFIRMED,
        (at(110), at(710, node=UNREADY), at(715, False, node=""), at(720, node="")),
        WAIT,
    ),
    "a kubelet from before the trial has not read it": (CONFIRMED, (OLD, OLD._replace(now=99999)), WAIT),
    "a later one has read the former configuration": (CONFIRMED, (FORMER, FORMER._replace(now=99999)), WAIT),
    "time alone does not graduate": (PATIENT, (at(110), at(9000)), WAIT),
    "the confirmation is late": (TERMS, (at(110), at(400)), LATE),
    "a break starts the time anew": (CONFIRMED, BREAK, WAIT),
    "a break, and the whole time": (CONFIRMED, (*BREAK, at(1010)), GRADUATE),
    "another invocation starts the time anew": (CONFIRMED, BY_HAND, WAIT),
    "another invocation is no failure": (CONFIRMED, (*BY_HAND, at(1000, invocation="by hand")), GRADUATE),
    # The error that it logged last was another one by coincidence.
    "a signal has ended it": (TERMS, (at(110), killed(1), killed(2)), SIGNALLED),
    "a loop faster than the guard looks": (TERMS, (at(101, None, restarts=7, invocation="i7"),), REVERT),
    "restarts from before the trial": (TERMS, (at(101, invocation="old", restarts=9), at(102)), WAIT),
    "the start limit": (TERMS, (at(102, None, active="failed", sub="failed", result="start-limit-hit"),), GIVEN_UP),
    "without healthz for less than a minute": (TERMS, (at(101, False), at(160, False)), WAIT),
    "without healthz for a minute": (TERMS, (at(101, False), at(161, False)), REVERT),
    "a slow start": (CONFIRMED, (at(101, False), at(160, False), at(161), at(220, False), at(270, False)), WAIT),
    "a reboot restarts the hold time": (CONFIRMED, (at(110), at(3, boot="b2"), at(602, boot="b2")), WAIT),
    "a reboot, and the whole time": (CONFIRMED, (at(110), at(3, boot="b2"), at(603, boot="b2")), GRADUATE),
    "a power cut of what was healthy": (TERMS, POWER_CUT, WAIT),
    "the confirmation is late after it": (TERMS, (*POWER_CUT, at(320, boot="b2")), LATE_AFTER_BOOT),
    "a reboot before the first look": (TERMS, (starting(20, "b2"),), EARLY_REBOOT),
    "a reboot before it was healthy": (TERMS, (at(110, False), starting(20, "b2")), EARLY_REBOOT),
    "a reboot before it was restarted": (TERMS, (OLD, starting(20, "b2")), EARLY_REBOOT),
    "a second reboot": (TERMS, TWO_REBOOTS, SECOND_REBOOT),
    "a second reboot after the confirmation": (CONFIRMED, TWO_REBOOTS, WAIT),
    # The first two minutes of a boot are not evidence.
    "not healthy on the next boot": (PATIENT, SICK_BOOT, WAIT),
    "not healthy on it for a minute": (PATIENT, (*SICK_BOOT, at(200, False, boot="b2")), REVERT),
    "confirmed and not healthy on the next boot": (CONFIRMED, SICK_BOOT, WAIT),
    "confirmed and not healthy on it for a minute": (CONFIRMED, (*SICK_BOOT, at(200, False, boot="b2")), REVERT),
    "failures end with a boot": (CONFIRMED, ONE_END, WAIT),
    "two failures of one boot": (CONFIRMED, (*ONE_END, at(209, None, boot="b2", invocation="i4", restarts=2)), REVERT),
    "what worked before is kept": (TERMS._replace(can_revert=False), (at(102, None, restarts=5),), KEPT),
    "a kubelet that was broken before": (BROKEN, (at(102, None, restarts=5), at(120, None, restarts=9)), AS_BEFORE),
    "it, and the confirmation is late": (BROKEN, (at(102, None, restarts=5), at(400, None, restarts=30)), REVERT),
    "it was healed": (CONFIRMED._replace(was_healthy=False), (at(102), at(130, None, restarts=2)), REVERT),
    "a stopped kubelet": (CONFIRMED, (at(110), at(9999, None, active="inactive", sub="dead")), WAIT),
}


def check(name: str) -> None:
    terms, seen, expected = CASES[name]
    action, _progress = play(terms, *seen)
    assert expected in (action, action.what)


@pytest.mark.parametrize("name", CASES)
def test_what_a_trial_leads_to(name: str) -> None:
    check(name)


# The rows that show the fault cases, so that a case without its rows fails.
FAULTS = [
    *("without healthz for less than a minute", "without healthz for a minute", "a slow start"),
    *("its Node is asked for then", "its Node is waited for"),
    *("the start limit", "a signal has ended it"),
    *("a kubelet that was broken before", "it, and the confirmation is late"),
    *("failures end with a boot", "two failures of one boot"),
    *("a power cut of what was healthy", "the confirmation is late after it"),
]


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.fault(case=8)
@pytest.mark.fault(case=9)
@pytest.mark.fault(case=13)
@pytest.mark.fault(case=14)
@pytest.mark.fault(case=37)
@pytest.mark.fault(case=38)
@pytest.mark.fault(case=77)
def test_the_fault_cases_of_a_trial(name: str) -> None:
    check(name)


def test_a_look_that_systemd_did_not_answer_counts_and_forgets_nothing() -> None:
    """A kubelet that had ended nine times before the trial, which is as well as new."""
    unknown = at(112, None)._replace(unit=Unit("activating", "start-pre", known=False))
    before = at(110, restarts=9, invocation="old")
    after = at(113, restarts=9, invocation="old")
    assert play(TERMS, before, unknown, after) == play(TERMS, before, after)
    assert play(TERMS, unknown) == (Action(WAIT), Progress())


@pytest.mark.parametrize("apart", [1, 5, 60, 250, 300])
@pytest.mark.fault(case=7)
def test_two_ends_of_the_kubelet_within_minutes_revert(apart: int) -> None:
    seen = (
        at(110, True),
        at(110 + apart, None, restarts=1, invocation="i1", sub="start-pre", active="activating"),
        at(111 + apart, restarts=1, invocation="i1"),
    )
    assert play(CONFIRMED, *seen)[0].what == WAIT
    for sub, restarts in (("start-pre", 2), ("auto-restart", 1)):
        action, _progress = play(
            CONFIRMED, *seen, at(110 + 2 * apart, None, restarts=restarts, active="activating", sub=sub)
        )
        assert action.what == REVERT and "2 times" in action.reason


def test_a_revert_that_was_begun_is_finished() -> None:
    begun = observe(TERMS, Progress(), at(110))._replace(verdict="the kubelet ended 2 times")
    assert decide(TERMS, begun, at(111)) == (REVERT, "the kubelet ended 2 times")


UNITS = st.builds(
    Unit,
    st.sampled_from(("active", "activating", "failed", "inactive", "deactivating")),
    st.sampled_from(("running", "start-pre", "auto-restart", "failed", "dead")),
    st.sampled_from(("success", "exit-code", "start-limit-hit")),
    st.sampled_from(("old", "i1", "i2", "i3")),
    st.integers(0, 4),
)
FACTS = st.builds(
    Facts,
    st.sampled_from(("b1", "b2")),
    st.floats(0, 2000),
    UNITS,
    st.sampled_from((None, True, False)),
    st.sampled_from((None, "", "it is not Ready")),
    st.sampled_from(("", "invalid configuration", "it ended")),
    st.sampled_from(("", "validation", "file", "runtime")),
    st.sampled_from(("", "/run/c.sock refuses connections")),
)


@st.composite
def lives(draw: st.DrawFn) -> list[Facts]:
    """Return a sequence of facts: time increases within a boot, and a boot never returns."""
    first = sorted(draw(st.lists(FACTS, max_size=12)), key=lambda facts: facts.now)
    second = sorted(draw(st.lists(FACTS, max_size=6)), key=lambda facts: facts.now)
    third = sorted(draw(st.lists(FACTS, max_size=2)), key=lambda facts: facts.now)
    return [
        *(facts._replace(boot="b1", now=100 + facts.now) for facts in first),
        *(facts._replace(boot="b2") for facts in second),
        *(facts._replace(boot="b3") for facts in third),
    ]


ANY_TERMS = st.builds(
    TERMS._replace,
    confirmed=st.booleans(),
    can_revert=st.booleans(),
    was_healthy=st.booleans(),
    confirm_seconds=st.floats(0, 1000),
    hold_seconds=st.floats(0, 1000),
    other_runtime=st.booleans(),
)


@given(ANY_TERMS, lives())
def test_only_what_was_confirmed_and_held_without_a_break_graduates(terms: Terms, life: list[Facts]) -> None:
    action, progress = play(terms, *life)
    if action.what == GRADUATE:
        assert terms.confirmed and progress.failures < MOST_FAILURES
        # Every look back to the beginning of the time held shows one kubelet, healthy wherever it was asked.
        end = next(index for index in range(len(life)) if play(terms, *life[: index + 1])[0].what == GRADUATE)
        assert life[end].node == ""
        held = [
            facts
            for facts in life[: end + 1]
            if facts.boot == life[end].boot and facts.now > life[end].now - terms.hold_seconds
        ]
        assert len({facts.unit.invocation for facts in held}) <= 1
        assert all(facts.healthy is not False and facts.unit.running for facts in held)


@given(ANY_TERMS, lives())
def test_an_unconfirmed_trial_ends_with_its_time_or_with_a_second_reboot(terms: Terms, life: list[Facts]) -> None:
    terms = terms._replace(confirmed=False)
    action, _progress = play(terms, *life)
    # A look that systemd did not answer shows no boot.
    seen = [facts for facts in life if facts.unit.known]
    begun = {"b1": terms.armed, **{facts.boot: facts.now for facts in reversed(seen) if facts.boot == "b2"}}
    late = any(facts.boot in begun and facts.now - begun[facts.boot] >= terms.confirm_seconds for facts in life)
    if late or {facts.boot for facts in seen} >= {"b2", "b3"}:
        assert action.what == (REVERT if terms.can_revert else KEEP)


@given(ANY_TERMS, lives())
def test_a_confirmed_configuration_is_not_reverted_while_the_runtime_is_away(terms: Terms, life: list[Facts]) -> None:
    """Unless the kubelet itself names the configuration as the cause."""
    terms = terms._replace(confirmed=True, other_runtime=False)
    away = [
        facts._replace(runtime="/run/c.sock does not exist", kind=facts.kind if facts.kind == "runtime" else "")
        for facts in life
    ]
    assert play(terms, *away)[0].what in (WAIT, ASK, GRADUATE)


@given(ANY_TERMS, lives())
def test_what_runs_is_never_reverted_to(terms: Terms, life: list[Facts]) -> None:
    assert play(terms._replace(can_revert=False), *life)[0].what != REVERT


@given(ANY_TERMS, lives())
def test_every_end_of_a_trial_has_a_reason(terms: Terms, life: list[Facts]) -> None:
    action, _progress = play(terms, *life)
    assert action.what == WAIT or action.reason


@given(ANY_TERMS, lives(), st.integers(0, 11))
def test_looking_twice_changes_nothing(terms: Terms, life: list[Facts], index: int) -> None:
    doubled = life[:index] + life[index : index + 1] * 2 + life[index + 1 :]
    assert play(terms, *life)[0] == play(terms, *doubled)[0]
