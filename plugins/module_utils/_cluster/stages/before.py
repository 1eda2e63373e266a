# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubelets run just before they get a drop-in, so that the proof shows what has changed beside it."""

from __future__ import annotations

import typing as t

from ..._config import delivery as deliveries
from ..._config.drift import differing, explained
from ..._config.fields import complete_config, difftext
from ..._config.plan.layers import Declared
from ..._config.values import identity
from ..api import parallel
from ..api.errors import ClusterError
from ..api.session import Session
from ..objects import kubelets, nodes


def read(session: Session, found: t.Iterable[nodes.Node]) -> dict[str, t.Any]:
    """Return the live configurations as a table `{variants, nodes}` (one GET of configz for each node).

    A row has the `variant` and the paths that the source of the node has `declared` so far: these may revert. A node
    whose configuration cannot be read has no row.
    """
    known = {node.name: node for node in found}
    table: dict[str, t.Any] = {"variants": {}, "nodes": {}}
    for outcome in parallel.each(list(known), lambda name: kubelets.configz(session, name), session.concurrency):
        if outcome.value is None:
            continue
        config = complete_config.restore(outcome.value)
        variant = identity.variant(config)
        table["variants"].setdefault(variant, config)
        own = (known[outcome.item].own or {}).get("own") or {}
        table["nodes"][outcome.item] = {"variant": variant, "declared": sorted(own)}
    return table


def of_node(table: t.Any, name: str) -> tuple[dict[str, t.Any], list[str]] | None:
    """Return what a node ran, and what its source had declared; None if the table does not have it.

    Raises ClusterError for a table of another form.
    """
    try:
        row = ((table or {}).get("nodes") or {}).get(name)
        return (table["variants"][row["variant"]], list(row["declared"])) if row else None
    except (AttributeError, KeyError, TypeError) as error:
        raise ClusterError(f"before is not that of an assignment ({error!r}): pass it unchanged, or omit it") from error


def beside(
    table: t.Any, node: nodes.Node, declared: dict[str, t.Any], live: dict[str, t.Any], facts: t.Any
) -> list[dict[str, t.Any]] | None:
    """Return what has changed on a node beside its drop-in, None if it is not known what the node ran.

    ``live`` is the `kubeletconfig` of its /configz, ``facts`` what was found on its host (None: nothing). Each row has
    what explains the change as `cause`, empty if nothing does. Raises ClusterError as of_node.
    """
    ran = of_node(table, node.name) if not deliveries.of(node.delivery).whole else None
    if ran is None:
        return None
    found = differing.beside(ran[0], complete_config.restore(live), Declared([declared]), set(ran[1]), node.minor)
    causes = explained.Inspected(facts or {}).causes({path: now for path, _was, now in found}, declared, node.minor)
    return [
        {"path": path, "before": difftext.mask(path, was), "live": difftext.mask(path, now), "cause": causes[path]}
        for path, was, now in found
    ]
