# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why the stages of a node's configuration differ: one cause and one remedy for each difference.

A configuration passes from stage to stage: declared, pushed, assigned, disk, live. The cause closest to the kubelet is
reported, because it overrides the others: a rollout does not help against a flag, nor a restart against an edited file.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Collection, Iterator, Mapping, NamedTuple, Sequence

from .. import delivery, host_facts
from ..fields import compare, fields, shadow
from ..forecast import pod_forecast
from ..host_facts import HostFacts
from ..values import paths
from ..values.reference import describe, same_place
from . import differing
from .differing import sets

_OF_HOST = FLAG, DROP_IN, EDITED, NOT_RESTARTED = ("flag", "drop-in", "edited file", "not restarted")
_OF_VERSION = RENDERING, VERSION = ("configz rendering", "other kubelet version")
_OF_SOURCE = NOT_ROLLED_OUT, CHANGED, GONE = ("not rolled out", "configmap changed", "configmap gone")
_OF_ASSIGNMENT = FELL_BACK, FOREIGN = ("fell back", "foreign source")
_OF_VALUE = UNDECLARED, OWN_FILE, RESIZED = ("no longer declared", "own file changed", "capacity changed")
_OTHERS = KUBEADM, UNKNOWN = ("kubeadm", "unknown")
CAUSES = (*_OF_HOST, *_OF_VERSION, *_OF_SOURCE, *_OF_ASSIGNMENT, *_OF_VALUE, *_OTHERS)

STAGES = DECLARED, PUSHED, ASSIGNED, DISK, LIVE = differing.STAGES
_Reference = Mapping[str, str]
SOURCE = "(config source)"
"""The path of a row about the node as a whole; its columns hold the references."""


def with_dropin(found: HostFacts) -> HostFacts:
    """Return facts whose file is our drop-in, empty if the kubelet does not read it.

    The other drop-ins are those that the kubelet merges after it.
    """
    ours = ""
    later: dict[str, Any] = {}
    for name, content in found.dropins.items():
        if not ours and name.endswith(f"/{delivery.LINK}"):
            ours, later = name, {}
        else:
            later[name] = content
    content = found.dropins.get(ours)
    return dataclasses.replace(found, file=ours, content=content, reference=None, damage="", dropins=later)


