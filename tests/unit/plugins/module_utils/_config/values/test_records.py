# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Node records: what is of the right shape is returned unchanged, everything else is named."""

from __future__ import annotations

import json
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, node_row
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.forms import LATER
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.node_row import Row
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_annotation
from tests.support.api import objects
from tests.support.api.objects import place, reference


def test_the_names_that_clusters_keep_do_not_change() -> None:
    names = (annotation.SOURCE, annotation.STATUS, annotation.PREVIOUS, annotation.OWN, annotation.CORDONED)
    parts = ("source", "status", "previous", "own", "cordoned")
    assert names == tuple(f"kubelet-config.livenodes.io/{part}" for part in parts)


def test_equal_states_are_equal_texts() -> None:
    one, other = {"time": "t", "active": {"name": "\u00e9"}}, {"active": {"name": "\u00e9"}, "time": "t"}
    assert annotation.text(one) == annotation.text(other) == '{"active":{"name":"\u00e9"},"time":"t"}'


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (annotation.ON_TRIAL, True),
        (f"{annotation.ON_TRIAL}; the container runtime is away: /run/c.sock does not exist", True),
        (annotation.CONFIRMED, False),
        (f"{annotation.CONFIRMED}; the container runtime is away: /run/c.sock does not exist", False),
        ("passed its trial", False),
        ("", False),
        (None, False),
    ],
)
def test_a_trial_that_waits_for_its_runtime_is_still_unconfirmed(reason: str | None, expected: bool) -> None:
    assert annotation.unconfirmed(reason) == expected


A, B = reference("config-a"), reference("config-b")
HELD = {"configMap": A}
TIME = "2026-01-01T00:00:00Z"
NOTHING = annotation.NodeRecords(None, None, None, None, None, None, {}, {})
JSON: st.SearchStrategy[t.Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*annotation.PARTS, "error", "a"]), inner),
)


def read(key: str, value: t.Any) -> annotation.NodeRecords:
    return annotation.records({key: value if isinstance(value, str) else json.dumps(value)}, None, None)


def test_a_node_without_records() -> None:
    assert annotation.records({}, None, None) == NOTHING


def test_everything_that_we_and_kubelets_write_is_returned_unchanged() -> None:
    reported = status_annotation.status(A, B, None, "it ended: \u00e9", annotation.ON_TRIAL, 0.0)
    reported["started"] = status_annotation.stamp(1e9)
    mark = {"holder": "me", "time": TIME}
    machine = {"machineID": "1f", "nodeUID": "u"}
    notes = {
        annotation.SOURCE: annotation.text({**HELD, "delivery": "dropin", "seed": True, **machine}),
        annotation.STATUS: annotation.text(reported),
        annotation.PREVIOUS: annotation.text({"configMap": B}),
        annotation.CORDONED: annotation.text(mark),
        "other": "{",
    }
    config = {"assigned": HELD, "active": HELD, "error": "failed to sync: x"}
    assert annotation.records(notes, {"configMap": place()}, config) == (
        place(),
        config,
        A,
        reported,
        {"configMap": B},
        mark,
        machine,
        {},
        "dropin",
        True,
    )


