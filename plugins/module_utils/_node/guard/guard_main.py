# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's program. Its commands: `prestart`, `watch`, `tick`, `report`, `verify`, `status` (see guard.py), `look`,
that of the follower, and `seed`, the first one on a new machine (see ../switch/seeds.py). The command `follow` has a
main of its own: ../follow/watching.py.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING

from ..._config.values.short_texts import minor_of
from ..report import status_annotation
from ..store import installed
from ..store.local import LINK
from ..store.store import Store
from ..store.store_reader import quietly
from ..store.trial import Progress, Trial
from ..system import command
from ..system.files import StoreError
from ..unit import dropin_folder
from . import observe, pacing
from .base import Settings, error_of, status_of
from .guard import FAST_SECONDS, Guard

if TYPE_CHECKING:
    from ..system.kubeconfig import Kubeconfig

SERVICE = "livenodes-kubelet-guard.service"
# What the step of the kubelet's unit prints at its end: its exit status is 0 also if the script is empty.
RAN = "ran"
FIRST_PAUSE = 5.0
LONGEST_PAUSE = 60.0
_MOST_PATHS = 5
"""Paths that a reason names: the annotation has one line."""


def main(folder: str, words: list[str]) -> int:
    """Run one of the program's commands; return its exit status.

    `folder` is the guard's own folder. It is in the config folder and holds `settings.json`.
    """
    what = words[0] if words else ""
    if what == "seed":
        # Without settings: nothing is installed yet.
        from ..switch import seeds

        return seeds.plant(os.path.dirname(folder))
    if what == "follow":
        # The script of an older program beside this one, of which a power cut has lost the new one.
        from ..follow import watching

        return watching.main(folder, words)
    guard = guard_of(folder)
    of_guard = {"prestart": prestart, "watch": watch, "tick": tick, "report": report, "verify": verify}
    act = {**of_guard, "status": status, "look": look}.get(what)
    if act is None:
        sys.stderr.write(f"usage: {folder} prestart | watch | tick | report | verify | status | follow | look\n")
        return 2
    try:
        return act(guard)
    except (StoreError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


def guard_of(folder: str) -> Guard:
    """Return the guard that this folder has the program of."""
    store = Store(os.path.dirname(folder))
    return Guard(store, settings_of(store))


def settings_of(store: Store) -> Settings:
    """Return the settings of the guard beside a store. Without them, what the store holds must do: the guard may have
    to revert a trial. The kubelet is then looked for under the usual name of its unit.
    """
    known = installed.settings(store.config_dir, store.fs)
    if known:
        texts = {name: known[name] for name in installed.TEXTS if name in known}
        return Settings(argv=tuple(known.get("argv", ())), **texts)
    sys.stderr.write(
        f"{installed.path(store.config_dir)} is missing or damaged, so the guard works with what the store holds: "
        "run the role checkpoint again\n"
    )
    local = quietly(store.local)
    if local is None:
        return Settings()
    folder, name = os.path.split(local.config)
    return Settings(config=local.config, key=local.key, folder=folder if name == LINK else "")


def tick(guard: Guard) -> int:
    """Look once, and print the seconds until the next look."""
    sys.stdout.write(f"{guard.tick()}\n")
    return 0


def prestart(guard: Guard) -> int:
    """Run before a start of the kubelet, and print `RAN`. An error never keeps the kubelet from starting."""
    try:
        if guard.prestart():
            command.execute(["systemctl", "start", "--no-block", SERVICE])
    except (StoreError, OSError) as error:
        sys.stderr.write(f"{error}\n")
    sys.stdout.write(f"{RAN}\n")
    return 0


def watch(guard: Guard) -> int:
    """Watch a trial to its end and report to the cluster. Returns when there is nothing left to do."""
    reports = pacing.Requests()
    while True:
        try:
            wait = guard.tick()
        except (StoreError, OSError) as error:
            sys.stderr.write(f"{error}\n")
            wait = LONGEST_PAUSE / 6
        if guard.records.report() is not None:
            if guard.reportable() and time.monotonic() >= reports.due:
                program = installed.program(sys.executable, guard.host.store.config_dir)
                done = command.execute([*program, "report"], pacing.API_SECONDS)
                if done.stderr:
                    sys.stderr.write(f"{done.stderr.rstrip()}\n")
                reports = reports.after(not done.returncode, time.monotonic(), FIRST_PAUSE, LONGEST_PAUSE)
                # The start of a kubelet is reported when it is seen. The rest of a report can be sent a moment later.
                reports = reports._replace(due=max(reports.due, time.monotonic() + FAST_SECONDS))
                continue
            pause = max(FIRST_PAUSE, reports.due - time.monotonic())
            if wait is None or pause < wait:
                wait = pause
        if wait is None:
            return 0
        time.sleep(wait)


def report(guard: Guard) -> int:
    """Send the pending report to the API server, with the kubelet's credentials."""
    from ..report import status_reporter

    words, pid, _started = _kubelet(guard)

    def since() -> float | None:
        if guard.records.progress().verdict:
            # The start of a kubelet that is about to be restarted is not reported.
            return None
        return _kubelet(guard)[2]

    failure = status_reporter.report(guard.records, lambda: status_reporter.api_of(words, pid), since)
    if not failure:
        return 0
    sys.stderr.write(f"the status is not reported yet, the guard will try again: {failure}\n")
    return 1


def look(guard: Guard) -> int:
    """Look at the Node once, and do what it asks for."""
    from ..follow import follow_install, follower
    from ..system.connection import ApiError

    allowed = follow_install.read_limits(guard.host.store.config_dir)
    fault = ""
    if allowed is None:
        fault = follow_install.no_limits(guard.host.store.config_dir)
        sys.stderr.write(f"{fault}\n")
    try:
        server = api(guard)
        at_node = follower.Follower(guard.host.store, allowed or follow_install.Limits(), server, server.node_name())
        if fault:
            at_node.refuse(fault)
            return 1
        at_node.look()
    except ApiError as error:
        sys.stderr.write(f"the node does not follow its Node yet, the follower will try again: {error}\n")
        return 1
    return 0


def api(guard: Guard) -> Kubeconfig:
    """Return the API server of the kubelet. Raises ApiError, also for a kubelet without one."""
    from ..report import status_reporter
    from ..system.connection import ApiError

    try:
        words, pid, _started = _kubelet(guard)
        return status_reporter.api_of(words, pid)
    except status_reporter.NoCluster:
        raise ApiError("the kubelet runs without --kubeconfig, so there is no Node to follow") from None


def verify(guard: Guard) -> int:
    """Ask the journal whether the running kubelet logged the configuration on trial, and the API server whether the
    Node is Ready with a heartbeat of that kubelet.

    If one contradicts, the last line of standard error is the reason. A log without the configuration does not.
    """
    trial = quietly(guard.host.store.trial)
    wrong, asks_node = "", True
    if trial:
        wrong, asks_node = _logged_otherwise(guard, trial), trial.extra.get("node_proof", True)
    if asks_node and not wrong:
        wrong = _unverified_node(guard)
    if not wrong:
        return 0
    sys.stderr.write(" ".join(wrong.split()) + "\n")
    return 1


def _logged_otherwise(guard: Guard, trial: Trial) -> str:
    """Return where the configuration on trial and the one that the running kubelet logged differ; empty if nowhere, and
    if it logged none, which is printed.
    """
    from ..records import logged
    from ..system import config_summary, files

    config, minor = None, minor_of(trial.kubelet_version)
    seen = observe.kubelet(guard.host.settings.unit, guard.host.run)
    if seen:
        config = logged.read(seen.unit.invocation, guard.host.run)
    if config is None or minor is None:
        sys.stderr.write("not verified by the kubelet's log: it has no whole configuration of this start\n")
        return ""
    path = os.path.join(guard.host.store.config_dir, guard.host.store.target(trial.to), guard.host.settings.key)
    try:
        wanted = config_summary.load(files.text(path))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"not verified by the kubelet's log: {path} cannot be read: {error}\n")
        return ""
    paths = logged.unlike(wanted, config, minor, bool(guard.host.settings.folder))
    if not paths:
        sys.stderr.write("verified by the kubelet's log: it logged the configuration on trial\n")
        return ""
    named = ", ".join(paths[:_MOST_PATHS])
    if len(paths) > _MOST_PATHS:
        named += f" and {len(paths) - _MOST_PATHS} more"
    return f"the kubelet logged other values than those on trial: {named}"


