# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guard does next, decided from observed facts alone: no files, no clock, no systemd.

The wall clock is no fact here. Times are seconds of CLOCK_BOOTTIME, which no clock jump changes, and they are compared
within one boot only: a reboot before the confirmation ends the trial, and one after it starts the time that has to be
held anew.
"""

from __future__ import annotations

from typing import NamedTuple

WAIT = "wait"
GO_BACK = "go back"
ASK = "ask"
GRADUATE = "graduate"
LEAVE = "leave alone"

# One end of a kubelet can have a reason outside it (a runtime that is being restarted); the same end twice within one
# trial counts as the configuration's.
MOST_FAILURES = 2
# Restarted containers, device plugins and busy disks make a kubelet's start slow: this long it may be without healthz
# in one go.
UNHEALTHY_SECONDS = 60.0


class Unit(NamedTuple):
    """The kubelet's unit as `systemctl show` tells: ActiveState, SubState, Result, InvocationID, NRestarts."""

    active: str = "active"
    sub: str = "running"
    result: str = "success"
    invocation: str = ""
    restarts: int = 0

    @property
    def running(self) -> bool:
        """Whether the kubelet's own process runs."""
        return self.active in ("active", "reloading") and self.sub != "start-pre"

    @property
    def between(self) -> bool:
        """Whether the kubelet has ended by itself and systemd waits before it starts it again; not yet counted in
        `restarts`.
        """
        return self.sub.startswith("auto-restart") or self.sub == "failed-before-auto-restart"

    @property
    def given_up(self) -> bool:
        """Whether systemd has stopped trying (start-limit-hit, or a unit that does not restart)."""
        return self.active == "failed" and not self.between


class Facts(NamedTuple):
    """What is seen in one moment.

    `now` in seconds of CLOCK_BOOTTIME; `healthy` None: healthz was not asked; `node` None: the API server was not asked
    whether the Node is Ready with a heartbeat of the kubelet that runs, empty: it is (or the kubelet has no API
    server), else why that is not known.
    """

    boot: str
    now: float
    unit: Unit
    healthy: bool | None = None
    node: str | None = None


class Terms(NamedTuple):
    """What a trial was armed with.

    `boot`, `armed`: boot id and CLOCK_BOOTTIME seconds of arming; `invocation`: InvocationID of the kubelet that ran
    then; `confirm_seconds`: so long the controller may take to confirm; `hold_seconds`: so long the kubelet has to be
    healthy without a break; `was_healthy`: whether the kubelet was healthy before; `retreat`: whether what the guard
    would go back to differs from what is on trial; `confirmed`: the controller has seen its proof.
    """

    name: str
    boot: str
    armed: float
    invocation: str
    confirm_seconds: float
    hold_seconds: float
    was_healthy: bool = True
    retreat: bool = True
    confirmed: bool = False
    unhealthy_seconds: float = UNHEALTHY_SECONDS


class Progress(NamedTuple):
    """What the guard has to remember between two looks, and across its own end and the node's reboot.

    `verdict`: the reason of a way back that was decided and is not yet walked to its end; `told`: the stage of the
    trial the cluster was last told of.
    """

    name: str = ""
    boot: str = ""
    invocation: str = ""
    restarts: int = 0
    failures: int = 0
    healthy_since: float | None = None
    unhealthy_since: float | None = None
    was_healthy: bool = False
    verdict: str = ""
    told: str = ""


class Action(NamedTuple):
    """What to do and, for people, why."""

    what: str
    reason: str = ""


