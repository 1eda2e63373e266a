# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what kubelets run, and compares it with security profiles. Nothing is ever written."""

from __future__ import annotations

import datetime
import typing as t

from ..._config.plan import host_facts
from ..._config.profile import profiles, verdicts
from ..._config.values import document
from ..api.errors import ClusterError
from ..api.session import Session
from ..objects import node_requests, nodes
from ..stages import drift
from . import evidence


def check(session: Session, options: dict[str, t.Any], _check_mode: bool) -> dict[str, t.Any]:
    """Return the verdict on each item of the profiles of every node, a summary, text and JUnit.

    Requests: those of `node_requests.read`, and one GET of configz for each node. Raises ClusterError for unusable
    options, and if the cluster cannot be read. What cannot be read of one node is not checked.
    """
    chosen, exceptions = _read(options["profiles"], options["exceptions"] or {})
    found = node_requests.read(session, list(chosen))
    live, unread = drift.live_configs(session, found, {})
    hosts = {**drift.reported(found), **(options["hosts"] or {})}
    now = datetime.datetime.now(datetime.timezone.utc)
    rows = {}
    for name, node in found.items():
        facts = _facts(node, live.get(name), unread.get(name), hosts.get(name))
        items = verdicts.of_node(facts, chosen[name], exceptions.get(name, {}), now.date())
        rows[name] = {"kubelet_version": node.kubelet_version, "rows": items}
    at = now.isoformat(timespec="seconds").replace("+00:00", "Z")
    return {
        "changed": False,
        "nodes": rows,
        "summary": {"checked": at, **evidence.summary(rows)},
        "text": evidence.lines(rows),
        "junit": evidence.junit(rows, at),
    }


def _read(
    given: t.Mapping[str, t.Any], excepted: t.Mapping[str, t.Any]
) -> tuple[dict[str, list[str]], dict[str, dict[str, dict[str, str]]]]:
    """Return the profiles and the exceptions by node, of the nodes that have profiles. Raises ClusterError."""
    try:
        chosen = {
            name: profiles.named(value, f"kubelet_config_profile of node {name}") for name, value in given.items()
        }
        exceptions = {
            name: verdicts.exceptions_of(value, chosen.get(name, ()), f"kubelet_config_exceptions of node {name}")
            for name, value in excepted.items()
        }
    except (document.DocumentError, verdicts.ExceptionError) as error:
        raise ClusterError(f"{error}. Nothing was checked") from error
    chosen = {name: names for name, names in chosen.items() if names}
    if not chosen:
        known = " or ".join(profiles.PROFILES)
        raise ClusterError(
            f"no node has a profile, so there is nothing to check. Set kubelet_config_profile to {known}"
        )
    return chosen, exceptions


def _facts(node: nodes.Node, live: t.Any, unread: str | None, host: t.Any) -> verdicts.Facts:
    why = "Ansible did not log in to the node"
    if isinstance(host, dict) and not host.get("skipped"):
        wrong = host_facts.of_preflight(host)
        if host.get("kubelet") is not None and not wrong:
            return verdicts.Facts(node.minor, live, unread or "", host)
        why = f"the node was not inspected: {host.get('msg') or f'what it returned is malformed at {wrong}'}"
    return verdicts.Facts(node.minor, live, unread or "", None, why)
