# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.livenodes.kubelet.plugins.filter import node
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import push
from ansible_collections.livenodes.kubelet.plugins.plugin_utils import host_table, sealed
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import specs


def test_what_other_hosts_declare() -> None:
    """Unlike in the table, two hosts may name one node, as in an inventory of several clusters."""
    hostvars: dict[str, dict[str, Any]] = {
        "h1": {"kubelet_config": {"maxPods": 1}, "kubelet_config_host": {"maxPods": 2}},
        "h2": {},
        "h3": {"kubelet_config": "maxPods: 3", "kubelet_config_node_name": "n3"},
        "h4": {"kubelet_config": "maxPods: 3", "kubelet_config_node_name": "n3"},
        "h5": {"kubelet_config": {"maxPods": 5}, "kubelet_config_node_name": "5"},
        # As YAML reads it without quotes.
        "h6": {"kubelet_config": {"maxPods": 6}, "kubelet_config_node_name": 5},
        "h7": {"kubelet_config_profile": "cis-1.12"},
    }
    assert node.other_configs(list(hostvars), hostvars) == {
        "h1": {"maxPods": 1},
        "h2": {},
        "n3": "maxPods: 3",
        # Which of the two is the node is unknown, so nothing is certain to be declared for it.
        "5": {},
        "h7": {"kubelet_config_profile": "cis-1.12", "kubelet_config": {}},
    }


@pytest.mark.parametrize(("in_worker", "reads", "kept"), [(True, 2, 2), (False, 3, 0)])
def test_a_task_reads_the_hosts_of_a_table_once(
    monkeypatch: pytest.MonkeyPatch, in_worker: bool, reads: int, kept: int
) -> None:
    """In the main process variables change, and workers inherit what it keeps. Another option is another table."""
    built: list[t.Any] = []
    monkeypatch.setattr(host_table, "node_table", lambda *given: built.append(given) or {})
    tables: dict[t.Any, t.Any] = {}
    monkeypatch.setattr(node, "_TABLES", tables)
    monkeypatch.setattr("multiprocessing.parent_process", lambda: in_worker or None)
    for drain in ("never", "never", "always"):
        context: Any = {"inventory_hostname": "h1", "kubelet_config_drain": drain}
        node.node_table_of_hosts(context, ["h1"], {"h1": {}})
    assert (len(built), len(tables)) == (reads, kept)


def test_names_as_playbooks_use_them() -> None:
    assert set(node.FilterModule().filters()) == {
        *("node_table", "other_configs", "reserved", "found_by", "unsealed"),
        *("whole_run", "node_message", "config_text", "switch_failure", "reset_failure", "revert_failure"),
    }


def test_the_table_of_a_task_has_no_secrets() -> None:
    """Facts and arguments are shown with -v."""
    variables = {
        "kubelet_config": {"staticPodURLHeader": {"Authorization": ["Bearer 4711"]}},
        "kubelet_config_host": "staticPodURLHeader: {Authorization: [4711]}",
        "kubelet_config_flags": ["--manifest-url-header=Authorization:4711"],
    }
    hostvars = {"h1": variables, "h2": {**variables, "kubelet_config_profile": "cis-1.12"}}
    context: Any = {"inventory_hostname": "h1"}
    table = node.node_table_of_hosts(context, list(hostvars), hostvars)
    assert "4711" not in str((table, node.other_configs(list(hostvars), hostvars)))
    assert sealed.unseal(table).items() >= host_table.node_table(list(hostvars), hostvars).items()


SIZED = "{{ kubelet_capacity | livenodes.kubelet.reserved('gke') }}"


