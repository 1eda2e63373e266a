# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the inputs of drift detection: Node objects, their ConfigMaps, live configurations and kubeadm's ConfigMap.

Nothing is ever written.
"""

from __future__ import annotations

import typing as t

from ..._config import delivery, host_facts
from ..._config.drift import drift_rows
from ..._config.drift.drift_cause import SOURCE, STAGES, UNKNOWN, Cause, NodeFacts, with_dropin
from ..._config.drift.drift_rows import Configs, Finder
from ..._config.fields import compare, fields, overlay, shadow
from ..._config.forecast import allocatable
from ..._config.host_facts import HostFacts
from ..._config.minors import fields_of
from ..._config.plan import layers, own_values
from ..._config.plan.layers import Layers
from ..._config.values import document
from ..api.errors import ClusterError, explained
from ..api.session import Json, Session
from ..objects import config_sources, configmaps, kubeadm, kubelets, node_requests, nodes
from . import verdict

_NOT_LOOKED_AT = "not looked at on the node"
_LOOKED_AT = "looked at"
_AGAIN = "Run again when the node answers."
_REIMAGED = "its source was assigned to another machine: this one is new or newly installed, and runs its local config"


def detect(session: Session, options: Json, check_mode: bool) -> Json:
    """Return the drift of every node with its causes, a summary and text.

    Requests: those of `node_requests.read`, one GET of configz for each node that is not in `current`, one GET for each
    distinct ConfigMap, and on request two for kubeadm's (three for 1.23). If a live configuration cannot be read, the
    row of the node states why. Raises ClusterError for unusable options, and if the cluster cannot be read.
    """
    found = _found(session, options)
    layers = _layers(options["node_configs"] or {}, {name: node.minor for name, node in found.items()})
    maps = _maps(session, found.values())
    live, unread = live_configs(session, found, options["current"] or {})
    step = _kubeadm(session, options["kubeadm_configs"]) if options["kubeadm_configs"] else {}
    hosts = {**reported(found), **(options["hosts"] or {})}
    with explained(ValueError):
        flags = shadow.of_nodes(options["flags"])
    finder = Finder()
    rows = {}
    for name, node in found.items():
        seen = host_facts.read(hosts.get(name))
        host, missing = _host(hosts.get(name), seen, _is_dropin(node))
        facts = _facts(node, maps, host, missing, flags.get(name, ()))
        configs = Configs(
            layers.get(name, ()),
            config_sources.content(maps, node.source, node.minor),
            _assigned(maps, node),
            live.get(name),
            step,
            _files(node, seen, live.get(name)),
            # Without node_configs it is not known what is declared.
            own_values.NO_RECORD if options["node_configs"] is None else _own(node),
        )
        with explained(overlay.OverlayError, before=f"the configuration of node {name}: "):
            drift = finder.rows(configs, facts)
            rendering = finder.rendering(configs, facts)
        drift[:0] = _not_read(node, unread.get(name))
        rows[name] = {
            "delivery": node.delivery,
            "kubelet_version": node.kubelet_version,
            "host": _LOOKED_AT if host else missing,
            "drift": drift,
            "rendering": rendering,
        }
    return {"changed": False, "nodes": rows, "summary": drift_rows.summary(rows), "text": drift_rows.lines(rows)}


def _found(session: Session, options: Json) -> dict[str, nodes.Node]:
    """Return the nodes as the requested deliveries see them.

    A request decides which of two sources counts. A node with a checkpoint keeps it until it is migrated to a drop-in,
    and one with a drop-in until it is reset.
    """
    with explained(ValueError):
        requested = delivery.checked(options["deliveries"])
    found = node_requests.read(session, options["nodes"], options["label_selectors"] or ())
    seen = {}
    for name, node in found.items():
        asked = requested.get(name, delivery.AUTO)
        keeps = node.source is not None and delivery.of(node.delivery).on_node and delivery.of(asked).on_node
        seen[name] = node if keeps else node.with_delivery(asked)
    return seen


def live_configs(
    session: Session, found: dict[str, nodes.Node], current: Json
) -> tuple[dict[str, Json], dict[str, str]]:
    """Return the live configurations, from the table `current` if it has them, and by node why others are unknown."""
    try:
        known = {name: current["variants"][row["variant"]] for name, row in current.get("nodes", {}).items()}
    except (AttributeError, KeyError, TypeError) as error:
        raise ClusterError(
            f"current is not a result of kubelet_configz_facts ({error!r}): pass that unchanged, or omit current"
        ) from error
    unread: dict[str, str] = {}
    for outcome in kubelets.live_configs(session, [name for name in found if name not in known], found):
        if outcome.error:
            unread[outcome.item] = outcome.error.message
        elif outcome.value is not None:
            known[outcome.item] = fields.restore(outcome.value, fields_of(found[outcome.item].minor))
    return known, unread


def _layers(node_configs: Json, minors: t.Mapping[str, int | None]) -> dict[str, tuple[Json, ...]]:
    with explained(document.DocumentError, before="node_configs: "):
        return Layers().of_nodes(node_configs, minors)


def _maps(session: Session, found: t.Iterable[nodes.Node]) -> dict[str, config_sources.FoundConfig]:
    """Read every ConfigMap that a node should run or was assigned.

    Raises ClusterError if one cannot be read, since it may still exist.
    """
    references: list[dict[str, str]] = []
    for node in found:
        references += filter(None, (node.source, node.part("assigned")))
    maps = config_sources.find(session, references)
    lines = [
        "drift cannot be determined without the ConfigMaps of the nodes. Grant the verb get on configmaps, as "
        "docs/rbac.yaml does for the user of a rollout."
    ]
    for name, item in maps.items():
        known = (item.fault or "").startswith((config_sources.ABSENT, config_sources.NAMELESS))
        if item.configmap is None and not known:
            lines.append(f"{name}: {item.fault}")
    if len(lines) > 1:
        raise ClusterError("\n".join(lines))
    return maps


def _own(node: nodes.Node) -> own_values.Record:
    """Return the record of a node's own values, an empty one for a node on its local config."""
    return own_values.of_node(
        {"source": node.source, "status": node.status, "own": node.own, "malformed": node.malformed}
    )


