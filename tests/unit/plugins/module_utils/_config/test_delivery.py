# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The three deliveries, and the kubelets of another form than the usual."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import delivery, minors
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.minors import FIRST_WITH_FILE
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.document import API_VERSION
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.forms import LATER, TABLES


@pytest.mark.parametrize(
    ("requested", "current", "minor", "has_source", "chosen"),
    [
        ("auto", "native", 20, False, "native"),
        # Until it is migrated.
        ("auto", "checkpoint", 36, True, "checkpoint"),
        ("auto", "dropin", 30, True, "dropin"),
        ("auto", "none", 0, False, "checkpoint"),
        # The first minors have no config file.
        ("auto", "none", 1, False, "native"),
        ("auto", "none", FIRST_WITH_FILE - 1, False, "native"),
        ("auto", "none", FIRST_WITH_FILE, False, "checkpoint"),
        ("checkpoint", "none", 36, False, "checkpoint"),
        ("native", "checkpoint", 20, True, "native"),
    ],
)
def test_which_delivery_a_node_gets(requested: str, current: str, minor: int, has_source: bool, chosen: str) -> None:
    assert delivery.chosen(requested, current, minor, has_source) == chosen


@pytest.mark.parametrize("current", ["none", "checkpoint", "dropin"])
@pytest.mark.parametrize(("minor", "chosen"), [(31, "checkpoint"), (32, "dropin"), (36, "dropin")])
def test_auto_chooses_drop_ins_from_its_minor_on(current: str, minor: int, chosen: str) -> None:
    assert delivery.chosen("auto", current, minor, False) == chosen


@pytest.mark.parametrize(
    ("name", "minor", "too_new"),
    [
        ("dropin", 29, True),
        ("dropin", 30, False),
        ("dropin", 0, False),
        ("checkpoint", FIRST_WITH_FILE - 1, True),
        ("checkpoint", FIRST_WITH_FILE, False),
        ("native", FIRST_WITH_FILE - 1, False),
        ("none", FIRST_WITH_FILE - 1, False),
    ],
)
def test_which_kubelets_are_too_old_for_a_delivery(name: str, minor: int, too_new: bool) -> None:
    assert delivery.of(name).too_new_for(minor) is too_new


def test_the_delivery_that_an_annotation_notes() -> None:
    noted = {name: delivery.noted(name) for name in ("checkpoint", "dropin", "native", None)}
    assert noted == {"checkpoint": "checkpoint", "dropin": "dropin", "native": "checkpoint", None: "checkpoint"}


@pytest.mark.parametrize("name", [None, "none", "auto", "noSuchDelivery"])
def test_a_node_without_a_delivery_is_looked_at_as_one_with_native_delivery(name: str | None) -> None:
    found = delivery.of(name)
    assert (found.on_node, found.source_at, found.status_at) == (False, "spec.configSource", "status.config")


@pytest.mark.parametrize(
    ("name", "minor", "needs"),
    [("native", 23, False), ("checkpoint", 23, False), ("checkpoint", 24, True), ("dropin", 30, True)],
)
def test_which_plans_read_the_own_file_of_a_node(name: str, minor: int, needs: bool) -> None:
    assert delivery.of(name).needs_file(minor) is needs


@pytest.mark.parametrize(
    ("requested", "row", "minor", "chosen"),
    [
        (None, {}, 31, "checkpoint"),
        ("auto", {"delivery": "native"}, 20, "native"),
        (None, {"delivery": "checkpoint", "source": None}, 33, "dropin"),
        (None, {"delivery": "checkpoint", "source": {"name": "a"}}, 33, "checkpoint"),
        ("checkpoint", {"delivery": "native"}, 20, "checkpoint"),
    ],
)
def test_the_delivery_of_a_row(requested: str | None, row: dict[str, t.Any], minor: int, chosen: str) -> None:
    assert delivery.of_row(requested, row, minor).name == chosen


def test_requested_deliveries_are_checked() -> None:
    assert delivery.checked(None) == {} and delivery.checked({"n1": "auto", "n2": "dropin"})["n2"] == "dropin"
    with pytest.raises(ValueError, match="node n2 has the unknown delivery 'dorpin'"):
        delivery.checked({"n1": "auto", "n2": "dorpin"})


@pytest.mark.parametrize("minor", [0, 7, 11, 12, 20, 23, 36])
def test_others_have_the_usual_forms(minor: int) -> None:
    assert minors.source_form(minor) is LATER
    assert minors.fields_of(minor) is TABLES
    assert minors.api_versions(minor) == (API_VERSION,)
    # A message names the first one.
    assert minors.api_versions(None)[0] == API_VERSION


def test_native_delivery_begins_with_the_first_form() -> None:
    native = delivery.of(delivery.NATIVE).minors
    assert (min(native), max(native)) == (minors.FIRST_NATIVE, 23)
    assert minors.source_form(min(native) - 1) is LATER
