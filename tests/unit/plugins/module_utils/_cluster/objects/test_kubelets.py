# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubelets answer through the API server."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import kubelets
from tests.support.api.calls import NODES, Call, Calls

PROXIED = f"{NODES}/n1/proxy"
PATH = f"{PROXIED}/configz"
METRICS = b"""# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.7952760277e+09
process_virtual_memory_bytes 1.9e+09
"""


def deep(levels: int) -> t.Any:
    """A value that is nested so deeply."""
    return {"a": deep(levels - 1)} if levels else 1


FORBIDDEN = "reading /configz was refused (words); grant the verb get on nodes/proxy"
NO_CONFIGZ = "its kubelet serves no /configz (words); it needs enableServer and enableDebuggingHandlers"


def test_read() -> None:
    with Calls(Call("GET", PATH, {"kubeletconfig": {"maxPods": 110}})) as session:
        assert kubelets.configz(session, "n1") == {"maxPods": 110}
    assert session.budgets == [kubelets.PATIENCE]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ApiError(403, "words", "Forbidden"), FORBIDDEN),
        (ApiError(404, "words"), NO_CONFIGZ),
        (ApiError(503, "words", transient=True), "its kubelet does not answer the API server (words); see `systemctl"),
        (ApiError(0, "no usable answer", transient=True), "no usable answer"),
        (ApiError(401, "words"), "words"),
    ],
)
def test_refusals(error: ApiError, text: str) -> None:
    with Calls(Call("GET", PATH, error)) as session, pytest.raises(ApiError) as caught:
        kubelets.configz(session, "n1")
    found = caught.value
    assert found.message.startswith(text)
    assert (found.status, found.reason, found.transient) == (error.status, error.reason, error.transient)


NAN, INFINITE = {"maxPods": float("nan")}, {"maxPods": float("inf")}
# They have no place in a ConfigMap, in a hash or in a message.
MALFORMED = [{"kubeletconfig": one} for one in (NAN, INFINITE, {"address": "\ud800"}, {"\ud800": 1}, {"a": deep(200)})]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        *((one, "has no kubeletconfig") for one in ({}, {"kubeletconfig": None}, [], "text", None, {"other": {}})),
        *((one, r"its /configz is malformed \(.+\)") for one in MALFORMED),
    ],
)
def test_answers_that_are_no_configz(answer: t.Any, words: str) -> None:
    """One such node must not end the dump of all."""
    with Calls(Call("GET", PATH, answer)) as session, pytest.raises(ApiError, match=words) as caught:
        kubelets.configz(session, "n1")
    assert "; is this a kubelet" in caught.value.message and not caught.value.transient


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
    with Calls(Call("GET", f"{PROXIED}/metrics", METRICS + more)) as session:
        found = kubelets.process(session, "n1")
    assert (found.started, found.relisted) == (1795276027.7, relisted) and found.asked <= found.answered


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
    first = kubelets.Process(1e9, before, 500.0, 501.0)
    second = kubelets.Process(1e9 + moved, now, 501.0 + between, 502.0 + between)
    assert kubelets.restarted(first, second) is restarted


COMMENTED = METRICS.replace(b"\nprocess_start", b"\n# process_start")


@pytest.mark.parametrize("body", [b"", b"ok", COMMENTED, METRICS.replace(b"_seconds 1", b"_seconds_total 1")])
def test_what_has_no_start(body: bytes) -> None:
    words = "has no process_start_time_seconds; is this a kubelet"
    with Calls(Call("GET", f"{PROXIED}/metrics", body)) as session, pytest.raises(ApiError, match=words):
        kubelets.process(session, "n1")


@pytest.mark.parametrize(("body", "ok"), [(b"ok", True), (b"ok\n", True), (b"", False), (b"[-]etcd failed", False)])
def test_healthy(body: bytes, ok: bool) -> None:
    """It must answer several times in a row, so a failure in between counts and is not repeated."""
    path = f"{PROXIED}/healthz"
    with Calls(Call("GET", path, body), Call("GET", path, ApiError(500, "failed", transient=True))) as session:
        assert kubelets.healthy(session, "n1") is ok
        with pytest.raises(ApiError, match="failed"):
            kubelets.healthy(session, "n1")
    assert session.budgets == [0, 0]
