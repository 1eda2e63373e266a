# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The message names every wrong variable once, with its hosts."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import specs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.inputs import Inputs

KNOWN = specs.known(specs.by_role())
FIRST = "Nothing was changed. Correct the inventory or the -e options, then run again:"


def lines(*hosts: dict[str, t.Any]) -> list[str]:
    """Return the message about hosts n1, n2, ... with these variables."""
    inputs = Inputs(KNOWN, KNOWN)
    for number, variables in enumerate(hosts, 1):
        for name, value in variables.items():
            if inputs.matters(f"kubelet_config_{name}"):
                inputs.add(f"n{number}", f"kubelet_config_{name}", value)
    return inputs.message(len(hosts)).splitlines()


def test_right_variables_have_no_message() -> None:
    assert lines({"drain": "always", "flags": ["--v=2"], "host": {"maxPods": {}}}, {"pause": "no"}) == []


@pytest.mark.parametrize(
    ("hosts", "named"),
    [
        ([{"drain": "x"}], "on n1"),
        ([{"drain": "x"}] * 2, "on all hosts"),
        ([{"drain": "x"}, {}], "on n1"),
        ([*[{"drain": "x"}] * 3, {}], "on n1, n2, n3"),
        ([*[{"drain": "x"}] * 5, {}], "on n1, n2, n3 and 2 more hosts"),
    ],
)
def test_hosts_are_named(hosts: list[dict[str, t.Any]], named: str) -> None:
    assert lines(*hosts) == [
        f"1 variable is wrong. {FIRST}",
        f'kubelet_config_drain is "x" {named}: use never, when_needed or always',
    ]


def test_each_value_has_a_line() -> None:
    assert lines({"drain": "x", "pause": [1]}, {"drain": "y", "pause": [1]}) == [
        f"3 variables are wrong. {FIRST}",
        'kubelet_config_drain is "x" on n1: use never, when_needed or always',
        'kubelet_config_drain is "y" on n2: use never, when_needed or always',
        "kubelet_config_pause is [1] on all hosts: use true or false",
    ]


def test_one_and_true_are_different_values() -> None:
    assert lines({"wait_timeout": 1}, {"wait_timeout": True})[1:] == [
        "kubelet_config_wait_timeout is true on n2: use a whole number, 0 or more"
    ]


def test_a_boolean_instead_of_a_word_is_explained() -> None:
    assert lines({"drain": False})[1] == (
        "kubelet_config_drain is false on n1: use never, when_needed or always. "
        "YAML reads a bare no, off, yes or on as a boolean: use quotes"
    )


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("max_unavailble", "Did you mean kubelet_config_max_unavailable?"),
        ("drain_timout", "Did you mean kubelet_config_drain_timeout?"),
        ("soak", "Did you mean kubelet_config_soak_seconds?"),
        ("qqq", "Rename it"),
    ],
)
def test_unknown_names(name: str, near: str) -> None:
    assert lines({name: 1})[1] == (
        f"kubelet_config_{name} on n1: unknown, and the prefix kubelet_config_ is reserved. {near}"
    )


def test_names_that_only_begin_alike_belong_to_others() -> None:
    """kubelet_configz is a fact of a module."""
    inputs = Inputs(KNOWN, KNOWN)
    assert [
        name for name in ("kubelet_configz", "kubelet_conf", "kubelet", "kubelet_config_x") if inputs.matters(name)
    ] == ["kubelet_config_x"]


def test_variables_of_another_playbook_are_not_checked() -> None:
    inputs = Inputs(KNOWN, {"kubelet_config_drain"})
    assert inputs.matters("kubelet_config_drain") and not inputs.matters("kubelet_config_pause")


def test_secrets_and_long_values_are_not_shown() -> None:
    found = lines({"auth": "hunter2", "plan": ["hunter2"], "drain": "x" * 100, "pause": {"token": "hunter2"}})
    assert "hunter2" not in str(found)
    assert max(map(len, found)) <= 120
    assert found[1] == "kubelet_config_auth is a text on n1: use a mapping"


def test_the_defaults_of_the_roles_are_known() -> None:
    inputs = Inputs(KNOWN, KNOWN)
    assert inputs.is_default("kubelet_config_drain", "never")
    assert not inputs.is_default("kubelet_config_drain", "always")
    assert not inputs.is_default("kubelet_config_delivery", None)
    assert not inputs.is_default("kubelet_config_x", "never")
