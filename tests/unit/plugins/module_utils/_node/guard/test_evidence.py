# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ends of a kubelet are evidence: the table, and the same with real cases of the past."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.decide import (
    KEEP,
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
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.evidence import BOOTED, excuse, refused

AWAY = "/run/containerd/containerd.sock refuses connections"
NAMED = f"the container runtime is away: {AWAY}"
ASKED = "the container runtime did not answer the kubelet"


@pytest.mark.parametrize(
    ("kind", "runtime", "booting", "refusal", "expected"),
    [
        ("", "", False, False, ""),
        ("", AWAY, False, False, NAMED),
        ("", "", True, False, BOOTED),
        ("", AWAY, True, False, NAMED),
        ("runtime", "", False, False, ASKED),
        ("runtime", AWAY, False, False, NAMED),
        ("joining", "", False, False, "the API server gave the kubelet no certificate"),
        *((kind, runtime, booting, True, "") for kind in ("validation", "flag", "gate") for runtime in ("", AWAY)
          for booting in (False, True)),
        ("file", "", False, True, ""),
        ("file", AWAY, False, True, ""),
        ("file", "", True, False, BOOTED),
    ],
)  # fmt: skip
@pytest.mark.fault(case=36)
def test_what_is_evidence(kind: str, runtime: str, booting: bool, refusal: bool, expected: str) -> None:
    assert (refused(kind, booting), excuse(kind, runtime, booting)) == (refusal, expected)


TERMS = Terms("t", "b1", 0.0, "old", confirm_seconds=900.0, hold_seconds=600.0)
CONFIRMED = TERMS._replace(confirmed=True)
BAD = "invalid configuration: maxPods (--max-pods) -3 must not be a negative number"


class Life:
    """A kubelet with kubeadm's ten seconds between restarts, observed as by prestart step and watcher."""

    def __init__(self, terms: Terms, boot: str = "b1", now: float = 0.0) -> None:
        self.terms = terms
        self.boot, self.now, self.count, self.starts = boot, now, 0, 0
        self.away = ""
        self.progress = Progress()
        self.action = Action(WAIT)
        self.seen: list[str] = []

    def _look(self, healthy: bool | None, active: str, sub: str, words: str = "", kind: str = "") -> None:
        if self.action.what in (REVERT, KEEP):
            return
        unit = Unit(active, sub, "success", f"{self.boot}-{self.starts}", self.count)
        facts = Facts(self.boot, self.now, unit, healthy, "", words, kind, "" if healthy else self.away)
        self.progress = observe(self.terms, self.progress, facts)
        self.action = decide(self.terms, self.progress, facts)
        if self.action.what == REVERT or self.action.reason not in self.seen[-1:]:
            self.seen.append(self.action.reason)

    def runs(self, seconds: float, healthy: bool = True) -> Life:
        """Let a kubelet run for some time."""
        end = self.now + seconds
        while self.now < end:
            self._look(healthy, "active", "running")
            self.now += min(10, max(end - self.now, 0.001))
        self._look(healthy, "active", "running")
        return self

    def starts_again(self, words: str = "", kind: str = "") -> Life:
        """Let the kubelet end with these words, and let systemd start it after ten seconds."""
        self._look(None, "activating", "auto-restart", words, kind)
        self.now += 10
        self.count, self.starts = self.count + 1, self.starts + 1
        self._look(None, "activating", "start-pre", words, kind)
        return self

    def loops(self, seconds: float, words: str = "", kind: str = "") -> Life:
        """Let every kubelet end after a second, for some time."""
        end = self.now + seconds
        while self.now < end:
            self.now += 1
            self.starts_again(words, kind)
        return self

    def boots(self, after: float = 20) -> Life:
        self.boot, self.now, self.count, self.starts = self.boot + "+", after, 0, self.starts + 1
        self._look(None, "activating", "start-pre")
        return self

    def but(self, **changes: t.Any) -> Life:
        """Change the runtime, or the confirmation."""
        if "confirmed" in changes:
            self.terms = self.terms._replace(confirmed=changes["confirmed"])
        self.away = changes.get("away", self.away)
        return self


def trial(confirmed: bool) -> Life:
    """Return the life of a kubelet that was switched and is healthy."""
    return Life(CONFIRMED if confirmed else TERMS).runs(30)


BOTH = pytest.mark.parametrize("confirmed", [False, True])


@BOTH
def test_containerd_stopped_for_ten_minutes(confirmed: bool) -> None:
    """After five minutes healthz fails too."""
    life = trial(confirmed).but(away=AWAY).runs(300).runs(300, healthy=False).but(away="").runs(40, healthy=False)
    assert life.action.what == WAIT, life.seen
    stage = "on trial, confirmed" if confirmed else "on trial"
    assert f"{stage}; {NAMED}" in life.seen
    assert life.runs(30).progress.failures == 0 and life.action == (WAIT, "")


