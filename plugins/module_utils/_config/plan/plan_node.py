# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of one node, computed once for all equal nodes."""

from __future__ import annotations

import json
from typing import Any, Collection, Container, Iterator, Mapping, NamedTuple, Sequence, Tuple

from ..delivery import Delivery
from ..fields import compare, fields, overlay, shadow
from ..fields.binary_facts import BinaryFacts
from ..fields.field_row import EFFECTS
from ..rules import checks, start_rules, types
from ..rules.problem import REFUSAL, WARNING, Problem, as_rows, in_order
from ..values import paths
from ..values.document import DocumentError, check_size, render, variant
from . import own_values, sources
from .costs import Costs
from .layers import Declared
from .own_values import Record

Layers = Tuple[Mapping[str, Any], ...]


class NodePlan:
    """The desired configuration of a node, its changes to the live configuration, and its problems."""

    def __init__(
        self,
        source: sources.Source,
        change_rows: list[dict[str, Any]],
        problems: list[Problem],
        on_assign: list[Problem],
    ) -> None:
        self.config, self.expected, self.changes = source.config, source.expected, source.changes
        self.text = render(source.config)
        self.variant = variant(source.config)
        self._source = source
        self._records: dict[str, Record] = {}
        self._rows = change_rows
        self._applied_rows = []
        for row in change_rows:
            has_result = row["known"] or row["after"] is not None
            is_same = fields.resolves_to(row["path"], row["after"], row["before"])
            if has_result and not is_same and row["path"] not in source.by_restart:
                self._applied_rows.append(row)
        self._problem_rows = {False: as_rows(in_order(problems)), True: as_rows(in_order([*problems, *on_assign]))}

    def rows(self, assign: bool) -> list[dict[str, Any]]:
        """Return the changes; if nothing is assigned, without removals whose result is not known.

        Such a node runs the configuration, and the live value is the default that its kubelet filled in, or the
        absolute form of a path. Its kubelet is not restarted either, so it takes nothing up.
        """
        if assign:
            return self._rows
        return self._applied_rows

    def record_on(self, source: str) -> Record:
        """Return the record of the node's own values once ``source`` is assigned; equal nodes share it."""
        if source not in self._records:
            self._records[source] = own_values.record_after(
                self._source.record, source, self._source.replaced, self._source.absent
            )
        return self._records[source]

    def problem_rows(self, assign: bool) -> list[dict[str, str]]:
        """Return the problems; those of the change itself only if it is going to be assigned."""
        return self._problem_rows[assign]


