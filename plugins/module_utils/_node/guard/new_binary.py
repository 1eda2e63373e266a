# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet binary that was replaced: before its first start the guard asks it what it accepts.

A newer kubelet ends at its start when a feature gate of its configuration was removed or locked, or a value is no
longer allowed. What it refuses gives way to last-known-good, then to the node's own config file as it is now. While the
binary is the same, this costs one `stat` and one small file. An answer that is not clear is not a refusal.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import NamedTuple

from ..store.installed import Binary, binary_record, identity
from ..store.local import OVERRIDE
from ..store.meta import Source
from ..store.store_reader import LOCAL_TARGET, quietly
from ..store.trial import Progress
from ..system import command, files
from ..system.files import StoreError
from ..unit import dropin_folder
from .base import Host
from .judging import Reverts

# All questions to one binary together may delay the kubelet's start by so many seconds.
_LIMIT_SECONDS = 8.0
# A binary that gives no clear answer is asked again at its next starts, up to so many times.
MOST_UNANSWERED = 3
_LONGEST_REASON = 500


class Answers:
    """What one binary accepts: the verdict on each target of `active`, asked once.

    `dropins`: the drop-in folder of a kubelet that reads `active` as one of them, over its own config file.
    """

    def __init__(self, folder: str, key: str, argv: list[str], run: command.Run, dropins: str = "") -> None:
        self.folder, self.key, self.argv, self.run, self.dropins = folder, key, argv, run, dropins
        self.known: dict[str, tuple[str, str]] = {}

    def of(self, target: str) -> tuple[str, str]:
        """Return verdict and reasons for a target of `active`."""
        return self.of_file(os.path.join(self.folder, target, self.key))

    def of_file(self, path: str) -> tuple[str, str]:
        """Return verdict and reasons for a config file."""
        from ..system import binary

        beneath = None
        try:
            text = _text(path)
            if self.dropins:
                beneath = dropin_folder.beneath(self.argv, self.dropins)
        except OSError as error:
            return binary.INVALID, f"{path} cannot be read: {error.strerror}"
        if text not in self.known:
            found = binary.check(text, self.argv, run=self.run, beneath=beneath)
            self.known[text] = found.verdict, "; ".join(found.messages)[:_LONGEST_REASON]
        return self.known[text]

    def refuses(self, target: str) -> bool:
        """Whether the binary refuses a target of `active`."""
        return self.of(target)[0] == "invalid"


def _text(path: str) -> str:
    """Return the text of a config file. Raises OSError. In the place of our link in a drop-in folder nothing was."""
    if dropin_folder.is_link(path):
        return OVERRIDE.decode()
    with open(path, encoding="utf-8", errors="surrogateescape", opener=files.at_once) as stream:
        return stream.read()


class _Choice(NamedTuple):
    """What the answers lead to.

    `verdict`, `reason`: those of what is active. `refused`: sources that no revert may lead to. `target`: what becomes
    active, empty for no change. `renew`: the node's own config file as it is now becomes the local configuration.
    `last_resort`: what becomes active if `target` cannot, empty for nothing.
    """

    verdict: str
    reason: str
    refused: tuple[Source, ...]
    accepted: tuple[Source, ...]
    target: str
    renew: bool = False
    last_resort: str = ""