def reported(found: t.Mapping[str, nodes.Node]) -> Json:
    """Return what followers have reported of their nodes."""
    return {name: node.follower.facts for name, node in found.items() if node.follower is not None}


def _files(node: nodes.Node, facts: HostFacts, live: Json | None) -> own_values.Files | None:
    """Return the own file of a node whose checkpoint is built on it, or whose drop-in is laid over it; None for other
    nodes and if it is not known.
    """
    way = delivery.of(node.delivery)
    if not way.needs_file(node.minor) or not node.source or live is None:
        return None
    try:
        return own_values.files_of(facts, live)
    except own_values.OwnFileError:
        return None


def _is_dropin(node: nodes.Node) -> bool:
    """Return whether a node has a drop-in, or would get one."""
    chosen = delivery.chosen(delivery.AUTO, node.delivery, node.minor, node.source is not None)
    return not (delivery.of(node.delivery).whole and delivery.of(chosen).whole)


def _host(given: t.Any, seen: HostFacts, dropin: bool) -> tuple[HostFacts | None, str]:
    """Return the facts from the node, or why they are absent; the reason is empty if none were requested."""
    if not host_facts.is_result(given):
        return None, ""
    if seen.fault:
        return None, f"{_NOT_LOOKED_AT}: {seen.fault}"
    if dropin:
        return with_dropin(seen), ""
    return seen, ""


