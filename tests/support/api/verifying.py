# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Verifications on a cluster in memory, for the tests of what they report."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import timestamps
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import config_sources
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verify
from tests.sim.api.direct import EPOCH, Clock, Direct
from tests.support.api.objects import Reference, configmap, live, node, place, reference, status, text

PODS = {"maxPods": 50}
LIVE = live(**PODS)
A = reference("config-a")
WAIT_SLEEP = 2


def waiting(name: str = "n1", **fields: t.Any) -> dict[str, t.Any]:
    """Return a node that was just assigned config-a."""
    return node(name, place(), **{"config": status(), **fields})


def done(name: str = "n1") -> dict[str, t.Any]:
    """Return a node that runs config-a."""
    return node(name, place(), status(A, A))


def cluster(*nodes: dict[str, t.Any], content: str | None = None) -> Direct:
    """Return nodes on whose kubelets the content of config-a is live."""
    return Direct(
        *nodes,
        configmaps=[configmap("config-a", text(**PODS) if content is None else content)],
        live={item["metadata"]["name"]: LIVE for item in nodes},
    )


def turn(api: Direct, *nodes: dict[str, t.Any]) -> t.Callable[[], None]:
    """Return a function that replaces Node objects."""
    return lambda: api.nodes.update({item["metadata"]["name"]: item for item in nodes})


def noticed(clock: Clock, second: float) -> bool:
    """Return whether the wait ended soon after `second`: within a tenth of the wait, and at most wait_sleep."""
    late = clock.now - 1000 - second
    return 0 <= late <= min(WAIT_SLEEP, max(0.1, second / 10))


def run(api: Direct, wanted: dict[str, Reference | None] | None = None, **options: t.Any) -> dict[str, t.Any]:
    """Verify within a minute, unless the options set another time."""
    given = {name: config_sources.Wanted(source) for name, source in wanted.items()} if wanted is not None else None
    return verify.verify(
        api, {"nodes": None, "delivery": "auto", "wait_timeout": 60, "wait_sleep": WAIT_SLEEP, **options}, given
    )


def fail(api: Direct, wanted: dict[str, Reference | None] | None = None, **options: t.Any) -> NodesFailed:
    """Run a verification that must fail; return its failure, which must list the failed rows."""
    with pytest.raises(NodesFailed) as caught:
        run(api, wanted, **options)
    assert caught.value.message.startswith(f"verifying: {len(caught.value.failures)} node")
    assert caught.value.failures == {
        name: row["message"] for name, row in caught.value.result["nodes"].items() if not row["ok"]
    }
    return caught.value


def heartbeat(age: float) -> str:
    """Return the time of a heartbeat that is so many seconds old at the start, a negative one of a later one."""
    return timestamps.text(EPOCH - age)