def observe(terms: Terms, progress: Progress, facts: Facts) -> Progress:
    """Return what is remembered after one more look."""
    if progress.name != terms.name:
        # The first look at this trial. A kubelet that was not restarted since brings its former restarts along: they
        # are not the trial's.
        untouched = facts.unit.invocation == terms.invocation and facts.boot == terms.boot
        progress = Progress(
            name=terms.name,
            boot=facts.boot,
            invocation=facts.unit.invocation,
            restarts=facts.unit.restarts if untouched else 0,
        )
    if progress.boot != facts.boot:
        progress = progress._replace(
            boot=facts.boot, invocation="", restarts=0, healthy_since=None, unhealthy_since=None
        )
    if progress.restarts > facts.unit.restarts:
        # systemd counts from 0 again after somebody's start or restart, which is no failure.
        progress = progress._replace(restarts=0)
    failed = facts.unit.restarts - progress.restarts
    if facts.unit.invocation != progress.invocation or failed:
        progress = progress._replace(invocation=facts.unit.invocation, healthy_since=None, unhealthy_since=None)
    progress = progress._replace(restarts=facts.unit.restarts, failures=progress.failures + failed)
    if not facts.unit.running:
        return progress._replace(healthy_since=None, unhealthy_since=None)
    if facts.healthy is None:
        return progress
    if facts.healthy:
        since = facts.now if progress.healthy_since is None else progress.healthy_since
        return progress._replace(
            healthy_since=since, unhealthy_since=None, was_healthy=progress.was_healthy or _on_trial(terms, facts)
        )
    since = facts.now if progress.unhealthy_since is None else progress.unhealthy_since
    return progress._replace(healthy_since=None, unhealthy_since=since)


def decide(terms: Terms, progress: Progress, facts: Facts) -> Action:
    """Return the action for a trial, after `observe`.

    WAIT: look again. GO_BACK: run what was good. ASK: look again with `Facts.node`. GRADUATE: the trial is passed.
    LEAVE: the trial is over, nothing is changed, the reason is reported.
    """
    if progress.verdict:
        return Action(GO_BACK, progress.verdict)
    if facts.boot != terms.boot and not terms.confirmed:
        return _back(terms, "the node was rebooted before anybody confirmed the configuration")
    reason = _fault(terms, progress, facts)
    if reason and not terms.retreat:
        return Action(LEAVE, f"{reason}, with a configuration that had been good: the cause lies elsewhere")
    if reason and (terms.was_healthy or progress.was_healthy):
        return Action(GO_BACK, reason)
    if not terms.confirmed and facts.now - terms.armed >= terms.confirm_seconds:
        return _back(
            terms,
            f"nobody confirmed the configuration within {terms.confirm_seconds:.0f} s"
            + (f", and {reason}" if reason else ""),
        )
    if reason:
        return Action(WAIT, f"{reason}, as before the configuration was changed")
    if (
        terms.confirmed
        and progress.healthy_since is not None
        and facts.now - progress.healthy_since >= terms.hold_seconds
    ):
        held = f"confirmed, and healthy for {terms.hold_seconds:.0f} s without a break"
        if facts.node is None:
            return Action(ASK, held)
        # An API server that is away, or a runtime that is, says nothing against the configuration: it is a reason to
        # wait, none to go back.
        return (
            Action(WAIT, f"{held}; waits for the proof of its Node: {facts.node}")
            if facts.node
            else Action(GRADUATE, held)
        )
    return Action(WAIT)


def _on_trial(terms: Terms, facts: Facts) -> bool:
    """Whether the running kubelet is one that read the configuration on trial."""
    return facts.unit.invocation != terms.invocation or facts.boot != terms.boot


def _back(terms: Terms, reason: str) -> Action:
    return Action(GO_BACK if terms.retreat else LEAVE, reason)


def _fault(terms: Terms, progress: Progress, facts: Facts) -> str:
    """Say what is wrong with the kubelet by now, empty when nothing is or it is too early to say."""
    if facts.unit.given_up:
        return f"systemd has given up starting the kubelet ({facts.unit.result})"
    failures = progress.failures + (1 if facts.unit.between else 0)
    if failures >= MOST_FAILURES:
        return f"the kubelet ended {failures} times"
    if progress.unhealthy_since is not None and facts.now - progress.unhealthy_since >= terms.unhealthy_seconds:
        return f"the kubelet runs, and its healthz has failed for {terms.unhealthy_seconds:.0f} s"
    return ""
