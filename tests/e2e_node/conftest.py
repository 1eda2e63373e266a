# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab whose kubelets run without dynamic configuration, for a test session, and the role on one of its nodes.

The lab has the Kubernetes that LIVENODES_LAB_KUBERNETES names, by default 1.20.
"""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from tests.e2e.conftest import ansible  # noqa: F401  # pylint: disable=unused-import  # a fixture
from tests.lab import releases
from tests.lab.lab import Lab
from tests.support.lab.borrowed_lab import borrowed
from tests.support.lab_node.node_bench import Bench
from tests.support.lab_node.preflight_node import DROPINS, PLACE, UNIT, Node, archive
from tests.support.lab_node.role_bench import Role

TEST_DROPIN = "/etc/systemd/system/kubelet.service.d/95-test.conf"


@pytest.fixture(scope="session")
def static_lab() -> t.Iterator[Lab]:
    """Yield a lab of two nodes whose kubelets only read a file, like modern ones; restore a lab that runs already."""
    with borrowed(nodes=2, dynamic=False, kubernetes=releases.asked()) as found:
        yield found


@pytest.fixture(autouse=True)
def only_fitting_minors(request: pytest.FixtureRequest, static_lab: Lab) -> None:
    """Skip a test that is marked for other minors than the lab's, with the reason of its mark."""
    mark = request.node.get_closest_marker("minors")
    minor = static_lab.node("n1").release.minor
    if mark and not mark.kwargs.get("first", 0) <= minor <= mark.kwargs.get("last", minor):
        pytest.skip(f"not for 1.{minor}: {mark.kwargs['reason']}")


@pytest.fixture(scope="session")
def lab(static_lab: Lab) -> Lab:
    """Return the lab for the fixture `ansible`."""
    return static_lab


@pytest.fixture
def role(static_lab: Lab, tmp_path: Path) -> t.Iterator[Role]:
    """Yield the role on a restored node; check that the other node does not change."""
    role = Role(static_lab, tmp_path)
    before = static_lab.node("n2").invocation_id()
    try:
        yield role
        assert static_lab.node("n2").invocation_id() == before
    finally:
        role.play(None, "", tasks_from="reset")
        role.bench.wait(role.bench.healthy, 60, "healthz")


@pytest.fixture
def bench(static_lab: Lab) -> t.Iterator[Bench]:
    """Yield node n1 with the guard; remove its drop-in afterwards, and check that n2 does not change."""
    bystander = static_lab.node("n2")
    before = bystander.invocation_id()
    bench = Bench(static_lab, "n1")
    bench.open()
    try:
        yield bench
        assert bystander.invocation_id() == before
    finally:
        bench.node.run(f"rm -f {TEST_DROPIN}; systemctl daemon-reload", check=False)
        bench.close()


@pytest.fixture
def both(static_lab: Lab, tmp_path: Path) -> t.Iterator[Role]:
    """Yield the role on both nodes; restore them afterwards."""
    role = Role(static_lab, tmp_path, "n1", "n2")
    for bench in role.benches.values():
        bench.bring()
        # The test before may have restarted its kubelet, and a rollout waits a minute at most for a Node to be Ready.
        bench.wait(bench.ready, 120, "Node that is Ready", every=1)
    try:
        yield role
    finally:
        for bench in role.benches.values():
            bench.close()


@pytest.fixture(scope="module")
def tree() -> str:
    """Return the node code as an archive."""
    return archive()


@pytest.fixture
def nodes(lab: Lab, tree: str) -> t.Iterator[dict[str, Node]]:
    """Yield two nodes with the node code; remove it afterwards."""
    found = {name: Node(lab, lab.node(name)) for name in ("n1", "n2")}
    for node in found.values():
        node.lab_node.run(f"mkdir -p {PLACE} && base64 -d | tar -xz -C {PLACE}", stdin=tree)
    yield found
    for node in found.values():
        node.run(
            f"rm -rf {PLACE} /run/systemd/system/{UNIT} {DROPINS}/zzz-livenodes-kubelet.conf; systemctl daemon-reload"
        )
