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

TERMS = Terms(
    name="t",
    boot="b1",
    armed=100.0,
    invocation="old",
    confirm_seconds=300.0,
    hold_seconds=600.0,
    unhealthy_seconds=60.0,
)
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


def test_confirmed_and_held_graduates_at_the_end_of_the_time() -> None:
    assert play(CONFIRMED, at(110), at(709))[0].what == WAIT
    assert play(CONFIRMED, at(110), at(710))[0].what == GRADUATE


@pytest.mark.fault(case=9)
def test_the_node_is_asked_for_and_waited_for() -> None:
    assert play(CONFIRMED, at(110, node=None), at(709, node=None))[0].what == WAIT
    assert play(CONFIRMED, at(110, node=None), at(710, node=None))[0].what == ASK
    action, _progress = play(CONFIRMED, at(110), at(710, node="it is not Ready"), at(87109, node="it is not Ready"))
    assert action.what == WAIT and "it is not Ready" in action.reason
    assert play(CONFIRMED, at(110), at(710, node="it is not Ready"), at(99999))[0].what == GRADUATE
    # After a day the controller's own verification must do: an end months later would be blamed on the configuration.
    assert play(CONFIRMED, at(110), at(710, node="Forbidden"), at(87110, node="Forbidden"))[0].what == GRADUATE


def test_a_kubelet_that_never_read_the_configuration_does_not_graduate_it() -> None:
    for former in ({"invocation": "old"}, {}):
        looks = [at(seconds, **former)._replace(former=not former) for seconds in (110, 99999)]
        assert play(CONFIRMED, *looks)[0].what == WAIT
    assert play(CONFIRMED, at(110), at(99999))[0].what == GRADUATE


def test_a_look_that_systemd_did_not_answer_counts_and_forgets_nothing() -> None:
    """A kubelet that had ended nine times before the trial, which is as well as new."""
    unknown = at(112, None)._replace(unit=Unit("activating", "start-pre", known=False))
    before = at(110, restarts=9, invocation="old")
    after = at(113, restarts=9, invocation="old")
    assert play(TERMS, before, unknown, after) == play(TERMS, before, after)
    assert play(TERMS, unknown) == (Action(WAIT), Progress())


def test_the_node_is_no_reason_to_revert_and_none_to_graduate() -> None:
    assert (
        play(CONFIRMED, at(110), at(710, node="no answer"), at(720, None, restarts=2, node="no answer"))[0].what
        == REVERT
    )
    assert (
        play(CONFIRMED, at(110), at(710, node="no answer"), at(715, False, node=""), at(720, node=""))[0].what == WAIT
    )


@pytest.mark.fault(case=77)
def test_a_reason_says_that_a_signal_ended_the_kubelet() -> None:
    """The error that it logged last was another one by coincidence."""
    killed = [at(120 + number, None, restarts=number)._replace(killed=True) for number in (1, 2)]
    action, _progress = play(TERMS, at(110), *killed)
    assert action == Action(REVERT, "the kubelet ended 2 times; a signal ended it, not an error of its own")


def test_time_alone_never_graduates() -> None:
    assert play(TERMS, at(110), at(399))[0].what == WAIT
    action, _progress = play(TERMS, at(110), at(400))
    assert action.what == REVERT and "was not confirmed" in action.reason


def test_a_break_starts_the_time_anew() -> None:
    seen = at(110), at(400, False), at(410), at(1009)
    assert play(CONFIRMED, *seen)[0].what == WAIT
    assert play(CONFIRMED, *seen, at(1010))[0].what == GRADUATE


def test_another_invocation_starts_the_time_anew_without_being_a_failure() -> None:
    action, progress = play(CONFIRMED, at(110), at(400, invocation="by hand"), at(999, invocation="by hand"))
    assert action.what == WAIT and progress.failures == 0


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


def test_a_loop_faster_than_the_guard_looks_is_counted_by_systemds_own_count() -> None:
    assert play(TERMS, at(101, None, restarts=7, invocation="i7"))[0].what == REVERT


def test_restarts_from_before_the_trial_are_not_its_failures() -> None:
    old = at(101, True, invocation="old", restarts=9)
    assert play(TERMS, old, at(102, True))[0].what == WAIT
    assert play(TERMS, old)[1].failures == 0


