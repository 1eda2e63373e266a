# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast import admission
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast.node_usage import Pod

ROOM = {"pods": Fraction(10), "cpu": Fraction(4), "memory": Fraction(8 * 2**30)}


def _pod(name: str, cpu: str | int = 0, memory: int = 0, **fields: Any) -> Pod:
    fields.setdefault("created", f"2026-01-01T00:00:{name[-1] if name[-1].isdigit() else 0:0>2}Z")
    return Pod("default", name, requests={"cpu": Fraction(cpu), "memory": Fraction(memory)}, **fields)


def _lost(*pods: Pod, **room: int) -> dict[str, str]:
    found = admission.refused(pods, {**ROOM, **{name: Fraction(value) for name, value in room.items()}})
    return {key[1]: cause.reason.split(":")[0] for key, cause in found.items()}


def test_the_youngest_find_no_room() -> None:
    assert _lost(_pod("p3"), _pod("p1"), _pod("p2"), pods=2) == {"p3": "OutOfpods"}
    assert _lost(_pod("p1", 2), _pod("p2", 3), _pod("p3", 2)) == {"p2": "OutOfcpu"}
    assert _lost(_pod("p1", memory=5 * 2**30), _pod("p2", memory=4 * 2**30)) == {"p2": "OutOfmemory"}
    assert _lost(_pod("p1", 1, 9 * 2**30)) == {"p1": "OutOfmemory"}
    assert _lost(_pod("p1", 9, 9 * 2**30), pods=0) == {"p1": "OutOfpods"}


def test_a_refused_pod_uses_no_resources() -> None:
    assert _lost(_pod("p1", 5), _pod("p2", 4)) == {"p1": "OutOfcpu"}


def test_static_pods_come_first_whatever_their_age() -> None:
    assert _lost(_pod("p1"), _pod("p9", static=True), pods=1) == {"p1": "OutOfpods"}


def test_the_numbers_of_the_node() -> None:
    refused = admission.refused([_pod("p1", 5), _pod("p2", memory=9 * 2**30)], ROOM)
    assert [cause.detail for cause in refused.values()] == ["4 allocatable", "8Gi allocatable"]


def test_a_critical_pod_preempts_the_cheapest_pods() -> None:
    others = [_pod("p1", 2, qos="Guaranteed"), _pod("p2", 2, qos="Burstable"), _pod("p3")]
    critical = _pod("p9", 1, priority=2_000_000_000)
    preempted = "preempted by a critical pod that would not fit otherwise"
    assert _lost(*others, critical) == {"p2": f"{preempted} (OutOfcpu)"}
    assert _lost(*others, critical, pods=3) == {"p2": f"{preempted} (OutOfpods)"}
    assert _lost(*others, _pod("p9", priority=2_000_000_000), pods=3) == {"p3": f"{preempted} (OutOfpods)"}
    assert _lost(*others, _pod("p9", 3, priority=2_000_000_000)) == dict.fromkeys(
        ("p1", "p2"), f"{preempted} (OutOfcpu)"
    )
    assert _lost(*others, _pod("p9", 1, priority=1_999_999_999)) == {"p9": "OutOfcpu"}


def test_what_a_preempted_pod_leaves_over_is_room_for_the_next() -> None:
    assert set(_lost(_pod("p1", 2), _pod("p2", 2, 5), _pod("p3", 1, priority=2_000_000_000), _pod("p4", 1))) == {"p1"}


def test_among_equals_the_best_fitting_pod_is_preempted() -> None:
    assert set(_lost(_pod("p1", 1), _pod("p2", 3), _pod("p9", 2, priority=2_000_000_000))) == {"p2"}
    assert set(_lost(_pod("p1", 2), _pod("p2", 2, 5), _pod("p9", 1, priority=2_000_000_000))) == {"p1"}


def test_a_critical_pod_for_which_all_others_would_not_do_is_refused_alone() -> None:
    assert _lost(_pod("p1", 2), _pod("p9", 5, priority=2_000_000_000)) == {"p9": "OutOfcpu"}
    critical = [_pod(f"p{number}", 2, priority=2_000_000_000) for number in (1, 2, 3)]
    assert _lost(*critical) == {"p3": "OutOfcpu"}


PODS = st.lists(
    st.builds(
        lambda second, cpu, qos, static, priority: (second, cpu, qos, static, priority),
        st.integers(10, 59),
        st.integers(0, 3),
        st.sampled_from(["BestEffort", "Burstable", "Guaranteed"]),
        st.booleans(),
        st.sampled_from([0, 1000, 2_000_000_000]),
    ),
    max_size=12,
)


def _made(rows: list[tuple[int, int, str, bool, int]]) -> list[Pod]:
    return [
        Pod(
            "ns",
            f"p{number}",
            created=f"2026-01-01T00:00:{second}Z",
            priority=priority,
            static=static,
            qos=qos,
            requests={"cpu": Fraction(cpu)},
        )
        for number, (second, cpu, qos, static, priority) in enumerate(rows)
    ]


@given(PODS, st.integers(0, 12), st.integers(0, 12))
def test_what_is_admitted_fits_and_nothing_is_lost_while_resources_suffice(
    rows: list[Any], limit: int, cpu: int
) -> None:
    pods = _made(rows)
    room = {"pods": Fraction(limit), "cpu": Fraction(cpu)}
    lost = admission.refused(pods, room)
    stay = [pod for pod in pods if pod.key not in lost]
    assert len(stay) <= limit
    assert sum(pod.requests["cpu"] for pod in stay) <= cpu
    if len(pods) <= limit and sum(pod.requests["cpu"] for pod in pods) <= cpu:
        assert not lost
    # A critical pod gives way to critical ones only.
    stuck = [pod for pod in pods if pod.critical and pod.key in lost]
    if stuck:
        held = [pod for pod in pods if pod.critical and pod.key not in lost]
        assert any(len(held) + 1 > limit or sum(pod.requests["cpu"] for pod in [*held, one]) > cpu for one in stuck)


@given(PODS, st.integers(0, 12), st.integers(0, 6), st.integers(0, 12))
def test_more_pods_allowed_never_refuses_another_one(rows: list[Any], limit: int, more: int, cpu: int) -> None:
    pods = [pod for pod in _made(rows) if not pod.critical]
    before, after = (
        admission.refused(pods, {"pods": Fraction(most), "cpu": Fraction(cpu)}) for most in (limit, limit + more)
    )
    assert set(after) <= set(before)
