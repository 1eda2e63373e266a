# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet's process through the proxy, over real connections to a server on the loopback interface."""

from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import kubelet_process
from tests.support.cluster import Clock
from tests.support.server import Answer, Server

pytestmark = pytest.mark.usefixtures("bare_environment", "clock")
METRICS = b"""# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.7952760277e+09
process_virtual_memory_bytes 1.9e+09
"""


def test_birth() -> None:
    with Server(Answer(body=METRICS)) as server:
        assert kubelet_process.birth(Session({"host": server.url}), "n1") == 1795276027.7
    assert server.seen[0].path == "/api/v1/nodes/n1/proxy/metrics"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"ok",
        METRICS.replace(b"\nprocess_start", b"\n# process_start"),
        METRICS.replace(b"_seconds 1", b"_seconds_total 1"),
    ],
)
def test_what_has_no_birth(body: bytes) -> None:
    with (
        Server(Answer(body=body)) as server,
        pytest.raises(ApiError, match="has no process_start_time_seconds; is this a kubelet"),
    ):
        kubelet_process.birth(Session({"host": server.url}), "n1")


@pytest.mark.parametrize(("body", "ok"), [(b"ok", True), (b"ok\n", True), (b"", False), (b"[-]etcd failed", False)])
def test_healthy(body: bytes, ok: bool) -> None:
    with Server(Answer(body=body)) as server:
        assert kubelet_process.healthy(Session({"host": server.url}), "n1") is ok


def test_healthz_is_not_repeated(clock: Clock) -> None:
    """It must answer several times in a row, so a failure in between counts."""
    with (
        Server(Answer(500, b"[-]syncloop failed"), Answer(body=b"ok")) as server,
        pytest.raises(ApiError, match="syncloop failed"),
    ):
        kubelet_process.healthy(Session({"host": server.url}), "n1")
    assert (len(server.seen), clock.slept) == (1, [])
