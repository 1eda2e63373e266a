# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures for all tests that have a fixture `lab`."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from tests.lab.lab import Lab
from tests.support.api.proxy import Proxy


@pytest.fixture(scope="session")
def session(lab: Lab) -> Session:
    return Session({"kubeconfig": str(lab.kubeconfig)})


@pytest.fixture
def proxy(lab: Lab) -> t.Iterator[Proxy]:
    """Yield a proxy before the lab's API server that counts requests and injects faults."""
    with Proxy(str(lab.kubeconfig)) as running:
        yield running
