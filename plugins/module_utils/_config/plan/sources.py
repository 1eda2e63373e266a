# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the source of a node holds, and what its kubelet then runs: one function for each case, all of one signature.

A whole source is the live configuration (or the node's own file) with what is declared. A drop-in holds what is
declared and nothing else, so nodes that differ in what is their own share one; a value that is no longer declared
reverts by itself.

In a migration one complete configuration is the goal of many nodes, each of which keeps the values of its machine.

At the end: why a node cannot get a source by its delivery, and what must not stand in a drop-in, although the same is
right in a kubelet's config file. Seen on kubelets 1.33 and 1.36; the reasons are in mergeKubeletConfigurations
(cmd/kubelet/app/server.go).
"""

from __future__ import annotations

import json
from typing import Any, Callable, Collection, Container, Iterator, Mapping, NamedTuple, Sequence

from .. import delivery
from ..delivery import Delivery
from ..fields import compare, fields, merged_dropins, overlay
from ..rules import types
from ..rules.problem import REFUSAL, WARNING, Problem
from ..values import paths
from ..values.document import API_VERSION, KIND
from ..values.paths import Config
from . import own_values
from .layers import Declared
from .own_values import NO_RECORD, NOTHING, Record, Undeclared

_MERGE = "mergeDefaultEvictionSettings"


class Given(NamedTuple):
    """What a source is made from."""

    live: Config
    """The complete configuration that its kubelet runs."""
    minor: int
    declared: Declared
    record: Record
    """The node's own values."""
    files: own_values.Files | None = None
    """Its own config file and its drop-ins, None where they do not matter or are not known."""
    target: Config | None = None
    """One complete configuration in place of the live one."""
    reverts: bool = True
    """Whether the record's values that no layer sets any more are reverted to."""


class Source(NamedTuple):
    """What a source holds for a node, and its effect."""

    config: dict[str, Any]
    """What the source holds; a drop-in holds kind, apiVersion and what is declared."""
    expected: dict[str, Any]
    """The complete configuration that the kubelet runs then, as far as it is known."""
    changes: list[compare.Change]
    """From the live configuration to the expected one, sorted by path."""
    replaced: Config
    """The value that each path to record had before, None if absent. Of a drop-in, every declared path."""
    absent: Sequence[str]
    """The paths that it leaves to the kubelet, whose default is not known."""
    record: Record
    """The node's own values so far; of a drop-in, those of the fields that are still declared."""
    former: Undeclared = NOTHING
    """What former sources replaced and no layer sets."""
    from_file: frozenset[str] = frozenset()
    """The paths of changes that the node's own file makes, and no layer."""
    without_file: Config | None = None
    """What the kubelet would run without what a restart takes up from its own file; None where that is nothing."""

    @property
    def by_restart(self) -> frozenset[str]:
        """The paths of changes that the node's own file makes at any restart, whether a source is assigned or not."""
        if self.without_file is None:
            return frozenset()
        return self.from_file


def of(delivery: Delivery, files: own_values.Files | None, replaces_checkpoint: bool) -> Callable[[Given], Source]:
    """Return the function that makes the source of a node.

    `files`: of the node, where they are known. `replaces_checkpoint`: a drop-in takes the place of its checkpoint.
    """
    if delivery.whole and files:
        return _built_on_file
    if delivery.whole:
        return _built_on_live
    if files and replaces_checkpoint:
        return _in_place_of_checkpoint
    return dropin


def _built_on_live(node: Given) -> Source:
    """Return a whole source from the live configuration or the target: `native`, or a `checkpoint` without its file.

    Raises OverlayError.
    """
    left = _left(node, by_key=False)
    base = overlay.put(node.live, left.known)
    if node.target is not None:
        base = for_machine(node.target, node.live)
    config = node.declared.over(base)
    changes = compare.changes(node.live, config, node.minor)
    replaced, absent = compare.before(changes), own_values.absent_after(changes)
    return Source(config, _runs(config, node.minor), changes, replaced, absent, node.record, left)


def _built_on_file(node: Given) -> Source:
    """Return a whole source that lays what is declared over the node's own file.

    What flags and drop-ins override stays overridden: only what differs between the file that the kubelet reads and the
    new one changes, and what is declared. Raises OverlayError.
    """
    files, names = _files(node), node.declared.names
    config = node.declared.over({"kind": KIND, "apiVersion": API_VERSION, **files.own})
    moved = compare.after(compare.changes(files.read, config, node.minor))
    expected = node.declared.over(overlay.put(node.live, moved))
    expected = _runs(overlay.put(expected, _defaults(config, names, node.minor)), node.minor)
    changes = compare.changes(node.live, expected, node.minor)
    replaced = _of_paths(compare.before(compare.changes(files.own, config, node.minor)), names)
    return _without_record(node, config, expected, changes, moved, names, replaced)


def dropin(node: Given) -> Source:
    """Return the drop-in that declares the layers. With the node's files, also what a restart takes up from them.

    Raises OverlayError for layers that cannot be merged.
    """
    left = _left(node, by_key=True)
    declared = node.declared.as_dropin()
    names = Declared([declared]).keys
    config = {"kind": KIND, "apiVersion": API_VERSION, **declared}
    expected = merged_dropins.merge(overlay.put(node.live, left.known), [declared])
    values = compare.normalise(node.live, node.minor, True, True)
    changes = _sorted([*compare.changes(node.live, expected, node.minor, True), *left.removals(values)])
    replaced = {**dict.fromkeys(names), **_of_paths(values, names)}
    absent = [path for path in own_values.absent_after(changes) if path in replaced]
    record: Record = {**node.record, "own": _of_paths(node.record["own"], names)}
    made = Source(config, expected, changes, replaced, absent, record, left)
    if node.files:
        return _after_restart(made, node, node.files)
    return made


def _in_place_of_checkpoint(node: Given) -> Source:
    """Return the drop-in that takes the place of a checkpoint.

    The kubelet then reads its own file again, so what the checkpoint has and neither that file nor a drop-in sets goes.
    Raises OverlayError.
    """
    files = _files(node)
    declared = node.declared.as_dropin()
    names = Declared([declared]).keys
    others = [*files.earlier, *files.later]
    now = merged_dropins.effective(files.read, others or None, node.minor)
    then = merged_dropins.effective(files.own, [*files.earlier, declared, *files.later], node.minor)
    moved = compare.after(compare.changes(now, then, node.minor, True))
    expected = merged_dropins.merge(overlay.put(node.live, moved), [declared])
    changes = compare.changes(node.live, expected, node.minor, True)
    without = compare.normalise(merged_dropins.effective(files.own, others, node.minor), node.minor, runs=True)
    replaced = {**dict.fromkeys(names), **_of_paths(without, names)}
    config = {"kind": KIND, "apiVersion": API_VERSION, **declared}
    return _without_record(node, config, expected, changes, moved, names, replaced)


def with_own_now(node: Given) -> Given:
    """Return a node with a drop-in with the own values that its files have by now in its record.

    They may have changed while the drop-in replaced them. What the files alone do not decide stays as it is.
    """
    own = node.record["own"]
    now = _of_files(node, [path for path, held in own.items() if held])
    return node._replace(record={**node.record, "own": {**own, **{path: [value] for path, value in now.items()}}})


def left_over(node: Given, ours: Config) -> Record:
    """Return the record of a node with a drop-in that its Node does not name, since the Node was created again.

    `ours`: that drop-in. Its values are not the node's own.
    """
    names = Declared([ours]).keys
    record = own_values.record_after(NO_RECORD, "", _of_files(node, names), ())
    return {**record, "own": {**{path: [] for path in names}, **record["own"]}}


def _of_files(node: Given, names: Collection[str]) -> dict[str, Any]:
    """Return those values that the files of a node alone decide, without our drop-in."""
    files = _files(node)
    without = merged_dropins.effective(files.own, [*files.earlier, *files.later], node.minor)
    found = compare.changes(node.live, without, node.minor, True)
    certain = compare.after(own_values.certain(found, files, node.live, node.minor))
    now = compare.normalise(without, node.minor, runs=True)
    unsure = compare.after(found).keys() - certain
    return {path: now.get(path) for path in names if path not in unsure}


def is_empty(config: Config) -> bool:
    """Return whether a drop-in declares nothing."""
    return not paths.without_header(config)


def way(row: Config) -> tuple[Any, ...]:
    """Return what the rows of a plan have in common whose nodes of one live variant change in the same way.

    Nodes whose variant is not the whole configuration may change in different ways. Equal ones share their list, unless
    Ansible has passed the plan on: it copies each one.
    """
    if row["whole"]:
        return (row["variant"],)
    return row["variant"], json.dumps(row["changes"], sort_keys=True, default=str)


def outcome(current: Mapping[str, Config], planned: Mapping[str, Config], row: Config) -> Config:
    """Return the complete configuration that a node runs after its plan, by the variants of dump and plan.

    Unless its variant is whole, changed secrets are masked. Raises KeyError if they do not have those of the row.
    """
    if row["whole"]:
        return planned[row["variant"]]
    return overlay.put(current[row["live_variant"]], {change["path"]: change["after"] for change in row["changes"]})


def _runs(config: dict[str, Any], minor: int) -> dict[str, Any]:
    """Return a whole source with the thresholds that the kubelet merges into it; the same object if it merges none."""
    merged = compare.with_thresholds(config, minor)
    return config if merged == config else merged


def _defaults(config: Config, names: Collection[str], minor: int) -> dict[str, Any]:
    """Return what a kubelet fills in for those of the named fields that its file leaves unset, None if unknown.

    It may follow another field, which the file need not have although the live configuration does.
    """
    filled, found = compare.with_defaults(config, minor), {}
    for name in names:
        path = paths.parse(name)
        field = fields.lookup(path)
        if field is not None and compare.is_unset(paths.value_at(config, path), field, minor):
            found[name] = paths.value_at(filled, path)
    return found


def _of_paths(values: Config, names: Collection[str]) -> dict[str, Any]:
    """Return those values whose path is one of ``names`` or below one."""
    return {path: value for path, value in values.items() if overlay.is_set(path, names)}


def _left(node: Given, by_key: bool) -> Undeclared:
    if not node.reverts:
        return NOTHING
    return own_values.undeclared(node.record, node.declared, node.live, node.minor, by_key)


def _files(node: Given) -> own_values.Files:
    if node.files is None:
        raise ValueError("the files of the node are not known")
    return node.files


def _without_record(
    node: Given,
    config: dict[str, Any],
    expected: dict[str, Any],
    found: Sequence[compare.Change],
    moved: Container[str],
    names: Collection[str],
    replaced: Config,
) -> Source:
    """Return a source that needs no record of the node's own values, from all changes of its live configuration.

    ``moved``: the paths that differ between the file that the kubelet reads and the new one. What that file leaves to
    the kubelet already, the kubelet need not lose again.
    """
    absent = own_values.absent_after(found)
    changes = [change for change in found if change.path in moved or change.path not in absent]
    from_file = frozenset(compare.after(own_values.not_declared(changes, node.declared)))
    kept = [path for path in absent if overlay.is_set(path, names)]
    return Source(config, expected, changes, replaced, kept, NO_RECORD, from_file=from_file)


def _after_restart(made: Source, node: Given, files: own_values.Files) -> Source:
    """Return the source of a drop-in with what the restart takes up from the own file in its effect."""
    pending = own_values.pending(files, made.config, node.declared, node.live, node.minor)
    if not pending:
        return made
    expected = overlay.put(made.expected, compare.after(pending))
    unknown = [change for change in made.changes if not change.known]
    return made._replace(
        expected=expected,
        changes=_sorted([*unknown, *compare.changes(node.live, expected, node.minor, True)]),
        from_file=frozenset(compare.after(pending)),
        without_file=made.expected,
    )


def _sorted(changes: Sequence[compare.Change]) -> list[compare.Change]:
    """Return changes by path; of two with one path, the last."""
    found = {change.path: change for change in changes}
    return [change for _path, change in sorted(found.items())]


def for_machine(target: Config, live: Config) -> dict[str, Any]:
    """Return ``target`` with the fields of ``live`` that belong to one machine, and with no other such fields.

    The arguments are not modified, but their values are shared.
    """
    return {**declared(target), **paths.only(live, fields.MACHINE)}


def declared(target: Config) -> dict[str, Any]:
    """Return ``target`` without the fields that belong to one machine, as a layer of a drop-in."""
    return paths.without(target, fields.MACHINE)


def kept(target: Config, live: Config) -> Iterator[Problem]:
    """Yield a warning for each field of ``target`` that a node does not get, because it belongs to one machine."""
    for name in fields.MACHINE:
        if target.get(name) is not None and not compare.same(_form(name, target), _form(name, live)):
            cause = (
                "the configuration to roll back to has another value, but it belongs to one machine: the node keeps "
                "its own"
            )
            remedy = "To change it, declare it for the node in kubelet_config_host and run a rollout."
            yield Problem(WARNING, name, cause, remedy, "machine-specific")


def _form(name: str, config: Config) -> Any:
    return compare.canonical(config.get(name), fields.ALL[name], fields.NEWEST_MINOR)


def unfit(row: Config, wanted: delivery.Delivery, minor: int, replaces_checkpoint: bool) -> Iterator[Problem]:
    """Yield why a node cannot get a source by a delivery, which may take the place of the node's checkpoint."""
    if wanted.too_new_for(minor):
        cause = (
            f"kubelet {row['kubelet_version']} {wanted.lack}, which the delivery {wanted.name} needs: kubelets from "
            f"1.{wanted.minors.start} on do"
        )
        yield Problem(REFUSAL, "", cause, f"Set kubelet_config_delivery to {wanted.instead} for the node.", "delivery")
        return
    keeps_source = row.get("source") is not None and not replaces_checkpoint
    if keeps_source and not wanted.whole and row.get("delivery") not in (wanted.name, None):
        cause = f"the node has a source by the delivery {row['delivery']}, which would override the drop-in"
        remedy = "Migrate the node with the playbook migrate, or set kubelet_config_delivery to auto."
        yield Problem(REFUSAL, "", cause, remedy, "delivery")


def check_dropin(declared: Config, minor: int) -> Iterator[Problem]:
    """Yield the problems of what is declared for a drop-in of a kubelet of this minor."""
    if merged_dropins.EVICTION in declared and declared[merged_dropins.EVICTION] is None:
        cause = "null in a drop-in leaves no eviction threshold at all, not the defaults"
        remedy = "Set the thresholds that you want, each by its key. To remove one, set its key to null."
        yield Problem(REFUSAL, merged_dropins.EVICTION, cause, remedy, "dropin-null")
    if "resolvConf" in declared and delivery.of(delivery.DROPIN).minors.start <= minor < delivery.RESOLV_CONF_MINOR:
        cause = f"kubelets 1.{minor} ignore the field in a drop-in"
        remedy = "Set kubelet_config_delivery to checkpoint for the node, or omit the field."
        yield Problem(REFUSAL, "resolvConf", cause, remedy, "dropin-field")
    if declared.get(_MERGE) is not None:
        cause = "the kubelet reads the field in its own config file only, so it has no effect in a drop-in"
        remedy = "Set it in the node's own file. In a drop-in, keys of evictionHard are always merged."
        yield Problem(WARNING, _MERGE, cause, remedy, "dropin-field")
    for path, value in overlay.written(declared, True):
        yield from _value(path, value, minor)


def forgotten(live: Config, declared: Config, minor: int) -> Iterator[Problem]:
    """Yield a warning for each empty list or map of the node's own that a kubelet with a drop-in folder forgets.

    ``live`` is the configuration of a kubelet that may have no such folder yet.
    """
    for name in merged_dropins.forgotten(live, minor):
        if name not in declared:
            cause = (
                "a kubelet with a drop-in folder takes an empty value of its config file for unset, and uses the "
                "default"
            )
            yield Problem(WARNING, name, cause, "Declare the empty value, which holds in a drop-in.", "dropin-empty")


def _value(path: paths.Path, value: Any, minor: int) -> Iterator[Problem]:
    shown, field = paths.show(path), fields.owner(path)
    # types.py checks values, and a null is none.
    if value is None and field is None:
        yield types.unknown(path, minor)
    elif value is None and field is not None and not field.exists_at(minor):
        cause = f"kubelet 1.{minor} does not have this field"
        yield Problem(REFUSAL, shown, cause, "Remove it for this node.", "unknown-field")
    if field is not None and field.path_ref and isinstance(value, str) and value and not value.startswith("/"):
        cause = f"{value} is a relative path, which a kubelet resolves in its working directory if it is in a drop-in"
        yield Problem(REFUSAL, shown, cause, "Set an absolute path.", "dropin-path")
