# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that must be known of a node before its configuration changes, in one call."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Mapping, Sequence

from ..._config.fields import shadow
from ..._config.values.version import minor_of
from ..system import binary, command, config_summary, health
from ..unit import unit_override
from ..unit.unit import Command, Unit, UnitError
from . import disk_config, guard_access, host_checks, named_files, overridden, preflight_decisions
from .preflight_decisions import DEFAULTS, LOOK, NOTHING, RESET, SWITCH, Findings, Terms, masked

# Flags whose drop-ins are merged over the --config file, or whose dynamic configs replace it.
_CONFIG_DIR, _DYNAMIC_DIR = "config-dir", "dynamic-config-dir"


def look(
    name: str = "kubelet.service",
    text: str | None = None,
    root: str = "/",
    run: command.Run = command.execute,
    local: bool = False,
    with_disk: bool = False,
    terms: Terms = DEFAULTS,
) -> dict[str, Any]:
    """Return what the unit runs (`kubelet`), what the host needs (`host`), `problems`, and the decisions from these;
    for a staged config `text`, and with `local`, also the binary's verdict (`check`).

    The problems are those of `text`, else of the config that the kubelet runs; with `local` of the config that the unit
    names without our drop-in. `with_disk` adds what the kubelet would read from the disk now (`disk`). A unit that is
    not understood is returned as `refused`, with everything that is known of it. Raises UnitError without systemd.
    """
    unit = Unit(name, root, run)
    shape = unit.form()
    now, upcoming = _commands(unit)
    program = _program(upcoming.argv, unit)
    own, own_unreadable = _own_text(shape.config, root) if local and text is None else (None, "")
    checked, version, unasked = _ask(text, own, upcoming.argv, program, run)
    path = unit_override.config_of(now.argv)
    config, unreadable = _read(shape.config if local and shape.config else path, root)
    dropins = config_dir_files(health.flag(now.argv, _CONFIG_DIR), root)
    kubelet = {
        "unit": name,
        "form": shape.kind,
        "reason": shape.reason,
        "state": unit.show().get("ActiveState"),
        "version": version,
        "binary": program or None,
        "config": path or None,
        "config_unreadable": unreadable,
        "local_config": shape.config or None,
        "config_given_by": {"file": shape.file, "line": shape.line} if shape.file else None,
        "config_dir_files": dropins,
        **_command_facts(unit, now, upcoming, minor_of(version)),
    }
    against = NOTHING
    if text is not None:
        current, (config, unreadable) = config, _staged(text, config)
        if not unreadable:
            against = _against_node(config, current, upcoming.argv, kubelet, terms, root)
    found = host_checks.facts(config, upcoming.argv, root, run)
    problems = [] if unreadable else host_checks.disagreements(config, upcoming.argv, found)
    purpose = LOOK if text is None and not local else RESET if text is None else SWITCH
    edits = preflight_decisions.waiting(now.argv, upcoming.argv, terms.config_dir, _unread(unit))
    decided = preflight_decisions.decide(
        purpose, terms, kubelet, found, checked, problems, edits, against, unasked, own_unreadable
    )
    on_disk = {"disk": disk_config.look(now.argv, dropins, name, root, run)} if with_disk else {}
    return {
        "kubelet": kubelet,
        "host": found,
        "check": checked,
        "problems": [problem.row() for problem in problems],
        **decided._asdict(),
        **on_disk,
    }


def _commands(unit: Unit) -> tuple[Command, Command]:
    """Return the kubelet's command line now and after a restart, as far as they are known."""
    now = _or_none(unit.command) or Command([], "")
    if now.source != "process":
        return now, now
    return now, _or_none(unit.next_command) or now


def _command_facts(unit: Unit, now: Command, upcoming: Command, minor: int | None) -> dict[str, Any]:
    """Return what the kubelet's command line contains and sets, secrets masked."""
    return {
        "command": masked(now.argv),
        "command_source": now.source,
        "next_command": masked(upcoming.argv),
        "changes_at_restart": now.argv != upcoming.argv,
        "config_dir": health.flag(now.argv, _CONFIG_DIR) or None,
        "dynamic_config_dir": health.flag(now.argv, _DYNAMIC_DIR) or None,
        "shadowed": _shadowed(unit, now.argv, minor),
    }


