# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fleet of seven: odd ones in workers_a, even ones in workers_b, n7 in the control plane; n1 and n2 are native."""

from __future__ import annotations

import json
import typing as t
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.lab.lab import Lab
from tests.support.lab.borrowed_lab import borrowed
from tests.support.lab.control_plane import ControlPlaneNode
from tests.support.lab.fleet import Fleet
from tests.support.lab.lab_fixtures import session  # noqa: F401  # pylint: disable=unused-import  # fixtures
from tests.support.lab.pods import Pods
from tests.support.plays.ansible import Ansible

SIZE = 7
NATIVE = ("n1", "n2")


@pytest.fixture(scope="session")
def lab() -> t.Iterator[Lab]:
    """Yield a lab of seven nodes in which two kubelets have dynamic configuration."""
    with borrowed(SIZE, dynamic=False) as found:
        try:
            _set_dynamic(found, True)
            yield found
        finally:
            _set_dynamic(found, False)


def _set_dynamic(lab: Lab, dynamic: bool) -> None:
    with ThreadPoolExecutor(len(NATIVE)) as pool:
        list(pool.map(lambda name: lab.node(name).set_dynamic(dynamic), NATIVE))
    lab.wait_ready()
    if dynamic:
        Fleet(lab).wait_listening(NATIVE)


@pytest.fixture(scope="session")
def plane(lab: Lab) -> t.Iterator[ControlPlaneNode]:
    """Yield n7 as a control-plane node."""
    with ControlPlaneNode(lab, "n7") as dressed:
        yield dressed


@pytest.fixture
def ansible(lab: Lab, plane: ControlPlaneNode, tmp_path: t.Any) -> Ansible:
    """Return Ansible for the lab, with its current inventory."""
    made = Ansible(tmp_path, lab.kubeconfig, lab.inventory)
    # The configuration that one test rolls out is last-known-good in the next one.
    (made.inventory / "trial.yml").write_text(json.dumps({"all": {"vars": {"kubelet_config_trial_seconds": 1}}}))
    return made


@pytest.fixture(scope="module")
def pods(lab: Lab) -> t.Iterator[Pods]:
    """Yield pods; remove them after the tests of a file."""
    with Pods(lab) as made:
        yield made


@pytest.fixture
def fleet(lab: Lab, ansible: Ansible) -> t.Iterator[Fleet]:
    """Yield the nodes, healthy, with the configuration of earlier tests.

    Tests compare with the state before them, and restore what they damage.
    """
    found = Fleet(lab)
    yield found
    found.settle(ansible)
