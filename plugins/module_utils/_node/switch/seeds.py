# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first configuration of a machine: its files, and how it is assigned and on trial before the kubelet starts for
the first time. The files remove themselves::

    <config_dir>/seed/program.zip    the guard's program, which is installed from here
    <config_dir>/seed/seed.json      the configuration, and how it is assigned
    /etc/systemd/system/livenodes-kubelet-seed.service, wanted by the kubelet's unit and at boot

A service runs this at boot and before each start of the kubelet, until there is what the kubelet needs for a start: its
unit and the files that this reads, which `kubeadm join` or a package may bring later. Then the seed ends, whatever
comes of it: a kubelet that ran once is changed by nothing but a rollout.

The trial is a usual one. It is confirmed from the beginning, because no controller knows the machine yet: the guard
reverts what the kubelet refuses or ends with, and asks for the Node before the configuration is last-known-good.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Mapping, NamedTuple, Sequence

from ..._config.delivery import CHECKPOINT
from ..._config.values import annotation
from ..._config.values.short_texts import flag
from ..follow import follow_install
from ..guard import base, guard_main
from ..install import guard_install, guard_steps, seed_files
from ..records import json_file
from ..report import status_annotation
from ..report.status_annotation import Outbox
from ..store.local import DEFAULT_KEY
from ..store.store import Store
from ..store.store_reader import quietly
from ..system import files, health
from ..system.command import Run
from ..system.files import StoreError
from ..system.lock import locked
from ..unit.unit import Unit, UnitError
from . import checkpoint_module, one_call, values
from .one_call import StepError

FORMAT = 1
"""The version of seed.json: the program may be older, in the image of the machine."""
_SECONDS = 180
"""After so many seconds, the kubelet starts without an answer of the seed."""
_JOB_SECONDS = 900
"""The same, including what the service waits for: cloud-init may itself wait for the kubelet that it starts."""
_MAIN = f"""import os
import sys

from {guard_install.PACKAGE}._node.guard.guard_main import main

sys.exit(main(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), sys.argv[1:]))
""".encode()


class Entry(NamedTuple):
    """A file with `data`, a link to `link`, or a folder."""

    path: str
    mode: int = 0o700
    data: bytes | None = None
    link: str = ""


class Seed(NamedTuple):
    """What seed.json holds.

    `options`: those of kubelet_checkpoint that differ from values.defaults, with the source and the data. `follow`: the
    namespace and the effect of a follower to install, empty for none.
    """

    format: int = FORMAT
    options: Mapping[str, Any] = {}
    follow: Mapping[str, Any] = {}


def entries(config_dir: str, unit: str, seed: Seed, with_program: bool = True) -> list[Entry]:
    """Return the files of a seed; without the program, only what is not the same for each group."""
    config_dir, unit = files.plain(config_dir), Unit(unit).name
    place = seed_files.folder(config_dir)
    found = [
        Entry(config_dir),
        Entry(place),
        Entry(seed_files.content(config_dir), 0o600, json_file.encode(seed._asdict())),
    ]
    if with_program:
        program = guard_install.packed({**guard_install.program(), "__main__.py": _MAIN})
        found += [
            Entry(_program(config_dir), 0o600, program),
            Entry(seed_files.SERVICE_PATH, 0o644, _service_text(config_dir, unit).encode()),
            Entry(seed_files.wanted_by(unit), link=seed_files.SERVICE_PATH),
            Entry(seed_files.wanted_by(seed_files.AT_BOOT), link=seed_files.SERVICE_PATH),
        ]
    return found


def _program(config_dir: str) -> str:
    return os.path.join(seed_files.folder(config_dir), "program.zip")


def _service_text(config_dir: str, unit: str) -> str:
    """Return the text of the service. The kubelet waits for its end, and starts whatever that is.

    A configuration may name the socket of the container runtime, which must be there by then. The seed in an image may
    be that of another group, until cloud-init has replaced it. A kubelet that cannot start yet is started again and
    again, and none of its starts may be without the service. Its errors are on the console too, which providers
    show: the journal of a machine that does not join is out of reach.
    """
    python = " || ".join(f"command -v {name}" for name in guard_install.STABLE_NAMES)
    absent = "a seed needs Python 3.7 or later. Install it in the image of this machine"
    return f"""# Written by livenodes.kubelet. Assigns the first configuration of this machine, then removes itself.
[Unit]
Description=First configuration of the kubelet
Before={unit}
After=containerd.service crio.service cri-docker.service docker.service
After=cloud-init.service cloud-init-network.service
ConditionPathExists={seed_files.content(config_dir)}
RequiresMountsFor={config_dir}
StartLimitIntervalSec=0
JobTimeoutSec={_JOB_SECONDS}

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'python=$$({python}); exec "$${{python:?{absent}}}" -I -B {_program(config_dir)} seed'
StandardError=journal+console
TimeoutStartSec={_SECONDS}
"""


def read(config_dir: str) -> Seed:
    """Return the seed of a machine. Raises ValueError for one that is damaged or of another version, FileError."""
    try:
        return json_file.fields(json_file.load(seed_files.content(config_dir)), Seed())
    except TypeError as error:
        raise ValueError(str(error)) from None


