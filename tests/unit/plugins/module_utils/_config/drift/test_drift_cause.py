# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cause table: observations and the causes they lead to."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift import drift_cause
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift.drift_facts import Host, NodeFacts
from tests.support.objects import place, reference

A, B, LATER = reference("config-a"), reference("config-b"), reference("config-a", "8")
HOST = Host(file="/store/checkpoints/uid-config-a/7/kubelet", content={}, reference=("uid-config-a", "7"))
FACTS = NodeFacts(20, source=place(), assigned=A, active=A, pushed=A, host=HOST)
FLAG = {"maxPods": {"flag": "--max-pods=61", "file": "/etc/default/kubelet", "line": 3}}
D, P, S, F, L = drift_cause.STAGES
# What differs where: every stage before the one named has 1, that one and those after it have 2.
ROLLED: dict[str, Any] = {D: 1, P: 2, S: 2, F: 2, L: 2}
PUSHED: dict[str, Any] = {D: 1, P: 1, S: 2, F: 2, L: 2}
DISK: dict[str, Any] = {D: 1, P: 1, S: 1, F: 2, L: 2}
LIVE: dict[str, Any] = {D: 1, P: 1, S: 1, F: 1, L: 2}


def host(**given: Any) -> Host:
    return dataclasses.replace(HOST, **given)


TABLE: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("flag", LIVE, {"host": host(flags=FLAG)}, "--max-pods=61 (/etc/default/kubelet, line 3)"),
    ("flag", {P: 1, L: 2}, {"host": None, "flags": {"maxPods": "--max-pods=61"}}, "according to the inventory"),
    ("flag", {**DISK, L: 3}, {"host": host(flags=FLAG)}, "--max-pods"),
    ("edited file", {**DISK, L: 1}, {}, HOST.file),
    ("edited file", DISK, {"host": host(flags=FLAG, damage="does not match its digest")}, "does not match its digest"),
    (
        "drop-in",
        LIVE,
        {"host": host(dropins={"/d/10.conf": {"eventBurst": 1}, "/d/20.conf": {"maxPods": 2}})},
        "/d/20.conf",
    ),
    ("drop-in", LIVE, {"host": host(dropins={"/d/10.conf": None})}, "/d/10.conf"),
    (
        "drop-in",
        DISK,
        {"checkpoint": True, "host": host(reference=None, file="/other.yaml", given_by="/etc/x.conf, line 2")},
        "/other.yaml (/etc/x.conf, line 2)",
    ),
    ("not restarted", LIVE, {"host": host(outdated=True)}, "changed after the kubelet started"),
    ("not restarted", LIVE, {"active": B}, "config-b key kubelet active"),
    ("not restarted", PUSHED, {"assigned": B, "active": B}, "config-b key kubelet assigned"),
    ("unknown", LIVE, {}, "nothing on the node explains it"),
    (
        "unknown",
        {D: 1, P: 1, S: 1, L: 2},
        {"host": None, "host_missing": "not looked at on the node: unreachable"},
        "a flag (--max-pods) or a drop-in can override; not looked at on the node: unreachable",
    ),
    ("fell back", DISK, {"error": "failed to validate"}, "failed to validate"),
    (
        "fell back",
        {P: 1, S: 1, L: 2},
        {"error": "failed to load", "host": None, "active": B},
        "runs kube-system/config-b",
    ),
    ("fell back", PUSHED, {"error": "failed to load"}, "failed to load"),
    (
        "fell back",
        PUSHED,
        {"error": "failed to sync", "unsynced": True, "meaning": ", that is, it must not", "active": B},
        "config-a key kubelet and still runs kube-system/config-b key kubelet: `failed to sync`, that is, it must not",
    ),
    ("fell back", {D: 1, L: 2}, {"error": "failed to load"}, "failed to load"),
    ("configmap changed", PUSHED, {"pushed": LATER}, "has changed since the node read it"),
    ("configmap changed", {P: 1, L: 2}, {"pushed": LATER, "host": None}, "has changed since"),
    ("configmap changed", ROLLED, {"edited": True}, "does not match its content"),
    (
        "configmap gone",
        {D: 1, S: 2, F: 2, L: 2},
        {"fault": "there is no such ConfigMap", "pushed": None},
        "there is no such ConfigMap",
    ),
    ("configmap gone", {D: 1, L: 2}, {"fault": "it is empty", "recorded": "config-b", "pushed": None}, "it is empty"),
    ("foreign source", ROLLED, {"ours": False}, "which this collection did not create"),
    ("not rolled out", ROLLED, {}, "config-a key kubelet does not have what kubelet_config declares"),
    (
        "not rolled out",
        {D: 1, F: 2, L: 2},
        {"source": None, "assigned": None, "active": None, "pushed": None, "host": host(reference=None)},
        "the node runs its local config: no source is assigned to it",
    ),
    (
        "not rolled out",
        {D: 1, F: 2, L: 2},
        {**dict.fromkeys(("source", "assigned", "active", "pushed")), "recorded": "config-a"},
        "a rollout assigned the ConfigMap config-a to the node, and another user has removed that source",
    ),
    (
        "not restarted",
        {D: 1, F: 1, L: 2},
        {"source": None, "assigned": None, "active": None, "pushed": None, "host": host(outdated=True)},
        "kubelet started",
    ),
]


