# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage dump: the live configuration of many kubelets, lossless."""

from __future__ import annotations

import typing as t

from ..._config.fields import complete_config as pure_configz
from ..._config.values import identity
from ..api import parallel
from ..api.errors import NodesFailed
from ..api.session import Session
from ..objects import configz, nodes


def dump(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Return the table `{variants, nodes}` of the chosen nodes, as a fact or (`facts` false) as `kubelet_configz`.

    One LIST, and one GET of configz for each node. Raises NodesFailed, which names every node whose configuration
    cannot be read.
    """
    found = nodes.read(session, options["nodes"], options["label_selectors"] or ())
    outcomes = parallel.each(list(found), lambda name: configz.read(session, name), session.concurrency)
    table: dict[str, t.Any] = {"variants": {}, "nodes": {}}
    failures: dict[str, str] = {}
    for outcome in outcomes:
        if outcome.error is not None:
            failures[outcome.item] = outcome.error.message
            continue
        live = outcome.value or {}
        config = pure_configz.restore(live)
        variant = identity.variant(config)
        table["variants"].setdefault(variant, config)
        node = found[outcome.item]
        table["nodes"][node.name] = {
            "variant": variant,
            "kubelet_version": node.kubelet_version,
            "machine_specific": pure_configz.machine_specific(config),
            "restored": pure_configz.restored(live),
            "delivery": node.delivery,
            "source": node.source,
            "status": node.status,
        }
    result: dict[str, t.Any] = {"kubelet_configz": table}
    if options["facts"]:
        result = {"ansible_facts": result}
    if failures:
        raise NodesFailed("reading live kubelet configurations", failures, result)
    return {"changed": False, **result}
