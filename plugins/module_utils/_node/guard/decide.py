# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guard does next, decided from observed facts alone: no files, no clock, no systemd.

The wall clock is not one of the facts. Times are seconds of CLOCK_MONOTONIC, which no clock jump changes. They are
compared within one boot only. A reboot restarts the hold time and the time for the confirmation. It ends a trial that
the configuration may have caused it in: the kubelet was never healthy with it, or it is the second reboot.

Only what evidence.py counts as evidence is a failure. Failures are forgotten with a boot, and when the kubelet has been
healthy for minutes.
"""

from __future__ import annotations

from typing import NamedTuple

from ..._config.values import annotation
from ..store.trial import Progress
from ..system import last_words
from . import evidence

WAIT = "wait"
REVERT = "revert"
ASK = "ask"
GRADUATE = "graduate"
KEEP = "keep"
# In the place of the words of a kubelet that could not state why it ended.
SIGNAL = "a signal ended it, not an error of its own"

# A kubelet can exit once for a reason outside it, such as a container runtime that is being restarted. A second exit
# within one trial counts as caused by the configuration.
MOST_FAILURES = 2
# A power cut is not evidence against an unconfirmed configuration, a second reboot is: it may cause them.
_MOST_REBOOTS = 2
# Restarted containers, device plugins and busy disks make a kubelet's start slow: its healthz may fail this long
# without interruption.
UNHEALTHY_SECONDS = 60.0
# How long a kubelet that was healthy for the hold time waits for an answer about its Node.
NODE_SECONDS = 86400.0


class Unit(NamedTuple):
    """The kubelet's unit as `systemctl show` prints it: ActiveState, SubState, Result, InvocationID, NRestarts.

    `known`: whether systemd has answered.
    """

    active: str = "active"
    sub: str = "running"
    result: str = "success"
    invocation: str = ""
    restarts: int = 0
    known: bool = True

    @property
    def running(self) -> bool:
        """Whether the kubelet's own process runs."""
        return self.active in ("active", "reloading") and self.sub != "start-pre"

    @property
    def between(self) -> bool:
        """Whether the kubelet has exited and systemd waits before the next start; not yet counted in `restarts`."""
        return self.sub.startswith("auto-restart") or self.sub == "failed-before-auto-restart"

    @property
    def given_up(self) -> bool:
        """Whether systemd has stopped trying (start-limit-hit, or a unit that does not restart)."""
        return self.active == "failed" and not self.between


class Facts(NamedTuple):
    """What is observed at one moment.

    `now`: seconds of CLOCK_MONOTONIC. `healthy`: None if healthz was not asked. `node`: None if the guard's command
    `verify` was not run; empty if the kubelet's log and its Node do not contradict the configuration on trial; else the
    reason to wait. `words`, `kind`: what the kubelet that has just ended logged last, and what that is evidence of
    (last_words.kind); empty if none ended or it was killed. `runtime`: why the container runtime does not answer; empty
    if it does or was not asked. `killed`: whether a signal ended the kubelet. `former`: whether the kubelet was started
    with another configuration than the one on trial.
    """

    boot: str
    now: float
    unit: Unit
    healthy: bool | None = None
    node: str | None = None
    words: str = ""
    kind: str = ""
    runtime: str = ""
    killed: bool = False
    former: bool = False


class Terms(NamedTuple):
    """What a trial was armed with.

    `boot`, `armed`: boot id and CLOCK_MONOTONIC seconds of arming. `invocation`: InvocationID of the kubelet that ran
    then. `confirm_seconds`: how long the controller may take to confirm. `hold_seconds`: how long the kubelet must be
    healthy without interruption. `was_healthy`: whether the kubelet was healthy before. `can_revert`: whether the guard
    would revert to something else than what is on trial. `confirmed`: whether the controller has verified the node.
    `other_runtime`: whether the configuration on trial names another container runtime than the one that a revert leads
    to. If that one is away, this configuration is the reason.
    """

    name: str
    boot: str
    armed: float
    invocation: str
    confirm_seconds: float
    hold_seconds: float
    was_healthy: bool = True
    can_revert: bool = True
    confirmed: bool = False
    unhealthy_seconds: float = UNHEALTHY_SECONDS
    boot_grace_seconds: float = evidence.BOOT_GRACE_SECONDS
    recovery_seconds: float = evidence.RECOVERY_SECONDS
    other_runtime: bool = False

    @property
    def stage(self) -> str:
        """The stage of the trial, as controllers read it."""
        return annotation.CONFIRMED if self.confirmed else annotation.ON_TRIAL


class Action(NamedTuple):
    """What to do, and the reason as operators read it."""

    what: str
    reason: str = ""


def ended(progress: Progress, boot: str, unit: Unit) -> str:
    """Return the InvocationID of the kubelet that has ended since the last observation; empty if none has."""
    if unit.between or unit.given_up:
        return unit.invocation
    if progress.boot == boot and unit.restarts > progress.restarts:
        return progress.invocation
    return ""


