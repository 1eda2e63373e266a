# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A call of the gate before a batch, with the options that most tests have."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import gate
from tests.sim.api.direct import Direct
from tests.support.api.objects import node

GROUP = [f"n{number}" for number in range(10)]
Node = dict[str, t.Any]

LEASE = {"name": "mine", "namespace": "kube-system", "uid": "u", "holder": "me", "group": "batch", "duration": 60}
OPTIONS: dict[str, t.Any] = {
    "uids": {},
    "max_unavailable": "1",
    "allow_unready": False,
    "reverted": [],
    "pause_configmap": "livenodes-kubelet-rollout",
    "namespace": "kube-system",
    "pause": False,
    "started": False,
    "timeout": 0,
    "lease": None,
    "pods": False,
    "allow_pod_loss": "0",
    "drained": [],
    "window": None,
}


def look(
    session: t.Any, group: list[str], batch: t.Iterable[str], check: bool = False, **options: t.Any
) -> dict[str, t.Any]:
    """Ask whether a batch of a group may begin; return the result. `session`: a Session or what stands in for one."""
    return gate.gate(session, {**OPTIONS, "nodes": list(batch), "group_nodes": group, **options}, check)


def group(**others: Node) -> Direct:
    """Ten nodes that are Ready, but for those given, and the Lease LEASE."""
    api = Direct(*(others.get(name) or node(name) for name in GROUP))
    api.leases["mine"] = {"metadata": {"name": "mine", "uid": "u"}, "spec": {"holderIdentity": "me"}}
    return api


def run(api: Direct, *batch: str, check: bool = False, **options: t.Any) -> dict[str, t.Any]:
    """Ask for a batch of the ten nodes."""
    return look(api, GROUP, batch, check, **options)


def refused(api: Direct, *batch: str, **options: t.Any) -> ClusterError:
    """Return the error of a batch that may not begin."""
    with pytest.raises(ClusterError) as caught:
        run(api, *batch, **options)
    return caught.value
