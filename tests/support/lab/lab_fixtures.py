# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures for all tests that have a fixture `lab`."""

from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from tests.lab.lab import Lab


@pytest.fixture(scope="session")
def session(lab: Lab) -> Session:
    return Session({"kubeconfig": str(lab.kubeconfig)})
