# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of one node, computed once for all equal nodes."""

from __future__ import annotations

import json
from typing import Any, Container, Iterator, Mapping, Sequence, Tuple

from ..delivery import Delivery
from ..fields import compare, difftext, fields, overlay, shadow
from ..fields.binary_facts import BinaryFacts
from ..fields.field_row import EFFECTS
from ..rules import checks, host_values, start_rules, types
from ..rules.problem import REFUSAL, WARNING, Problem
from ..values import paths
from ..values.document import DocumentError, check_size, render
from ..values.identity import variant
from ..values.own_values import Record
from . import delivery_rules, dropin_plan, former, own_file
from . import target as targets
from .costs import Costs

Layers = Tuple[Mapping[str, Any], ...]


class NodePlan:
    """The desired configuration of a node, its changes to the live configuration, and its problems."""

    def __init__(
        self,
        source: dropin_plan.Source,
        change_rows: list[dict[str, Any]],
        problems: list[Problem],
        on_assign: list[Problem],
        restart: Container[str],
    ) -> None:
        self.config, self.expected, self.changes = source.config, source.expected, source.changes
        self.text = render(source.config)
        self.variant = variant(source.config)
        self._source = source
        self._records: dict[str, Record] = {}
        self._rows = change_rows
        self._applied_rows = [
            row for row in change_rows if (row["known"] or row["after"] is not None) and row["path"] not in restart
        ]
        always = [problem.row() for problem in _sorted(problems)]
        self._problem_rows = {False: always, True: [problem.row() for problem in _sorted([*problems, *on_assign])]}

    def rows(self, assign: bool) -> list[dict[str, Any]]:
        """Return the changes; if nothing is assigned, without removals whose result is not known.

        Such a node runs the configuration, and the live value is the default that its kubelet filled in. Its kubelet is
        not restarted either, so it takes nothing up.
        """
        return self._rows if assign else self._applied_rows

    def record_on(self, source: str) -> Record:
        """Return the record of the node's own values once ``source`` is assigned; equal nodes share it."""
        if source not in self._records:
            self._records[source] = former.record_after(
                self._source.record, source, self._source.replaced, self._source.absent
            )
        return self._records[source]

    def problem_rows(self, assign: bool) -> list[dict[str, str]]:
        """Return the problems; those of the change itself only if it is going to be assigned."""
        return self._problem_rows[assign]


