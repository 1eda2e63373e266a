# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that must be known of a node before its configuration changes, in one call."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Mapping, NamedTuple, Sequence

from ..._config import delivery
from ..._config.fields import merged_dropins, shadow
from ..._config.rules.problem import Problem
from ..._config.upgrade import binary_findings, node_facts
from ..._config.values.short_texts import flag, minor_of
from ..report import status_reporter
from ..store.local import OVERRIDE
from ..system import ask_binary, binary, command, config_summary, files
from ..unit import dropin_folder, unit_override
from ..unit.unit import Command, Unit, UnitError
from . import dropin_look, host_checks, overridden, preflight_decisions
from .dropin_look import Config, Seen
from .preflight_decisions import DEFAULTS, LOOK, NOTHING, RESET, SWITCH, Answers, Findings, Terms, masked


class _Node(NamedTuple):
    """What is known of a node without an answer of its kubelet's binary. Contents are None where they cannot be read.

    `purpose`: switch, reset or look. `now`, `upcoming`: the kubelet's command line, and that after a restart. `seen`:
    what delivery `dropin` finds, None for delivery `checkpoint`. `config`: the fields of the config file, `unreadable`:
    why it cannot be read. `dropins`: the content of each drop-in that the kubelet reads now, with `reasons` for None.
    """

    unit: Unit
    purpose: str
    terms: Terms
    now: Command
    upcoming: Command
    form: unit_override.Form
    seen: Seen | None
    program: str
    config: Config
    unreadable: str | None
    dropins: Mapping[str, Config | None]
    reasons: Mapping[str, str]

    @property
    def path(self) -> str:
        """The config file that the kubelet reads now, empty for none."""
        return flag(self.now.argv, "config") or ""

    @property
    def folder(self) -> str | None:
        return flag(self.now.argv, "config-dir")

    @property
    def words(self) -> Sequence[str]:
        """The kubelet's command line after a switch or reset, for delivery `dropin` without our part of it."""
        return self.seen.words if self.seen else self.upcoming.argv

    @property
    def asking(self) -> list[str]:
        """The command line with the credentials that the guard asks the API server with."""
        return dropin_folder.with_kubeconfig(self.words, {"folder": self.terms.dropin_dir})

    @property
    def layers(self) -> list[Config]:
        """The drop-ins, empty where they cannot be read."""
        return [each or {} for each in self.dropins.values()]

    @property
    def foreign(self) -> dict[str, Config | None]:
        """The drop-ins that are not ours."""
        return {file: content for file, content in self.dropins.items() if not dropin_folder.is_link(file)}

    def with_dropins(self, config: Config) -> Config:
        return merged_dropins.merge(config, self.layers)