@pytest.mark.parametrize(
    ("variables", "unsized"),
    [
        ({"kubelet_config": {"kubeReserved": SIZED}}, True),
        ({"kubelet_config_host": f"kubeReserved: {SIZED}"}, True),
        ({"kubelet_config": "{{ of_pool }}", "of_pool": {"kubeReserved": "{{ by_size }}"}, "by_size": SIZED}, True),
        ({"kubelet_config": {"kubeReserved": SIZED}, "kubelet_capacity": {"cpu": 4}}, False),
        ({"kubelet_config": {"maxPods": "{{ pods }}"}, "pods": 50, "by_size": SIZED}, False),
        ({"kubelet_config": {"maxPods": 50}}, False),
        ({}, False),
    ],
)
def test_which_hosts_need_their_capacity(variables: dict[str, Any], unsized: bool) -> None:
    """What they declare is not read: its templates would fail."""
    context: Any = {"inventory_hostname": "h1"}
    hostvars = {"h1": {**variables, "kubelet_config_node_name": "n1"}}
    table = node.node_table_of_hosts(context, ["h1"], hostvars, configs=False)
    assert table["unsized"] == ({"n1": "h1"} if unsized else {})
    assert {"configs", "group_configs"}.isdisjoint(table)


def test_a_wrong_table_of_sizes_is_an_error_of_ansible() -> None:
    assert node.reserved({"cpu": 2, "pods": 29}, "eks")["memory"] == "574Mi"
    with pytest.raises(AnsibleFilterError, match=r"^livenodes\.kubelet\.reserved: there is no formula 'ek'"):
        node.reserved({"cpu": 2}, "ek")


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
    table = node.node_table_of_hosts(context, ["h1", "h2"], {"h1": first, "h2": second})
    assert list(table["allow_effects"].values()) == found


def test_all_options_of_each_host() -> None:
    variables: Any = {"kubelet_config_drain": "always", "kubelet_config_forecast": "warn"}
    context: Any = {"inventory_hostname": "h1"}
    table = node.node_table_of_hosts(context, ["h1", "h2"], {"h1": {}, "h2": variables})
    assert table["drains"] == {"h1": "never", "h2": "always"}
    assert table["forecasts"] == {"h1": {"forecast": "refuse", "pods": 0}, "h2": {"forecast": "warn", "pods": 0}}


def test_their_defaults_are_those_of_the_roles() -> None:
    known = specs.known(specs.by_role())
    assert {name: known[name]["default"] for name in host_table.OF_THE_HOST} == host_table.OF_THE_HOST
    assert {*host_table.OF_THE_HOST} <= specs.OF_THE_HOST


def test_what_a_role_takes() -> None:
    """What the play gives goes first."""
    context: Any = {"edit_result": {"plan": {"nodes": {}}}}
    assert node.found_by(context, {}, "edit") == {"nodes": {}}
    assert node.found_by(context, {"text": []}, "edit") == {"text": []}
    assert node.found_by(context, {}, "dump") == {}


TABLE = {"variants": {"a": {"staticPodURLHeader": {"Authorization": ["Bearer 4711"]}}}}


def test_unsealed() -> None:
    assert node.unsealed(sealed.seal(TABLE)) == TABLE
    with pytest.raises(AnsibleFilterError, match="sealed by another run of Ansible"):
        node.unsealed(f"{sealed.MARK}Z0FBQUFB")


def test_a_message() -> None:
    assert node.node_message(["Node n1: late"], "n1") == "Node n1: late"


AWAY = {"failed": True, "state": "unreachable", "msg": "its host cannot be reached: no route."}
NO_HOST = "Node n1 was not {}: its host cannot be reached: no route. If the {} had begun, the guard reverts it"