class Planner:
    """Plans nodes and caches every combination of live variant, layers and flags."""

    def __init__(
        self,
        variants: Mapping[str, Mapping[str, Any]],
        allow_effect: str,
        shared: Layers,
        allow_invalid: bool,
        target: Mapping[str, Any] | None,
        reverts: bool,
    ) -> None:
        self._reverts = reverts
        self._variants = variants
        self._target = target
        self._declared = () if target is None else (targets.declared(target),)
        self._allow = allow_effect
        self._allow_invalid = allow_invalid
        self._shared = shared
        self._plans: dict[Any, NodePlan] = {}
        self._held: list[Layers] = []
        self._binaries: dict[str, BinaryFacts | None] = {}
        self._live_problems: dict[tuple[str, int, int], set[Problem]] = {}

    def plan(
        self,
        live: str,
        minor: int,
        layers: Layers,
        argv: Sequence[str] | None,
        record: Record,
        delivery: Delivery,
        files: own_file.Files | None,
        moves: bool,
        allow_effect: str | None = None,
        binary: BinaryFacts | None = None,
    ) -> NodePlan:
        """Return the plan of a node that runs variant ``live``; equal layers must be the same objects.

        ``record`` has the node's own values. What it has of paths that no layer sets is reverted to. What the source
        holds follows from its ``delivery``: the whole configuration, or what is declared. With its ``files``, the
        whole configuration is the node's own file with what is declared. A drop-in is laid over that file: with
        ``moves``, in place of a checkpoint. ``allow_effect`` replaces that of the planner.
        ``binary`` is what the node's own binary answered.
        """
        # Equal nodes share the object, as they share layers.
        binary = self._binaries.setdefault(json.dumps(binary), binary)
        flags = shadow.shadows(argv or (), minor)
        dropin = not delivery.whole
        reverts = self._reverts or (dropin and self._target is not None)
        if dropin:
            layers = (*self._declared, *layers)
        # A drop-in does not depend on the files, unless a restart takes up what is in them.
        taken = moves or not dropin or (files and files.outdated) or (reverts and former.left(record, layers, True))
        read = files if taken else None
        key = json.dumps([flags, record, dropin, read, moves, allow_effect], sort_keys=True)
        known = (live, minor, tuple(id(layer) for layer in layers), key, id(binary))
        if known not in self._plans:
            # Keep a reference, so that no later layer gets the id of a deleted one.
            self._held.append(layers)
            self._plans[known] = self._make(
                live, minor, layers, flags, record, reverts, dropin, read, moves, allow_effect, binary
            )
        return self._plans[known]

    def _make(
        self,
        live: str,
        minor: int,
        layers: Layers,
        flags: Mapping[str, str],
        record: Record,
        reverts: bool,
        dropin: bool,
        files: own_file.Files | None,
        moves: bool,
        allow_effect: str | None,
        binary: BinaryFacts | None,
    ) -> NodePlan:
        before = self._variants[live]
        based, laid_over = (None, files) if dropin and not moves else (files, None)
        if laid_over:
            record = own_file.own_now(record, laid_over, before, minor)
        no_longer = (
            former.undeclared(record, layers, before, minor, dropin)
            if reverts and not based
            else former.Undeclared({}, [])
        )
        try:
            desired = (
                own_file.to_dropin(before, based, layers, minor)
                if dropin and based
                else dropin_plan.lay(before, layers, no_longer, record, minor)
                if dropin
                else own_file.source(before, based, layers, minor)
                if based
                else self._whole(before, layers, no_longer, record, minor)
            )
            check_size(render(desired.config), "the desired configuration")
            pending = own_file.pending(laid_over, desired.config, layers, before, minor) if laid_over else []
        except (overlay.OverlayError, DocumentError) as error:
            cause, _dot, remedy = str(error).rpartition(". ")
            unchanged = dict(before)
            nothing = dropin_plan.Source(unchanged, unchanged, [], {}, [], record)
            return NodePlan(nothing, [], [Problem(REFUSAL, "", cause, remedy, "layers")], [], ())
        found = self._problems(desired.expected, live, minor, flags, binary)
        desired = own_file.taken_up(desired, pending, before, minor)
        # What the running source leaves to the kubelet already, it need not lose again.
        absent = {*record["absent"]}.intersection(former.absent_after(desired.changes))
        changes = [change for change in desired.changes if change.path not in absent]
        if dropin:
            of_dropin = {*delivery_rules.check(desired.config, minor), *types.check(desired.config, minor, binary)}
            found += of_dropin - {*found} - self._known_harmless(live, minor, binary)
        restart = {change.path for change in pending}
        from_file = {*own_file.undeclared(changes, layers)} if based else restart
        undeclared = {*no_longer.known, *no_longer.unknown, *(path for path in from_file if path in record["own"])}
        costs = Costs(before, desired.expected, minor)
        for_all = [layer for layer in layers if any(layer is shared for shared in self._shared)]
        own = [layer for layer in layers if not any(layer is shared for shared in self._shared)]
        from_own = self._problems(desired.expected, live, minor, flags, binary) if pending else []
        on_assign = [
            *(problem for problem in from_own if problem not in found),
            *costs.refusals(changes, allow_effect or self._allow, {*from_file, *undeclared}),
            *(
                delivery_rules.forgotten(before, desired.config, minor)
                if dropin
                else _dropped(before, desired.config, minor)
            ),
            *host_values.warnings(changes),
            *host_values.checkpoint_paths(compare.normalise(desired.config, minor).items()),
            *_not_for_all(changes, for_all, own),
            *(() if self._target is None else targets.kept(self._target, before)),
        ]
        unknown = () if dropin else former.warnings(no_longer.unknown)
        problems = [
            *found,
            *_shadowed([change for change in changes if change.path not in restart], flags),
            *unknown,
            *_zeros(layers, desired.expected, minor),
        ]
        rows = [
            change_row(change, costs.of(change), flags, change.path in undeclared, change.path in from_file)
            for change in changes
        ]
        return NodePlan(desired._replace(changes=changes), rows, problems, on_assign, restart)

    def _whole(
        self, before: Mapping[str, Any], layers: Layers, no_longer: former.Undeclared, record: Record, minor: int
    ) -> dropin_plan.Source:
        """Return the desired configuration of a delivery whose source holds all of it."""
        config = (
            former.revert(before, no_longer.known)
            if self._target is None
            else targets.for_machine(self._target, before)
        )
        for layer in layers:
            config = overlay.merge(config, layer)
        changes = compare.changes(before, config, minor)
        replaced = {change.path: change.before for change in changes}
        return dropin_plan.Source(config, config, changes, replaced, former.absent_after(changes), record)

    def _problems(
        self,
        config: Mapping[str, Any],
        live: str,
        minor: int,
        flags: Mapping[str, str],
        binary: BinaryFacts | None = None,
    ) -> list[Problem]:
        """Return the problems of a configuration, each refusal that is allowed or not certain as a warning.

        A kubelet that runs with a value that breaks a rule does not check this rule. A flag overrides the value.
        """
        harmless = self._known_harmless(live, minor, binary)
        unchecked = {(problem.rule, problem.path) for problem in harmless}
        undecided = self._undecided(config, live, minor, flags)
        return [
            checks.warned(problem)
            if problem in undecided
            else checks.softened(problem)
            if self._allow_invalid or (problem.rule, problem.path) in unchecked or shadow.shadow_of(problem.path, flags)
            else problem
            for problem in set(checks.problems(config, minor, binary)) - harmless
        ]

    def _undecided(
        self, config: Mapping[str, Any], live: str, minor: int, flags: Mapping[str, str]
    ) -> Container[Problem]:
        """Return the problems of several fields together that flags solve: the live configuration has their values."""
        hidden = {paths.top(path) for path in flags}
        if not hidden:
            return ()
        runs = {**config, **{field: self._variants[live].get(field) for field in hidden}}
        kills = {problem for problem in checks.problems(config, minor) if problem.rule in start_rules.NAMES}
        return kills - {*checks.problems(runs, minor)}

    def _known_harmless(self, live: str, minor: int, binary: BinaryFacts | None = None) -> set[Problem]:
        """Return the problems of the live configuration: the kubelet runs with them, so they are harmless."""
        key = live, minor, id(binary)
        if key not in self._live_problems:
            self._live_problems[key] = set(checks.problems(self._variants[live], minor, binary))
        return self._live_problems[key]


