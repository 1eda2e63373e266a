# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pods a kubelet admits: their resources, and the labels of the node."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast import admission
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast.admission import unmet
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
    # A refused pod uses no resources.
    assert _lost(_pod("p1", 5), _pod("p2", 4)) == {"p1": "OutOfcpu"}


def test_static_pods_come_first_whatever_their_age() -> None:
    assert _lost(_pod("p1"), _pod("p9", static=True), pods=1) == {"p1": "OutOfpods"}


def test_the_numbers_of_the_node() -> None:
    room = {**ROOM, "pods": Fraction(2), "cpu": Fraction(15, 4)}
    pods = [_pod("p1"), _pod("p2", 5), _pod("p3", memory=9 * 2**30), _pod("p4", 3), _pod("p5")]
    refused = admission.refused([*pods, _pod("p6", 1, priority=CRITICAL)], room)
    lacking = {"p2": "3.75 allocatable", "p3": "8Gi allocatable", "p5": "2 allocatable"}
    assert {key[1]: cause.detail for key, cause in refused.items()} == {**lacking, "p4": "for default/p6"}


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
    first = [_pod("p1", 2), _pod("p2", 2, 5), _pod("p3", 1, priority=CRITICAL)]
    assert set(_lost(*first, _pod("p4", 1))) == {"p1"}
    assert set(_lost(*first, _pod("p4", 2))) == {"p1", "p4"}


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


CLASSES, PRIORITIES = st.sampled_from(["BestEffort", "Burstable", "Guaranteed"]), st.sampled_from([0, 1000, CRITICAL])
PODS = st.lists(st.tuples(st.integers(10, 59), st.integers(0, 3), CLASSES, st.booleans(), PRIORITIES), max_size=12)


def _made(rows: list[tuple[int, int, str, bool, int]]) -> list[Pod]:
    return [
        _pod(f"p{number}", cpu, created=f"2026-01-01T00:00:{second}Z", priority=priority, static=static, qos=qos)
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


ZONE, LABELS = "topology.kubernetes.io/zone", {"topology.kubernetes.io/zone": "b", "cores": "8", "bare": ""}


def term(*expressions: Any, fields: Any = ()) -> dict[str, Any]:
    """Return a term whose requirements are given as text: key, operator and values."""
    return {
        name: [dict(zip(("key", "operator", "values"), (*one.split()[:2], one.split()[2:]))) for one in rows]
        for name, rows in (("matchExpressions", expressions), ("matchFields", fields))
        if rows
    }


def affinity(*terms: Any, **spec: Any) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"nodeName": "n1", "affinity": {"nodeAffinity": required}, **spec}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({}, ""),
        ({ZONE: "b"}, ""),
        ({"bare": ""}, ""),
        ({ZONE: "b", "cores": "8"}, ""),
        ({ZONE: "a"}, f"{ZONE}=a, the node has b"),
        ({ZONE: "b", "cores": "4"}, "cores=4, the node has 8"),
        ({"rack": "1"}, "rack=1, the node does not have it"),
        ({"rack": ""}, "rack=, the node does not have it"),
        ({"bare": "x"}, "bare=x, the node has an empty value"),
    ],
)
def test_the_node_selector(selector: dict[str, str], expected: str) -> None:
    assert unmet({"nodeSelector": selector}, LABELS) == expected


@pytest.mark.parametrize(
    "met",
    [
        *(f"{ZONE} In b", f"{ZONE} In a b", f"{ZONE} NotIn a c", f"{ZONE} Exists", "bare Exists"),
        *("rack NotIn 1", "rack DoesNotExist", "cores Gt 7", "cores Lt 9"),
    ],
)
def test_requirements_that_are_met(met: str) -> None:
    assert unmet(affinity(term(met)), LABELS) == ""


@pytest.mark.parametrize(
    ("missed", "has"),
    [
        (f"{ZONE} In a", "b"),
        ("rack In 1", None),
        (f"{ZONE} NotIn a b", "b"),
        ("rack Exists", None),
        (f"{ZONE} DoesNotExist", "b"),
        ("cores Gt 8", "8"),
        ("cores Lt 8", "8"),
        ("cores Lt 9223372036854775808", "8"),
        ("rack Lt 9", None),
        (f"{ZONE} Gt 0", "b"),
        # What the API server and the kubelet do not accept.
        ("cores In", "8"),
        ("rack NotIn", None),
        ("cores Exists 8", "8"),
        ("rack DoesNotExist 1", None),
        ("cores Gt", "8"),
        ("cores Gt 1 2", "8"),
        ("cores Gt x", "8"),
        ("cores Gt -1", "8"),
        ("cores In 8 -wrong-", "8"),
        (f"cores In 8 {64 * 'x'}", "8"),
        ("cores Near 8", "8"),
    ],
)
def test_requirements_that_are_not_met(missed: str, has: str | None) -> None:
    key, operator, *values = missed.split()
    shown = f"{key} {operator}{' [' + ', '.join(values) + ']' if values else ''}"
    assert unmet(affinity(term(missed)), LABELS) == f"{shown}, the node {f'has {has}' if has else 'does not have it'}"


