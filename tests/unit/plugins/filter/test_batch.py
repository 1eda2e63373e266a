# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that turn hosts into nodes."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.filter import batch
from ansible_collections.livenodes.kubelet.plugins.plugin_utils import host_table, sealed
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import scopes, specs


def test_what_other_hosts_declare() -> None:
    """Unlike in the table, two hosts may name one node, as in an inventory of several clusters."""
    hostvars: dict[str, dict[str, Any]] = {
        "h1": {"kubelet_config": {"maxPods": 1}, "kubelet_config_host": {"maxPods": 2}},
        "h2": {},
        "h3": {"kubelet_config": "maxPods: 3", "kubelet_config_node_name": "n3"},
        "h4": {"kubelet_config": "maxPods: 3", "kubelet_config_node_name": "n3"},
        "h5": {"kubelet_config": {"maxPods": 5}, "kubelet_config_node_name": "n5"},
        "h6": {"kubelet_config": {"maxPods": 6}, "kubelet_config_node_name": "n5"},
    }
    assert batch.other_configs(list(hostvars), hostvars) == {
        "h1": {"maxPods": 1},
        "h2": {},
        "n3": "maxPods: 3",
        # Which of the two is the node is unknown, so nothing is certain to be declared for it.
        "n5": {},
    }


def test_names_as_playbooks_use_them() -> None:
    assert batch.FilterModule().filters() == {
        "node_table": batch.node_table_of_hosts,
        "other_configs": batch.other_configs,
    }


def test_the_table_of_a_task_has_no_secrets() -> None:
    """Facts and arguments are shown with -v."""
    variables = {
        "kubelet_config": {"staticPodURLHeader": {"Authorization": ["Bearer 4711"]}},
        "kubelet_config_host": "staticPodURLHeader: {Authorization: [4711]}",
        "kubelet_config_flags": ["--manifest-url-header=Authorization:4711"],
    }
    hostvars = {"h1": variables}
    context: Any = {"inventory_hostname": "h1"}
    table = batch.node_table_of_hosts(context, ["h1"], hostvars)
    assert "4711" not in str((table, batch.other_configs(["h1"], hostvars)))
    assert sealed.unseal(table).items() >= host_table.node_table(["h1"], hostvars).items()


OWN: Any = {"kubelet_config_allow_effect": "safe"}


@pytest.mark.parametrize(
    ("of_task", "first", "second", "found"),
    [
        # Neither host sets it: the default of the role, or of the module.
        ("disrupt", {}, {}, ["disrupt", "disrupt"]),
        (None, {}, {}, ["disrupt", "disrupt"]),
        # A task sees the value of the first host.
        ("safe", OWN, {}, ["safe", "disrupt"]),
        ("disrupt", {}, OWN, ["disrupt", "safe"]),
        (None, {}, OWN, ["disrupt", "safe"]),
        ("safe", OWN, {"kubelet_config_allow_effect": "reboot"}, ["safe", "reboot"]),
        # The vars of a play, of a role call or of import_playbook win over those of hosts.
        ("reboot", {}, OWN, ["reboot", "reboot"]),
        ("drain", OWN, OWN, ["drain", "drain"]),
    ],
)
def test_options_of_each_host(of_task: Any, first: dict[str, str], second: dict[str, str], found: list[str]) -> None:
    context: Any = {"inventory_hostname": "h1", **({"kubelet_config_allow_effect": of_task} if of_task else {})}
    table = batch.node_table_of_hosts(context, ["h1", "h2"], {"h1": first, "h2": second})
    assert list(table["allow_effects"].values()) == found


def test_all_options_of_each_host() -> None:
    variables: Any = {"kubelet_config_drain": "always", "kubelet_config_forecast": "warn"}
    context: Any = {"inventory_hostname": "h1"}
    table = batch.node_table_of_hosts(context, ["h1", "h2"], {"h1": {}, "h2": variables})
    assert table["drains"] == {"h1": "never", "h2": "always"}
    assert table["forecasts"] == {"h1": {"forecast": "refuse", "pods": 0}, "h2": {"forecast": "warn", "pods": 0}}


def test_their_defaults_are_those_of_the_roles() -> None:
    known = specs.known(specs.by_role())
    assert {name: known[name]["default"] for name in host_table.OF_THE_HOST} == host_table.OF_THE_HOST
    assert {*host_table.OF_THE_HOST} <= scopes.OF_THE_HOST