class _Judged(NamedTuple):
    """The fields that the host must fit, why they are unreadable, and what else prevents what is wanted."""

    effective: Config
    unreadable: str | None
    against: Findings = NOTHING


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
    names without our drop-in. `with_disk` adds what the kubelet would read from the disk now (`disk`), and whose
    its files are (`files`). A unit that is not understood is returned as `refused`, with everything that is known of
    it. Raises UnitError without systemd.
    """
    return of_unit(Unit(name, root, run, bool(terms.dropin_dir)), text, local, with_disk, terms)


def of_unit(unit: Unit, text: str | None, local: bool, with_disk: bool, terms: Terms) -> dict[str, Any]:
    """Return the same of a unit, which remembers what systemd answered."""
    root, run = unit.root, unit.run
    terms = terms._replace(config_dir=files.plain(terms.config_dir))
    purpose = LOOK
    if text is not None:
        purpose = SWITCH
    elif local:
        purpose = RESET
    node = _node_of(unit, purpose, terms, local)
    answers = _ask(text, node)
    minor = minor_of(answers.version)
    kubelet = _kubelet(node, answers.version)
    if text is not None:
        judged = _for_switch(node, text, minor, kubelet["shadowed"], answers.check)
    elif local:
        judged = _for_reset(node)
    else:
        kubelet.update(_known_names(node))
        judged = _for_look(node, minor)
    host = host_checks.facts(judged.effective, node.words, root, run, minor)
    problems: list[Problem] = []
    if not judged.unreadable:
        problems = host_checks.disagreements(judged.effective, node.words, host)
    result: dict[str, Any] = {
        "kubelet": kubelet,
        "host": host,
        "check": answers.check,
        "problems": [problem.row() for problem in problems],
    }
    if node.seen:
        result["dropin"] = node.seen.shown()
    result["own"] = _own_layers(node)
    result.update(_decided(node, result, problems, judged.against, answers)._asdict())
    if with_disk:
        result["disk"] = dropin_look.on_disk(node.now.argv, list(node.dropins), unit.name, root, run)
        layers = [node.path, *node.dropins]
        result["files"] = dropin_look.owned(node.unit.files(), node.now.argv, judged.effective, layers, root)
    return result


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


def _node_of(unit: Unit, purpose: str, terms: Terms, local: bool) -> _Node:
    """Return what is known of a node. With `local` its config is that of the unit without our drop-in, if it has one.

    Raises UnitError without systemd.
    """
    now, upcoming = commands(unit)
    linked = purpose == RESET and bool(dropin_folder.installed(terms.config_dir))
    layered = linked or not delivery.of(terms.delivery).whole
    seen = None
    if layered:
        seen = dropin_look.see(unit, now.argv, terms.dropin_dir, terms.config_dir, terms.key, unit.root)
    form = unit.form(layered)
    path = flag(now.argv, "config") or ""
    if local and form.config:
        path = form.config
    config, unreadable = _read(path, unit.root)
    listed = dropin_folder.listed(flag(now.argv, "config-dir"), unit.root)
    dropins, reasons = dropin_look.contents(listed, unit.root)
    program = _program(upcoming.argv, unit)
    return _Node(unit, purpose, terms, now, upcoming, form, seen, program, config, unreadable, dropins, reasons)


def _kubelet(node: _Node, version: str | None) -> dict[str, Any]:
    """Return what the unit runs, as the module returns it: what the command line contains and sets, secrets masked."""
    form, now, upcoming = node.form, node.now, node.upcoming
    return {
        "unit": node.unit.name,
        "form": form.kind,
        "reason": form.reason,
        "state": node.unit.show().get("ActiveState"),
        "version": version,
        "binary": node.program or None,
        "config": node.path or None,
        "config_unreadable": node.unreadable,
        "local_config": form.config or None,
        "config_given_by": {"file": form.file, "line": form.line} if form.file else None,
        "config_dir_files": list(node.foreign),
        "command": masked(now.argv),
        "command_source": now.source,
        "next_command": masked(upcoming.argv),
        "changes_at_restart": now.argv != upcoming.argv,
        "config_dir": node.folder or None,
        "dynamic_config_dir": flag(now.argv, "dynamic-config-dir") or None,
        "shadowed": node.unit.shadowed(minor_of(version), now.argv),
    }


def _known_names(node: _Node) -> dict[str, Any]:
    """Return what the binary answers about the names that the node's configuration uses, and where it differs."""
    if not node.program:
        return {}
    layers = [node.config, *node.dropins.values()]
    if node.seen:
        layers += [layer["content"] for layer in node.seen.own()]
    names = ask_binary.names_of(node.words, layers).union(node.terms.ask)
    answer = ask_binary.ask(node.program, names, node.unit.run)
    if not answer:
        return {"facts": None, "differences": []}
    return {"facts": answer._asdict(), "differences": binary_findings.differences(answer)}


def _for_look(node: _Node, minor: int | None) -> _Judged:
    """Judge the config that the kubelet runs; for delivery `dropin` also whether the node can have it."""
    against = NOTHING
    if node.seen:
        against = Findings(overridden.of_node(node.seen, minor))
    return _Judged(node.with_dropins(node.config), node.unreadable, against)