def test_numbers_have_64_bits() -> None:
    """As strconv.ParseInt reads them; it also reads leading zeros."""
    most = {"cores": str(2**63 - 1)}
    assert unmet(affinity(term("cores Gt 007")), most) == ""
    assert unmet(affinity(term("cores Gt 7")), {"cores": str(2**63)})
    assert unmet(affinity(term(f"cores Lt {2**63 - 1}")), {"cores": str(2**63 - 2)}) == ""


def test_expressions_of_a_term_are_all_required_and_one_term_suffices() -> None:
    wrong, right = f"{ZONE} In a", "cores Gt 7"
    assert unmet(affinity(term(right, wrong)), LABELS) == f"{ZONE} In [a], the node has b"
    assert unmet(affinity(term(wrong), term(right)), LABELS) == ""
    assert unmet(affinity(term(right), term(wrong)), LABELS) == ""
    found = unmet(affinity(term(wrong), term("rack Exists")), LABELS)
    assert found == f"{ZONE} In [a], the node has b (none of its 2 terms matches)"


def test_selector_and_affinity_are_both_required() -> None:
    assert unmet(affinity(term("cores Exists"), nodeSelector={ZONE: "a"}), LABELS) == f"{ZONE}=a, the node has b"
    assert unmet(affinity(term("rack Exists"), nodeSelector={ZONE: "b"}), LABELS)
    assert unmet(affinity(term("cores Exists"), nodeSelector={ZONE: "b"}), LABELS) == ""


def test_an_empty_term_matches_no_node() -> None:
    assert unmet(affinity({}), LABELS) == "a term without requirements, which matches no node"
    assert unmet(affinity({}, term("cores Exists")), LABELS) == ""


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("metadata.name In n1", ""),
        ("metadata.name NotIn n2", ""),
        ("metadata.name In n2", "metadata.name In [n2], the node has n1"),
        ("metadata.name NotIn n1", "metadata.name NotIn [n1], the node has n1"),
        ("metadata.name In n1 n2", "metadata.name In [n1, n2], the node has n1"),
        ("metadata.name In", "metadata.name In, the node has n1"),
        ("metadata.name Exists", "metadata.name Exists, the node has n1"),
        ("metadata.uid In x", "metadata.uid In [x], the node does not have it"),
        ("metadata.uid NotIn x", ""),
    ],
)
def test_fields(field: str, expected: str) -> None:
    """DaemonSets place their pods with them."""
    assert unmet(affinity(term(fields=[field])), LABELS) == expected
    both = unmet(affinity(term("rack Exists", fields=[field])), LABELS)
    assert both == "rack Exists, the node does not have it"


def test_a_field_that_is_not_known_counts_as_empty() -> None:
    """As in k8s.io/apimachinery/pkg/fields Set.Get."""
    empty = {"matchFields": [{"key": "metadata.uid", "operator": "In", "values": [""]}]}
    assert unmet(affinity(empty), LABELS) == ""


def test_values_that_are_no_list_count_as_none() -> None:
    assert unmet(affinity({"matchExpressions": [{"key": "cores", "operator": "In", "values": "8"}]}), LABELS)


def test_what_is_only_preferred_does_not_matter() -> None:
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term("rack Exists")}]}
    assert unmet({"affinity": {"nodeAffinity": preferred, "podAffinity": {}}}, LABELS) == ""


@pytest.mark.parametrize("terms", [None, [], {}, "x"])
def test_an_affinity_without_terms(terms: Any) -> None:
    """The API server refuses it."""
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    assert unmet({"affinity": {"nodeAffinity": required}}, LABELS) == ""


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
PATH = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
PARTS = ("nodeSelector", "matchExpressions", "matchFields", "key", "operator", "values", "In", "Gt")
NAMES = st.sampled_from([*PATH, *PARTS])
JSON = st.recursive(
    SCALARS | NAMES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4)
)


@given(JSON, st.sampled_from([0, 1, 2, 3, 4]))
def test_nothing_that_others_wrote_raises(value: Any, depth: int) -> None:
    """At every depth of a spec."""
    for name in reversed(PATH[:depth]):
        value = {name: value}
    assert isinstance(unmet(value, LABELS), str)


WORDS = st.sampled_from(["", "a", "b", "1", "2", "10"])
KEYS = st.sampled_from(["k", "l", "m"])


@given(st.dictionaries(KEYS, WORDS), KEYS, st.lists(WORDS, min_size=1, max_size=3))
def test_operators_and_their_opposites(labels: dict[str, str], key: str, values: list[str]) -> None:
    def met(operator: str, those: list[str]) -> bool:
        return not unmet(affinity({"matchExpressions": [{"key": key, "operator": operator, "values": those}]}), labels)

    assert met("In", values) != met("NotIn", values)
    assert met("Exists", []) != met("DoesNotExist", [])
    assert met("In", values) == any(not unmet({"nodeSelector": {key: value}}, labels) for value in values)
    assert not (met("Gt", values) and met("Lt", values))
    # The labels of a node always match themselves.
    assert unmet({"nodeSelector": labels}, labels) == ""
