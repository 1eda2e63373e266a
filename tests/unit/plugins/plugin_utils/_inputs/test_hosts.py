# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of a run."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import specs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.hosts import (
    ANY,
    NAMED,
    Hosts,
    Run,
    asked,
    left_out,
)
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.inputs import Differing, in_words
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.rendered import UNKNOWN


def message(*hosts: tuple[t.Any, dict[str, t.Any]], reads: t.Callable[[str], bool] = lambda _name: True) -> str:
    """Return the message about hosts h1, h2, ... with these node names and variables; `reads`: those of a playbook."""
    found = Hosts(reads)
    for number, (name, given) in enumerate(hosts, 1):
        found.add(f"h{number}", name, given)
    return found.message()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("n1", "n2"), ""),
        ((None, None), ""),
        (("n1", "n1"), "hosts h1, h2 name the same node n1. Nothing was changed. Set a different"),
        # The name of a host is that of its node.
        ((None, "h1"), "hosts h1, h2 name the same node h1."),
        ((7, "7"), "hosts h1, h2 name the same node 7."),
        # A role renders them.
        ((UNKNOWN, UNKNOWN), ""),
    ],
)
def test_hosts_of_one_node(names: tuple[t.Any, ...], words: str) -> None:
    found = message(*((name, {}) for name in names))
    assert found.startswith(words) and bool(found) == bool(words)


CONFIGURATIONS = ("maxPods: 5", {"maxPods": 5}, {}, None, "{{ 'a: [' }}", ["{{ 'maxPods' }}"])
# The empty list: as of a survey with several choices and no answer.
NO_CONFIGURATIONS = ("", "maxPods: [", "just words", 5, True, 0, [], ["maxPods"])
FLAGS = ("--max-pods='61'", ["--max-pods=61", 5], None, "{{ '--max-pods=\\'' }}")
# Quotes without their end. The message names no flag: this one is a secret.
NO_FLAGS = ("--manifest-url-header='A:4711", ["--v=2", '--manifest-url-header="A:4711'])
PROFILES = ("cis-1.12", ["cis-1.12", "stig-v2r6"], [], "{{ ours }}")
NO_PROFILES = ("cis", ["cis-1.12", "cis"], {"cis-1.12": True})


@pytest.mark.parametrize(
    ("name", "right", "wrong", "words"),
    [
        ("kubelet_config", CONFIGURATIONS, NO_CONFIGURATIONS, "its value"),
        ("kubelet_config_host", CONFIGURATIONS, NO_CONFIGURATIONS, "its value"),
        ("kubelet_config_flags", FLAGS, NO_FLAGS, "the flags are no words"),
        ("kubelet_config_profile", PROFILES, NO_PROFILES, "its value"),
    ],
)
def test_values_of_hosts(name: str, right: tuple[t.Any, ...], wrong: tuple[t.Any, ...], words: str) -> None:
    for value in right:
        assert message((None, {name: value}), (None, {name: value})) == "", value
    for value in wrong:
        found = message((None, {name: value}), (None, {name: value}), (None, {}))
        assert found.startswith(f"{name} on h1, h2: {words}") and "4711" not in found, value


def test_what_only_another_playbook_reads_is_not_checked() -> None:
    given = {"kubelet_config": "maxPods: [", "kubelet_config_flags": "--max-pods='61"}
    assert message((None, given), reads=lambda _name: False) == ""


@pytest.mark.parametrize("name", ["files/kubelet.yml", "files/our kubelets.yaml", "kubelet.json"])
def test_the_name_of_a_file_is_no_configuration(name: str) -> None:
    found = message((None, {"kubelet_config": name}))
    assert found.endswith(f"To read the file, write {{{{ lookup('ansible.builtin.file', '{name}') }}}}")


@pytest.mark.parametrize("text", ["maxPods: [ a.yml", "our 'own' kubelet.yml", "the file\nkubelet.yml"])
def test_a_text_that_is_no_name_of_a_file(text: str) -> None:
    found = message((None, {"kubelet_config": text}))
    assert found and "lookup" not in found


ALL = ("n1", "n2")
WITHOUT = (
    "A run without hosts would take all nodes. Nothing was changed. Name them with -e kubelet_config_hosts, such as a "
    "group or all, or with --limit."
)
EMPTY = "kubelet_config_hosts is empty. Nothing was changed. Set it to a group or hosts of the inventory."
NONE = (
    "No host matches kubelet_config_hosts=a:b. Set it to a group or hosts of the inventory that represent nodes of the "
    "cluster."
)
OUTSIDE = (
    "No host of kubelet_config_hosts=a is in --limit n2. Nothing was changed. Name hosts that both have, or leave one "
    "of the two out."
)


