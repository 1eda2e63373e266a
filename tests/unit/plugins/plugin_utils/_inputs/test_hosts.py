# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts of one node, and texts that are not a configuration, are named before a role reads them."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.hosts import Hosts
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.rendered import UNKNOWN


def message(*hosts: tuple[t.Any, dict[str, t.Any]]) -> str:
    """Return the message about hosts h1, h2, ... with these node names and variables."""
    found = Hosts()
    for number, (name, given) in enumerate(hosts, 1):
        found.add(f"h{number}", name, given)
    return found.message()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("n1", "n2"), ""),
        ((None, None), ""),
        (
            ("n1", "n1"),
            "hosts h1, h2 name the same node n1. Nothing was changed. Set a different kubelet_config_node_n",
        ),
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


@pytest.mark.parametrize("name", ["kubelet_config", "kubelet_config_host"])
@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("maxPods: 5", False),
        ("", False),
        ({"maxPods": 5}, False),
        (None, False),
        ("{{ 'a: [' }}", False),
        ("maxPods: [", True),
        ("just words", True),
        (5, True),
        (True, True),
        (0, False),
    ],
)
def test_a_text_that_is_no_configuration(name: str, value: t.Any, wrong: bool) -> None:
    found = message((None, {name: value}), (None, {name: value}))
    assert found.startswith(f"{name} on h1, h2: its value") if wrong else found == ""