def observe(terms: Terms, progress: Progress, facts: Facts) -> Progress:
    """Return what is remembered after one more observation. If systemd did not answer, nothing was observed."""
    if not facts.unit.known:
        return progress
    progress = _begun(terms, progress, facts)
    if progress.healthy_since is not None and facts.now - progress.healthy_since >= terms.recovery_seconds:
        progress = progress._replace(failures=0, words="", refused=False)
    if progress.restarts > facts.unit.restarts:
        # systemd counts from 0 again after a manual start or restart, which is not a failure.
        progress = progress._replace(restarts=0)
    if facts.runtime:
        progress = progress._replace(away=facts.now, runtime=facts.runtime)
    failed = facts.unit.restarts - progress.restarts
    progress = _counted(terms, progress, facts, failed)
    if facts.unit.invocation != progress.invocation or failed:
        progress = progress._replace(invocation=facts.unit.invocation, healthy_since=None, unhealthy_since=None)
    return _with_health(terms, progress._replace(restarts=facts.unit.restarts), facts)


def _begun(terms: Terms, progress: Progress, facts: Facts) -> Progress:
    """Return the progress to continue: a new one for a trial that was not observed yet, fresh counters for a boot."""
    if progress.name != terms.name:
        begun = Progress(name=terms.name, boot=facts.boot, invocation=facts.unit.invocation, booted=facts.now)
        if facts.boot != terms.boot:
            return begun._replace(reboots=1)
        if facts.unit.invocation == terms.invocation:
            # The kubelet was not restarted since: the restarts counted so far happened before the trial.
            return begun._replace(restarts=facts.unit.restarts)
        return begun
    if progress.boot != facts.boot:
        return Progress(
            name=terms.name,
            boot=facts.boot,
            reboots=progress.reboots + 1,
            booted=facts.now,
            was_healthy=progress.was_healthy,
            verdict=progress.verdict,
            due=progress.due,
            reported=progress.reported,
        )
    return progress


def _counted(terms: Terms, progress: Progress, facts: Facts, failed: int) -> Progress:
    """Return the progress with the ends of the kubelet that are evidence; `failed`: how many systemd has counted."""
    gone = ended(progress, facts.boot, facts.unit)
    if not gone and not failed:
        return progress
    if facts.killed:
        progress = progress._replace(killed=gone)
    if evidence.refused(facts.kind, _booting(terms, progress, facts)):
        # The kubelet itself states the cause: one end is enough.
        failures = max(progress.failures + failed, MOST_FAILURES)
        return progress._replace(failures=failures, words=facts.words, refused=True)
    excuse = _excuse(terms, progress, facts, gone)
    if excuse == evidence.BOOTED:
        return progress
    if excuse:
        return progress._replace(excused=gone)
    words = facts.words or progress.words
    if facts.killed:
        words = SIGNAL
    return progress._replace(failures=progress.failures + failed, words=words)


def _with_health(terms: Terms, progress: Progress, facts: Facts) -> Progress:
    """Return the progress with what healthz answered."""
    neither = progress._replace(healthy_since=None, unhealthy_since=None)
    if not facts.unit.running:
        return neither
    if facts.healthy is None:
        return progress
    if facts.healthy:
        restarted = facts.unit.invocation != terms.invocation or facts.boot != terms.boot
        was_healthy = progress.was_healthy or (restarted and not facts.former)
        return neither._replace(healthy_since=_since(progress.healthy_since, facts), was_healthy=was_healthy)
    if _excuse(terms, progress, facts, ""):
        return neither
    return neither._replace(unhealthy_since=_since(progress.unhealthy_since, facts))


def _since(before: float | None, facts: Facts) -> float:
    return facts.now if before is None else before


def _booting(terms: Terms, progress: Progress, facts: Facts) -> bool:
    """Whether the node was rebooted within the trial, less than the grace time ago."""
    return bool(progress.reboots) and facts.now - progress.booted < terms.boot_grace_seconds


def _excuse(terms: Terms, progress: Progress, facts: Facts, gone: str) -> str:
    """Return why the end of the kubelet `gone`, or its failing healthz, is not evidence; empty if it is."""
    booting = _booting(terms, progress, facts)
    if terms.other_runtime:
        # What it logs of its runtime is evidence then.
        kind = "" if facts.kind == last_words.RUNTIME else facts.kind
        return evidence.excuse(kind, "", booting)
    runtime = facts.runtime
    recent = progress.away is not None and facts.now - progress.away < evidence.RUNTIME_GRACE_SECONDS
    if not runtime and (recent or (gone and gone == progress.excused)):
        runtime = progress.runtime or "it was away"
    return evidence.excuse(facts.kind, runtime, booting)


