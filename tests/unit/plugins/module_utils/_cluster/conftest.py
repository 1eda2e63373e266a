# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests of a session share."""

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
from tests.sim.api.direct import Clock


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment without the settings of this machine: no proxy, no kubeconfig, no home."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("K8S_AUTH_", "KUBE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Simulated time between two tries."""
    clock = Clock()
    monkeypatch.setattr(session, "persist", functools.partial(errors.persist, sleep=clock.sleep, clock=clock.monotonic))
    monkeypatch.setattr(client_configuration, "time", clock)
    return clock
