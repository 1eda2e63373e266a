# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first configuration of a machine: assigned and on trial before its kubelet starts for the first time.

A service runs this before each start of the kubelet, until the machine has joined and has the files that its kubelet
reads. Then the seed ends, whatever comes of it: a kubelet that ran once is changed by nothing but a rollout.

The trial is a usual one. It is confirmed from the beginning, because no controller knows the machine yet: the guard
reverts what the kubelet refuses or ends with, and asks for the Node before the configuration is last-known-good.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from ..._config.delivery import CHECKPOINT
from ..._config.values import annotation
from ..follow import follow_install
from ..guard import base, guard_main
from ..install import guard_steps, seed_files
from ..install.seed_files import Seed
from ..report import status_annotation
from ..report.status_annotation import Outbox
from ..store.local import DEFAULT_KEY
from ..store.store import Store
from ..store.store_reader import quietly
from ..system import files, health
from ..system.files import StoreError
from ..system.lock import locked
from ..unit.unit import Unit, UnitError
from . import checkpoint_module, one_call, values
from .one_call import StepError

REFUSED = "seed refused"
"""The reason in the status of a node that did not take its seed."""
_ERRORS = (StepError, StoreError, UnitError, OSError, ValueError, KeyError, TypeError)


def plant(config_dir: str) -> int:
    """Assign the seed of this machine and remove it, or leave it for the next start of the kubelet.

    Returns the exit status, always 0: nothing here keeps a kubelet from starting.
    """
    problem, seed = "", Seed()
    try:
        seed = seed_files.read(config_dir)
    except _ERRORS as error:
        problem = f"{seed_files.content(config_dir)} cannot be used: {error}. Make the seed again"
    options = {**values.defaults(), **seed.options, "config_dir": config_dir}
    unit = Unit(options["unit"], child=bool(options["dropin_dir"]))
    early = "" if problem else _early(unit)
    if early:
        sys.stderr.write(f"the seed waits for the next start of the kubelet: {early}\n")
        return 0
    problem = problem or _assigned(options, unit)
    _reported(config_dir, options, unit, problem)
    _followed(seed, options, unit)
    seed_files.remove(config_dir, unit.name, unit.run)
    unit.run(["systemctl", "start", "--no-block", guard_main.SERVICE])
    return 0


def _early(unit: Unit) -> str:
    """Return why the seed must wait; empty if it must not."""
    try:
        if unit.pid():
            return "the kubelet runs"
        own = health.flag(unit.argv(), "config")
    except UnitError:
        # The inspection names what is wrong with the unit.
        return ""
    if own and not os.path.exists(own):
        return f"{own} does not exist yet"
    return ""


def _assigned(options: dict[str, Any], unit: Unit) -> str:
    """Assign and confirm the source of a seed; return why the kubelet starts without it, empty if it starts with it."""
    try:
        wanted = values.source(options["source"])
        known = quietly(Store(options["config_dir"]).assigned)
        if known not in (None, wanted):
            return "another configuration is assigned to this machine already"
        # The Node does not exist yet, so nothing can ask for it.
        start = {**options, "state": "assigned", "first_start": True, "allow_offline_guard": True}
        found = one_call.switched(start, False, unit)
        if found["reasons"]:
            return "; ".join(found["reasons"])
        checkpoint_module.apply({**options, "state": "confirmed"}, False)
    except _ERRORS as error:
        return str(error)
    return ""


def _reported(config_dir: str, options: dict[str, Any], unit: Unit, problem: str) -> None:
    """Leave a report for the guard, which sends it once the Node exists. The first one names the source, too."""
    reason, event, source = annotation.CONFIRMED, "", {}
    if problem:
        sys.stderr.write(f"the seed is not used: {problem}\n")
        reason, event = REFUSED, f"{status_annotation.restarting(None)}: {problem}"
    else:
        source = {"configMap": values.source(options["source"]), annotation.SEED: True}
        if options["delivery"] != CHECKPOINT:
            source["delivery"] = options["delivery"]
    try:
        if problem:
            key = (options["source"] or {}).get("kubelet_config_key", DEFAULT_KEY)
            guard_steps.prepared(config_dir, unit, key, False, metrics=options["metrics_dir"] or "")
        store, now = Store(config_dir), time.time()
        with locked(config_dir):
            files.make_folder(store.folder)
            status = base.status_of(store, problem, reason, now)
            Outbox(config_dir).queue(status, event, bool(problem), now, source)
    except _ERRORS as error:
        sys.stderr.write(f"this cannot be reported to the Node: {error}\n")


def _followed(seed: Seed, options: dict[str, Any], unit: Unit) -> None:
    if not seed.follow:
        return
    try:
        key = (options["source"] or {}).get("kubelet_config_key", DEFAULT_KEY)
        follow_install.present({**options, "key": key, **seed.follow}, False, unit)
    except _ERRORS as error:
        sys.stderr.write(f"the follower is not installed: {error}\n")
