# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that turn hosts into nodes, and plans into config sources."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.livenodes.kubelet.plugins.filter import batch
from tests.support.objects import place


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
            "assign_failure": "unreachable",
        },
        "elsewhere": {"kubelet_config_node_name": "n2"},
    }
    table = batch.node_table(["h1", "h2", "h3"], hostvars)
    assert table == {
        "hosts": {"h1": "h1", "n2": "h2", "h3": "h3"},
        "configs": {"h1": [{"maxPods": 1}, "maxPods: 2"], "n2": [{"maxPods": 3}]},
        "group_configs": {"h1": {"maxPods": 1}, "n2": {}, "h3": {}},
        "flags": {"h1": ["--v=2"]},
        "deliveries": {"h3": "native"},
        "failures": {"h3": "unreachable"},
    }
    assert list(table["hosts"]) == ["h1", "n2", "h3"]


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
        match=r"hosts a and b both name the node (n1|b): set a different kubelet_config_node_name for each",
    ):
        batch.node_table(["a", "b"], hostvars)


def test_plan_sources() -> None:
    plan = {
        "nodes": {
            "changes": {"source": place("a"), "action": "assign", "changes": [{}]},
            "renamed": {"source": place("b"), "action": "assign", "changes": []},
            "failed before": {"source": place("c"), "action": "none", "changes": [{}]},
            "unchanged": {"source": place("d"), "action": "none", "changes": []},
        }
    }
    table = {
        "hosts": dict.fromkeys(plan["nodes"], "host"),
        "deliveries": {"renamed": "native"},
        "failures": {"changes": "unreachable"},
    }
    a, b, c = (
        {**place(name), "delivery": delivery} for name, delivery in (("a", "auto"), ("b", "native"), ("c", "auto"))
    )
    assert batch.plan_sources(plan, "assign", table) == {"changes": a, "renamed": b}
    assert batch.plan_sources(plan, "verify", table) == {"renamed": b, "failed before": c}
    assert batch.plan_sources(plan, "verify", {**table, "failures": {}}) == {
        "changes": a,
        "renamed": b,
        "failed before": c,
    }
    assert batch.plan_sources(plan, "assign") == {"changes": a, "renamed": {**b, "delivery": "auto"}}
    plan["nodes"]["renamed"]["node_uid"] = "u1"
    assert batch.plan_sources(plan, "verify", table)["renamed"] == {**b, "node_uid": "u1"}
    del plan["nodes"]["renamed"]["node_uid"]
    assert batch.plan_sources(plan, "assign", {**table, "hosts": {"renamed": "host"}}) == {"renamed": b}
    with pytest.raises(AnsibleFilterError, match="the purpose is assign or verify, not 'push'"):
        batch.plan_sources(plan, "push", table)


def row(delivery: str, **more: Any) -> dict[str, Any]:
    return {
        "delivery": delivery,
        "listening": True,
        "source": place(),
        "config_source": None,
        "settled": True,
        "reason": "",
        **more,
    }


ROWS = {
    "native": row("native", config_source=place()),
    "local": row("native", source=None),
    "modern": row("none", listening=False, source=None),
    "moved": row("checkpoint"),
    "half moved": row("checkpoint", config_source=place()),
    "not confirmed": row("checkpoint", reason="on trial"),
    "not confirmed, runtime away": row("checkpoint", reason="on trial; the container runtime is away: /run/c.sock"),
    "reverted": row("checkpoint", settled=False),
    "moved, flag removed": row("checkpoint", listening=False),
    "unfinished reset": row("checkpoint", source=None),
}


def test_moving_sources() -> None:
    assert list(batch.moving_sources(ROWS, "checkpoint")) == [
        "native",
        "half moved",
        "not confirmed",
        "not confirmed, runtime away",
        "reverted",
    ]
    assert list(batch.moving_sources(ROWS, "native")) == [
        "moved",
        "half moved",
        "not confirmed",
        "not confirmed, runtime away",
        "reverted",
        "moved, flag removed",
    ]
    assert batch.moving_sources(ROWS, "native")["moved"] == place()
    with pytest.raises(AnsibleFilterError, match="the delivery is checkpoint or native, not 'auto'"):
        batch.moving_sources(ROWS, "auto")


def test_names_as_playbooks_use_them() -> None:
    assert batch.FilterModule().filters() == {
        "node_table": batch.node_table_of_hosts,
        "plan_sources": batch.plan_sources,
        "moving_sources": batch.moving_sources,
        "other_configs": batch.other_configs,
    }
