# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast import admission
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast.node_usage import Pod

CRITICAL = 2_000_000_000
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
    room = {**ROOM, "pods": Fraction(2), "cpu": Fraction(15, 4)}
    pods = [_pod("p1"), _pod("p2", 5), _pod("p3", memory=9 * 2**30), _pod("p4", 3), _pod("p5")]
    refused = admission.refused([*pods, _pod("p6", 1, priority=CRITICAL)], room)
    assert {key[1]: cause.detail for key, cause in refused.items()} == {
        "p2": "3.75 allocatable",
        "p3": "8Gi allocatable",
        "p5": "2 allocatable",
        "p4": "for default/p6",
    }


def test_a_critical_pod_preempts_the_cheapest_pods() -> None:
    others = [_pod("p1", 2, qos="Guaranteed"), _pod("p2", 2, qos="Burstable"), _pod("p3")]
    critical = _pod("p9", 1, priority=CRITICAL)
    preempted = "preempted by a critical pod that would not fit otherwise"
    assert _lost(*others, critical) == {"p2": f"{preempted} (OutOfcpu)"}
    assert _lost(*others, critical, pods=3) == {"p2": f"{preempted} (OutOfpods)"}
    assert _lost(*others, _pod("p9", priority=CRITICAL), pods=3) == {"p3": f"{preempted} (OutOfpods)"}
    assert _lost(*others, _pod("p9", 3, priority=CRITICAL)) == dict.fromkeys(("p1", "p2"), f"{preempted} (OutOfcpu)")
    assert _lost(*others, _pod("p9", 1, priority=1_999_999_999)) == {"p9": "OutOfcpu"}


def test_what_a_preempted_pod_leaves_over_is_room_for_the_next() -> None:
    assert set(_lost(_pod("p1", 2), _pod("p2", 2, 5), _pod("p3", 1, priority=CRITICAL), _pod("p4", 1))) == {"p1"}
    assert set(_lost(_pod("p1", 2), _pod("p2", 2, 5), _pod("p3", 1, priority=CRITICAL), _pod("p4", 2))) == {"p1", "p4"}


@pytest.mark.parametrize(
    ("pods", "needed", "victims"),
    [
        # One pod that is enough, then the one that requests less memory, then less cpu.
        ([(1, 0), (3, 0)], (2, 0), {"p2"}),
        ([(2, 0), (2, 5)], (1, 0), {"p1"}),
        ([(2, 5), (2, 0)], (1, 0), {"p2"}),
        ([(3, 0), (1, 0)], (1, 0), {"p2"}),
        ([(2, 0), (2, 0)], (3, 0), {"p1", "p2"}),
        # A resource counts by the part of the need that a pod covers, and a large gap for more than two small ones.
        ([("7/2", 0), (0, 7), ("1/2", 1)], (3, 2), {"p1", "p2", "p3"}),
        ([(0, 5), (3, 1), (1, 2)], (3, 4), {"p1", "p2"}),
    ],
)
def test_among_equals_the_best_fitting_pods_are_preempted(
    pods: list[tuple[Any, int]], needed: tuple[int, int], victims: set[str]
) -> None:
    """The memory in Gi."""
    held = [_pod(f"p{number}", cpu, memory * 2**30) for number, (cpu, memory) in enumerate(pods, 1)]
    assert set(_lost(*held, _pod("p9", needed[0], needed[1] * 2**30, priority=CRITICAL))) == victims


@pytest.mark.parametrize(
    ("first", "then", "lost"),
    [
        ({"priority": CRITICAL}, {"priority": CRITICAL + 1000}, "p1"),
        ({"priority": CRITICAL + 1000}, {"priority": CRITICAL}, "p2"),
        ({"priority": CRITICAL}, {"priority": CRITICAL}, "p2"),
        ({"static": True}, {"priority": CRITICAL}, "p2"),
        ({"static": True}, {"static": True, "priority": CRITICAL}, "p2"),
    ],
)
def test_a_critical_pod_gives_way_to_one_of_higher_priority(
    first: dict[str, Any], then: dict[str, Any], lost: str
) -> None:
    """As system-cluster-critical to system-node-critical. A kubelet may not know the priority of a static pod."""
    assert set(_lost(_pod("p1", 3, **first), _pod("p2", 3, **then))) == {lost}


def test_a_critical_pod_for_which_all_others_would_not_do_is_refused_alone() -> None:
    assert _lost(_pod("p1", 2), _pod("p9", 5, priority=CRITICAL)) == {"p9": "OutOfcpu"}
    critical = [_pod(f"p{number}", 2, priority=CRITICAL) for number in (1, 2, 3)]
    assert _lost(*critical) == {"p3": "OutOfcpu"}


PODS = st.lists(
    st.builds(
        lambda second, cpu, qos, static, priority: (second, cpu, qos, static, priority),
        st.integers(10, 59),
        st.integers(0, 3),
        st.sampled_from(["BestEffort", "Burstable", "Guaranteed"]),
        st.booleans(),
        st.sampled_from([0, 1000, CRITICAL]),
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