class NewBinary:
    """What the guard does when the kubelet's binary is another one than at the last start."""

    def __init__(self, host: Host, reverts: Reverts) -> None:
        self.host, self.store, self.settings, self.reverts = host, host.store, host.settings, reverts
        self.record = binary_record(self.store.folder, self.store.fs)

    def meet(self, starts: str) -> bool:
        """Ask the kubelet's binary if it is new, and act on the answers; return whether something must be reported.

        `starts`: the program that the unit starts, empty if that is unknown.
        """
        before, now = self.record.read(), identity(self._program(starts))
        if now is None:
            return False
        if before and now.same(before):
            if before.settled:
                return False
            now = before
        active = self.host.running()
        return active is not None and self._ask(now, active, before is None)

    def _ask(self, now: Binary, active: str, first: bool) -> bool:
        """Ask a binary, and act on the answers, see `meet`. `first`: whether the guard knew no binary before."""
        # Asking is large and rare: a guard that only waits does not load it.
        from ..system import ask_binary

        run = command.until(self.host.run, _LIMIT_SECONDS)
        # Without the cache: a digest would delay the kubelet's start.
        facts = ask_binary.ask(now.path, run=run, cache="")
        now = now._replace(version=facts.version if facts else "")
        if first and now.version and now.version == self._verified_with(active):
            # The guard was installed just now, and the controller has asked this binary.
            self.host.attempt(partial(self.record.write, now._replace(settled=True)))
            return False
        # An upgrade may have changed the unit's files too.
        argv, local = [now.path, *self.host.next_words(run)[1:]], quietly(self.store.local)
        key = local.key if local else self.settings.key
        choice = self._choose(active, Answers(self.store.config_dir, key, argv, run, self.settings.folder))
        lacks = facts.without(ask_binary.flags_in(argv)) if facts else []
        with self.host.locked():
            if self.host.running() != active:
                return False
            self.host.attempt(partial(self.record.write, self._act(now, active, choice, lacks)))
        return self.host.records.report() is not None

    def _program(self, starts: str) -> str:
        """Return the kubelet's binary: what the unit starts, unless another program does that."""
        known = self.settings.argv[0] if self.settings.argv else ""
        if known and (not starts or self.host.is_another(starts)):
            return known
        return starts

    # Asking, without the lock

    def _choose(self, active: str, answers: Answers) -> _Choice:
        verdict, reason = answers.of(active)
        refused, accepted, others = [], [], []
        for source in self._sources():
            answer, _reason = answers.of(self.store.target(source))
            if answer == "invalid":
                refused.append(source)
                continue
            others.append(source)
            if answer == "valid":
                accepted.append(source)
        choice = _Choice(verdict, reason, tuple(refused), tuple(accepted), "")
        if verdict != "invalid":
            return choice
        # The local configuration gives way to a source only while it is on trial itself.
        may_leave = active != LOCAL_TARGET or self.store.resetting()
        if may_leave and others:
            last_resort = "" if answers.refuses(LOCAL_TARGET) else LOCAL_TARGET
            return choice._replace(target=self.store.target(others[0]), last_resort=last_resort)
        if answers.of_file(self._own())[0] != "invalid":
            return choice._replace(target=LOCAL_TARGET, renew=True)
        if active != LOCAL_TARGET and not answers.refuses(LOCAL_TARGET):
            return choice._replace(target=LOCAL_TARGET)
        return choice._replace(refused=())

    def _sources(self) -> list[Source]:
        """Return what is active, what the trial reverts to, and last-known-good unless it has failed, each once."""
        trial, good = quietly(self.store.trial), self.store.good_for_a_revert()
        found: list[Source] = []
        for source in (self.host.active_source(), trial.revert_to if trial else None, good):
            if source and source not in found:
                found.append(source)
        return found

    def _verified_with(self, target: str) -> str:
        trial, good = quietly(self.store.trial), quietly(self.store.last_known_good)
        if trial and self.store.target(trial.to) == target:
            return trial.kubelet_version
        if good and self.store.target(good) == target:
            return self.store.graduated_with()
        return ""

    def _own(self) -> str:
        """Return the path of the node's own config file."""
        known = quietly(self.store.local)
        if self.settings.config or known is None:
            return self.settings.config
        return known.config

    def _own_name(self) -> str:
        return "the local configuration" if self.settings.folder else self._own()

    # Acting, under the lock

    def _act(self, now: Binary, active: str, choice: _Choice, lacks: list[str]) -> Binary:
        """Do what was chosen; return what to record of the binary. `lacks`: flags of its unit that it does not know."""
        for source in choice.refused:
            self.host.attempt(partial(self.store.forget, source))
        name = f"the kubelet {now.path}"
        if now.version:
            name = f"kubelet {now.version}"
            for source in choice.accepted:
                self.host.attempt(partial(self.store.accept, source, now.version))
        if choice.target:
            self._leave(active, choice, f"{name} refuses this configuration: {choice.reason}")
            return now._replace(settled=self.host.running() == choice.target)
        if choice.verdict == "valid":
            return now._replace(settled=True)
        wrong = self._wrong(name, choice, lacks)
        if not wrong:
            unanswered = now.unanswered + 1
            return now._replace(unanswered=unanswered, settled=unanswered >= MOST_UNANSWERED)
        if wrong != now.reported:
            self.host.queue_report("not changed", error=wrong)
        return now._replace(reported=wrong)

    def _wrong(self, name: str, choice: _Choice, lacks: list[str]) -> str:
        """Return what an operator must change for the binary of this name; empty if it gave no clear answer."""
        if choice.verdict == "invalid":
            own = self._own_name()
            if not self.settings.folder:
                own = f"the node's own file {own}"
            return f"{name} refuses this configuration and {own}: {choice.reason}"
        if lacks:
            flags = ", ".join(f"--{flag}" for flag in lacks)
            return f"{name} does not know flags of its unit, {flags}: remove them from the unit"
        return ""

    def _leave(self, active: str, choice: _Choice, reason: str) -> None:
        """Make active what the binary accepts, and report why."""
        own = active == choice.target == LOCAL_TARGET
        if own:
            # First: no trial records this change. Should the guard end after it, the next start has nothing to do.
            self.host.queue_report(f"reverted to {self._own_name()}", error=reason)
        if choice.renew:
            self.host.attempt(lambda: self.store.refresh_local(self._own()))
        if own:
            return
        trial, progress = quietly(self.store.trial), Progress()
        if trial and self.store.target(trial.to) == active:
            progress = self.host.records.progress()
        elif trial:
            if trial.failed:
                reason = f"{trial.failed}; {reason}"
            trial = None
        # Should the guard end here, the next start finishes this revert.
        self.host.remember(progress._replace(verdict=reason))
        try:
            self.store.revert(reason)
        except StoreError as error:
            sys.stderr.write(f"{error}\n")
        for target in (choice.target, choice.last_resort):
            # On a full disk the store still holds what was refused, and only prepared links can be used.
            if target and self.host.running() in (active, None):
                self.host.attempt(partial(self.store.point, target))
        self.reverts.report(reason)
        self.reverts.finish(trial)
