# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage dump: the live configuration of many kubelets, lossless."""

from __future__ import annotations

import typing as t

from ..._config.fields import complete_config as pure_configz
from ..._config.values import document, identity
from ..api import parallel
from ..api.errors import ClusterError, NodesFailed
from ..api.session import Session
from ..objects import config_sources, configz, nodes


def dump(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Return the table `{variants, nodes}` of the chosen nodes, as a fact or (`facts` false) as `kubelet_configz`.

    Requests: those of `nodes.read`, and one GET of configz for each node. With the option `configmap`, one GET more,
    and its configuration is part of the result. Raises ClusterError if there is none, and NodesFailed, which names
    every node whose configuration cannot be read.
    """
    extra = _configmap(session, options["configmap"]) if options.get("configmap") else {}
    found = nodes.read(session, options["nodes"], options["label_selectors"] or ())
    outcomes = parallel.each(
        list(found), lambda name: configz.read(session, name, found[name].minor), session.concurrency
    )
    table: dict[str, t.Any] = {"variants": {}, "nodes": {}}
    failures: dict[str, str] = {}
    for outcome in outcomes:
        if outcome.error is not None:
            failures[outcome.item] = outcome.error.message
            continue
        live, node = outcome.value or {}, found[outcome.item]
        config = pure_configz.restore(live, node.minor)
        variant = identity.variant(config)
        table["variants"].setdefault(variant, config)
        table["nodes"][node.name] = {
            "variant": variant,
            "kubelet_version": node.kubelet_version,
            "machine_specific": pure_configz.machine_specific(config),
            "restored": pure_configz.restored(live, node.minor),
            "delivery": node.delivery,
            # What was assigned to another machine is not on the disk of this one.
            "source": None if node.reimaged else node.source,
            "status": None if node.reimaged else node.status,
            **({"own": node.own} if node.own and not node.reimaged else {}),
            **({"uid": node.uid} if node.uid else {}),
            **({"malformed": node.malformed} if node.malformed else {}),
        }
    result: dict[str, t.Any] = {"kubelet_configz": table}
    if options["facts"]:
        result = {"ansible_facts": result}
    if failures:
        raise NodesFailed("reading live kubelet configurations", failures, result)
    return {"changed": False, **result, **extra}


def _configmap(session: Session, given: dict[str, t.Any]) -> dict[str, t.Any]:
    source = {
        "namespace": given["namespace"],
        "name": given["name"],
        "kubeletConfigKey": given["kubelet_config_key"],
    }
    ((place, found),) = config_sources.find(session, [source]).items()
    fault = found.fault_at(None)
    if fault or found.configmap is None:
        raise ClusterError(
            f"configmap: {place} has no configuration to plan with: {fault}. "
            f"List them with `kubectl get configmaps -n {source['namespace']}`"
        )
    text = found.configmap["data"][source["kubeletConfigKey"]]
    return {"configmap": document.parse(text, place)}