@pytest.mark.fault(case=13)
def test_start_limit_reverts_at_once() -> None:
    action, _progress = play(TERMS, at(102, None, active="failed", sub="failed", result="start-limit-hit"))
    assert action == (REVERT, "systemd has given up starting the kubelet (start-limit-hit)")


@pytest.mark.fault(case=8)
def test_running_without_healthz_reverts_after_its_time() -> None:
    assert play(TERMS, at(101, False), at(160, False))[0].what == WAIT
    assert play(TERMS, at(101, False), at(161, False))[0].what == REVERT


@pytest.mark.fault(case=8)
def test_a_slow_start_is_no_fault() -> None:
    assert (
        play(CONFIRMED, at(101, False), at(160, False), at(161, True), at(220, False), at(270, False))[0].what == WAIT
    )


def test_a_reboot_restarts_the_hold_time() -> None:
    assert play(CONFIRMED, at(110), at(3, boot="b2"), at(602, boot="b2"))[0].what == WAIT
    assert play(CONFIRMED, at(110), at(3, boot="b2"), at(603, boot="b2"))[0].what == GRADUATE


def starting(now: float, boot: str) -> Facts:
    return at(now, None, boot=boot, active="activating", sub="start-pre")


@pytest.mark.fault(case=38)
def test_a_power_cut_reverts_nothing_that_was_healthy() -> None:
    """The time for the confirmation starts anew."""
    seen = at(110), starting(20, "b2"), at(22, boot="b2"), at(319, boot="b2")
    assert play(TERMS, *seen)[0].what == WAIT
    action, _progress = play(TERMS, *seen, at(320, boot="b2"))
    assert action == (REVERT, "the configuration was not confirmed within 300 s after the reboot")


def test_a_reboot_before_the_kubelet_was_healthy_reverts() -> None:
    for seen in ((), (at(110, False),), (at(101, invocation="old"),)):
        action, _progress = play(TERMS, *seen, starting(20, "b2"))
        assert action == (REVERT, "the node was rebooted before the kubelet was healthy with the configuration")


def test_a_second_reboot_before_the_confirmation_reverts() -> None:
    seen = at(110), at(20, boot="b2"), starting(20, "b3")
    action, _progress = play(TERMS, *seen)
    assert action == (REVERT, "the node was rebooted 2 times before the controller confirmed the configuration")
    assert play(CONFIRMED, *seen)[0].what == WAIT


def test_a_kubelet_that_is_not_healthy_on_the_next_boot_reverts() -> None:
    """Its first two minutes are not evidence."""
    for terms in (TERMS._replace(confirm_seconds=9999), CONFIRMED):
        seen = at(110), at(20, False, boot="b2"), at(140, False, boot="b2"), at(199, False, boot="b2")
        assert play(terms, *seen)[0].what == WAIT
        assert play(terms, *seen, at(200, False, boot="b2"))[0].what == REVERT


@pytest.mark.fault(case=37)
def test_failures_end_with_a_boot() -> None:
    seen = (
        at(110, restarts=1, invocation="i1"),
        at(3, boot="b2", invocation="i2"),
        at(203, None, boot="b2", invocation="i3", restarts=1),
    )
    assert play(CONFIRMED, *seen)[0].what == WAIT
    assert play(CONFIRMED, *seen, at(209, None, boot="b2", invocation="i4", restarts=2))[0].what == REVERT


def test_a_configuration_that_worked_before_is_kept() -> None:
    action, _progress = play(TERMS._replace(can_revert=False), at(102, None, restarts=5))
    assert action.what == KEEP and "worked before" in action.reason


@pytest.mark.fault(case=14)
def test_a_kubelet_that_was_broken_before_is_kept_until_the_confirmation_is_late() -> None:
    broken = TERMS._replace(was_healthy=False)
    action, _progress = play(broken, at(102, None, restarts=5), at(120, None, restarts=9))
    assert action.what == WAIT and "as before" in action.reason
    assert play(broken, at(102, None, restarts=5), at(400, None, restarts=30))[0].what == REVERT


def test_a_kubelet_that_the_new_configuration_healed_is_watched_like_any_other() -> None:
    broken = CONFIRMED._replace(was_healthy=False)
    assert play(broken, at(102), at(130, None, restarts=2))[0].what == REVERT


def test_a_stopped_kubelet_is_waited_for() -> None:
    assert play(CONFIRMED, at(110), at(9999, None, active="inactive", sub="dead"))[0].what == WAIT


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
