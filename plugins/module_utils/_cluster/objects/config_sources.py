# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The config sources that nodes must have, the ConfigMaps they name, each read once for all nodes, and their writes."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._config import delivery as deliveries
from ..._config.minors import api_versions
from ..._config.plan import own_values
from ..._config.values import annotation, document, following, node_row, paths, reference
from ..api.errors import Accepting, ApiError, ClusterError, explained
from ..api.session import Json, Session
from . import configmaps, node_requests, nodes

Source = t.Optional[t.Dict[str, str]]
ABSENT = "there is no such ConfigMap"
NAMELESS = "the kubelet reports its uid alone"
# Argument spec of a source.
PLACE: dict[str, Json] = {
    "namespace": {"type": "str", "default": "kube-system"},
    "name": {"type": "str", "required": True},
    "kubelet_config_key": {"type": "str", "default": "kubelet", "aliases": ["kubeletConfigKey"], "no_log": False},
}
# What a result of kubelet_configmap has beside it.
_BESIDE: dict[str, Json] = {
    "uid": {"type": "str"},
    "resource_version": {"type": "str", "aliases": ["resourceVersion"]},
    "variant": {"type": "str"},
    "changed": {"type": "bool"},
}
# Argument spec of the modules that assign a source to nodes.
SELECTION: dict[str, Json] = {
    "nodes": {"type": "list", "elements": "str"},
    "source": {"type": "dict", "options": {**PLACE, **_BESIDE}},
    "sources": {"type": "dict"},
    "delivery": {"type": "str", "choices": list(deliveries.REQUESTS), "default": deliveries.AUTO},
}


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What one node must have: a source (None: its local config), and its delivery (`auto`: the node decides).

    `own` is the record of its own values to write with the source, None to leave the one it has. `uid` is that of the
    Node for which it was planned, empty if unknown. `migrates`: a drop-in may take the place of its checkpoint.
    `rollout`: the name of the rollout that assigns it, empty outside one. `undoes`: it is what the node ran before.
    """

    source: Source
    delivery: str = deliveries.AUTO
    own: own_values.Record | None = None
    uid: str = ""
    migrates: bool = False
    rollout: str = ""
    undoes: bool = False
    transport: str = following.AUTO
    """Who takes it to the node."""


@dataclasses.dataclass(frozen=True)
class FoundConfig:
    """The ConfigMap of a source (None: it does not exist), and the fault that makes it unusable (None: no fault).

    The fault is the one for kubelets that load the usual apiVersion; `key` is that of the source.
    """

    configmap: Json | None
    fault: str | None
    key: str = "kubelet"

    def fault_at(self, minor: int | None) -> str | None:
        """Return the fault for kubelets of a minor, 0 for an unknown one; with None, for every kubelet."""
        if self.configmap is None or api_versions(minor) == (document.API_VERSION,):
            return self.fault
        return fault(self.configmap, self.key, minor)

    def content(self, minor: int | None = None) -> Json | None:
        """Return the configuration, None if it is unusable for kubelets of a minor; with None, for every kubelet."""
        if self.configmap is None or self.fault_at(minor):
            return None
        return document.parse(self.configmap["data"][self.key], self.key)


def wanted(options: Json) -> dict[str, Wanted]:
    """Return what each node must have, by node name, from a module's options.

    Raises ClusterError for an incomplete source or an unknown delivery.
    """
    if options["nodes"] is not None and not options["nodes"]:
        raise ClusterError("nodes is an empty list: name at least one node")
    delivery = options["delivery"]
    rollout, undoes = _rollout(options), bool(options.get("undo"))
    transport = options.get("transport") or following.AUTO
    sources = options["sources"]
    if sources is None:
        sources = dict.fromkeys(options["nodes"] or [], options["source"])
    found = {}
    if options["state"] == "absent":
        for name, source in sources.items():
            # Nothing else of a source counts here.
            own = source if isinstance(source, dict) else {}
            way = _choice(name, "transport", own, transport, following.TRANSPORTS)
            found[name] = Wanted(None, delivery, undoes=undoes, transport=way)
        return found
    for name, source in sources.items():
        one = _complete(name, source, delivery, transport)
        found[name] = dataclasses.replace(one, rollout=rollout, undoes=undoes)
    return found


def given(options: Json) -> dict[str, Wanted] | None:
    """Return the same for options that name sources; None for those that do not, as what is assigned now counts."""
    if options["sources"] is None and options["source"] is None:
        return None
    return wanted(options)


def _rollout(options: Json) -> str:
    rollout = options.get("rollout") or ""
    if rollout and not annotation.ROLLOUT.fullmatch(rollout):
        raise ClusterError(f"rollout is {rollout!r}, not the name of a rollout: pass that of the rollout, or omit it")
    return rollout


def _complete(name: str, source: t.Any, delivery: str, transport: str) -> Wanted:
    if not isinstance(source, dict) or not source.get("namespace") or not source.get("name"):
        raise ClusterError(
            f"sources: the value of node {name} is {source!r}; set a mapping with namespace, name and kubeletConfigKey"
        )
    key = source.get("kubeletConfigKey") or source.get("kubelet_config_key") or "kubelet"
    delivery = _choice(name, "delivery", source, delivery, deliveries.REQUESTS)
    transport = _choice(name, "transport", source, transport, following.TRANSPORTS)
    malformed = f"sources: node {name} has a malformed record in own: "
    with explained(ValueError, before=malformed, after=". Pass the row of the plan unchanged"):
        record = own_values.given(source.get("own"))
    place = {"namespace": source["namespace"], "name": source["name"], "kubeletConfigKey": key}
    unusable = f"sources: the value of node {name} cannot be used: "
    with explained(ValueError, before=unusable, after=". In YAML, put a name of digits in quotes"):
        reference.read({"configMap": place})
    # The key `uid` is that of a ConfigMap.
    uid, migrates = str(source.get("node_uid") or ""), source.get("migrates") is True
    return Wanted(place, delivery, record, uid, migrates, transport=transport)


def _choice(name: str, what: str, source: t.Mapping[str, t.Any], default: str, known: t.Sequence[str]) -> str:
    """Return what a node has of its own in its source, else the default. Raises ClusterError for an unknown one."""
    chosen: str = source.get(what) or default
    if chosen not in known:
        raise ClusterError(f"sources: node {name} has the unknown {what} {chosen!r}; set one of {', '.join(known)}")
    return chosen


def find(session: Session, wanted_ones: t.Iterable[dict[str, str]]) -> dict[str, FoundConfig]:
    """Return the ConfigMap of every distinct source (one GET each), by the text of `nodes.describe`.

    If a ConfigMap cannot be read, its fault states why. A ConfigMap of which only the uid is known is not read.
    """
    distinct = {nodes.describe(source): source for source in wanted_ones}
    named = [source for source in distinct.values() if "name" in source]
    outcomes = session.each(named, lambda source: configmaps.read(session, source["namespace"], source["name"]))
    found = dict.fromkeys(distinct, FoundConfig(None, NAMELESS))
    for outcome in outcomes:
        key = outcome.item["kubeletConfigKey"]
        why = fault(outcome.value, key)
        if outcome.error:
            why = f"the ConfigMap could not be read: {outcome.why}"
        found[nodes.describe(outcome.item)] = FoundConfig(outcome.value, why, key)
    return found


def content(found: t.Mapping[str, FoundConfig], source: t.Mapping[str, str] | None, minor: int) -> Json | None:
    """Return the configuration in one of the sources of `find`, None without a source and if it is unusable."""
    if not source:
        return None
    return found[nodes.describe(source)].content(minor)


def fault(configmap: Json | None, key: str, minor: int | None = 0) -> str | None:
    """Return why a key of a ConfigMap is unusable (absent, binary, no KubeletConfiguration); None if it is usable.

    `minor` is that of the kubelet, 0 for an unknown one; with None it must be usable for some kubelet.
    """
    if configmap is None:
        return f"{ABSENT}; push it first"
    data = configmap.get("data") or {}
    if key not in data:
        if key in (configmap.get("binaryData") or {}):
            return f"the key {key} holds binary data, which kubelets ignore; its file is not UTF-8 text"
        return f"it has no key {key} (it has: {', '.join(sorted(data)) or 'none'})"
    try:
        document.parse(data[key], f"key {key}", complete=True, versions=api_versions(minor))
    except document.DocumentError as error:
        return str(error)
    return None


def unfit(found: nodes.Node, node: nodes.Node, source: Source, migrates: bool) -> str | None:
    """Return why the kubelet of a node cannot run a source by the chosen delivery; None if it can.

    `found` is the node as read, `node` the same as the chosen delivery sees it. `migrates`: that of `found` is left.
    """
    if source is None:
        return None
    if node.on_node:
        return _unfit_for_copy(found, node, source, migrates)
    if found.on_node and found.source_fault(found.delivery):
        return found.source_fault(found.delivery)
    if found.on_node and not reference.same_place(found.source, source):
        return _other_delivery(found)
    minors = deliveries.of(deliveries.NATIVE).minors
    if node.minor and node.minor not in minors:
        return (
            f"its kubelet {node.kubelet_version} does not follow Node.spec.configSource "
            f"(kubelets 1.{minors.start} to 1.{minors.stop - 1} do); set kubelet_config_delivery to auto or checkpoint "
            "for it"
        )
    return node.form.unfit(found.native.status is not None, source["kubeletConfigKey"], found.kubelet_version)


def _unfit_for_copy(found: nodes.Node, node: nodes.Node, source: dict[str, str], migrates: bool) -> str | None:
    """Return the same for a source that is copied to the node."""
    native = found.native.source
    if found.listening and native and not reference.same_place(native, source):
        return (
            f"its kubelet follows spec.configSource ({nodes.describe(native)}), which overrides a "
            "checkpoint. Migrate the node with the playbook migrate, or set kubelet_config_delivery to auto"
        )
    way = deliveries.of(node.delivery)
    if way.too_new_for(node.minor):
        return (
            f"its kubelet {node.kubelet_version} {way.lack} (kubelets from 1.{way.minors.start} on do); set "
            f"kubelet_config_delivery to {way.instead} for it"
        )
    other = found.on_node and not found.named(node.delivery) and not migrates
    if other and found.source and not found.reimaged:
        return _other_delivery(found)
    return None


def _other_delivery(found: nodes.Node) -> str:
    return (
        f"its kubelet runs a {found.delivery} of {nodes.describe(found.source)}. Migrate the node with the playbook "
        "migrate, or set kubelet_config_delivery to auto"
    )


def write_source(
    session: Session,
    node: nodes.Node,
    source: dict[str, str] | None,
    dry_run: bool,
    sides: t.Collection[str] = (),
    notes: t.Mapping[str, str | None] | None = None,
) -> nodes.Node:
    """Set or remove (None) the source of a node with a merge patch; return the node as the API server stored it.

    `sides` are the deliveries to write it for, by default the one that counts. `notes` are further annotations to set
    or remove (None). The patch contains the resourceVersion that was read: after a conflict the node is read again, and
    the patch is repeated only if the sources are unchanged. Raises ApiError, 409 if another writer changed a source.
    """
    sides, notes = sides or (node.delivery,), notes or {}
    if dry_run and not session.dry_runs():
        return _forecast(node, source, sides, notes)
    path = node_requests.path(node.name)
    current = node
    for _attempt in range(5):
        with Accepting(409):
            stored = session.patch(path, _patch(current, source, sides, notes), dry_run)
            return nodes.trim(stored).with_delivery(node.delivery)
        current = nodes.trim(session.request("GET", path)).with_delivery(node.delivery)
        if current.uid != node.uid:
            raise ApiError(409, node_row.RECREATED, node_requests.CREATED_AGAIN)
        if _is_written(current, source, sides):
            # An earlier try has written it, and its answer was lost.
            return current
        _refuse_other(node, current, sides)
    raise ApiError(409, "the Node object changes faster than it can be patched; run again", "Conflict")


def _is_written(node: nodes.Node, source: Source, sides: t.Collection[str]) -> bool:
    if source and node.reimaged:
        return False
    for side in sides:
        if node.side(side).source != source or node.source_fault(side):
            return False
        if source is not None and not node.named(side):
            return False
    return True


def _refuse_other(before: nodes.Node, node: nodes.Node, sides: t.Collection[str]) -> None:
    """Raise ApiError if another writer has changed a source of a node."""
    for side in sides:
        now = node.side(side).source
        if now != before.side(side).source:
            what = f"changed {deliveries.of(side).source_place} to {nodes.describe(now)} during the run; run again"
            raise ApiError(409, f"another user or program {what}", "Conflict")


def _patch(
    node: nodes.Node, source: dict[str, str] | None, sides: t.Collection[str], notes: t.Mapping[str, str | None]
) -> Json:
    body: Json = {"metadata": {"resourceVersion": node.resource_version}}
    noted, native = _places(sides)
    text = config_source = None
    if source:
        text, config_source = _noted(node, source, noted), node.form.config_source(source)
    annotations = dict(notes)
    if noted:
        annotations[annotation.SOURCE] = text
    if annotations:
        body["metadata"]["annotations"] = annotations
    if native:
        body["spec"] = {"configSource": config_source}
    return body


def _noted(node: nodes.Node, source: dict[str, str], delivery: str) -> str:
    noted: Json = {"configMap": source, "delivery": delivery, **node.machine}
    if delivery == deliveries.CHECKPOINT:
        del noted["delivery"]
    return annotation.text(noted)


def _forecast(
    node: nodes.Node, source: dict[str, str] | None, sides: t.Collection[str], notes: t.Mapping[str, str | None]
) -> nodes.Node:
    """Return a node as an API server without dry runs would store it, as far as assignments look at it."""
    noted, native = _places(sides)
    changed: Json = {"previous": _previous(node, notes), "noted": node.noted}
    if native:
        changed["native"] = dataclasses.replace(node.native, source=source)
    if noted:
        changed.update(noted_delivery=noted, assigned_to=node.machine)
        changed["noted"] = dataclasses.replace(node.noted, source=source)
    if notes.get(annotation.STATUS, "") is None:
        changed["noted"] = dataclasses.replace(changed["noted"], status=None)
    written = {*notes, *(deliveries.of(side).source_at for side in sides)}
    misread = paths.without(node.misread, written)
    return dataclasses.replace(node, notes={**node.notes, **notes}, misread=misread, **changed)


def _places(sides: t.Collection[str]) -> tuple[str, bool]:
    """Return the delivery that writes the annotation, empty if none does, and whether one writes the spec."""
    noted = [side for side in sides if deliveries.of(side).on_node]
    return (noted or [""])[0], len(noted) < len(sides)


def _previous(node: nodes.Node, notes: t.Mapping[str, str | None]) -> Json | None:
    """Return the annotation `previous` of a node with these further annotations."""
    if annotation.PREVIOUS not in notes:
        return node.previous
    return annotation.previous(annotation.mapping(notes[annotation.PREVIOUS])[0])[0]
