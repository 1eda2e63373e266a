# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a node's own values: what an annotation holds, and what of it applies."""

from __future__ import annotations

import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import own_values
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.support.api.objects import place, reference, status

A, B = reference("config-a"), reference("config-b")
RECORD: own_values.Record = {
    "complete": True,
    "source": "config-a",
    "absent": ["cgroupDriver"],
    "own": {"maxPods": [110], "clusterDNS": [None], 'evictionHard["memory.available"]': [], "cgroupDriver": ["a"]},
}
RECORDED_JSON: st.SearchStrategy[t.Any] = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*RECORD, "a", "kind", "a[0]"]), inner),
)


def test_what_is_written_is_read() -> None:
    assert own_values.read(own_values.text(RECORD)) == (RECORD, {})
    assert own_values.given(RECORD) == RECORD
    sized = {**RECORD, "capacity": {"memory": "8Gi"}}
    assert own_values.read(own_values.text(sized)) == (sized, {})
    assert (own_values.read(None), own_values.given(None)) == ((None, {}), None)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"complete": 1}, "complete is not a bool"),
        ({"own": []}, "own is not a dict"),
        ({"source": None}, "source is not a str"),
        ({"absent": [3]}, "3 is not the path of a field"),
        ({"absent": ["a..b"]}, "'a..b' is not the path of a field"),
        ({"own": {"kind": ["Pod"]}}, "'kind' is not the path of a field"),
        ({"own": {"a[0]": [1]}}, "'a[0]' is not the path of a field"),
        ({"own": {"": [1]}}, "'' is not the path of a field"),
        ({"own": {"maxPods": 5}}, "own['maxPods'] is not a list of at most one value"),
        ({"own": {"maxPods": [5, 6]}}, "own['maxPods'] is not a list of at most one value"),
        ({"own": {"maxPods": [float("nan")]}}, "it holds a value that is not JSON"),
        ({"own": {"maxPods": ["\ud800"]}}, "it holds a value that is not JSON"),
        ({"capacity": ["8Gi"]}, "capacity is not a dict of texts"),
        ({"capacity": {"memory": 8}}, "capacity is not a dict of texts"),
    ],
)
def test_what_is_malformed_is_named(change: dict[str, t.Any], fault: str) -> None:
    found, faults = own_values.read(json.dumps({**RECORD, **change}))
    assert found is None
    assert f"{annotation.OWN} is malformed: {fault}. The next assignment writes it" in faults[annotation.OWN]
    with pytest.raises(ValueError, match="not"):
        own_values.given({**RECORD, **change})


@pytest.mark.parametrize("text", ["", "{", "[" * 200_000, "[1]", "null", 5])
@pytest.mark.usefixtures("no_garbage")
def test_a_text_that_is_no_record(text: t.Any) -> None:
    found, faults = own_values.read(text)
    assert found is None and set(faults) == {annotation.OWN}
    with pytest.raises(ValueError, match="not a mapping"):
        own_values.given([text])


@given(RECORDED_JSON)
def test_whatever_an_annotation_holds_a_record_or_a_fault_is_returned(value: t.Any) -> None:
    found, faults = own_values.read(json.dumps(value))
    assert (found is None) == bool(faults)


KNOWS_NOTHING = {**own_values.NO_RECORD, "complete": False}
OUTDATED = {**RECORD, "source": "", "absent": []}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"source": None, "status": None}, own_values.NO_RECORD),
        # A record that outlives its source.
        ({"source": None, "status": status(), "own": RECORD}, own_values.NO_RECORD),
        ({"source": None, "own": RECORD, "malformed": {annotation.SOURCE: "x"}}, OUTDATED),
        ({"source": place(), "status": status(A, A), "own": RECORD}, RECORD),
        ({"source": place(), "status": status(A, A)}, KNOWS_NOTHING),
        ({"source": place(), "status": status(A, A), "own": None}, KNOWS_NOTHING),
        # What the source leaves to the kubelet counts only where the kubelet runs it.
        ({"source": place(), "status": status(A, B), "own": RECORD}, OUTDATED),
        ({"source": place(), "status": status(A, A, error="x"), "own": RECORD}, OUTDATED),
        ({"source": place("config-b"), "status": status(B, B), "own": RECORD}, OUTDATED),
        ({"source": place(), "status": None, "own": RECORD}, OUTDATED),
    ],
)
def test_the_record_that_applies(row: dict[str, t.Any], expected: own_values.Record) -> None:
    assert own_values.of_node(row) == expected


def test_a_record_that_does_not_fit_into_an_annotation_knows_nothing() -> None:
    large = {**RECORD, "own": {"clusterDNS": ["x" * own_values.LIMIT]}}
    assert own_values.read(own_values.text(large)) == (KNOWS_NOTHING, {})
