# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import node_facts
from tests.support.objects import HEADER
from tests.support.upgrading import CHECKPOINT, ENV, OWN, facts_of, result


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (["kubelet", "--a=1", "--b_c", "2", "--d", "--e="], [("a", "1"), ("b-c", "2"), ("d", ""), ("e", "")]),
        (["kubelet", "-v=2", "plain", "--a", "--", "--b"], [("a", "")]),
        (["kubelet", "--a=b=c"], [("a", "b=c")]),
        ([], []),
    ],
)
def test_flags(words: list[str], flags: list[tuple[str, str]]) -> None:
    found = node_facts.flags([{"text": word, "file": "/f", "line": 3} for word in words])
    assert [(one.name, one.value) for one in found] == flags
    assert {one.where for one in found} <= {"/f, line 3"}
    assert [one.where for one in node_facts.flags([{"text": "--a", "file": None, "line": None}])] == [""]


def test_the_last_use_of_a_flag_counts() -> None:
    found = facts_of("v1.28.7", "--cloud-provider=aws", "--cloud-provider", "external").flag("cloud-provider")
    assert found == node_facts.SetFlag("cloud-provider", "external", f"{ENV}, line 1")
    assert facts_of("v1.28.7").flag("cloud-provider") is None


def test_drop_ins_and_flags_override_the_file() -> None:
    facts = facts_of(
        "v1.33.0",
        "--max-pods=61",
        "--feature-gates=A=true",
        config={"maxPods": 1, "podsPerCore": 2, "featureGates": {"A": False, "B": True}, "clusterDNS": ["1.1.1.1"]},
        dropins={"/d/1.conf": {"podsPerCore": 3, "clusterDNS": None}, "/d/2.conf": {"podsPerCore": 4}},
    )
    assert facts.merged(33) == {
        **HEADER,
        "maxPods": 61,
        "podsPerCore": 4,
        "featureGates": {"A": True, "B": True},
    }
    # A flag sets a field only in the versions in which it is the field's flag.
    socket = facts_of("v1.26.0", "--container-runtime-endpoint=unix:///s")
    assert "containerRuntimeEndpoint" not in socket.merged(26)
    assert socket.merged(27)["containerRuntimeEndpoint"] == "unix:///s"


GATES = {"featureGates": {"A": True, "B": True}, "logging": {"format": "json"}}


def test_places() -> None:
    facts = facts_of(
        "v1.33.0", "--max-pods=61", "--max-pods=62", config={"maxPods": 1}, dropins={"/d/1.conf": {"maxPods": None}}
    )
    assert facts.places("maxPods", 33) == f"{OWN}; /d/1.conf; flag --max-pods in {ENV}, line 1"
    assert facts.places("podsPerCore", 33) == ""
    with_line = facts_of("v1.33.0", config=GATES, lines={OWN: {"featureGates": 5, "featureGates.A": 7, "logging": 9}})
    assert [with_line.places(path, 33) for path in ("featureGates.A", "featureGates.B", "logging.format")] == [
        f"{OWN}, line {line}" for line in (7, 5, 9)
    ]
    placeless = dataclasses.replace(facts, flags=[node_facts.SetFlag("max-pods", "62", "")], files=[])
    assert placeless.places("maxPods", 33) == "flag --max-pods"
    # A flag of its own before 1.27.
    socket = facts_of("v1.26.0", "--container-runtime-endpoint=unix:///s")
    assert socket.places("containerRuntimeEndpoint", 26) == ""


def test_a_checkpoint_and_the_own_file() -> None:
    facts = facts_of("v1.33.0", config={"maxPods": 1}, own={"maxPods": 2})
    assert facts.checkpoint == CHECKPOINT and facts.own == node_facts.ReadFile(OWN, {**HEADER, "maxPods": 2})
    assert [one.path for one in facts.files] == [CHECKPOINT]
    # The kubelet's own checkpoints are not ours.
    native = facts_of("v1.20.2", dynamic="/d", own={})
    assert native.dynamic and not native.checkpoint


@pytest.mark.parametrize(
    ("config", "paths"),
    [
        (HEADER, []),
        ({"a": 1, "b": {"c": {}, "d": [1]}, "e": None}, [("a",), ("b", "c"), ("b", "d"), ("e",)]),
    ],
)
def test_leaves(config: dict[str, t.Any], paths: list[tuple[str, ...]]) -> None:
    assert list(node_facts.leaves(config)) == paths


def test_values_that_are_absent() -> None:
    config = {"a": {"b": None}}
    assert node_facts.has(config, ("a", "b")) and not node_facts.has(config, ("a", "c"))
    assert not node_facts.has(config, ("a", "b", "c"))


def test_a_node_without_a_config_file_has_flags_only() -> None:
    given = result("v1.33.0", "--max-pods=7")
    given["disk"].update(path=None, content=None, unreadable="the command line names no config file")
    facts = node_facts.read(given)
    assert facts.merged(33) == {"maxPods": 7}
    assert facts.unreadable == {} and facts.files == []


def test_what_is_not_known_is_empty() -> None:
    given = result("", runtime=None, runtime_version=None)
    given["kubelet"]["version"] = None
    facts = node_facts.read(given)
    assert (facts.version, facts.minor, facts.runtime, facts.runtime_version) == ("", None, "", "")


@pytest.mark.parametrize(("unreadable", "why"), [("not plain YAML", "not plain YAML"), (None, "it could not be read")])
def test_files_that_cannot_be_read_have_a_reason(unreadable: str | None, why: str) -> None:
    given = result("v1.33.0", dropins={"/d/1.conf": {}})
    given["disk"].update(content=None, unreadable=unreadable, dropins={"/d/1.conf": None})
    assert node_facts.read(given).unreadable == {OWN: why, "/d/1.conf": "it could not be read"}
