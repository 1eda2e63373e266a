# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage dump: the live configuration of many kubelets, lossless."""

from __future__ import annotations

import typing as t

from ..._config.fields import fields
from ..._config.forecast import allocatable
from ..._config.minors import fields_of
from ..._config.rules import start_rules
from ..._config.values import annotation, document
from ..api import kubelet_endpoint
from ..api.errors import ClusterError, NodesFailed
from ..api.session import Json, Session
from ..objects import config_sources, kubelets, node_requests, nodes


def dump(session: Session, options: Json, check_mode: bool) -> Json:
    """Return the table `{variants, nodes}` of the chosen nodes, as a fact or (`facts` false) as `kubelet_configz`.

    Requests: those of `node_requests.read`, and one GET of configz for each node; see `_hidden` for nodes that fail.
    With the option `configmap`, one GET more, and its configuration is part of the result. With `goals`, one GET more
    for each distinct source: see `_goals`. Raises ClusterError if there is none, and, without `goals`, NodesFailed,
    which names every node whose configuration cannot be read.
    """
    goals = options.get("goals")
    extra, names = {}, options["nodes"]
    if options.get("configmap"):
        extra = _configmap(session, options["configmap"])
    if goals is not None:
        names = list(goals)
    found = node_requests.read(session, names, options["label_selectors"] or ())
    table, failures = _table(session, found, options)
    if goals is not None:
        _goals(session, table, found, goals)
    result: Json = {"kubelet_configz": table}
    if options["facts"]:
        result = {"ansible_facts": result}
    if failures and goals is None:
        failures.update(_hidden(session, {name: found[name] for name in failures}))
        raise NodesFailed("reading live kubelet configurations", failures, result)
    return {"changed": False, **result, **extra}


def _table(session: Session, found: dict[str, nodes.Node], options: Json) -> tuple[Json, dict[str, str]]:
    """Return the table, and by node why no live configuration can be read. Only with goals do such nodes have a row."""
    table: Json = {"variants": {}, "nodes": {}}
    failures: dict[str, str] = {}
    for outcome in kubelets.live_configs(session, found, found):
        node = found[outcome.item]
        if outcome.error is None:
            about = _live(table, node, outcome.value or {})
        else:
            failures[outcome.item] = outcome.error.message
            about = {"variant": None, "unread": outcome.error.message}
        if outcome.error is None or options.get("goals") is not None:
            table["nodes"][node.name] = {**about, **_row(node, options.get("read"))}
    return table, failures


def _live(table: Json, node: nodes.Node, live: Json) -> Json:
    """Add a live configuration to the variants, and return what a row has of it."""
    config = fields.restore(live, fields_of(node.minor))
    return {
        "variant": _variant(table, config),
        "machine_specific": fields.machine_specific(config),
        "restored": fields.restored(live, fields_of(node.minor)),
    }


def _row(node: nodes.Node, read: str | None) -> Json:
    """Return what a row has of the Node object. `read` is the way by which its kubelet is read."""
    has = {resource: amount for resource, amount in node.capacity.items() if allocatable.counts(resource, amount)}
    source, status, own = node.source, node.status, node.own
    if node.reimaged:
        # What was assigned to another machine is not on the disk of this one.
        source = status = own = None
    row = {"kubelet_version": node.kubelet_version, "delivery": node.delivery, "source": source, "status": status}
    more: Json = {"own": own, "uid": node.uid, "malformed": node.malformed, "capacity": has}
    if node.follower and node.follower.facts:
        # One text: Ansible visits each value of a row in every task that the dump goes through.
        more["follower"] = annotation.text(node.follower.facts)
    if read == kubelet_endpoint.NODE:
        more["read"] = read
    return {**row, **{key: value for key, value in more.items() if value}}


def _hidden(session: Session, unread: t.Mapping[str, nodes.Node]) -> dict[str, str]:
    """Return why nodes show no live configuration, of those that run a source with which none does.

    One GET for each distinct source.
    """
    active = {name: node.part("active") for name, node in unread.items()}
    maps = config_sources.find(session, filter(None, active.values()))
    found = {}
    for name, source in active.items():
        field = start_rules.unread_by(config_sources.content(maps, source, unread[name].minor))
        if field:
            found[name] = (
                f"it runs {nodes.describe(source)} with {field}: false, so that no user can read its live values. "
                "Roll it back or reset the node first"
            )
    return found


def _goals(session: Session, table: Json, found: dict[str, nodes.Node], goals: t.Mapping[str, t.Any]) -> None:
    """Add to each row the `goal` of a rollback or a reset, and to the variants what the sources hold.

    For _config/rollback.py. `goals` are the sources to return to by node name, empty for the node's own file. A
    `goal` has that `source`, the `variant` that it holds, None for the own file or with a `fault`, and that of the
    source that is `running`, if it can be read.
    """
    active = {name: node.part("active") for name, node in found.items()}
    maps = config_sources.find(session, filter(None, (*goals.values(), *active.values())))
    for name, node in found.items():
        goal = goals[name] or None
        fault = None
        if goal:
            fault = maps[nodes.describe(goal)].fault_at(node.minor)
        table["nodes"][name]["goal"] = {
            "source": goal,
            "fault": fault or "",
            "variant": _variant(table, config_sources.content(maps, goal, node.minor)),
            "running": _variant(table, config_sources.content(maps, active[name], node.minor)),
        }


def _variant(table: Json, config: Json | None) -> str | None:
    """Return the hash of a configuration, which is added to the variants."""
    if config is None:
        return None
    variant = document.variant(config)
    table["variants"].setdefault(variant, config)
    return variant


def _configmap(session: Session, given: Json) -> Json:
    source = {"namespace": given["namespace"], "name": given["name"], "kubeletConfigKey": given["kubelet_config_key"]}
    place = nodes.describe(source)
    found = config_sources.find(session, [source])[place]
    fault = found.fault_at(None)
    if fault or found.configmap is None:
        raise ClusterError(
            f"configmap: {place} has no configuration to plan with: {fault}. "
            f"List them with `kubectl get configmaps -n {source['namespace']}`"
        )
    text = found.configmap["data"][source["kubeletConfigKey"]]
    return {"configmap": document.parse(text, place)}