@pytest.mark.parametrize(
    ("must", "run", "message"),
    [
        (ANY, Run(None, ALL, None, ALL, False), ""),
        (ANY, Run(["a"], ["n1"], None, ALL, True), ""),
        (ANY, Run(["a"], ALL, "n2", ["n2"], True), ""),
        (NAMED, Run(None, ALL, None, ALL, False), WITHOUT),
        (NAMED, Run(None, ALL, "n2", ["n2"], False), ""),
        (NAMED, Run(["all"], ALL, None, ALL, True), ""),
        (ANY, Run([""], [], None, ALL, True), EMPTY),
        (ANY, Run([], [], None, ALL, True), EMPTY),
        (NAMED, Run([" ", ""], [], None, ALL, True), EMPTY),
        (ANY, Run(["a", "b"], [], "n1", ["n1"], True), NONE),
        (ANY, Run(["a"], ["n1"], "n2", ["n2"], True), OUTSIDE),
        # A playbook for several groups names them, and --limit leaves this one out.
        (ANY, Run(["a"], ["n1"], "n2", ["n2"], False), ""),
        (ANY, Run(None, [], None, [], False), NONE.replace("a:b", "all")),
    ],
)
def test_hosts_that_a_run_refuses(must: str, run: Run, message: str) -> None:
    assert run.problem(must) == message


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"tags": ["all"], "skip_tags": []}, False),
        ({"tags": ["x"]}, True),
        ({"skip_tags": ["untagged"]}, True),
        ({"start_at_task": "Kubeadm"}, True),
        ({"start_at_task": ""}, True),
        ({"tags": ["untagged"]}, False),
        ({"tags": ["x"], "listtasks": True}, False),
    ],
)
def test_options_that_leave_out_tasks(options: dict[str, t.Any], refused: bool) -> None:
    assert ("leaves out tasks of this playbook" in left_out(options)) == refused


@pytest.mark.parametrize(
    ("given", "patterns"),
    [("a", ["a"]), (["a", "b:!c"], ["a", "b:!c"]), ([["a"], "b"], ["a", "b"]), ("", [""]), ([], [])],
)
def test_the_patterns_of_a_run(given: t.Any, patterns: list[str]) -> None:
    assert asked(given) == patterns


KNOWN = specs.known(specs.by_role())
GROUPS = {"all": ["n1", "n2", "n3"], "ungrouped": [], "a": ["n1", "n2"], "wide": ["n1", "n2", "x"], "b": ["n3"]}


def lines(name: str, *values: t.Any) -> list[str]:
    """Return the message about hosts n1, n2, ... with these values."""
    differing = Differing(KNOWN)
    for number, value in enumerate(values, 1):
        differing.add(f"n{number}", f"kubelet_config_{name}", value)
    return differing.message(GROUPS, [f"n{number}" for number in range(1, len(values) + 1)]).splitlines()


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("wait_timeout", 60, "60"),
        ("wait_timeout", 60, "60.0"),
        ("pause", True, "yes"),
        ("pause", False, "0"),
        ("max_unavailable", 1, "1"),
        ("serial", [1, "20%"], "1, 20%"),
        ("serial", None, ""),
        ("variant", None, ""),
        ("hosts", ["a", "b"], "a,b"),
        ("auth", {"host": "h", "context": "c"}, {"context": "c", "host": "h"}),
    ],
)
def test_values_that_the_roles_read_alike(name: str, one: t.Any, other: t.Any) -> None:
    assert lines(name, one, other) == []


@pytest.mark.parametrize(
    ("name", "one", "other", "words"),
    [
        ("wait_timeout", 60, 61, "60 on group a (n1, n2), 61 on group b (n3)"),
        ("pause", True, "no", 'true on group a (n1, n2), "no" on group b (n3)'),
        ("max_unavailable", "1", "1%", '"1" on group a (n1, n2), "1%" on group b (n3)'),
        ("serial", None, [1, 2], "unset on group a (n1, n2), [1, 2] on group b (n3)"),
    ],
)
def test_values_that_differ(name: str, one: t.Any, other: t.Any, words: str) -> None:
    assert lines(name, one, one, other)[1:] == [f"kubelet_config_{name} is {words}"]


def test_the_cluster_is_named_without_credentials() -> None:
    given = {"host": "https://u:hunter2@h", "api_key": "hunter2", "password": "hunter2"}
    found = lines("auth", given, {"kubeconfig": {"users": [{"user": {"token": "hunter2"}}]}}, None)
    assert found[1:] == [
        "n1: host https://********@h",
        "n2: kubeconfig as a mapping",
        "group b (n3): the cluster of the environment (kubelet_config_auth does not name any)",
    ]


def test_many_hosts_are_counted() -> None:
    assert lines("auth", *[{"context": "c"}] * 5, None)[1] == "n1, n2, n3 and 2 more: context c"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"host": "https://mine"}, "https://mine"),
        ({}, "https://environment"),
        ({"context": "c", "host": "h"}, ""),
        ("{{ later }}", "https://environment"),
    ],
)
def test_in_words(given: t.Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K8S_AUTH_HOST", "https://environment")
    assert in_words(given) == words
