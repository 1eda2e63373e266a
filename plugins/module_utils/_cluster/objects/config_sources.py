# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The config sources that nodes are to have, and the ConfigMaps they name, each read once however many nodes have it."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._config.values import document
from ..api import parallel
from ..api.errors import ClusterError
from ..api.session import Session
from . import configmaps, nodes

Source = t.Optional[t.Dict[str, str]]
ABSENT = "there is no such ConfigMap"
# Argument spec of the modules that take a source for nodes.
SELECTION: dict[str, dict[str, t.Any]] = {
    "nodes": {"type": "list", "elements": "str"},
    "source": {
        "type": "dict",
        "options": {
            "namespace": {"type": "str", "default": "kube-system"},
            "name": {"type": "str", "required": True},
            "kubelet_config_key": {
                "type": "str",
                "default": "kubelet",
                "aliases": ["kubeletConfigKey"],
                "no_log": False,
            },
        },
    },
    "sources": {"type": "dict"},
    "delivery": {"type": "str", "choices": list(nodes.DELIVERIES), "default": nodes.AUTO},
}


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What one node is to have: a source (None: its local config), delivered so (`auto`: by what the node is)."""

    source: Source
    delivery: str = nodes.AUTO


@dataclasses.dataclass(frozen=True)
class Found:
    """A source's ConfigMap (None: there is none) and what makes it useless to every kubelet (None: nothing does)."""

    configmap: dict[str, t.Any] | None
    fault: str | None


def wanted(options: dict[str, t.Any]) -> dict[str, Wanted]:
    """Return what each node of a module's options is to have.

    Raises ClusterError when a source is incomplete, or names a delivery that is none.
    """
    if options["nodes"] is not None and not options["nodes"]:
        raise ClusterError("nodes is an empty list: name at least one node")
    delivery = options["delivery"]
    if options["state"] == "absent":
        return dict.fromkeys(options["nodes"] or options["sources"] or {}, Wanted(None, delivery))
    given = (
        options["sources"]
        if options["sources"] is not None
        else dict.fromkeys(options["nodes"] or [], options["source"])
    )
    return {name: _complete(name, source, delivery) for name, source in given.items()}


def _complete(name: str, source: t.Any, delivery: str) -> Wanted:
    if not isinstance(source, dict) or not source.get("namespace") or not source.get("name"):
        raise ClusterError(
            f"sources: node {name} needs a mapping with namespace, name and kubeletConfigKey, not {source!r}"
        )
    key = source.get("kubeletConfigKey") or source.get("kubelet_config_key") or "kubelet"
    own = source.get("delivery") or delivery
    if own not in nodes.DELIVERIES:
        raise ClusterError(f"sources: node {name} wants the delivery {own!r}; there are {', '.join(nodes.DELIVERIES)}")
    return Wanted({"namespace": source["namespace"], "name": source["name"], "kubeletConfigKey": key}, own)


def find(session: Session, wanted_ones: t.Iterable[dict[str, str]]) -> dict[str, Found]:
    """Read every distinct source's ConfigMap (one GET each); by the name that `nodes.describe` gives a source.

    One that cannot be read has that as its fault.
    """
    distinct = {nodes.describe(source): source for source in wanted_ones}
    outcomes = parallel.each(
        list(distinct.items()),
        lambda item: configmaps.read(session, item[1]["namespace"], item[1]["name"]),
        session.concurrency,
    )
    return {
        outcome.item[0]: Found(
            outcome.value,
            f"the ConfigMap could not be read: {outcome.error.message}"
            if outcome.error
            else fault(outcome.value, outcome.item[1]["kubeletConfigKey"]),
        )
        for outcome in outcomes
    }


def fault(configmap: dict[str, t.Any] | None, key: str) -> str | None:
    """Return what makes a ConfigMap's content under a key unusable: absent, binary, or no KubeletConfiguration."""
    if configmap is None:
        return f"{ABSENT}; push it first"
    data = configmap.get("data") or {}
    if key not in data:
        if key in (configmap.get("binaryData") or {}):
            return f"the key {key} holds binary data, which kubelets ignore; its file is not UTF-8 text"
        return f"it has no key {key} (it has: {', '.join(sorted(data)) or 'none'})"
    try:
        document.parse(data[key], f"key {key}", complete=True)
    except document.DocumentError as error:
        return str(error)
    return None