def test_local_configs() -> None:
    """A kubelet omits the parts that are local; spec.configSource may have another form."""
    assert annotation.records({annotation.PREVIOUS: "{}"}, {"other": {"name": "a"}}, {}) == NOTHING._replace(
        config={}, previous={}
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it is not JSON"),
        ("{", "it is not JSON"),
        ("[" * 200_000, "it is not JSON"),
        ("1" * 5000, "it is"),
        ("[1]", "it is a list, not a mapping"),
        ('"\\ud800"', "it is '\\ud800', not a mapping"),
        ("null", "it is None, not a mapping"),
    ],
)
@pytest.mark.parametrize("key", [annotation.SOURCE, annotation.STATUS, annotation.PREVIOUS, annotation.CORDONED])
@pytest.mark.usefixtures("no_garbage")
def test_a_text_that_is_no_mapping(key: str, text: str, fault: str) -> None:
    found = read(key, text)
    assert found.source is None and found.previous is None and not found.status and not found.cordoned
    (message,) = found.malformed.values()
    assert message.startswith(f"its annotation {key} is malformed: {fault}")
    assert f". Remove it with `kubectl annotate node NAME {key}-`, " in message


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({}, "it has no configMap"),
        ({"configMap": None}, "it has no configMap"),
        ({"configMap": "a"}, "configMap is 'a', not a mapping"),
        ({"configMap": {}}, "configMap has no namespace"),
        ({"configMap": {**A, "name": 3}}, "configMap.name is 3, not the name of a ConfigMap"),
        ({"configMap": {**A, "name": "../a"}}, "configMap.name is '../a', not the name of a ConfigMap"),
        ({"configMap": {**A, "namespace": "a.b"}}, "configMap.namespace is 'a.b', not the name of a namespace"),
        ({"configMap": {**A, "namespace": "a\n"}}, "configMap.namespace is 'a\\n', not the name of a namespace"),
        ({"configMap": {**A, "kubeletConfigKey": "."}}, "configMap.kubeletConfigKey is '.', not a key of a ConfigMap"),
        ({"configMap": {**A, "kubeletConfigKey": "..a"}}, "configMap.kubeletConfigKey is '..a', not a key"),
        ({"configMap": {**A, "uid": None}}, "configMap.uid is None, not a uid"),
        ({"configMap": {**A, "resourceVersion": 7}}, "configMap.resourceVersion is 7, not a resourceVersion"),
        ({"configMap": {**A, "name": "A" * 99}}, f"configMap.name is '{'A' * 36}..., not the name of a ConfigMap"),
    ],
)
def test_a_malformed_source(value: t.Any, fault: str) -> None:
    found = read(annotation.SOURCE, value)
    assert found.source is None
    assert fault in found.malformed[annotation.SOURCE]


def test_unknown_fields_of_a_source_are_dropped() -> None:
    assert read(annotation.SOURCE, {"configMap": {**A, "more": []}, "other": 1}) == NOTHING._replace(source=A)
    assert read(annotation.SOURCE, {"configMap": {**A, "kubeletConfigKey": ".a"}}).malformed == {}


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("active", "a", "active is 'a', not a mapping"),
        ("active", {"configMap": {**A, "name": []}}, "active.configMap.name is a list, not the name of a ConfigMap"),
        ("error", 3, "error is 3, not a text"),
        ("error", "\ud800", "error is '\\ud800', not a text"),
        ("reason", {}, "reason is a mapping, not a text"),
        ("started", 1767225600, "started is 1767225600, not a time"),
        ("started", "zzz", "started is 'zzz', not a time"),
        ("started", "2026-1-01T00:00:00Z", "started is '2026-1-01T00:00:00Z', not a time"),
        ("time", "2026-99-01T00:00:00Z", "time is '2026-99-01T00:00:00Z', not a time"),
    ],
)
def test_a_malformed_field_of_a_status_is_dropped_alone(field: str, value: t.Any, fault: str) -> None:
    good: dict[str, t.Any] = {"assigned": HELD, "active": HELD, "error": "e", "reason": "r", "started": TIME}
    kept = {key: item for key, item in good.items() if key != field}
    found = read(annotation.STATUS, {**good, field: value})
    assert (found.status, list(found.malformed)) == (kept, [annotation.STATUS])
    assert fault in found.malformed[annotation.STATUS]
    native = annotation.records({}, None, {**good, field: value})
    assert native.config == kept
    assert f"its status.config is malformed: {fault}" in native.malformed[annotation.CONFIG]


def test_a_malformed_mark_marks_a_cordon() -> None:
    found = read(annotation.CORDONED, {"holder": ["a"], "time": TIME})
    assert found.cordoned == {"time": TIME}
    assert "holder is a list, not a text" in found.malformed[annotation.CORDONED]


def test_a_malformed_status() -> None:
    assert annotation.status(None) == (None, "")
    assert annotation.status([1]) == ({}, "it is a list, not a mapping")


@pytest.mark.parametrize(
    ("here", "another"),
    [
        ({}, False),
        ({"machineID": "1f"}, False),
        ({"machineID": "2f"}, True),
        ({"machineID": "1f", "nodeUID": "v"}, True),
    ],
)
def test_another_machine_or_node(here: dict[str, str], another: bool) -> None:
    assert annotation.is_another({"machineID": "1f", "nodeUID": "u"}, here) is another
    # What was assigned to none in particular.
    assert not annotation.is_another({}, here)


def test_a_malformed_spec() -> None:
    found = annotation.records({}, {"configMap": []}, None)
    why = "its spec.configSource is malformed: configMap is a list, not a mapping. Assign a source again"
    assert found.malformed == {"spec.configSource": why}


