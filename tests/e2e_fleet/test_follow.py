# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Followers beside kubelets of 1.20 without dynamic configuration: they read checkpoints."""

from __future__ import annotations

import typing as t

import pytest

from tests.contract.follow_rules import (  # noqa: F401  # pylint: disable=unused-import  # tests
    Group,
    following,
    test_the_life_of_a_group_without_logins,
)
from tests.lab.lab import Lab
from tests.support.lab.fleet import Fleet
from tests.support.plays.ansible import Ansible


@pytest.fixture
def dropins() -> bool:
    return False


@pytest.fixture
def group(lab: Lab, fleet: Fleet, ansible: Ansible) -> t.Iterator[Group]:
    found = Group(lab, ansible, canary="n5", twin="n6", other="n3")
    # Earlier tests leave their configuration.
    found.play("reset", kubelet_config_serial=3)
    with following(found):
        yield found