def _unverified_node(guard: Guard) -> str:
    from ..report import status_reporter

    words, pid, started = _kubelet(guard)
    cause = status_reporter.unverified(lambda: status_reporter.api_of(words, pid), started)
    return f"waiting for its Node: {cause}" if cause else ""


def _kubelet(guard: Guard) -> tuple[list[str], int, float | None]:
    """Return the kubelet's command line, and process and start (seconds since the epoch) of the running kubelet."""
    seen = observe.kubelet(guard.host.settings.unit) or observe.UNKNOWN
    words = observe.argv(seen.pid) if seen.pid else []
    known = installed.settings(guard.host.store.config_dir)
    words = dropin_folder.with_kubeconfig(words or guard.host.settings.argv, known)
    return words, seen.pid, seen.since()


def status(guard: Guard) -> int:
    """Print the node's config status as JSON, in the shape of the annotation, and the progress of a trial."""
    pending = guard.records.report()
    progress = guard.records.progress()
    shown = status_of(guard.host.store, error_of(guard.host.store), "", time.time())
    trial = quietly(guard.host.store.last_armed)
    shown["trial"] = trial.name if trial else None
    started = _kubelet(guard)[2]
    if started is not None:
        shown["started"] = status_annotation.stamp(started)
    shown["reported"] = pending is None
    shown["progress"] = None
    if progress != Progress():
        shown["progress"] = progress._asdict()
    sys.stdout.write(f"{json.dumps(shown, indent=2)}\n")
    return 0