def decide(terms: Terms, progress: Progress, facts: Facts) -> Action:
    """Return the action for a trial, after `observe`.

    WAIT: observe again. REVERT: run the last good configuration. ASK: observe again with `Facts.node`. GRADUATE: the
    trial is passed. KEEP: the trial is over, the configuration is not changed, the reason is reported.
    """
    if progress.verdict:
        return Action(REVERT, progress.verdict)
    reboots = _reboots(terms, progress)
    if reboots:
        return _revert(terms, reboots)
    fault = _fault(terms, progress, facts)
    if fault:
        if not terms.can_revert:
            return _kept(progress, fault)
        # What the kubelet itself refuses is not a reason to wait, also where it was down before.
        if terms.was_healthy or progress.was_healthy or progress.refused:
            return Action(REVERT, fault + _ended_last(progress))
    trouble = fault or _without_evidence(terms, progress, facts)
    overdue = _overdue(terms, progress, facts, trouble)
    if overdue:
        return _revert(terms, overdue)
    if fault:
        return Action(WAIT, f"{fault}, as before the configuration was changed")
    if trouble:
        return Action(WAIT, f"{terms.stage}; {trouble}")
    return _without_trouble(terms, progress, facts)


def _reboots(terms: Terms, progress: Progress) -> str:
    """Return why the reboots speak against the configuration; empty if they do not.

    The node may have been rebooted because its kubelet was never healthy, by a watchdog or by an operator.
    """
    if terms.confirmed or not progress.reboots:
        return ""
    if not progress.was_healthy:
        return "the node was rebooted before the kubelet was healthy with the configuration"
    if progress.reboots >= _MOST_REBOOTS:
        return f"the node was rebooted {progress.reboots} times before the controller confirmed the configuration"
    return ""


def _kept(progress: Progress, fault: str) -> Action:
    """Return the action for a fault of a configuration that a revert would not replace."""
    if progress.refused:
        return Action(KEEP, f"{fault}; it accepted this configuration before")
    last = _ended_last(progress)
    return Action(KEEP, f"{fault}, although this configuration worked before: the cause lies elsewhere{last}")


def _ended_last(progress: Progress) -> str:
    """Return the end of a reason: what ended the kubelet last, if it is not the reason already."""
    if progress.words == SIGNAL:
        return f"; {SIGNAL}"
    if progress.refused:
        return ""
    return logged_last(progress.words)


def logged_last(words: str) -> str:
    """Return the end of a reason: what the kubelet logged last, if it is known."""
    return f"; it logged last: {words}" if words else ""


def _overdue(terms: Terms, progress: Progress, facts: Facts, trouble: str) -> str:
    """Return why the confirmation is overdue, empty if not. Its time starts anew with a boot. `trouble`: any other."""
    begun = progress.booted if progress.reboots else terms.armed
    if terms.confirmed or facts.now - begun < terms.confirm_seconds:
        return ""
    reason = f"the configuration was not confirmed within {terms.confirm_seconds:.0f} s"
    if progress.reboots:
        reason += " after the reboot"
    if trouble:
        reason += f", and {trouble}"
    return reason


def _without_trouble(terms: Terms, progress: Progress, facts: Facts) -> Action:
    """Return the action for a kubelet that nothing is wrong with: wait, until it is confirmed and the hold time over.

    An unreachable API server is not evidence against the configuration: the guard waits and does not revert. After a
    day the controller's own verification must do, for a trial that stays open would blame its configuration for any
    end.
    """
    healthy_for = facts.now - _since(progress.healthy_since, facts)
    if not terms.confirmed or not progress.was_healthy or healthy_for < terms.hold_seconds:
        return Action(WAIT)
    held = f"confirmed, and healthy for {terms.hold_seconds:.0f} s without interruption"
    if facts.node is None:
        return Action(ASK, held)
    if facts.node and healthy_for < terms.hold_seconds + NODE_SECONDS:
        return Action(WAIT, f"{held}; {facts.node}")
    return Action(GRADUATE, held)


def _revert(terms: Terms, reason: str) -> Action:
    return Action(REVERT if terms.can_revert else KEEP, reason)


def _fault(terms: Terms, progress: Progress, facts: Facts) -> str:
    """Return what is wrong with the kubelet, empty if nothing is or it is too early to judge."""
    if progress.refused:
        return f"the kubelet refused the configuration: {progress.words}"
    unit, failures = facts.unit, progress.failures
    if (unit.between or unit.given_up) and not _excuse(terms, progress, facts, unit.invocation):
        if unit.given_up:
            return f"systemd has given up starting the kubelet ({unit.result})"
        failures += 1
    if failures >= MOST_FAILURES:
        return f"the kubelet ended {failures} times"
    if progress.unhealthy_since is not None and facts.now - progress.unhealthy_since >= terms.unhealthy_seconds:
        return f"the kubelet runs, but its healthz has failed for {terms.unhealthy_seconds:.0f} s"
    return ""


def _without_evidence(terms: Terms, progress: Progress, facts: Facts) -> str:
    """Return what is wrong although it is not evidence against the configuration; empty if nothing is."""
    unit = facts.unit
    excuse = _excuse(terms, progress, facts, unit.invocation)
    if unit.given_up and excuse:
        return f"systemd has given up starting the kubelet ({unit.result}), and {excuse}"
    if facts.runtime and not terms.other_runtime and not (unit.running and facts.healthy):
        return f"the container runtime is away: {facts.runtime}"
    return ""
