# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes before an upgrade, as the module `kubelet_upgrade_info` returns them."""

from __future__ import annotations

import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import node_facts, upgrade
from tests.support.api.objects import HEADER

ENV = "/var/lib/kubelet/kubeadm-flags.env"
OWN = "/var/lib/kubelet/config.yaml"
CHECKPOINT = "/var/lib/kubelet-config/store/checkpoints/uid/7/kubelet"
SOCKET = "--container-runtime-endpoint=unix:///run/containerd/containerd.sock"


def answer(minor: int) -> dict[str, t.Any]:
    """Return what a target's binary of this minor answers when it accepts everything."""
    return {
        "binary": "/opt/kubelet",
        "version": f"v1.{minor}.0",
        "verdict": "valid",
        "messages": [],
        "refused_flags": [],
        "unknown_fields": [],
    }


def result(version: str, *flags: str, config: t.Mapping[str, t.Any] | None = None, **facts: t.Any) -> dict[str, t.Any]:
    """Return the facts of a node of kubeadm on cgroup v2 with containerd 2.

    `facts`: `dropins` (content by path), `own` (the node's own file; `config` is then a checkpoint), `target` (the
    binary's answer), `dynamic`, and any key of the module's result.
    """
    own = facts.pop("own", None)
    return {
        "kubelet": {"version": version, "dynamic_config_dir": facts.pop("dynamic", None)},
        "host": {"container_runtime": {"name": facts.pop("runtime", "containerd"), "endpoint": None}},
        "disk": {
            "path": OWN if own is None else CHECKPOINT,
            "content": {**HEADER, **(config or {})},
            "unreadable": None,
            "checkpoint": None if own is None else {"uid": "uid", "resourceVersion": "7", "damage": None},
            "dropins": {path: {**HEADER, **inner} for path, inner in facts.pop("dropins", {}).items()},
        },
        "words": [
            {"text": "/usr/bin/kubelet", "file": "/usr/lib/systemd/system/kubelet.service", "line": 9},
            {"text": f"--config={OWN}", "file": "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf", "line": 4},
            *({"text": flag, "file": ENV, "line": 1} for flag in flags),
        ],
        "own": None if own is None else {"path": OWN, "content": {**HEADER, **own}, "unreadable": None},
        "cgroup_version": 2,
        "runtime_version": "2.0.5",
        "target": None,
        **facts,
    }


def facts_of(version: str, *flags: str, **facts: t.Any) -> node_facts.UpgradeFacts:
    return node_facts.read(result(version, *flags, **facts))


def found(target: int, given: t.Mapping[str, t.Any], *severities: str) -> list[tuple[str, str, str]]:
    """Return severity, kind and name of the findings, of all severities or some."""
    rows = upgrade.row(given, target)["findings"]
    return [
        (row["severity"], row["kind"], row["name"]) for row in rows if not severities or row["severity"] in severities
    ]