def _staged(text: str, current: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
    """Return a staged config, or the current one and why the staged one is unreadable."""
    try:
        return config_summary.load(text), None
    except ValueError as error:
        return current, str(error)


def _against_node(
    config: Mapping[str, Any],
    current: Mapping[str, Any],
    argv: Sequence[str],
    kubelet: Mapping[str, Any],
    terms: Terms,
    root: str,
) -> Findings:
    """Return which values of a staged config this node overrides, and what the config names that the node lacks."""
    read = ((path, _read(path, root)) for path in kubelet["config_dir_files"])
    contents = {path: None if why else content for path, (content, why) in read}
    minor = minor_of(kubelet["version"])
    by_flags = overridden.by_flags(config, current, argv, minor, kubelet["shadowed"])
    by_dropins = overridden.by_dropins(config, current, contents, shadow.shadows(argv, minor))
    hidden = overridden.hidden(argv, minor, contents)
    lacking = named_files.missing(config, terms.config_dir, terms.files, hidden, root)
    return Findings([*by_flags.reasons, *by_dropins.reasons, *lacking], [*by_flags.warnings, *by_dropins.warnings])


def _own_text(path: str, root: str) -> tuple[str | None, str]:
    """Return the text of the node's own config file, or why it cannot be read. Both are empty if there is no path."""
    if not path:
        return None, ""
    try:
        with open(os.path.join(root, path.lstrip("/")), encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read(), ""
    except OSError as error:
        return None, str(error.strerror)


def _ask(
    text: str | None, own: str | None, argv: Sequence[str], program: str, run: command.Run
) -> tuple[dict[str, Any] | None, str | None, str]:
    """Return the binary's verdict on a config (None: no config), its version, and why the guard cannot ask for its Node
    (empty: it can, or there is no config). `text` is a staged config; without one, `own` is the node's own.

    All are asked in parallel: the first two take a kubelet's start each.
    """
    with ThreadPoolExecutor(2) as beside:
        way = beside.submit(lambda: "" if text is None else guard_access.failure(argv))
        asked = beside.submit(lambda: binary.version(program, run) if program else None)
        wanted = own if text is None else text
        checked = (
            None
            if wanted is None
            else dict(binary.check(wanted, argv, program, lambda: minor_of(asked.result()), run)._asdict())
        )
        return checked, asked.result(), way.result()


def _or_none(ask: Callable[[], Command]) -> Command | None:
    try:
        return ask()
    except UnitError:
        return None


def _unread(unit: Unit) -> bool:
    """Whether systemd has not read an edit of the unit's files yet. Our own drop-in may cause that too."""
    ours = unit.dropin_path in unit.show().get("DropInPaths", "").split() or unit.installed() is not None
    return unit.show().get("NeedDaemonReload") == "yes" and not ours


def _shadowed(unit: Unit, argv: Sequence[str], minor: int | None) -> dict[str, dict[str, Any]]:
    try:
        return unit.shadowed(minor, list(argv))
    except UnitError:
        return {path: {"flag": flag, "file": None, "line": None} for path, flag in shadow.shadows(argv, minor).items()}


def config_dir_files(folder: str | None, root: str = "/") -> list[str]:
    """Return the drop-ins that the kubelet merges over its config, in its order: files ending in .conf, subfolders
    included (KEP-3983).
    """
    found = []
    # A kubelet ignores a folder that is a link, unless its name ends in a slash.
    if folder and (folder.endswith("/") or not os.path.islink(os.path.join(root, folder.lstrip("/")))):
        for place, _folders, names in os.walk(os.path.join(root, folder.lstrip("/"))):
            found += [
                os.path.join("/", os.path.relpath(os.path.join(place, name), root))
                for name in names
                if name.endswith(".conf")
            ]
    return sorted(found)


def _program(argv: Sequence[str], unit: Unit) -> str:
    """Return the binary's path, empty for a unit that is not understood.

    The first word of a process may be another name than its path.
    """
    if argv and argv[0].startswith("/"):
        return argv[0]
    try:
        return unit.command_line().program
    except UnitError:
        return ""


def _read(path: str, root: str) -> tuple[Mapping[str, Any], str | None]:
    """Return the config in a file, and why it could not be read."""
    if not path:
        return {}, "the command line names no config file"
    try:
        with open(os.path.join(root, path.lstrip("/")), encoding="utf-8") as stream:
            return config_summary.load(stream.read()), None
    except (OSError, ValueError) as error:
        return {}, str(error)