@pytest.mark.parametrize(("cause", "values", "facts", "text"), TABLE)
def test_a_field(cause: str, values: dict[str, Any], facts: dict[str, Any], text: str) -> None:
    found = drift_cause.of_field("maxPods", values, dataclasses.replace(FACTS, **facts))
    assert (found.cause, text in found.message) == (cause, True), found
    assert found.remedy.endswith(".") and not found.message.endswith(".")


@pytest.mark.parametrize(
    ("facts", "foreign"),
    [
        ({}, False),
        ({"recorded": "config-a"}, False),
        ({"recorded": "config-b"}, True),
        ({"ours": False}, True),
        ({"source": None, "recorded": "config-a"}, False),
    ],
)
def test_who_assigned_a_configmap_that_is_gone(facts: dict[str, Any], foreign: bool) -> None:
    """A rollout pushes what is declared. It cannot push the ConfigMap of another user."""
    given = dataclasses.replace(FACTS, fault="there is no such ConfigMap", **facts)
    assert given.foreign is foreign
    for cause in drift_cause.of_node(given):
        assert cause.remedy.startswith("Find out who assigned it. ") is foreign
        assert cause.remedy.endswith("Run the rollout, which pushes and assigns the declared configuration.")


@pytest.mark.parametrize(("own", "remedy"), [("110", "Run the rollout, which reverts it"), (None, "playbook reset")])
def test_a_value_that_is_no_longer_declared(own: str | None, remedy: str) -> None:
    found = drift_cause.of_undeclared(own)
    assert (found.cause, remedy in found.remedy) == ("no longer declared", True)
    assert (own or "not known") in found.message and found.remedy.endswith(".") and not found.message.endswith(".")


@pytest.mark.parametrize(
    ("path", "minor", "text"),
    [
        ("seccompDefault", 20, "since 1.22, the node's kubelet is 1.20"),
        ("logging.sanitization", 24, "until 1.23, the node's kubelet is 1.24"),
        ("logging.sanitization", 19, "since 1.20, the node's kubelet is 1.19"),
        ("dynamicKubeletConfigDir", 30, ""),
    ],
)
def test_a_field_of_another_version(path: str, minor: int, text: str) -> None:
    facts = dataclasses.replace(FACTS, minor=minor)
    found = drift_cause.of_field(path, {P: True, S: True, F: True, L: None}, facts)
    assert (found.cause == "other kubelet version") is bool(text) and text in found.message
    assert drift_cause.of_field(path, {D: True, P: None, L: None}, facts).cause == (
        "other kubelet version" if text else "not rolled out"
    )


@pytest.mark.parametrize(
    ("facts", "causes"),
    [
        ({}, []),
        ({"fault": "there is no such ConfigMap", "pushed": None}, ["configmap gone"]),
        ({"error": "failed to load"}, ["fell back"]),
        ({"error": "left over", "source": None, "assigned": None, "active": None, "pushed": None}, []),
        ({"edited": True}, ["configmap changed"]),
        ({"pushed": LATER}, ["configmap changed"]),
        ({"host": host(damage="no digest")}, ["edited file"]),
        ({"checkpoint": True, "host": host(reference=None)}, ["drop-in"]),
        ({"active": B}, ["not restarted"]),
        ({"assigned": B, "active": B}, ["not restarted"]),
        ({"host": host(other_command=True)}, ["not restarted"]),
        (
            {
                "source": None,
                "assigned": None,
                "active": None,
                "pushed": None,
                "ours": False,
                "host": host(reference=None),
            },
            [],
        ),
        ({"ours": False}, []),
    ],
)
def test_a_node_as_a_whole(facts: dict[str, Any], causes: list[str]) -> None:
    assert [cause.cause for cause in drift_cause.of_node(dataclasses.replace(FACTS, **facts))] == causes


def test_what_overrides_a_field_that_was_just_written() -> None:
    """Flags by their file. What a drop-in has is not known, so it may be the reason for all others."""
    kubelet: dict[str, Any] = {"shadowed": FLAG, "config_dir_files": []}
    flag = "maxPods: the flag --max-pods=61 (/etc/default/kubelet, line 3) overrides every configuration. Remove the"
    assert [text.startswith(flag) for text in drift_cause.of_override(["maxPods", "eventBurst"], kubelet)] == [True]
    kubelet["config_dir_files"] = ["/d/10.conf"]
    assert drift_cause.of_override(["maxPods", "eventBurst", "podsPerCore"], kubelet)[1:] == [
        "the drop-in /d/10.conf in --config-dir may override eventBurst, podsPerCore"
    ]
    assert len(drift_cause.of_override(["maxPods"], kubelet)) == 1
    kubelet = {"config_dir_files": ["/d/10.conf", "/d/20.conf"]}
    assert drift_cause.of_override(["maxPods"], kubelet) == [
        "the drop-ins /d/10.conf, /d/20.conf in --config-dir may override maxPods"
    ]
    assert drift_cause.of_override(["maxPods"], {"shadowed": ["maxPods"]}) == []
    assert drift_cause.of_override(["maxPods"], {}) == []