def test_the_text_is_that_of_a_push() -> None:
    config = {"maxPods": 1, "clusterDomain": "b\u00fccher.example", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
    text = node.FilterModule().filters()["config_text"](config)
    assert text == push.document.render(config) and "b\u00fccher" in text


@pytest.mark.parametrize(
    ("reason", "assigned", "reverted", "expected"),
    [
        (AWAY["msg"], AWAY, {}, NO_HOST.format("switched", "switch")),
        (
            "x",
            {"reasons": ["maxPods is refused.", "another"], "restart_needed": False},
            # From an earlier switch of this host.
            {"changed": True, "error": "old"},
            "Node n1: maxPods is refused; another. Nothing was changed.",
        ),
        (
            "Node n1: installing the guard failed: disk full.",
            {"failed": True, "msg": "installing the guard failed: disk full."},
            # From an earlier switch of this host, which a rescue tries again.
            {"changed": True, "error": "old"},
            "Node n1 was not switched and keeps its configuration: installing the guard failed: disk full",
        ),
        (
            "it did not stay up",
            {"restart_needed": True, "reasons": []},
            {"changed": True, "error": "it did not stay up: invalid"},
            "Node n1 was reverted to its previous configuration: it did not stay up: invalid",
        ),
        (
            "it did not stay up",
            {"restart_needed": True, "reasons": []},
            {"changed": False, "error": "reverted by the guard"},
            "Node n1 was reverted to its previous configuration: reverted by the guard",
        ),
        (
            "cannot be confirmed",
            {"changed": True, "restart_needed": False, "reasons": []},
            {"changed": False, "error": ""},
            "Node n1 was not switched and keeps its configuration: cannot be confirmed",
        ),
        ("a", None, None, "Node n1 was not switched and keeps its configuration: a"),
    ],
    ids=["unreachable", "refused", "failed before", "reverted", "reverted by the guard", "only the guard", "no result"],
)
def test_why_a_node_was_not_switched(reason: str, assigned: t.Any, reverted: t.Any, expected: str) -> None:
    assert node.switch_failure(reason, "n1", "host-1", assigned, reverted) == expected


TRIAL = {"to": None, "failed": ""}


@pytest.mark.parametrize(
    ("reason", "reset", "reverted", "expected"),
    [
        (AWAY["msg"], AWAY, {}, NO_HOST.format("reset", "reset")),
        ("x", {"reasons": ["refused"]}, {}, "Node n1: refused. Nothing was changed."),
        (
            "host-1: updating failed: x",
            {"failed": True},
            {"changed": True},
            "Node n1 was not reset: updating failed: x",
        ),
        (
            "it did not stay up",
            {"reasons": [], "trial": TRIAL},
            {"changed": True, "error": "it did not stay up"},
            "Node n1 was not reset, and was reverted to its previous configuration: it did not stay up",
        ),
        (
            "cannot be confirmed",
            {"reasons": [], "trial": TRIAL},
            {"changed": False, "error": "it ended", "trial": {**TRIAL, "failed": "it ended"}},
            "Node n1 was not reset, and was reverted to its previous configuration: it ended",
        ),
        (
            "removing the guard failed: it did not start. The drop-in was restored.",
            {"reasons": [], "trial": TRIAL},
            {"changed": False, "error": "", "trial": None},
            "Node n1 was not reset: removing the guard failed: it did not start. The drop-in was restored",
        ),
        (
            "removing the guard failed: x",
            {"reasons": [], "trial": None},
            {"changed": True},
            "Node n1 was not reset: removing the guard failed: x",
        ),
    ],
    ids=["unreachable", "refused", "failed before", "reverted", "reverted by the guard", "confirmed", "no trial"],
)
def test_why_a_node_was_not_reset(reason: str, reset: t.Any, reverted: t.Any, expected: str) -> None:
    assert node.reset_failure(reason, "n1", "host-1", reset, reverted) == expected


GOES_ON = "The guard on the node continues the revert. If the Node does not become Ready, see "


@pytest.mark.parametrize(
    ("reason", "why", "reverted", "expected"),
    [
        (
            "kubelet.service: systemctl restart failed (Unit kubelet.service is masked.).",
            "kubelet.service: systemctl restart failed (Unit kubelet.service is masked.).",
            {"changed": True, "error": "it did not stay up"},
            "Node n1 does not run with its previous configuration: kubelet.service: systemctl restart failed (Unit "
            "kubelet.service is masked.). The reason for the revert: it did not stay up. ",
        ),
        (
            "/var/lib/kubelet-config has been in use by process 7 for 30 s: end it, then run again",
            "Node n1: it did not stay up.",
            {"failed": True},
            "Node n1 was not reverted: /var/lib/kubelet-config has been in use by process 7 for 30 s: end it, then run "
            "again. The reason for the revert: it did not stay up. ",
        ),
        ("a", "a", None, "Node n1 was not reverted: a. The guard "),
        ("", "", {}, "Node n1 was not reverted: the task that failed reported no reason. The guard "),
    ],
    ids=["restart", "lock", "evaluated late", "no result"],
)
def test_why_a_node_was_not_reverted(reason: str, why: str, reverted: t.Any, expected: str) -> None:
    message = node.revert_failure(reason, "n1", "host-1", why, reverted)
    assert message.startswith(expected) and GOES_ON in message