@BOTH
def test_containerd_stopped_for_ten_minutes_and_the_kubelet_ends_with_it(confirmed: bool) -> None:
    words = "failed to run Kubelet: get remote runtime typed version failed: connection refused"
    life = trial(confirmed).but(away=AWAY).loops(600, words, "runtime")
    assert life.action.what == WAIT, life.seen
    # The socket is there, and the runtime does not answer on it yet; the journal is not readable.
    life.but(away="").loops(5, words, "runtime").loops(20).runs(30)
    assert life.action == (WAIT, "") and life.progress.failures == 0


def test_containerd_that_stays_away_longer_than_the_time_for_the_confirmation() -> None:
    life = trial(False).but(away=AWAY).loops(900)
    assert life.action == (REVERT, f"the configuration was not confirmed within 900 s, and {NAMED}")


@BOTH
@pytest.mark.fault(case=38)
def test_a_power_cut_of_a_site(confirmed: bool) -> None:
    life = trial(confirmed).but(away=AWAY).boots().loops(90).but(away="").runs(300)
    assert life.action.what == WAIT, life.seen
    life.but(confirmed=True).runs(400)
    assert life.action.what == "graduate"


@pytest.mark.fault(case=37)
def test_two_ends_days_apart() -> None:
    life = trial(True)
    for _day in range(3):
        life.starts_again("out of memory").runs(400)
    assert life.action.what != REVERT and life.progress.failures == 0
    life.starts_again().runs(60).starts_again("it ended")
    assert life.action == (REVERT, "the kubelet ended 2 times; it logged last: it ended")


@BOTH
@pytest.mark.parametrize("booted", [False, True])
@pytest.mark.parametrize("kind", ["validation", "flag", "gate"])
def test_the_words_of_the_kubelet_outweigh_a_runtime_that_is_away(confirmed: bool, booted: bool, kind: str) -> None:
    life = trial(confirmed)
    life = life.boots() if booted else life
    life.but(away=AWAY).starts_again(BAD, kind)
    assert life.action == (REVERT, f"the kubelet refused the configuration: {BAD}")


def test_healthz_is_dead_although_the_process_runs() -> None:
    """It is dead for its own reason, and the runtime was away before."""
    life = trial(True).but(away=AWAY).runs(100, healthy=False).but(away="").runs(100, healthy=False)
    assert life.action.what == WAIT
    assert life.runs(40, healthy=False).action.what == REVERT


def test_a_configuration_that_names_another_runtime_is_no_victim_of_it() -> None:
    life = Life(TERMS._replace(other_runtime=True)).runs(5).but(away="/run/none.sock does not exist")
    assert life.loops(20, "failed to get runtime", "runtime").action.what == REVERT


@pytest.mark.parametrize("other_runtime", [False, True])
def test_a_machine_that_cannot_join_yet_is_not_reverted(other_runtime: bool) -> None:
    """Its runtime is not the cause, whether it is up or not."""
    words = "failed to run Kubelet: cannot create certificate signing request: i/o timeout"
    life = Life(CONFIRMED._replace(other_runtime=other_runtime)).but(away=AWAY).loops(600, words, "joining")
    assert life.but(away="").loops(600, words, "joining").action.what == WAIT
    limited = Facts("b1", life.now, Unit("failed", "failed", "start-limit-hit", "b1-0", life.count), kind="joining")
    found = decide(life.terms, observe(life.terms, life.progress, limited), limited)
    assert found.what == WAIT and found.reason.endswith("the API server gave the kubelet no certificate")


def test_a_start_limit_that_the_runtime_reached_is_no_evidence() -> None:
    life = trial(True).but(away=AWAY)
    facts = Facts("b1", 40, Unit("failed", "failed", "start-limit-hit", "b1-0", 0), runtime=AWAY)
    for now, runtime in ((40, AWAY), (4000, "")):
        facts = facts._replace(now=now, runtime=runtime)
        life.progress = observe(life.terms, life.progress, facts)
        action = decide(life.terms, life.progress, facts)
        assert action.what == WAIT and "start-limit-hit" in action.reason and NAMED in action.reason


def test_a_configuration_that_worked_before_is_not_blamed() -> None:
    life = Life(CONFIRMED._replace(can_revert=False)).runs(30).but(away=AWAY).loops(100)
    assert life.action == (WAIT, f"on trial, confirmed; {NAMED}")
    life = Life(CONFIRMED._replace(can_revert=False)).runs(30).starts_again("unknown flag: --x", "flag")
    assert life.action == (
        KEEP,
        "the kubelet refused the configuration: unknown flag: --x; it accepted this configuration before",
    )


def test_what_the_kubelet_refuses_is_reverted_also_where_it_was_down_before() -> None:
    life = Life(TERMS._replace(was_healthy=False)).starts_again(BAD, "validation")
    assert life.action == (REVERT, f"the kubelet refused the configuration: {BAD}")