class Asked(NamedTuple):
    """What is asked about a node: what it runs, what is declared of it, and how it gets that."""

    live: str
    """The name of its live variant."""
    minor: int
    layers: Layers
    delivery: Delivery
    record: Record
    """Its own values. What it has of paths that no layer sets is reverted to."""
    argv: Sequence[str] | None = None
    """The words of its kubelet's command line, None if unknown."""
    files: own_values.Files | None = None
    """Its own config file and drop-ins, None if they do not matter or are not known."""
    replaces_checkpoint: bool = False
    """Whether a drop-in takes the place of its checkpoint."""
    allow_effect: str | None = None
    """Its own highest accepted effect, None for that of the plan."""
    binary: BinaryFacts | None = None
    """What its kubelet's own binary answered."""


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
        self._target_layers: Layers = ()
        if target is not None:
            self._target_layers = (sources.declared(target),)
        self._allow = allow_effect
        self._allow_invalid = allow_invalid
        self._shared = shared
        self._plans: dict[Any, NodePlan] = {}
        self._declared: dict[tuple[int, ...], Declared] = {}
        self._binaries: dict[str, BinaryFacts | None] = {}
        self._live_problems: dict[tuple[str, int, int], set[Problem]] = {}

    def plan(self, asked: Asked) -> NodePlan:
        """Return the plan of a node; equal layers must be the same objects."""
        # Equal nodes share the object, as they share layers.
        binary = self._binaries.setdefault(json.dumps(asked.binary), asked.binary)
        flags = shadow.shadows(asked.argv or (), asked.minor)
        whole = asked.delivery.whole
        layers, files, reverts = asked.layers, asked.files, self._reverts
        if not whole:
            layers = (*self._target_layers, *asked.layers)
            reverts = self._reverts or self._target is not None
        declared = self._declared_by(layers)
        if not (whole or asked.replaces_checkpoint or self._takes_files_up(asked, declared, reverts)):
            files = None
        key = json.dumps(
            [flags, asked.record, whole, files, asked.replaces_checkpoint, asked.allow_effect], sort_keys=True
        )
        known = (asked.live, asked.minor, id(declared), key, id(binary))
        if known not in self._plans:
            live = self._variants[asked.live]
            node = sources.Given(live, asked.minor, declared, asked.record, files, self._target, reverts)
            if files and not whole and not asked.replaces_checkpoint:
                node = sources.with_own_now(node)
            self._plans[known] = self._make(asked._replace(binary=binary), node, flags)
        return self._plans[known]

    def _declared_by(self, layers: Layers) -> Declared:
        """Return what layers declare together: the same object for the same layers."""
        known = tuple(map(id, layers))
        if known not in self._declared:
            # It holds the layers, so that no later one gets the id of a deleted one.
            self._declared[known] = Declared(layers)
        return self._declared[known]

    @staticmethod
    def _takes_files_up(asked: Asked, declared: Declared, reverts: bool) -> bool:
        """Return whether the restart of a node with a drop-in takes up what is in its files."""
        if reverts and own_values.no_longer_set(asked.record, declared, True):
            return True
        return asked.files is not None and asked.files.outdated

    def _make(self, asked: Asked, node: sources.Given, flags: Mapping[str, str]) -> NodePlan:
        before, minor, record = node.live, node.minor, node.record
        try:
            source = sources.of(asked.delivery, node.files, asked.replaces_checkpoint)(node)
            check_size(render(source.config), "the desired configuration")
        except (overlay.OverlayError, DocumentError) as error:
            cause, _dot, remedy = str(error).rpartition(". ")
            unchanged = dict(before)
            nothing = sources.Source(unchanged, unchanged, [], {}, [], record)
            return NodePlan(nothing, [], [Problem(REFUSAL, "", cause, remedy, "layers")], [])
        # What the running source leaves to the kubelet already, it need not lose again.
        absent = {*record["absent"]}.intersection(own_values.absent_after(source.changes))
        made = source._replace(changes=[change for change in source.changes if change.path not in absent])
        # What a former source declared and no layer does.
        no_longer = {*source.former.known, *source.former.unknown, *source.from_file.intersection(record["own"])}
        costs = Costs(before, source.expected, minor)
        rows = [
            change_row(change, costs.of(change), flags, change.path in no_longer, change.path in source.from_file)
            for change in made.changes
        ]
        problems = self._problems_always(asked, node, made, flags)
        on_assign = self._problems_of_change(asked, node, made, flags, costs, no_longer)
        return NodePlan(made, rows, problems, [problem for problem in on_assign if problem not in problems])

    def _problems_always(
        self, asked: Asked, node: sources.Given, source: sources.Source, flags: Mapping[str, str]
    ) -> list[Problem]:
        """Return the problems of a source, whether it is assigned or not."""
        settled: Mapping[str, Any] = source.expected
        if source.without_file is not None:
            settled = source.without_file
        found = self._problems(settled, asked, flags)
        if not asked.delivery.whole:
            types_of_dropin = types.check(source.config, node.minor, asked.binary)
            of_dropin = {*sources.check_dropin(source.config, node.minor), *types_of_dropin}
            found += of_dropin - {*found} - self._known_harmless(asked)
        found += _shadowed([change for change in source.changes if change.path not in source.by_restart], flags)
        if asked.delivery.whole:
            found += own_values.warnings(source.former.unknown)
        return [*found, *_zeros(node.declared, source.expected, node.minor)]

    def _problems_of_change(
        self,
        asked: Asked,
        node: sources.Given,
        source: sources.Source,
        flags: Mapping[str, str],
        costs: Costs,
        no_longer: Collection[str],
    ) -> Iterator[Problem]:
        """Yield the problems of a change that is going to be assigned."""
        if source.without_file is not None:
            yield from self._problems(source.expected, asked, flags)
        own = {*source.from_file, *no_longer}
        yield from costs.refusals(source.changes, asked.allow_effect or self._allow, own)
        if asked.delivery.whole:
            yield from _dropped(node.live, source.config, node.minor)
        else:
            yield from sources.forgotten(node.live, source.config, node.minor)
        yield from checks.warnings(source.changes)
        yield from checks.checkpoint_paths(compare.normalise(source.config, node.minor).items())
        yield from _not_for_all(source.changes, node.declared.layers, set(map(id, self._shared)))
        if self._target is not None:
            yield from sources.kept(self._target, node.live)

    def _problems(self, config: Mapping[str, Any], asked: Asked, flags: Mapping[str, str]) -> list[Problem]:
        """Return the problems of a configuration, each refusal that is allowed or not certain as a warning.

        A kubelet that runs with a value that breaks a rule does not check this rule. A flag overrides the value.
        """
        harmless = self._known_harmless(asked)
        unchecked = {(problem.rule, problem.path) for problem in harmless}
        undecided = self._undecided(config, asked, flags)
        found = []
        for problem in set(checks.problems(config, asked.minor, asked.binary)) - harmless:
            is_unchecked = (problem.rule, problem.path) in unchecked or overlay.is_set(problem.path, flags)
            if problem in undecided:
                problem = checks.warned(problem)
            elif self._allow_invalid or is_unchecked:
                problem = checks.softened(problem)
            found.append(problem)
        return found

    def _undecided(self, config: Mapping[str, Any], asked: Asked, flags: Mapping[str, str]) -> Container[Problem]:
        """Return the problems of several fields together that flags solve: the live configuration has their values."""
        hidden = set(map(paths.top, flags))
        if not hidden:
            return ()
        runs = {**config, **{field: self._variants[asked.live].get(field) for field in hidden}}
        kills = {problem for problem in checks.problems(config, asked.minor) if problem.rule in start_rules.NAMES}
        return kills - {*checks.problems(runs, asked.minor)}

    def _known_harmless(self, asked: Asked) -> set[Problem]:
        """Return the problems of the live configuration: the kubelet runs with them, so they are harmless."""
        key = asked.live, asked.minor, id(asked.binary)
        if key not in self._live_problems:
            live = self._variants[asked.live]
            self._live_problems[key] = set(checks.problems(live, asked.minor, asked.binary))
        return self._live_problems[key]


