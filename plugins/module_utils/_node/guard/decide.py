# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guard does next, decided from observed facts alone: no files, no clock, no systemd.

The wall clock is not one of the facts. Times are seconds of CLOCK_BOOTTIME, which no clock jump changes. They are
compared within one boot only: a reboot before the confirmation ends the trial, a reboot after it restarts the
hold time.
"""

from __future__ import annotations

from typing import NamedTuple

from ..store.progress import Progress

WAIT = "wait"
REVERT = "revert"
ASK = "ask"
GRADUATE = "graduate"
KEEP = "keep"

# A kubelet can exit once for a reason outside it, such as a container runtime that is being restarted. A second exit
# within one trial counts as caused by the configuration.
MOST_FAILURES = 2
# Restarted containers, device plugins and busy disks make a kubelet's start slow: its healthz may fail this long
# without interruption.
UNHEALTHY_SECONDS = 60.0


class Unit(NamedTuple):
    """The kubelet's unit as `systemctl show` prints it: ActiveState, SubState, Result, InvocationID, NRestarts."""

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
        """Whether the kubelet has exited and systemd waits before the next start; not yet counted in `restarts`."""
        return self.sub.startswith("auto-restart") or self.sub == "failed-before-auto-restart"

    @property
    def given_up(self) -> bool:
        """Whether systemd has stopped trying (start-limit-hit, or a unit that does not restart)."""
        return self.active == "failed" and not self.between


class Facts(NamedTuple):
    """What is observed at one moment.

    `now`: seconds of CLOCK_BOOTTIME. `healthy`: None if healthz was not asked. `node`: None if the API server was not
    asked whether the Node is Ready with a heartbeat of the running kubelet; empty if it is, or if the kubelet has no
    API server; else the reason why this is not verified.
    """

    boot: str
    now: float
    unit: Unit
    healthy: bool | None = None
    node: str | None = None


class Terms(NamedTuple):
    """What a trial was armed with.

    `boot`, `armed`: boot id and CLOCK_BOOTTIME seconds of arming. `invocation`: InvocationID of the kubelet that ran
    then. `confirm_seconds`: how long the controller may take to confirm. `hold_seconds`: how long the kubelet must be
    healthy without interruption. `was_healthy`: whether the kubelet was healthy before. `can_revert`: whether the guard
    would revert to something else than what is on trial. `confirmed`: whether the controller has verified the node.
    `node_proof`: whether the guard must see the Node as Ready itself. If not, it cannot ask the API server.
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
    node_proof: bool = True


class Action(NamedTuple):
    """What to do, and the reason as operators read it."""

    what: str
    reason: str = ""


def observe(terms: Terms, progress: Progress, facts: Facts) -> Progress:
    """Return what is remembered after one more observation."""
    if progress.name != terms.name:
        # The first observation of this trial. If the kubelet was not restarted since, the restarts counted so far
        # happened before the trial.
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
        # systemd counts from 0 again after a manual start or restart, which is not a failure.
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

    WAIT: observe again. REVERT: run the last good configuration. ASK: observe again with `Facts.node`. GRADUATE: the
    trial is passed. KEEP: the trial is over, the configuration is not changed, the reason is reported.
    """
    if progress.verdict:
        return Action(REVERT, progress.verdict)
    if facts.boot != terms.boot and not terms.confirmed:
        return _revert(terms, "the node was rebooted before the controller confirmed the configuration")
    fault = _fault(terms, progress, facts)
    if fault and not terms.can_revert:
        return Action(KEEP, f"{fault}, although this configuration worked before: the cause lies elsewhere")
    if fault and (terms.was_healthy or progress.was_healthy):
        return Action(REVERT, fault)
    if _overdue(terms, facts):
        return _revert(
            terms,
            f"the configuration was not confirmed within {terms.confirm_seconds:.0f} s"
            + (f", and {fault}" if fault else ""),
        )
    if fault:
        return Action(WAIT, f"{fault}, as before the configuration was changed")
    if terms.confirmed and _healthy_for_hold_time(terms, progress, facts):
        return _after_hold_time(terms, facts)
    return Action(WAIT)


def _overdue(terms: Terms, facts: Facts) -> bool:
    """Whether the controller has not confirmed the configuration in time."""
    return not terms.confirmed and facts.now - terms.armed >= terms.confirm_seconds


def _healthy_for_hold_time(terms: Terms, progress: Progress, facts: Facts) -> bool:
    """Whether the kubelet has been healthy without interruption for the hold time."""
    return progress.healthy_since is not None and facts.now - progress.healthy_since >= terms.hold_seconds


def _after_hold_time(terms: Terms, facts: Facts) -> Action:
    """Return the action for a confirmed kubelet that was healthy for the hold time."""
    held = f"confirmed, and healthy for {terms.hold_seconds:.0f} s without interruption"
    if not terms.node_proof:
        return Action(GRADUATE, f"{held}; the guard cannot ask for its Node, the controller has")
    if facts.node is None:
        return Action(ASK, held)
    # An unreachable API server or a stopped container runtime is no evidence against the configuration: the guard
    # waits and does not revert.
    return Action(WAIT, f"{held}; waiting for its Node: {facts.node}") if facts.node else Action(GRADUATE, held)


def _on_trial(terms: Terms, facts: Facts) -> bool:
    """Whether the running kubelet is one that read the configuration on trial."""
    return facts.unit.invocation != terms.invocation or facts.boot != terms.boot


def _revert(terms: Terms, reason: str) -> Action:
    return Action(REVERT if terms.can_revert else KEEP, reason)


def _fault(terms: Terms, progress: Progress, facts: Facts) -> str:
    """Return what is wrong with the kubelet, empty if nothing is or it is too early to judge."""
    if facts.unit.given_up:
        return f"systemd has given up starting the kubelet ({facts.unit.result})"
    failures = progress.failures + (1 if facts.unit.between else 0)
    if failures >= MOST_FAILURES:
        return f"the kubelet ended {failures} times"
    if progress.unhealthy_since is not None and facts.now - progress.unhealthy_since >= terms.unhealthy_seconds:
        return f"the kubelet runs, but its healthz has failed for {terms.unhealthy_seconds:.0f} s"
    return ""