def effect(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the strongest effect of changes, None without changes."""
    return max((row["effect"] for row in rows), key=EFFECTS.index, default=None)


def change_row(
    change: compare.Change, cost: tuple[str, str], flags: Mapping[str, str], no_longer: bool, from_file: bool
) -> dict[str, Any]:
    """Return a change as a row of a plan. C(cost): its effect and the reason."""
    effect, reason = cost
    field = fields.owner(change.path)
    return {
        "path": change.path,
        "before": difftext.mask(change.path, change.before),
        "after": difftext.mask(change.path, change.after),
        "known": change.known,
        "effect": effect,
        "reason": reason,
        "shadowed_by": shadow.shadow_of(change.path, flags),
        "machine_specific": bool(field and field.machine),
        "no_longer_declared": no_longer,
        **({"own_file_changed": True} if from_file and not no_longer else {}),
    }


def _shadowed(changes: list[compare.Change], flags: Mapping[str, str]) -> Iterator[Problem]:
    for change in changes:
        flag = shadow.shadow_of(change.path, flags)
        if flag:
            yield Problem(
                WARNING,
                change.path,
                f"the kubelet's flag {flag} overrides any configuration: the change will have no effect",
                "Remove the flag from the node's kubelet command line, or omit the field.",
                "shadowed",
            )


def _zeros(layers: Layers, expected: Mapping[str, Any], minor: int) -> Iterator[Problem]:
    """Yield a warning for each declared zero that a kubelet takes for unset, with the value that it runs instead.

    Source: pkg/kubelet/apis/config/v1beta1/defaults.go.
    """
    declared = {path: value for layer in layers for path, value in overlay.written(layer, True)}
    runs = compare.normalise(expected, minor, True)
    for path, value in declared.items():
        field, shown = fields.lookup(path), paths.show(path)
        if field is None or value is None or field.unset_at(minor) != "zero" or not compare.is_zero(value, field):
            continue
        if shown in runs:
            meant, remedy = f"runs {types.show(runs[shown])}", f"Write {types.show(runs[shown])}, or omit the field."
        elif fields.default_known(field, minor):
            # The default is this zero.
            continue
        else:
            meant, remedy = "runs its own default", "Write the value that you want, or omit the field."
        yield Problem(
            WARNING, shown, f"the kubelet takes {types.show(value)} for unset, and {meant}", remedy, "zero-is-unset"
        )


def _dropped(before: Mapping[str, Any], desired: Mapping[str, Any], minor: int) -> Iterator[Problem]:
    merged = compare.with_thresholds(desired, minor)
    for field in fields.ALL.values():
        old, new = before.get(field.path), desired.get(field.path)
        if not field.whole or not isinstance(old, Mapping) or not isinstance(new, Mapping) or not new:
            continue
        gone = sorted(set(old) - set(merged[field.path]))
        if gone:
            keys = ", ".join(f"{key} ({old[key]})" for key in gone)
            yield Problem(
                WARNING,
                field.path,
                f"the map is replaced as a whole, and these keys are missing from the new one: {keys}",
                "Repeat them to keep them; otherwise they are off.",
                "whole-map",
            )


def _not_for_all(
    changes: list[compare.Change], for_all: Sequence[Mapping[str, Any]], own: Sequence[Mapping[str, Any]]
) -> Iterator[Problem]:
    for path in sorted({str(paths.parse(change.path)[0]) for change in changes}):
        field = fields.ALL.get(path)
        if (
            field is not None
            and field.machine
            and any(layer.get(path) is not None for layer in for_all)
            and not any(path in layer for layer in own)
        ):
            yield Problem(
                WARNING,
                path,
                "the value belongs to one machine, but the configuration for all nodes sets it",
                "Set it per node, unless the value is the same on all nodes.",
                "machine-specific",
            )


def _sorted(problems: list[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: (problem.severity, problem.path, problem.rule, problem.message))