def plan_row(node: Mapping[str, Any], **found: Any) -> dict[str, Any]:
    """Return the row of a node in a plan: what its row of the dump has, and what was found; by default, it stays."""
    about = {"variant": None, "live_variant": node.get("variant"), "kubelet_version": node.get("kubelet_version")}
    nothing: dict[str, Any] = {"configmap": None, "action": "none", "effect": None, "changes": [], "own": None}
    return {**about, **nothing, **found}


def effect(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the strongest effect of changes, None without changes."""
    return max((row["effect"] for row in rows), key=EFFECTS.index, default=None)


def change_row(
    change: compare.Change, cost: tuple[str, str], flags: Mapping[str, str], no_longer: bool, from_file: bool
) -> dict[str, Any]:
    """Return a change as a row of a plan. C(cost): its effect and the reason."""
    effect, reason = cost
    row: dict[str, Any] = {
        "path": change.path,
        "before": compare.mask(change.path, change.before),
        "after": compare.mask(change.path, change.after),
        "known": change.known,
        "effect": effect,
        "reason": reason,
        "shadowed_by": shadow.shadow_of(change.path, flags),
        "machine_specific": fields.is_of_machine(change.path),
        "no_longer_declared": no_longer,
    }
    if from_file and not no_longer:
        row["own_file_changed"] = True
    return row


def _shadowed(changes: list[compare.Change], flags: Mapping[str, str]) -> Iterator[Problem]:
    for change in changes:
        flag = shadow.shadow_of(change.path, flags)
        if flag:
            cause = f"the kubelet's flag {flag} overrides any configuration: the change will have no effect"
            remedy = "Remove the flag from the node's kubelet command line, or omit the field."
            yield Problem(WARNING, change.path, cause, remedy, "shadowed")


def _zeros(declared: Declared, expected: Mapping[str, Any], minor: int) -> Iterator[Problem]:
    """Yield a warning for each declared zero that a kubelet takes for unset, with the value that it runs instead.

    Source: pkg/kubelet/apis/config/v1beta1/defaults.go.
    """
    values: dict[paths.Path, Any] = {}
    for layer in declared.layers:
        values.update(overlay.written(layer, True))
    runs = compare.normalise(expected, minor, True)
    for path, value in values.items():
        field, shown = fields.lookup(path), paths.show(path)
        if field is None or value is None or not compare.is_unset(value, field, minor):
            continue
        if shown in runs:
            meant, remedy = f"runs {types.show(runs[shown])}", f"Write {types.show(runs[shown])}, or omit the field."
        elif fields.default_known(field, minor):
            # The default is this zero.
            continue
        else:
            meant, remedy = "runs its own default", "Write the value that you want, or omit the field."
        cause = f"the kubelet takes {types.show(value)} for unset, and {meant}"
        yield Problem(WARNING, shown, cause, remedy, "zero-is-unset")


def _dropped(before: Mapping[str, Any], desired: Mapping[str, Any], minor: int) -> Iterator[Problem]:
    merged = compare.with_thresholds(desired, minor)
    for field in fields.ALL.values():
        old, new = before.get(field.path), desired.get(field.path)
        if not field.whole or not isinstance(old, Mapping) or not isinstance(new, Mapping) or not new:
            continue
        gone = sorted(set(old) - set(merged[field.path]))
        if gone:
            keys = ", ".join(f"{key} ({old[key]})" for key in gone)
            cause = f"the map is replaced as a whole, and these keys are missing from the new one: {keys}"
            yield Problem(WARNING, field.path, cause, "Repeat them to keep them; otherwise they are off.", "whole-map")


def _not_for_all(changes: list[compare.Change], layers: Layers, shared: Collection[int]) -> Iterator[Problem]:
    """Yield a warning for each field of a machine that only the `shared` layers set. These are known by their ids."""
    set_for_node: set[str] = set()
    set_for_all: set[str] = set()
    for layer in layers:
        if id(layer) in shared:
            set_for_all.update(paths.present(layer))
        else:
            set_for_node.update(layer)
    changed = {paths.top(change.path) for change in changes}
    for path in fields.MACHINE:
        if path in changed & set_for_all - set_for_node:
            cause = "the value belongs to one machine, but the configuration for all nodes sets it"
            remedy = "Set it per node, unless the value is the same on all nodes."
            yield Problem(WARNING, path, cause, remedy, "machine-specific")
