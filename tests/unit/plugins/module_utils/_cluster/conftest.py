# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment and the clock of these tests."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import (
    client_configuration,
    errors,
    session,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import kubelets, lease, node_requests
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import (
    drain,
    drain_steps,
    gate,
    pause,
    revert,
    settle,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import soak, verify, watch
from tests.sim.api.direct import Clock, Direct

OF_ROLLOUTS = (drain, drain_steps, gate, pause, revert, settle)
WAITING = (client_configuration, kubelets, lease, node_requests, *OF_ROLLOUTS, soak, verify, watch)


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment without the settings of this machine: no proxy, no kubeconfig, no home."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("K8S_AUTH_", "KUBE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Simulated time for whatever waits: between two tries of a request, for kubelets, pods and Leases."""
    clock = Clock()
    monkeypatch.setattr(session, "persist", functools.partial(errors.persist, sleep=clock.sleep, clock=clock.monotonic))
    monkeypatch.setattr(Direct, "server_time", lambda _cluster: clock.time())
    for waiting in WAITING:
        monkeypatch.setattr(waiting, "time", clock)
    return clock