def _for_reset(node: _Node) -> _Judged:
    """Judge the config that the kubelet runs without this collection."""
    if node.seen:
        return _Judged(node.seen.effective({}), node.unreadable)
    return _Judged(node.with_dropins(node.config), node.unreadable)


def _for_switch(
    node: _Node, text: str, minor: int | None, uses: overridden.Uses, check: Mapping[str, Any] | None
) -> _Judged:
    """Judge a staged config, with what this node overrides of it and lacks for it. `uses`: the flags by path."""
    try:
        declared = config_summary.load(text)
    except ValueError as error:
        return _Judged(node.with_dropins(node.config), str(error))
    if node.seen:
        return _Judged(node.seen.effective(declared), None, _as_dropin(declared, node, node.seen, minor, uses))
    against = _against_node(declared, node, minor, uses)._replace(ignored=_ignored(check, node))
    return _Judged(node.with_dropins(declared), None, against)


def _against_node(declared: Config, node: _Node, minor: int | None, uses: overridden.Uses) -> Findings:
    """Return which values of a staged config this node overrides, and what the config names that the node lacks."""
    argv, terms, root = node.upcoming.argv, node.terms, node.unit.root
    link = dropin_folder.installed(terms.config_dir)
    by_flags = overridden.by_flags(declared, node.config, argv, minor, uses)
    by_dropins = overridden.by_dropins(declared, node.config, node.dropins, shadow.shadows(argv, minor))
    hidden = overridden.hidden(argv, minor, node.dropins)
    by_folder = NOTHING
    if node.folder:
        by_folder = overridden.by_folder(declared, node.config, minor, hidden)
    reasons = [*by_flags.reasons, *by_dropins.reasons, *by_folder.reasons]
    if link:
        reasons.insert(0, f"{link}: this node has delivery dropin. Reset it before it gets delivery checkpoint")
    reasons += host_checks.missing(declared, terms.config_dir, terms.files, hidden, root)
    reasons += host_checks.missing_cgroups(declared, hidden, root)
    return Findings(reasons, [*by_flags.warnings, *by_dropins.warnings, *by_folder.warnings])


def _as_dropin(declared: Config, node: _Node, seen: Seen, minor: int | None, uses: overridden.Uses) -> Findings:
    """Return what prevents that these fields become live as a drop-in, and what they name that the node lacks."""
    by_flags = overridden.by_flags(declared, {}, seen.words, minor, uses)
    by_later = overridden.by_later(declared, seen.after())
    effective = seen.effective(declared)
    hidden = overridden.hidden(seen.words, minor, seen.after())
    reasons = [*overridden.of_dropin(declared, seen, minor), *by_flags.reasons, *by_later.reasons]
    names = set(declared)
    if names.intersection(host_checks.TLS_PAIR):
        names.update(host_checks.TLS_PAIR)
    given = {name: value for name, value in effective.items() if name in names}
    reasons += host_checks.missing(given, node.terms.config_dir, node.terms.files, hidden, seen.root)
    if names.intersection(host_checks.CGROUPS):
        reasons += host_checks.missing_cgroups(effective, hidden, seen.root)
    reasons += _way_back(node, seen, minor)
    return Findings(reasons, [*by_flags.warnings, *by_later.warnings])


def _way_back(node: _Node, seen: Seen, minor: int | None) -> list[str]:
    """Return why a node that runs a checkpoint, a whole configuration, could not be reverted to it from a drop-in."""
    if minor is None or not preflight_decisions.below(node.path, node.terms.config_dir):
        return []
    live = None if node.folder is None else node.layers
    now = merged_dropins.effective(node.config, live, minor)
    return overridden.way_back(node.config, seen, now, minor)


