# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Node must have for its pods, as k8s.io/component-helpers/scheduling/corev1/nodeaffinity decides it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast.admission import unmet

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
        f"{ZONE} In b",
        f"{ZONE} In a b",
        f"{ZONE} NotIn a c",
        "rack NotIn 1",
        f"{ZONE} Exists",
        "bare Exists",
        "rack DoesNotExist",
        "cores Gt 7",
        "cores Lt 9",
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
    assert unmet(affinity(term(wrong), term("rack Exists")), LABELS) == (
        f"{ZONE} In [a], the node has b (none of its 2 terms matches)"
    )


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
NAMES = st.sampled_from(
    [
        *("nodeSelector", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"),
        *("nodeSelectorTerms", "matchExpressions", "matchFields", "key", "operator", "values", "In", "Gt"),
    ]
)
JSON = st.recursive(
    SCALARS | NAMES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4)
)


@given(JSON, st.sampled_from([0, 1, 2, 3, 4]))
def test_nothing_that_others_wrote_raises(value: Any, depth: int) -> None:
    """At every depth of a spec."""
    path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")[:depth]
    for name in reversed(path):
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
