# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab of three nodes whose kubelets follow spec.configSource, reset before and after each test."""

from __future__ import annotations

import os
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_requests
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verify
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.reference import same_place
from tests.lab.console import LabError
from tests.lab.lab import Lab
from tests.support.api.assigning import patiently
from tests.support.lab.views import eventually

FLEET = ("n1", "n2", "n3")


@pytest.fixture(scope="session")
def lab() -> t.Iterator[Lab]:
    """Yield a running lab; one that runs already is used and keeps running."""
    try:
        found: Lab | None = Lab.attach()
    except LabError:
        found = None
    if found is not None and found.is_whole() and {node.name for node in found.nodes} >= set(FLEET):
        yield found
        return
    try:
        yield Lab.up(nodes=len(FLEET))
    except LabError as error:
        if os.environ.get("LAB") == "require":
            raise
        pytest.skip(f"no lab here: {error}")
    finally:
        Lab.down()


@pytest.fixture
def fleet(lab: Lab, session: Session) -> t.Iterator[tuple[str, ...]]:
    """Yield three nodes on their local config; reset them before and after."""
    to_local(lab, session)
    yield FLEET
    to_local(lab, session)


def to_local(lab: Lab, session: Session) -> None:
    """Reset every node of the fleet to its local config and an empty status; remove the tests' ConfigMaps."""
    before = node_requests.read(session, FLEET)
    options = patiently(state="absent", nodes=list(FLEET))
    verify.config_source(session, options, False)
    # A kubelet that has not read its source yet may still fail to fetch it, and reports that until its next restart
    # (status.go of 1.20).
    halfway = {node.name for node in before.values() if not same_place(node.source, node.part("assigned"))}
    stale = {node.name for node in node_requests.read(session, FLEET).values() if node.error}
    for name in sorted(halfway | stale):
        lab.node(name).run("systemctl restart kubelet")
    if halfway | stale:
        lab.wait_ready()
        _until_clean(session, sorted(halfway | stale))
    for label in ("app.kubernetes.io/managed-by=livenodes.kubelet", "livenodes.test=yes"):
        lab.kubectl("delete", "configmap", "-n", "kube-system", "-l", label, "--ignore-not-found")


def _until_clean(session: Session, names: list[str]) -> None:
    eventually(
        lambda: not any(node.error for node in node_requests.read(session, names).values()),
        60,
        f"an empty status on {', '.join(names)}",
    )
