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


@pytest.mark.parametrize(
    ("more", "relisted"),
    [
        (b"", None),
        # Kubelets 1.20.2 and 1.13.
        (b"kubelet_pleg_relist_interval_seconds_sum 407.70496115200007\n", 407.70496115200007),
        (b"kubelet_pleg_relist_interval_microseconds_sum 4.077e+08\n", 407.7),
        (b"kubelet_pleg_relist_interval_seconds_count 407\n", None),
        (b"kubelet_pleg_relist_interval_seconds_sum many\n", None),
    ],
)
def test_a_process(more: bytes, relisted: float | None) -> None:
    with Server(Answer(body=METRICS + more)) as server:
        found = kubelet_process.look(Session({"host": server.url}), "n1")
    assert (found.started, found.relisted) == (1795276027.7, relisted) and found.asked <= found.answered
    assert server.seen[0].path == "/api/v1/nodes/n1/proxy/metrics"


# By how much the start moved between two looks, how long the process had relisted at each, and the seconds between.
# Each look takes a second.
LOOKS: dict[str, tuple[float, float | None, float | None, float, bool | None]] = {
    "the same": (0, 100, 130, 30, False),
    "slewed": (2, 100, 130, 30, False),
    "jump": (3600, 100, 130, 30, False),
    "jump back": (-3600, 100, 130, 30, False),
    "jump and slow relists": (3600, 100, 104, 30, False),
    "jump of a young one": (3600, 5, 35, 30, False),
    "jump of one that has just begun": (3600, 0, 29, 30, None),
    "jump while its machine was paused": (10, 100, 120, 30, False),
    "just begun": (0, 0, 29, 30, False),
    "restart": (110, 100, 20, 30, True),
    "restart, and a jump that hides it": (0, 100, 20, 30, True),
    "restart of a young one": (15, 4, 20, 30, True),
    "restart of a young one, and a jump": (3600, 4, 20, 30, True),
    "restart of a young one, and a jump that hides it": (0, 4, 20, 30, None),
    "restart before the first relist": (10, 0, 0, 30, True),
    "restart that took a long time": (400, 100, 20, 400, True),
    "no relists known": (0, None, None, 30, False),
    "no relists known, and its start moved": (20, None, 10, 30, None),
    "relists unknown since": (20, 100, None, 30, None),
    "as old as the time since": (3600, 4, 32, 30, None),
    "older than the time since": (3600, 4, 32.1, 30, False),
    "younger by as much as it may be behind": (3600, 1, 29, 30, None),
    "younger by more": (3600, 1, 28.9, 30, True),
}


@pytest.mark.parametrize(("moved", "before", "now", "between", "restarted"), LOOKS.values(), ids=LOOKS)
def test_restarted(
    moved: float, before: float | None, now: float | None, between: float, restarted: bool | None
) -> None:
    first = kubelet_process.Process(1e9, before, 500.0, 501.0)
    second = kubelet_process.Process(1e9 + moved, now, 501.0 + between, 502.0 + between)
    assert kubelet_process.restarted(first, second) is restarted


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"ok",
        METRICS.replace(b"\nprocess_start", b"\n# process_start"),
        METRICS.replace(b"_seconds 1", b"_seconds_total 1"),
    ],
)
def test_what_has_no_start(body: bytes) -> None:
    with (
        Server(Answer(body=body)) as server,
        pytest.raises(ApiError, match="has no process_start_time_seconds; is this a kubelet"),
    ):
        kubelet_process.look(Session({"host": server.url}), "n1")


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
