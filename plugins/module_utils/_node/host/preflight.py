# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that must be known of a node before its configuration changes, in one call."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Mapping, Sequence

from ..._config.fields import merged_dropins, shadow
from ..._config.upgrade import binary_findings
from ..._config.values.short_texts import minor_of
from ..kubelet import ask_binary
from ..report import status_reporter
from ..store.local import OVERRIDE
from ..system import binary, command, config_summary, files, health
from ..unit import dropin_folder, unit_override
from ..unit.unit import Command, Unit, UnitError
from . import dropin_look, host_checks, named_cgroups, named_files, overridden, preflight_decisions
from .dropin_look import DROPIN, Seen
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
    unit = Unit(name, root, run, bool(terms.dropin_dir))
    purpose = LOOK if text is None and not local else RESET if text is None else SWITCH
    now, upcoming = commands(unit)
    layered = terms.delivery == DROPIN or (purpose == RESET and bool(dropin_folder.installed(terms.config_dir)))
    seen = dropin_look.see(unit, now.argv, terms.dropin_dir, terms.config_dir, terms.key, root) if layered else None
    shape = unit.form(layered)
    words = seen.words if seen else upcoming.argv
    program = _program(upcoming.argv, unit)
    own, own_unreadable = _own_text(shape.config, root) if local and text is None else (None, "")
    checked, version, unasked = _ask(text, own, words, program, run, seen)
    path = health.flag(now.argv, "config") or ""
    config, unreadable = _read(shape.config if local and shape.config else path, root)
    folder = health.flag(now.argv, _CONFIG_DIR)
    dropins = dropin_folder.listed(folder, root)
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
        "config_dir_files": [file for file in dropins if not dropin_folder.is_link(file)],
        **_command_facts(unit, now, upcoming, minor_of(version)),
    }
    contents = {file: dropin_look.read(file, root)[0] for file in dropins}
    if purpose == LOOK and program:
        layers = [config, *contents.values(), *(layer["content"] for layer in (seen.own() if seen else ()))]
        answer = ask_binary.ask(program, ask_binary.names_of(words, layers).union(terms.ask), run)
        kubelet["facts"] = answer._asdict() if answer else None
        kubelet["differences"] = binary_findings.differences(answer) if answer else []
    against = Findings(overridden.of_node(seen, minor_of(version))) if seen and purpose == LOOK else NOTHING
    current = merged_dropins.merge(config, [each or {} for each in contents.values()])
    effective: Mapping[str, Any] = seen.effective({}) if seen and purpose == RESET else current
    if text is not None:
        declared, unreadable = _staged(text, config)
        if not unreadable and seen:
            effective = seen.effective(declared)
            running = config if preflight_decisions.below(path, terms.config_dir) else None
            live = None if folder is None else list(contents.values())
            against = _as_dropin(declared, running, live, seen, kubelet, terms)
        elif not unreadable:
            effective = merged_dropins.merge(declared, [each or {} for each in contents.values()])
            against = _against_node(declared, config, upcoming.argv, kubelet, terms, contents, root)
            against = against._replace(ignored=_ignored(checked, shape.config, root))
    found = host_checks.facts(effective, words, root, run, minor_of(version))
    problems = [] if unreadable else host_checks.disagreements(effective, words, found)
    edits = preflight_decisions.waiting(now.argv, upcoming.argv, terms.config_dir, unit.unread())
    elsewhere = status_reporter.elsewhere(words, terms.node) if terms.node else ""
    decided = preflight_decisions.decide(
        purpose, terms, kubelet, found, checked, problems, edits, against, unasked, own_unreadable, elsewhere
    )
    if seen:
        decided = decided._replace(reads_store=_reads_link(seen, shape.kind, folder, path, terms))
    on_disk = {"disk": dropin_look.on_disk(now.argv, dropins, name, root, run)} if with_disk else {}
    return {
        "kubelet": kubelet,
        "host": found,
        "check": checked,
        "problems": [problem.row() for problem in problems],
        **({"dropin": seen.shown()} if seen else {}),
        "own": seen.own() if seen else _own_layers(shape.config, contents, root),
        **decided._asdict(),
        **on_disk,
    }