REFUSED = "seed refused"
"""The reason in the status of a node that did not take its seed."""
_ERRORS = (StepError, StoreError, UnitError, OSError, ValueError, KeyError, TypeError)


def plant(config_dir: str) -> int:
    """Assign the seed of this machine and remove it, or leave it for the next start of the kubelet.

    Returns the exit status, always 0: nothing here keeps a kubelet from starting.
    """
    problem, seed = "", Seed()
    try:
        seed = read(config_dir)
    except _ERRORS as error:
        problem = f"{seed_files.content(config_dir)} cannot be used: {error}. Make the seed again"
    options = {**values.defaults(), **seed.options, "config_dir": config_dir}
    unit = Unit(options["unit"], child=bool(options["dropin_dir"]))
    early = "" if problem else _early(unit)
    if early:
        # A kubelet may try to start every few seconds until the machine joins: too often for the console.
        shown = sys.stderr if early == _no_unit(unit.name) else sys.stdout
        shown.write(f"the seed waits for the next start of the kubelet: {early}\n")
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
        absent = unit.lacking() or _absent(unit.argv())
    except UnitError:
        # The inspection names what is wrong with the unit.
        return ""
    if absent == unit.name:
        return _no_unit(absent)
    return f"{absent} does not exist yet" if absent else ""


def _no_unit(name: str) -> str:
    return f"{name} does not exist yet. If another unit runs the kubelet, make the seed with its kubelet_config_unit"


def _absent(argv: Sequence[str]) -> str:
    """Return which file without which the kubelet would end is not there, empty for none."""
    credentials = "bootstrap-kubeconfig" if health.joining(argv) else "kubeconfig"
    for name in ("config", credentials):
        path = flag(argv, name)
        if path and not os.path.exists(path):
            return path
    return ""


def _assigned(options: dict[str, Any], unit: Unit) -> str:
    """Assign and confirm the source of a seed; return why the kubelet starts without it, empty if it starts with it."""
    try:
        wanted = values.source(options["source"])
        known = quietly(Store(options["config_dir"]).assigned)
        if known not in (None, wanted):
            return (
                f"{values.named(known)} is assigned to this machine already, as on an image of a node. Reset a node "
                "before you make an image of it, or roll out"
            )
        _make_folder((options["dropin_dir"] or "/").rstrip("/"), unit.run)
        # The guard would count what ended the kubelet before as evidence: the unit may be failed, or start again.
        unit.run(["systemctl", "reset-failed", unit.name])
        # The Node does not exist yet, so nothing can ask for it.
        start = {**options, "state": "assigned", "first_start": True, "allow_offline_guard": True}
        found = one_call.switched(start, False, unit)
        if found["reasons"]:
            return "; ".join(found["reasons"])
        checkpoint_module.apply({**options, "state": "confirmed"}, False)
    except _ERRORS as error:
        return str(error)
    return ""


def _make_folder(path: str, run: Run) -> None:
    """Create the drop-in folder. The agents of RKE2 and k3s make it at their first start, and keep one that is there.

    SELinux has labels of its own for their folders, and what they write there later gets those. Raises FileError.
    """
    made = ""
    above = path
    while above and not os.path.lexists(above):
        made, above = above, os.path.dirname(above)
    if made:
        files.make_folder(path, mode=0o755)
        for warning in guard_install.restore_labels([made], run):
            sys.stderr.write(f"{warning}\n")


def _reported(config_dir: str, options: dict[str, Any], unit: Unit, problem: str) -> None:
    """Leave a report for the guard, which sends it once the Node exists. The first one names the source, too."""
    store = Store(config_dir)
    reason, event, source = annotation.CONFIRMED, "", {}
    if problem:
        sys.stderr.write(f"the seed is not used: {problem}\n")
        if _is_rolled_out_to(store, options):
            return
        runs = quietly(store.active_source)
        reason, event = REFUSED, f"{status_annotation.restarting(runs)}: {problem}"
    else:
        source = {"configMap": values.source(options["source"]), annotation.SEED: True}
        if options["delivery"] != CHECKPOINT:
            source["delivery"] = options["delivery"]
    try:
        if problem:
            key = (options["source"] or {}).get("kubelet_config_key", DEFAULT_KEY)
            guard_steps.prepared(config_dir, unit, key, False, metrics=options["metrics_dir"] or "")
        now = time.time()
        with locked(config_dir):
            files.make_folder(store.folder)
            status = base.status_of(store, problem, reason, now)
            Outbox(config_dir).queue(status, event, bool(problem), now, source)
    except _ERRORS as error:
        sys.stderr.write(f"this cannot be reported to the Node: {error}\n")


def _is_rolled_out_to(store: Store, options: Mapping[str, Any]) -> bool:
    """Return whether a rollout came first: it would read the report as an error of its trial."""
    trial = quietly(store.trial)
    if trial is None or trial.failed:
        return False
    try:
        return bool(trial.to != values.source(options["source"]))
    except _ERRORS:
        return True


def _followed(seed: Seed, options: dict[str, Any], unit: Unit) -> None:
    if not seed.follow:
        return
    try:
        key = (options["source"] or {}).get("kubelet_config_key", DEFAULT_KEY)
        follow_install.present({**options, "key": key, **seed.follow}, False, unit)
    except _ERRORS as error:
        sys.stderr.write(f"the follower is not installed: {error}\n")
