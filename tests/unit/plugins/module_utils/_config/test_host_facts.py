# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of hosts as the modules on nodes return them, and malformed ones."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import host_facts
from tests.support.api.upgrading import answer, result

FILE = "/var/lib/kubelet/config.yaml"
UPGRADE = result("v1.28.7", "--max-pods=61", config={"maxPods": 3}, own={"maxPods": 4}, dropins={"/d/1.conf": {}})
BINARY = {"version": "v1.36.2", "flags": ["a"], "gates": {"A": "b+"}, "fields": {"maxPods": True}}
UPGRADE["target"] = {**answer(36), "messages": ["m"], "refused_flags": ["a"], "facts": BINARY}
FACTS = {
    "kubelet": {
        "version": None,
        "local_config": FILE,
        "reason": "",
        "config_given_by": {"file": "/x", "line": 2},
        "shadowed": {'evictionHard["memory.available"]': {"flag": "--a", "file": None, "line": None}},
        "config_dir_files": ["/d/1.conf"],
        "facts": BINARY,
    },
    "disk": {**UPGRADE["disk"], "started": 1.5, "changed": 2},
    "own": [{"path": FILE, "content": {"maxPods": 3}}, {"path": "/d/1.conf", "content": None}],
}


def changed(facts: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return facts with another value at a path; `...` removes it."""
    found = copy.deepcopy(facts)
    *parents, last = path.split(".")
    inside: Any = found
    for parent in parents:
        inside = inside[int(parent)] if parent.isdigit() else inside[parent]
    if value is ...:
        del inside[last]
    else:
        inside[last] = value
    return found


def test_facts_as_the_modules_return_them() -> None:
    assert host_facts.of_preflight(FACTS) == host_facts.of_upgrade(UPGRADE) == ""
    assert host_facts.of_preflight({}) == host_facts.of_preflight({"kubelet": {}, "disk": None}) == ""
    assert host_facts.of_preflight({**FACTS, "skipped": False, "later": {1}}) == ""


@pytest.mark.parametrize(
    ("path", "value", "at"),
    [
        ("kubelet", [], "kubelet"),
        ("kubelet.version", 5, "kubelet.version"),
        ("kubelet.shadowed", ["maxPods"], "kubelet.shadowed"),
        ("kubelet.shadowed", {"two words": {"flag": "--a"}}, "kubelet.shadowed"),
        ("kubelet.shadowed", {"maxPods": {}}, "kubelet.shadowed"),
        ("kubelet.shadowed", {"maxPods": {"flag": "--a", "file": "/f"}}, "kubelet.shadowed"),
        ("kubelet.config_given_by", {"file": "/f"}, "kubelet.config_given_by"),
        ("kubelet.config_dir_files", [1], "kubelet.config_dir_files"),
        ("disk", "text", "disk"),
        ("disk.content", [], "disk.content"),
        ("disk.content", {"maxPods": float("nan")}, "disk.content"),
        ("disk.dropins", {"/d": 5}, "disk.dropins"),
        ("disk.checkpoint.uid", ..., "disk.checkpoint.uid"),
        ("disk.checkpoint.uid", None, "disk.checkpoint.uid"),
        ("disk.started", "now", "disk.started"),
        ("dropin", [True], "dropin"),
        ("dropin", {"link": 5}, "dropin.link"),
        ("dropin", {"link": "/d/x"}, "dropin.link"),
        ("own", {}, "own"),
        ("own", [5], "own"),
        ("own", [{"path": FILE}], "own.content"),
        ("own", [{"path": None, "content": None}], "own.path"),
    ],
)
def test_other_facts(path: str, value: Any, at: str) -> None:
    assert host_facts.of_preflight(changed(FACTS, path, value)) == at


@pytest.mark.parametrize(
    ("path", "value", "at"),
    [
        *((name, ..., name) for name in ("kubelet", "disk", "host", "words")),
        ("host.container_runtime", ..., "host.container_runtime"),
        ("words", [{"file": None}], "words"),
        ("words", [{"text": "--a", "file": "/f"}], "words"),
        ("own", [], "own"),
        ("target.binary", ..., "target.binary"),
        ("target.version", 5, "target.version"),
        ("target.verdict", ..., "target.verdict"),
        ("target.messages", [[]], "target.messages"),
        ("target.refused_flags", 5, "target.refused_flags"),
        ("target.unknown_fields", ..., "target.unknown_fields"),
    ],
)
def test_other_facts_before_an_upgrade(path: str, value: Any, at: str) -> None:
    assert host_facts.of_upgrade(changed(UPGRADE, path, value)) == at


@pytest.mark.parametrize("facts", [None, [], "text", 5])
def test_no_facts_at_all(facts: Any) -> None:
    assert host_facts.of_preflight(facts) == host_facts.of_upgrade(facts) == "the top level"


@pytest.mark.parametrize(
    ("facts", "minor", "known"),
    [
        (FACTS, 36, True),
        # The next start runs another binary.
        (FACTS, 35, False),
        ({"kubelet": {"facts": None}}, 36, False),
        ({"kubelet": {}}, 36, False),
        (changed(FACTS, "kubelet.facts.gates", {"A": ""}), 36, False),
        (changed(FACTS, "kubelet.facts.fields", {"maxPods": 1}), 36, False),
        (changed(FACTS, "kubelet.facts.flags", "a"), 36, False),
        ({"failed": True, "msg": "no systemd"}, 36, False),
        (None, 36, False),
    ],
)
def test_what_the_binary_of_a_node_said(facts: Any, minor: int, known: bool) -> None:
    found = host_facts.read(facts).binary_of(minor)
    assert (found is not None) is known
    assert not known or (found and found.version == "v1.36.2" and found.gates == {"A": "b+"})