def commands(unit: Unit) -> tuple[Command, Command]:
    """Return the kubelet's command line now and after a restart, as far as they are known."""
    now = Command([], "")
    with contextlib.suppress(UnitError):
        now = unit.command()
    upcoming = now
    if now.source == "process":
        with contextlib.suppress(UnitError):
            upcoming = unit.next_command()
    return now, upcoming


def _command_facts(unit: Unit, now: Command, upcoming: Command, minor: int | None) -> dict[str, Any]:
    """Return what the kubelet's command line contains and sets, secrets masked."""
    return {
        "command": masked(now.argv),
        "command_source": now.source,
        "next_command": masked(upcoming.argv),
        "changes_at_restart": now.argv != upcoming.argv,
        "config_dir": health.flag(now.argv, _CONFIG_DIR) or None,
        "dynamic_config_dir": health.flag(now.argv, _DYNAMIC_DIR) or None,
        "shadowed": unit.shadowed(minor, now.argv),
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
    contents: Mapping[str, Mapping[str, Any] | None],
    root: str,
) -> Findings:
    """Return which values of a staged config this node overrides, and what the config names that the node lacks."""
    minor = minor_of(kubelet["version"])
    link = dropin_folder.installed(terms.config_dir)
    by_flags = overridden.by_flags(config, current, argv, minor, kubelet["shadowed"])
    by_dropins = overridden.by_dropins(config, current, contents, shadow.shadows(argv, minor))
    hidden = overridden.hidden(argv, minor, contents)
    lacking = [
        *named_files.missing(config, terms.config_dir, terms.files, hidden, root),
        *named_cgroups.missing(config, hidden, root),
    ]
    layered = [f"{link}: this node has delivery dropin. Reset it before it gets delivery checkpoint"] if link else []
    return Findings(
        [*layered, *by_flags.reasons, *by_dropins.reasons, *lacking], [*by_flags.warnings, *by_dropins.warnings]
    )


def _as_dropin(
    declared: Mapping[str, Any],
    checkpoint: Mapping[str, Any] | None,
    live: Sequence[Mapping[str, Any] | None] | None,
    seen: Seen,
    kubelet: Mapping[str, Any],
    terms: Terms,
) -> Findings:
    """Return what prevents that these fields become live as a drop-in, and what they name that the node lacks.

    `checkpoint`: the whole configuration that the kubelet runs from the store now, None if it does not. `live`: the
    drop-ins that it reads now, None without a folder.
    """
    minor = minor_of(kubelet["version"])
    by_flags = overridden.by_flags(declared, {}, seen.words, minor, kubelet["shadowed"])
    by_later = overridden.by_later(declared, seen.after())
    back = []
    if checkpoint is not None and minor is not None:
        now = merged_dropins.effective(checkpoint, None if live is None else [each or {} for each in live], minor)
        back = overridden.way_back(checkpoint, seen, now, minor)
    effective = seen.effective(declared)
    pair = named_files.TLS_PAIR if any(name in declared for name in named_files.TLS_PAIR) else ()
    given = {name: effective[name] for name in (*declared, *pair) if name in effective}
    hidden = overridden.hidden(seen.words, minor, seen.after())
    groups = effective if any(name in declared for name in named_cgroups.FIELDS) else {}
    return Findings(
        [
            *overridden.of_dropin(declared, seen, minor),
            *by_flags.reasons,
            *by_later.reasons,
            *named_files.missing(given, terms.config_dir, terms.files, hidden, seen.root),
            *named_cgroups.missing(groups, hidden, seen.root),
            *back,
        ],
        [*by_flags.warnings, *by_later.warnings],
    )


