# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab for a test session, and a reset fleet for every test."""

from __future__ import annotations

import typing as t

import pytest

from tests.lab.lab import Lab
from tests.support.lab.dynamic_lab import fleet, lab  # noqa: F401  # pylint: disable=unused-import  # fixtures
from tests.support.lab.lab_fixtures import session  # noqa: F401  # pylint: disable=unused-import  # fixtures
from tests.support.plays.ansible import Ansible


@pytest.fixture
def ansible(lab: Lab, tmp_path: t.Any) -> Ansible:
    """Return Ansible for the lab."""
    return Ansible(tmp_path, lab.kubeconfig, lab.inventory)