@given(JSON)
def test_a_status_read_twice_is_the_same(value: t.Any) -> None:
    once, fault = annotation.status(value)
    assert annotation.status(once) == (once, "")
    assert fault or value is None or once == {key: item for key, item in value.items() if key in once}


@pytest.mark.parametrize(
    ("noted", "found", "fault"),
    [
        ({"rollout": "20260101T000000Z-0a1b2c3d"}, {"rollout": "20260101T000000Z-0a1b2c3d"}, ""),
        ({"configMap": B, "undone": True, "more": 1}, {"configMap": B, "undone": True}, ""),
        ({"rollout": "", "undone": False}, {}, ""),
        ({"rollout": "x"}, None, "rollout is 'x', not the name of a rollout"),
        ({"rollout": ["x"]}, None, "rollout is a list, not the name of a rollout"),
        ({"undone": 1}, None, "undone is 1, not true or false"),
    ],
)
def test_the_rollout_before_which_a_node_ran_it(noted: dict[str, t.Any], found: t.Any, fault: str) -> None:
    records = annotation.records({annotation.PREVIOUS: annotation.text(noted)}, None, None)
    assert records.previous == found
    assert fault in "".join(records.malformed.values()) and bool(records.malformed) == bool(fault)


def test_a_revision_counts_only_in_the_status() -> None:
    assert LATER.as_reported(objects.reference()) == objects.reference()
    assert LATER.same(objects.place(), {**objects.place(), "uid": "u1"})
    assert not LATER.same(objects.place(), None)


def test_a_kubelet_that_reports_can_run_each_key() -> None:
    assert LATER.unfit(True, "other", "v1.20.2") is None
    assert "reports no status.config (a new kubelet" in (LATER.unfit(False, "kubelet", "v1.20.2") or "")


def test_an_error_without_its_cause() -> None:
    error = "failed to sync: failed to download config, see Kubelet log for details"
    assert not LATER.is_sync_error(error) and not LATER.is_explained(error)
    assert LATER.meaning_of_error(error) == ""


def test_a_row_has_all_keys_and_those_of_its_stage() -> None:
    usual = {"ok": True, "state": "active", "message": "", "changed": False, "delivery": "none"}
    assert Row(True, "active").shown(differences=[]) == {**usual, "source": None, "error": "", "differences": []}


@pytest.mark.parametrize(
    ("rows", "stops"),
    [
        ([], False),
        ([Row(True, "drained")], False),
        ([Row(False, node_row.GONE), Row(False, node_row.REPLACED), Row(True, "drained")], False),
        ([Row(False, "not_drained"), Row(True, "drained")], True),
        ([Row(False, "not_drained"), Row(False, node_row.GONE)], True),
    ],
)
def test_what_ends_a_batch(rows: list[Row], stops: bool) -> None:
    assert node_row.stops({str(index): row.shown() for index, row in enumerate(rows)}) is stops


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\nlines\tand umlauts: äöü", "two\nlines\tand umlauts: äöü"),
        ("\x1b[2J\x1b[31mred\x1b[0m", " red "),
        ("\x1b]0;title\x07bell\x9b1m", " ]0;title bell 1m"),
        ("a\rb\x00c\x7f", "a b c "),
    ],
)
def test_what_a_terminal_would_obey_is_removed(text: str, shown: str) -> None:
    """Also from an error, and from the rows of a result."""
    assert node_row.printable(text) == shown == ClusterError(text).message
    row = node_row.Row(False, "failed", text, error=text).shown()
    assert (row["message"], row["error"]) == (shown, shown)


@pytest.mark.parametrize(
    ("count", "noun", "shown"),
    [
        (1, "node", "1 node (n0)"),
        (5, "pod", "5 pods (n0, n1, n2, n3, n4)"),
        (7, "node", "7 nodes (n0, n1, n2, n3, n4 and 2 more)"),
    ],
)
def test_nodes_in_words(count: int, noun: str, shown: str) -> None:
    assert node_row.shown_nodes([f"n{number}" for number in range(count)], noun) == shown


@pytest.mark.parametrize(("most", "shown"), [(3, "a; b; c"), (2, "a; b; and 1 more"), (1, "a; and 2 more")])
def test_the_first_words_and_how_many_more(most: int, shown: str) -> None:
    assert node_row.first_of(["a", "b", "c"], most, "; ", "; and ") == shown


def test_failures_by_node() -> None:
    rows = {"n1": {"ok": True, "message": "a"}, "n2": {"ok": False, "message": "b"}}
    assert node_row.failures(rows) == {"n2": "b"}
