# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node is compared with: its source as the API has it, and what it ran just before it got a drop-in."""

from __future__ import annotations

import json
import typing as t

from ..._config import delivery as deliveries
from ..._config.drift import differing, explained
from ..._config.fields import complete_config, difftext
from ..._config.plan.layers import Declared
from ..._config.values import document, identity
from ..api import parallel
from ..api.errors import ClusterError
from ..api.session import Session
from ..objects import config_sources, configmaps, kubelets, nodes


class Expected:
    """A source as the API has it now: its full reference and its configuration."""

    def __init__(self, session: Session, source: dict[str, str]) -> None:
        self.source = source
        self.reference: dict[str, str] = {}
        self.config: dict[str, t.Any] | None = None
        self._found = config_sources.FoundConfig(None, None)
        # Most nodes of a batch have equal configurations, and comparing takes longer than reading.
        self._known: dict[tuple[str, int, str], list[tuple[str, t.Any, t.Any]]] = {}
        self.refresh(session)

    def refresh(self, session: Session) -> None:
        """Read the ConfigMap again (one GET). Raises ApiError."""
        key = self.source["kubeletConfigKey"]
        configmap = configmaps.read(session, self.source["namespace"], self.source["name"])
        self._found = config_sources.FoundConfig(configmap, config_sources.fault(configmap, key), key)
        self.reference = configmaps.reference(configmap, key) if configmap else {}
        usable = configmap is not None and not self._found.fault_at(None)
        self.config = document.parse(configmap["data"][key], key) if configmap and usable else None
        self._known = {}

    def fault(self, minor: int) -> str | None:
        """Return why a kubelet of a minor cannot load it, None if it can."""
        return self._found.fault_at(minor)

    def differences(self, live: dict[str, t.Any], minor: int, delivery: str) -> list[tuple[str, t.Any, t.Any]]:
        """Return (path, expected, live) for all that differs in the `kubeletconfig` of a /configz.

        The configuration must exist. That of a drop-in is what is declared.
        """
        alike = (json.dumps(live, sort_keys=True), minor, delivery)
        if alike not in self._known:
            compare = differing.between if deliveries.of(delivery).whole else differing.of_dropin
            self._known[alike] = compare(self.config or {}, complete_config.restore(live, minor), minor)
        return self._known[alike]


def read_before(session: Session, found: t.Iterable[nodes.Node]) -> dict[str, t.Any]:
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


def ran_before(table: t.Any, name: str) -> tuple[dict[str, t.Any], list[str]] | None:
    """Return what a node ran, and what its source had declared; None if the table does not have it.

    Raises ClusterError for a table of another form.
    """
    try:
        row = ((table or {}).get("nodes") or {}).get(name)
        return (table["variants"][row["variant"]], list(row["declared"])) if row else None
    except (AttributeError, KeyError, TypeError) as error:
        raise ClusterError(f"before is not that of an assignment ({error!r}): pass it unchanged, or omit it") from error


def changed_beside(
    table: t.Any, node: nodes.Node, declared: dict[str, t.Any], live: dict[str, t.Any], facts: t.Any
) -> list[dict[str, t.Any]] | None:
    """Return what has changed on a node beside its drop-in, None if it is not known what the node ran.

    ``live`` is the `kubeletconfig` of its /configz, ``facts`` what was found on its host (None: nothing). Each row has
    what explains the change as `cause`, empty if nothing does. Raises ClusterError as ran_before.
    """
    ran = ran_before(table, node.name) if not deliveries.of(node.delivery).whole else None
    if ran is None:
        return None
    found = differing.beside(ran[0], complete_config.restore(live), Declared([declared]), set(ran[1]), node.minor)
    causes = explained.Inspected(facts or {}).causes({path: now for path, _was, now in found}, declared, node.minor)
    return [
        {"path": path, "before": difftext.mask(path, was), "live": difftext.mask(path, now), "cause": causes[path]}
        for path, was, now in found
    ]
