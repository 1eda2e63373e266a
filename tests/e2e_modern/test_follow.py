# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Followers beside kubelets of 1.36, which are migrated to drop-ins, and of an earlier minor with a checkpoint."""

from __future__ import annotations

import typing as t

import pytest

from tests.contract.follow_rules import (  # noqa: F401  # pylint: disable=unused-import  # tests
    Group,
    following,
    test_the_life_of_a_group_without_logins,
)
from tests.lab.lab import Lab
from tests.support.lab.views import MANAGED
from tests.support.plays.ansible import Ansible


@pytest.fixture
def dropins() -> bool:
    return True


@pytest.fixture
def group(lab: Lab, ansible: Ansible) -> t.Iterator[Group]:
    found = Group(lab, ansible, canary="n4", twin="n3", other="n1")
    ansible.host_variables(**{name: {"kubelet_config_delivery": "checkpoint"} for name in found.names})
    with following(found):
        yield found
    lab.kubectl("delete", "configmap", "-n", "kube-system", "-l", MANAGED)
