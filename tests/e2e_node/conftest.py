# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab whose kubelets know nothing of dynamic configuration, for a test session, and the role on one of its nodes."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from tests.e2e.conftest import ansible  # noqa: F401  # pylint: disable=unused-import  # a fixture
from tests.lab.lab import Lab
from tests.support import settled
from tests.support.borrowed_lab import borrowed
from tests.support.role_bench import Role


@pytest.fixture(scope="session")
def static_lab() -> t.Iterator[Lab]:
    """A lab of two nodes whose kubelets read a file only, as modern ones do; a lab that runs is used and left as it was."""
    with borrowed(nodes=2, dynamic=False) as found:
        yield found


@pytest.fixture(scope="session")
def lab(static_lab: Lab) -> Lab:
    """What the fixture `ansible` runs against."""
    return static_lab


@pytest.fixture
def role(static_lab: Lab, tmp_path: Path) -> t.Iterator[Role]:
    """The role on a node as it was before; the other node must not notice."""
    role = Role(static_lab, tmp_path)
    before = static_lab.node("n2").invocation_id()
    try:
        yield role
        assert static_lab.node("n2").invocation_id() == before
    finally:
        role.play(None, "", tasks_from="reset")
        role.bench.wait(role.bench.healthy, 60, "healthz")


@pytest.fixture
def both(static_lab: Lab, tmp_path: Path) -> t.Iterator[Role]:
    """The role on both nodes, which are given back as they were."""
    role = Role(static_lab, tmp_path, "n1", "n2")
    for bench in role.benches.values():
        bench.bring()
    try:
        yield role
    finally:
        for bench in role.benches.values():
            settled.unwatch(bench)
            bench.close()