def _decided(
    node: _Node, found: Mapping[str, Any], problems: Sequence[Problem], against: Findings, answers: Answers
) -> preflight_decisions.Decisions:
    purpose, terms = node.purpose, node.terms
    edits = preflight_decisions.waiting(node.now.argv, node.upcoming.argv, terms.config_dir, node.unit.unread())
    elsewhere = ""
    if terms.node:
        elsewhere = status_reporter.elsewhere(node.asking, terms.node)
    kubelet, host = found["kubelet"], found["host"]
    decided = preflight_decisions.decide(purpose, terms, kubelet, host, problems, answers, edits, against, elsewhere)
    if node.seen:
        decided = decided._replace(reads_store=_reads_link(node.seen, node))
    return decided


def _reads_link(seen: Seen, node: _Node) -> bool:
    """Whether the kubelet reads our link already, and the store has the local configuration of delivery `dropin`."""
    same = os.path.normpath(node.folder or "") == os.path.normpath(seen.folder.path)
    return bool(
        seen.linked
        and (same or node.form.kind == unit_override.CHILD)
        and not preflight_decisions.below(node.path, node.terms.config_dir)
        and dropin_folder.installed(node.terms.config_dir)
    )


def _own_layers(node: _Node) -> list[dict[str, Any]]:
    """Return the node's own config file and drop-ins as the module returns them."""
    if node.seen:
        return node.seen.own()
    own, reasons = dropin_look.contents(filter(None, [node.form.config]), node.unit.root)
    return dropin_look.layers_shown({**own, **node.foreign}, {**node.reasons, **reasons})


def _ignored(check: Mapping[str, Any] | None, node: _Node) -> list[str]:
    """Return the unknown fields of a staged config that the node's own file has too, such as for a later version."""
    if check is None:
        return []
    own, _unreadable = _read(node.form.config, node.unit.root)
    return [name for name in check["unknown_fields"] if node_facts.has(own, tuple(name.split(".")))]


def _own_text(path: str, root: str) -> tuple[str | None, str]:
    """Return the text of the node's own config file, or why it cannot be read. Both are empty if there is no path."""
    if not path:
        return None, ""
    try:
        return files.text(files.below(root, path)), ""
    except OSError as error:
        return None, str(error.strerror)


def _ask(text: str | None, node: _Node) -> Answers:
    """Return what the binary answers of a staged config, or for a reset of the node's own, and whether the API server
    can be asked. All are asked in parallel: the first two take a kubelet's start each.
    """
    wanted, own_unreadable = text, ""
    if node.purpose == RESET:
        wanted, own_unreadable = _own_text(node.form.config, node.unit.root)
    check = None
    with ThreadPoolExecutor(3) as beside:
        way = beside.submit(_unasked, node)
        version = beside.submit(_version, node)

        def minor() -> int | None:
            return minor_of(version.result())

        if node.seen and text is not None:
            check = node.seen.check(text, node.program, minor, node.unit.run, beside)
        elif node.seen and flag(node.words, "config-dir"):
            # Without our fields the other drop-ins are still there.
            check = node.seen.check(OVERRIDE.decode(), node.program, minor, node.unit.run, beside)
        elif wanted is not None:
            check = binary.check(wanted, node.words, node.program, minor, node.unit.run)
        answers = Answers(None, version.result(), way.result(), own_unreadable)
    if check:
        answers = answers._replace(check=check._asdict())
    return answers


def _unasked(node: _Node) -> str:
    """Return why the guard could not ask the API server for its Node; empty if nothing is staged."""
    return status_reporter.failure(node.asking, node.unit.pid()) if node.purpose == SWITCH else ""


def _version(node: _Node) -> str | None:
    return binary.version(node.program, node.unit.run) if node.program else None


def _program(argv: Sequence[str], unit: Unit) -> str:
    """Return the binary's path, empty for a unit that is not understood."""
    if argv and argv[0].startswith("/"):
        return argv[0]
    # The first word of a process may be another name than its path.
    return unit.program()


def _read(path: str, root: str) -> tuple[Mapping[str, Any], str | None]:
    """Return the config in a file, and why it could not be read."""
    if not path:
        return {}, "the command line names no config file"
    found, wrong = dropin_look.read(path, root)
    return found or {}, wrong or None
