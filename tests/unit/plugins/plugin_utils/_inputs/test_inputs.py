# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The message names every wrong variable once, with its hosts."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import specs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.inputs import Inputs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.rendered import UNKNOWN

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


def test_unknown_names() -> None:
    assert lines({"drain_timout": 1})[1] == (
        "kubelet_config_drain_timout on n1: unknown. Did you mean kubelet_config_drain_timeout? If not, give it a name "
        "that is less like those of this collection"
    )


def test_a_misspelt_main_variable_is_wrong_on_its_hosts() -> None:
    """Otherwise a rollout would revert these hosts, since nothing is declared for them."""
    inputs = Inputs(KNOWN, KNOWN)
    assert inputs.matters("kubelet_confg") and not inputs.matters("kubeconfig")
    for host in ("n1", "n2"):
        inputs.add(host, "kubelet_confg", UNKNOWN)
    assert (
        inputs.message(3).splitlines()[1].startswith("kubelet_confg on n1, n2: unknown. Did you mean kubelet_config?")
    )


def test_names_of_others_are_shown_and_accepted() -> None:
    """A user cannot rename a variable of Kubespray."""
    inputs = Inputs(KNOWN, KNOWN)
    assert inputs.ignored() == ""
    for name in ("kubelet_config_path", "kubelet_config_extra_args"):
        assert inputs.matters(name)
        inputs.add("n1", name, {"maxPods": 5})
    assert inputs.message(1) == ""
    assert inputs.ignored() == (
        "kubelet_config_extra_args, kubelet_config_path: this collection has no such variable and ignores it. If it is "
        "one of yours, give it another prefix than kubelet_config_"
    )


def test_a_template_that_cannot_be_rendered_yet_is_not_wrong() -> None:
    inputs = Inputs(KNOWN, KNOWN)
    inputs.add("n1", "kubelet_config_drain", UNKNOWN)
    assert inputs.message(1) == ""


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
