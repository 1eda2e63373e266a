# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which values of two hosts differ, and how the message names them."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import specs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.differing import Differing

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
