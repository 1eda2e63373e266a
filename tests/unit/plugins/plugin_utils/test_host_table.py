# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of many hosts as columns by node name."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.livenodes.kubelet.plugins.plugin_utils import host_table


def test_node_table() -> None:
    """Hosts keep their order; a column contains only the hosts that set its variable."""
    hostvars = {
        "h1": {
            "kubelet_config": {"maxPods": 1},
            "kubelet_config_host": "maxPods: 2",
            "kubelet_config_flags": ["--v=2"],
        },
        "h2": {"kubelet_config_node_name": "n2", "kubelet_config_host": {"maxPods": 3}},
        "h3": {
            "kubelet_config": {},
            "kubelet_config_flags": [],
            "kubelet_config_delivery": "native",
        },
        "elsewhere": {"kubelet_config_node_name": "n2"},
    }
    table = host_table.node_table(["h1", "h2", "h3"], hostvars)
    assert table == {
        "hosts": {"h1": "h1", "n2": "h2", "h3": "h3"},
        "configs": {
            "h1": {"kubelet_config": {"maxPods": 1}, "kubelet_config_host": "maxPods: 2"},
            "n2": {"kubelet_config_host": {"maxPods": 3}},
        },
        "group_configs": {"h1": {"maxPods": 1}, "n2": {}, "h3": {}},
        "flags": {"h1": ["--v=2"]},
        "deliveries": {"h3": "native"},
    }
    assert list(table["hosts"]) == ["h1", "n2", "h3"]


@pytest.mark.parametrize(
    "hostvars",
    [
        {"a": {"kubelet_config_node_name": "n1"}, "b": {"kubelet_config_node_name": "n1"}},
        {"a": {"kubelet_config_node_name": "b"}, "b": {}},
    ],
)
def test_two_hosts_for_one_node(hostvars: dict[str, dict[str, str]]) -> None:
    with pytest.raises(
        AnsibleFilterError,
        match=r"hosts a, b name the same node (n1|b)\. Nothing was changed. Set a different kubelet_config_node_name",
    ):
        host_table.node_table(["a", "b"], hostvars)


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"kubelet_config": {}, "kubelet_config_flags": []}, "kubelet_config, kubelet_config_flags"),
        ({"kubelet_config_node_name": "n1", "kubelet_config_wait_timeout": 5}, ""),
    ],
)
def test_variables_that_only_the_task_has(variables: dict[str, Any], names: str) -> None:
    message = host_table.unseen({"inventory_hostname": "h1", **variables}, {"h1": {"kubelet_config_node_name": "n1"}})
    assert message.partition(" is set in the vars of a play")[0] == names, message