@dataclasses.dataclass(frozen=True)
class NodeFacts:
    """The facts about a node other than its configurations. A reported reference has five fields."""

    minor: int
    checkpoint: bool = False
    """Delivered as a checkpoint by this collection, not by Node.spec.configSource."""
    dropin: bool = False
    """Delivered as a drop-in: the sources hold what is declared, and the kubelet lays it over the node's own file."""
    source: _Reference | None = None
    seeded: bool = False
    """The machine came with the source, from a seed."""
    assigned: _Reference | None = None
    active: _Reference | None = None
    error: str = ""
    unsynced: bool = False
    """The error is about taking the source up: the kubelet has not refused it."""
    meaning: str = ""
    """What the error means, as the end of a sentence; empty if that is unknown."""
    pushed: _Reference | None = None
    """The ConfigMap of the source, as the API has it now."""
    ours: bool = True
    """This collection created the ConfigMap."""
    edited: bool = False
    """The hash in the ConfigMap's name does not match its content."""
    recorded: str = ""
    """The name of the ConfigMap that this collection assigned last, empty if that is not recorded."""
    resized: str = ""
    """What of the machine changed since this collection assigned the source, in words; empty if nothing did."""
    fault: str = ""
    """Why the ConfigMap is unusable: it was deleted or contains no configuration."""
    host: HostFacts | None = None
    host_missing: str = ""
    """Why the node itself was not checked."""
    flags: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The flags that the inventory declares, by path. The flags found on the node take precedence."""

    @property
    def found(self) -> HostFacts:
        """The facts from the node itself, empty ones if it was not checked."""
        return self.host or HostFacts()

    @property
    def flags_in_force(self) -> Collection[str]:
        """The paths that flags hide: by the node itself, or by the inventory if the node was not checked."""
        if self.host is None:
            return self.flags
        return self.host.flags

    @property
    def foreign(self) -> bool:
        """Whether another user assigned the source: this collection did not create it, or assigned another one."""
        assigned = (self.source or {}).get("name")
        return bool(assigned and (not self.ours or self.recorded not in ("", assigned)))

    @property
    def stale(self) -> bool:
        """Whether the ConfigMap has changed since the node read it."""
        if not (self.pushed and self.assigned and same_place(self.pushed, self.assigned)):
            return False
        return dict(self.pushed) != dict(self.assigned)

    @property
    def rewritten(self) -> bool:
        """Whether the ConfigMap has another revision, with the content that its name names: it was created again, or
        its labels changed. A node with a copy has nothing to take up.
        """
        has_copy = self.checkpoint or self.dropin
        return self.stale and has_copy and self.ours and not self.edited

    @property
    def waiting(self) -> bool:
        """Whether the kubelet has neither activated nor refused the source that it must run."""
        return not self.error and (not same_place(self.source, self.assigned) or self.assigned != self.active)

    @property
    def strayed(self) -> bool:
        """Whether the kubelet of a node with a checkpoint reads another file, or does not read our drop-in."""
        if self.dropin:
            return bool(self.active and self.host and not self.host.file)
        return bool(self.checkpoint and self.active and self.found.file and not self.found.reference)


class Cause(NamedTuple):
    """One of CAUSES, its message for this node, and the remedy."""

    cause: str
    message: str
    remedy: str


def of_field(path: str, values: Mapping[str, Any], facts: NodeFacts) -> Cause:
    """Return why the known `values` of a path, by stage, differ. At least two of them must differ."""
    known = [stage for stage in STAGES if stage in values]
    broken = {}
    for earlier, later in zip(known, known[1:]):
        if not compare.same(values[earlier], values[later]):
            broken[later] = earlier
    return next(filter(None, _causes(path, broken, facts)))


def _causes(path: str, broken: Mapping[str, str], facts: NodeFacts) -> Iterator[Cause | None]:
    """Yield what may explain that stages differ from the stage before them, the cause closest to the kubelet first."""
    if LIVE in broken:
        yield _flag(path, facts)
        yield _dropin(path, facts)
    if broken.get(DISK) in (PUSHED, ASSIGNED):
        yield _fell_back(facts)
        yield _strayed(facts)
        yield _edited(facts)
    if LIVE in broken:
        yield _live(path, broken[LIVE], facts)
    if broken.get(ASSIGNED) == PUSHED:
        yield _fell_back(facts)
        yield _changed(facts)
        yield _not_restarted(facts)
    yield _not_rolled_out(path, facts)


def of_undeclared(own: str | None, dropin: bool) -> Cause:
    """Return the cause of a value that a former source declared. ``own`` is the node's own value, None if unknown.

    A drop-in lies over the node's own file, so a rollout reverts to what that has, known or not.
    """
    what = "the inventory no longer declares the value, but the node still runs it"
    remedy = "Run the rollout, which reverts it, or declare the value that you want."
    if own is None and not dropin:
        remedy = "Declare the value that you want, or run the playbook reset for the node."
    shown = "not known" if own is None else own
    return Cause(UNDECLARED, f"{what}; the node's own value is {shown}", remedy)


def of_own_file(value: str, dropin: bool) -> Cause:
    """Return the cause of a value that the node's own file has got since its checkpoint was built on it; with a
    drop-in, since the kubelet started.
    """
    if dropin:
        remedy = (
            "Restart the kubelet, or run the rollout, which restarts it if something else changes. To keep the live "
            "value, declare it."
        )
        return Cause(OWN_FILE, f"the node's own file changed since its kubelet started, and has {value}", remedy)
    message = f"the node's own file changed since its checkpoint was built on it, and has {value}"
    return Cause(OWN_FILE, message, "Run the rollout, which takes it up, or declare the value that you want.")


def of_node(facts: NodeFacts) -> list[Cause]:
    """Return the causes that concern a node as a whole, even if no field differs."""
    changed = None
    if not facts.rewritten:
        changed = _changed(facts)
    found = [_gone(facts), _fell_back(facts), changed, _strayed(facts)]
    if facts.found.damage:
        found.append(_edited(facts))
    if (facts.waiting and not facts.fault) or facts.found.other_command:
        found.append(_not_restarted(facts))
    return list(filter(None, found))


def of_override(paths: Sequence[str], kubelet: Mapping[str, Any]) -> list[str]:
    """Return what overrides fields of the live configuration, from the `kubelet` of kubelet_preflight_info.

    Flags are named with their file. The content of drop-ins is not in these facts: those may override the other fields.
    Malformed facts name nothing.
    """
    host = host_facts.read({"kubelet": kubelet})
    facts = NodeFacts(0, host=host)
    found, others = [], []
    for path in paths:
        cause = _flag(path, facts)
        if cause:
            found.append(f"{path}: {cause.message}. {cause.remedy}")
        else:
            others.append(path)
    if host.foreign and others:
        many = "s" if len(host.foreign) > 1 else ""
        found.append(f"the drop-in{many} {', '.join(host.foreign)} in --config-dir may override {', '.join(others)}")
    return found


def _flag(path: str, facts: NodeFacts) -> Cause | None:
    if facts.host is None:
        flag, where = shadow.shadow_of(path, facts.flags), "according to the inventory"
    else:
        use = shadow.shadow_of(path, facts.host.flags) or {}
        flag, where = use.get("flag"), "which no file sets any more"
        if use.get("file"):
            where = f"{use['file']}, line {use['line']}"
    if not flag:
        return None
    message = f"the flag {flag} ({where}) overrides every configuration"
    return Cause(FLAG, message, "Remove the flag there and restart the kubelet, or omit the field from kubelet_config.")


def _dropin(path: str, facts: NodeFacts) -> Cause | None:
    dropins = facts.found.dropins.items()
    files = [name for name, content in dropins if content is None or sets(content, path)]
    if not files:
        return None
    message = f"the drop-in {files[-1]} in --config-dir overrides {'ours' if facts.dropin else 'the config file'}"
    remedy = "Remove the field from the drop-in and restart the kubelet, or omit it from kubelet_config."
    return Cause(DROP_IN, message, remedy)


def _strayed(facts: NodeFacts) -> Cause | None:
    if not facts.strayed:
        return None
    if facts.dropin:
        remedy = "Look at --config-dir in `systemctl cat kubelet` and at that folder, then run the rollout again."
        return Cause(DROP_IN, f"the kubelet does not read {delivery.LINK}, which holds what is declared", remedy)
    where = f" ({facts.found.given_by})" if facts.found.given_by else ""
    remedy = "Look at `systemctl cat kubelet`, remove what sets --config after our drop-in, and run the rollout again."
    return Cause(DROP_IN, f"the kubelet reads {facts.found.file}{where}, not the assigned checkpoint", remedy)


def _edited(facts: NodeFacts) -> Cause:
    host = facts.found
    return Cause(
        EDITED,
        f"{host.file} is not the assigned file: {host.damage or 'the file or its checkpoint was changed'}",
        "To keep the change, add it to kubelet_config. "
        "To undo it, restore the file, or run the playbooks reset and rollout.",
    )


def _fell_back(facts: NodeFacts) -> Cause | None:
    if not (facts.error and facts.source):
        return None
    reported = f"`{facts.error}`{facts.meaning}"
    source, active = describe(facts.source), describe(facts.active)
    if facts.unsynced:
        message = f"the node cannot take up {source} and still runs {active}: {reported}"
        return Cause(FELL_BACK, message, "Run the rollout, which assigns it again and names what prevents it.")
    message = f"the node refused {source} and runs {active}: {reported}"
    return Cause(FELL_BACK, message, "Correct the refused value, then run the rollout again.")


def _not_restarted(facts: NodeFacts) -> Cause:
    if facts.waiting:
        message = (
            f"the node must run {describe(facts.source)}, but its status has {describe(facts.assigned)} assigned and "
            f"{describe(facts.active)} active"
        )
        return Cause(NOT_RESTARTED, message, "Wait for its kubelet, or run the rollout again.")
    what = facts.found.file or "its config file"
    if facts.found.other_command:
        what = "the kubelet's command line"
    remedy = "Undo the change, or restart the kubelet: `systemctl restart kubelet`."
    return Cause(NOT_RESTARTED, f"{what} changed after the kubelet started", remedy)


def _changed(facts: NodeFacts) -> Cause | None:
    source, remedy = describe(facts.source), "Add the wanted values to kubelet_config and run the rollout"
    if facts.edited:
        message = f"the ConfigMap {source} was edited: the hash in its name does not match its content"
        remedy += ", which pushes a new ConfigMap; keep kubelet_config_immutable on."
        return Cause(CHANGED, message, remedy)
    if facts.stale:
        message = f"the ConfigMap {source} has changed since the node read it"
        return Cause(CHANGED, message, f"{remedy}; keep kubelet_config_immutable on.")
    return None


def _gone(facts: NodeFacts) -> Cause | None:
    if not (facts.fault and facts.source):
        return None
    remedy = (
        "Run the rollout, which pushes and assigns the declared configuration. If the node has that already, run the "
        "playbook reset for it first."
    )
    if facts.foreign:
        remedy = f"Find out who assigned it. {remedy}"
    return Cause(GONE, f"the ConfigMap {describe(facts.source)} cannot be used: {facts.fault}", remedy)


def _live(path: str, earlier: str, facts: NodeFacts) -> Cause | None:
    """Return why the kubelet runs another value than the one it should have read; None if it need not have read it."""
    if earlier == DECLARED:
        return None
    found = _fell_back(facts)
    if not found and (facts.waiting or facts.found.outdated):
        found = _not_restarted(facts)
    if not found and earlier == PUSHED:
        found = _changed(facts)
    return found or _version(path, facts) or _unexplained(path, facts)


def _unexplained(path: str, facts: NodeFacts) -> Cause:
    if facts.host:
        message = "the kubelet runs another value than the one it reads, and nothing on the node explains it"
        return Cause(UNKNOWN, message, "Look at `journalctl -u kubelet` on the node.")
    flags, what = fields.flags_of(path, facts.minor or None), "a drop-in"
    if flags:
        what = f"a flag (--{' or --'.join(flags)}) or a drop-in"
    message = (
        f"the kubelet runs another value than the assigned one, which {what} can override; "
        f"{facts.host_missing or 'the node itself was not checked'}"
    )
    return Cause(UNKNOWN, message, "Run again with kubelet_config_drift_hosts: true, which checks the node itself.")


def _version(path: str, facts: NodeFacts) -> Cause | None:
    field = fields.owner(path)
    if field is None or field.exists_at(facts.minor):
        return None
    since = f"since 1.{field.since}" if field.since and field.since > facts.minor else f"until 1.{field.until}"
    message = f"kubelets have this field only {since}, the node's kubelet is 1.{facts.minor}"
    return Cause(VERSION, message, "Set the field only for nodes of those versions, or upgrade the node.")


def _not_rolled_out(path: str, facts: NodeFacts) -> Cause:
    found = _gone(facts) or _fell_back(facts) or _changed(facts)
    if found:
        return found
    if facts.source and not facts.ours:
        message = f"the node runs {describe(facts.source)}, which this collection did not create"
        return Cause(FOREIGN, message, "Find out who assigned it; the rollout assigns the declared configuration.")
    return _version(path, facts) or _resized(path, facts) or _not_assigned(facts)


def _resized(path: str, facts: NodeFacts) -> Cause | None:
    """Return that another machine size explains another value of a field that decides which pods run."""
    if not (facts.source and facts.resized and paths.top(path) in pod_forecast.FIELDS):
        return None
    message = (
        f"the machine changed since {describe(facts.source)} was assigned ({facts.resized}), and kubelet_config now "
        "declares another value"
    )
    return Cause(RESIZED, message, "Run the rollout.")


def _not_assigned(facts: NodeFacts) -> Cause:
    """Return that the declared configuration is not assigned, as far as the Node shows why."""
    if facts.source and facts.seeded:
        message = (
            f"the seed of the node is older than the group: its {describe(facts.source)} does not have what "
            "kubelet_config declares"
        )
        return Cause(NOT_ROLLED_OUT, message, "Run the rollout, and the playbook seed for the machines that join next.")
    if facts.source:
        what = f"the assigned {describe(facts.source)} does not have what kubelet_config declares"
        return Cause(NOT_ROLLED_OUT, what, "Run the rollout.")
    if facts.recorded:
        words = "a rollout assigned the ConfigMap {} to the node, and another user has removed that source"
        remedy = "Find out who removed it; the rollout assigns the declared configuration."
        return Cause(NOT_ROLLED_OUT, words.format(facts.recorded), remedy)
    return Cause(NOT_ROLLED_OUT, "the node runs its local config: no source is assigned to it", "Run the rollout.")