def _reads_link(seen: Seen, form: str, folder: str | None, config: str, terms: Terms) -> bool:
    """Whether the kubelet reads our link already, and the store has the local configuration of delivery `dropin`."""
    named = os.path.normpath(folder or "") == os.path.normpath(seen.folder.path) or form == unit_override.CHILD
    return bool(
        seen.linked
        and named
        and not preflight_decisions.below(config, terms.config_dir)
        and dropin_folder.installed(terms.config_dir)
    )


def _own_layers(path: str, dropins: Mapping[str, Mapping[str, Any] | None], root: str) -> list[dict[str, Any]]:
    """Return the node's own layers where no drop-in is ours, or is going to be."""
    others = {file: content for file, content in dropins.items() if not dropin_folder.is_link(file)}
    return dropin_look.layers_shown(path, dropin_look.read(path, root)[0] if path else None, others)


def _ignored(check: Mapping[str, Any] | None, path: str, root: str) -> list[str]:
    """Return the unknown fields of a staged config that the node's own file has too, such as for a later version."""
    own, _unreadable = _read(path, root)
    return [name for name in (check or {}).get("unknown_fields", ()) if _sets(own, name)]


def _sets(config: Any, name: str) -> bool:
    for key in name.split("."):
        if not isinstance(config, Mapping) or key not in config:
            return False
        config = config[key]
    return True


def _own_text(path: str, root: str) -> tuple[str | None, str]:
    """Return the text of the node's own config file, or why it cannot be read. Both are empty if there is no path."""
    if not path:
        return None, ""
    try:
        return files.text(files.below(root, path)), ""
    except OSError as error:
        return None, str(error.strerror)


def _ask(
    text: str | None,
    own: str | None,
    argv: Sequence[str],
    program: str,
    run: command.Run,
    seen: Seen | None = None,
) -> tuple[dict[str, Any] | None, str | None, str]:
    """Return the binary's verdict on a config (None: no config), its version, and why the guard cannot ask for its Node
    (empty: it can, or there is no config). `text` is a staged config; without one, `own` is the node's own.

    All are asked in parallel: the first two take a kubelet's start each. Of a drop-in the kubelet names no unknown
    field, so it is also asked about that file alone.
    """
    with ThreadPoolExecutor(3) as beside:
        way = beside.submit(lambda: "" if text is None else status_reporter.failure(argv))
        asked = beside.submit(lambda: binary.version(program, run) if program else None)
        wanted = own if text is None else text
        beneath = None
        if seen and (text is not None or health.flag(argv, _CONFIG_DIR)):
            # Without our fields the other drop-ins are still there.
            wanted = text if text is not None else OVERRIDE.decode()
            try:
                beneath = seen.beneath()
            except OSError as error:
                return binary.Verdict(binary.NOT_CHECKED, [str(error)], [])._asdict(), asked.result(), way.result()
        if wanted is None:
            return None, asked.result(), way.result()

        def minor() -> int | None:
            return minor_of(asked.result())

        if beneath is None:
            return binary.check(wanted, argv, program, minor, run)._asdict(), asked.result(), way.result()
        alone = beside.submit(lambda: binary.check(str(wanted), argv, program, minor, run))
        checked = binary.check(wanted, argv, program, minor, run, beneath=beneath)
        unknown = config_summary.unknown(alone.result().unknown_fields, wanted, minor())
        return checked._replace(unknown_fields=unknown)._asdict(), asked.result(), way.result()


def _program(argv: Sequence[str], unit: Unit) -> str:
    """Return the binary's path, empty for a unit that is not understood.

    The first word of a process may be another name than its path.
    """
    if argv and argv[0].startswith("/"):
        return argv[0]
    return unit.program()


def _read(path: str, root: str) -> tuple[Mapping[str, Any], str | None]:
    """Return the config in a file, and why it could not be read."""
    if not path:
        return {}, "the command line names no config file"
    found, wrong = dropin_look.read(path, root)
    return found or {}, wrong or None