def _facts(
    node: nodes.Node,
    maps: dict[str, config_sources.FoundConfig],
    host: HostFacts | None,
    missing: str,
    argv: t.Sequence[str],
) -> NodeFacts:
    source, own = node.source, node.own or {}
    recorded, resized = str(own.get("source", "")), ""
    found = config_sources.FoundConfig(None, None)
    if source and source.get("name") == recorded:
        resized = allocatable.resized(own.get(own_values.CAPACITY), node.capacity)
    if source:
        found = maps[nodes.describe(source)]
    ours, pushed = True, None
    if found.configmap:
        ours = configmaps.is_ours(found.configmap)
        pushed = node.as_reported(configmaps.reference(found.configmap, found.key))
    return NodeFacts(
        minor=node.minor,
        checkpoint=delivery.of(node.delivery).replaces_file,
        dropin=_is_dropin(node),
        source=source,
        seeded=node.on_node and node.seeded,
        assigned=node.part("assigned"),
        active=node.part("active"),
        error=node.error,
        unsynced=nodes.is_sync_error(node),
        meaning=verdict.meaning(node),
        pushed=pushed,
        ours=ours,
        edited=bool(found.configmap and ours and _edited(found.configmap)),
        recorded=recorded,
        resized=resized,
        fault=_fault(found, node.minor),
        host=host,
        host_missing=missing,
        flags=shadow.shadows(argv, node.minor or None),
    )


def _fault(found: config_sources.FoundConfig, minor: int) -> str:
    """Return why a ConfigMap is unusable. That it must be pushed is advice for an assignment."""
    fault = found.fault_at(minor) or ""
    if fault.startswith(config_sources.ABSENT):
        return config_sources.ABSENT
    return fault


def _edited(configmap: Json) -> bool:
    """Return whether the content of a ConfigMap of this collection does not match the hash in its name."""
    base, _dash, suffix = configmap["metadata"]["name"].rpartition("-")
    return bool(suffix != document.append_hash(base, configmap.get("data") or {}))


def _assigned(maps: dict[str, config_sources.FoundConfig], node: nodes.Node) -> Json | None:
    """Return the content of the assigned source, None if its ConfigMap no longer has the assigned revision."""
    reference = node.part("assigned")
    if not reference:
        return None
    found = maps[nodes.describe(reference)]
    if found.configmap is None or node.as_reported(configmaps.reference(found.configmap, found.key)) != reference:
        return None
    return found.content(node.minor)


def _kubeadm(session: Session, node_configs: Json) -> dict[str, tuple[t.Any, t.Any]]:
    """Return the paths at which kubeadm's ConfigMap is not in sync with the overrides common to all nodes.

    Each path maps to the value in the ConfigMap and the declared value.
    """
    minor, found = kubeadm.read(session)
    overrides = list(_layers(node_configs, dict.fromkeys(node_configs, minor)).values())
    paths: dict[str, tuple[t.Any, t.Any]] = {}
    for configmap in found:
        name = f"ConfigMap {kubeadm.NAMESPACE}/{configmap['metadata']['name']}"
        with explained(ClusterError, overlay.OverlayError, before=f"{name}: "):
            before = kubeadm.content(configmap)
            after = layers.lay_common(before, overrides)
        old, new = compare.normalise(before, minor), compare.normalise(after, minor)
        for path in layers.changed_paths(before, after, minor):
            paths[path] = old.get(path), new.get(path)
    return paths


def _not_read(node: nodes.Node, unread: str | None) -> list[Json]:
    """Return a row for each reason for which it is not known what a node runs or should run."""
    found = []
    if unread is not None:
        found.append(_unread(f"what the kubelet runs could not be read: {unread}", _AGAIN))
    if node.fault:
        what, _dot, remedy = node.fault.rpartition(". ")
        found.append(_unread(what, f"{remedy}."))
    if node.reimaged:
        found.append(_unread(_REIMAGED, "Run the playbook rollout, which assigns it again."))
    return found


def _unread(message: str, remedy: str) -> Json:
    return {"path": SOURCE, **dict.fromkeys(STAGES), "kubeadm": None, **Cause(UNKNOWN, message, remedy)._asdict()}
