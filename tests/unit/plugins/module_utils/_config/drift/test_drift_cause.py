# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cause of a difference, the facts that show it, and what explains it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import host_facts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift import differing, drift_cause
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift.drift_cause import NodeFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.host_facts import HostFacts
from tests.support.api.objects import place, reference

A, B, LATER = reference("config-a"), reference("config-b"), reference("config-a", "8")
HOST = HostFacts(file="/store/checkpoints/uid-config-a/7/kubelet", content={}, reference=("uid-config-a", "7"))
LOCAL = dict.fromkeys(("source", "assigned", "active", "pushed"))
FACTS = NodeFacts(20, source=place(), assigned=A, active=A, pushed=A, host=HOST)
FLAG = {"maxPods": {"flag": "--max-pods=61", "file": "/etc/default/kubelet", "line": 3}}
D, P, S, F, L = drift_cause.STAGES
# What differs where: every stage before the one named has 1, that one and those after it have 2.
ROLLED: dict[str, Any] = {D: 1, P: 2, S: 2, F: 2, L: 2}
PUSHED: dict[str, Any] = {D: 1, P: 1, S: 2, F: 2, L: 2}
DISK: dict[str, Any] = {D: 1, P: 1, S: 1, F: 2, L: 2}
LIVE: dict[str, Any] = {D: 1, P: 1, S: 1, F: 1, L: 2}
FROM_DISK: dict[str, Any] = {D: 1, F: 2, L: 2}
MEMORY, ANONYMOUS = 'evictionHard["memory.available"]', "authentication.anonymous.enabled"


def host(**given: Any) -> HostFacts:
    return dataclasses.replace(HOST, **given)


UNCHECKED = {"host": None, "host_missing": "not looked at"}
ELSEWHERE = {"checkpoint": True, "host": host(reference=None, file="/other.yaml", given_by="/etc/x.conf, line 2")}
UNSYNCED = {"error": "failed to sync", "unsynced": True, "meaning": ", that is, it must not", "active": B}
LOST = {"fault": "there is no such ConfigMap", "pushed": None}
RESIZED = {"resized": "memory 16Gi -> 32Gi"}
TABLE: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("flag", LIVE, {"host": host(flags=FLAG)}, "--max-pods=61 (/etc/default/kubelet, line 3)"),
    ("flag", {P: 1, L: 2}, {"host": None, "flags": {"maxPods": "--max-pods=61"}}, "according to the inventory"),
    ("flag", {**DISK, L: 3}, {"host": host(flags=FLAG)}, "--max-pods"),
    ("edited file", {**DISK, L: 1}, {}, HOST.file),
    ("edited file", DISK, {"host": host(flags=FLAG, damage="does not match its digest")}, "does not match its digest"),
    ("drop-in", LIVE, {"host": host(dropins={"/d/10.conf": {"a": 1}, "/d/20.conf": {"maxPods": 2}})}, "/d/20.conf"),
    ("drop-in", LIVE, {"host": host(dropins={"/d/10.conf": None})}, "/d/10.conf"),
    ("drop-in", DISK, ELSEWHERE, "/other.yaml (/etc/x.conf, line 2)"),
    ("not restarted", LIVE, {"host": host(outdated=True)}, "changed after the kubelet started"),
    ("not restarted", LIVE, {"active": B}, "config-b key kubelet active"),
    ("not restarted", PUSHED, {"assigned": B, "active": B}, "config-b key kubelet assigned"),
    ("unknown", LIVE, {}, "nothing on the node explains it"),
    ("unknown", {D: 1, P: 1, S: 1, L: 2}, UNCHECKED, "a flag (--max-pods) or a drop-in can override; not looked at"),
    ("fell back", DISK, {"error": "failed to validate"}, "failed to validate"),
    ("fell back", {P: 1, S: 1, L: 2}, {"error": "failed", "host": None, "active": B}, "runs kube-system/config-b"),
    ("fell back", PUSHED, {"error": "failed to load"}, "failed to load"),
    (
        "fell back",
        PUSHED,
        UNSYNCED,
        "config-a key kubelet and still runs kube-system/config-b key kubelet: `failed to sync`, that is, it must not",
    ),
    ("fell back", {D: 1, L: 2}, {"error": "failed to load"}, "failed to load"),
    ("configmap changed", PUSHED, {"pushed": LATER}, "has changed since the node read it"),
    ("configmap changed", {P: 1, L: 2}, {"pushed": LATER, "host": None}, "has changed since"),
    ("configmap changed", ROLLED, {"edited": True}, "does not match its content"),
    ("configmap gone", {D: 1, S: 2, F: 2, L: 2}, LOST, "there is no such ConfigMap"),
    ("configmap gone", {D: 1, L: 2}, {"fault": "it is empty", "recorded": "config-b", "pushed": None}, "it is empty"),
    ("foreign source", ROLLED, {"ours": False}, "config-a key kubelet, which this collection did not create"),
    (
        "capacity changed",
        ROLLED,
        RESIZED,
        "the machine changed since kube-system/config-a key kubelet was assigned (memory 16Gi -> 32Gi)",
    ),
    ("foreign source", ROLLED, {**RESIZED, "ours": False}, "did not create"),
    ("not rolled out", ROLLED, {}, "config-a key kubelet does not have what kubelet_config declares"),
    ("not rolled out", ROLLED, {"seeded": True}, "seed of the node is older than the group: its kube-system/config-a"),
    ("not rolled out", FROM_DISK, {**LOCAL, "host": host(reference=None)}, "its local config: no source is assigned"),
    (
        "not rolled out",
        FROM_DISK,
        {**LOCAL, "recorded": "config-a"},
        "a rollout assigned the ConfigMap config-a to the node, and another user has removed that source",
    ),
    ("not restarted", {**FROM_DISK, F: 1}, {**LOCAL, "host": host(outdated=True)}, "kubelet started"),
]


@pytest.mark.parametrize(
    ("content", "path", "cause"),
    [
        ({"evictionHard": {"nodefs.available": "5%"}}, MEMORY, "not restarted"),
        ({"evictionHard": {"memory.available": "5%"}}, MEMORY, "drop-in"),
        ({"evictionHard": None}, MEMORY, "drop-in"),
        ({"authentication": {"webhook": {"enabled": True}}}, ANONYMOUS, "not restarted"),
        ({"authentication": None}, ANONYMOUS, "drop-in"),
        ({"clusterDNS": ["10.0.0.1"]}, "clusterDNS", "drop-in"),
    ],
)
def test_a_drop_in_explains_only_what_it_sets(content: dict[str, Any], path: str, cause: str) -> None:
    """A kubelet merges it key by key."""
    facts = dataclasses.replace(FACTS, host=host(outdated=True, dropins={"/d/95.conf": content}))
    assert drift_cause.of_field(path, LIVE, facts).cause == cause


@pytest.mark.parametrize(("cause", "values", "facts", "text"), TABLE)
def test_a_field(cause: str, values: dict[str, Any], facts: dict[str, Any], text: str) -> None:
    found = drift_cause.of_field("maxPods", values, dataclasses.replace(FACTS, **facts))
    assert (found.cause, text in found.message) == (cause, True), found
    assert found.remedy.endswith(".") and not found.message.endswith(".")


def test_the_size_of_a_machine_does_not_explain_every_field() -> None:
    facts = dataclasses.replace(FACTS, **RESIZED)
    assert drift_cause.of_field("kubeReserved.memory", ROLLED, facts).cause == "capacity changed"
    assert drift_cause.of_field("registryPullQPS", ROLLED, facts).cause == "not rolled out"


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
    """A rollout pushes what it assigns: not the ConfigMap of another user, nor that of a node which does not change."""
    given = dataclasses.replace(FACTS, fault="there is no such ConfigMap", **facts)
    assert given.foreign is foreign
    for cause in drift_cause.of_node(given):
        assert cause.remedy.startswith("Find out who assigned it. ") is foreign
        assert "Run the rollout, which pushes and assigns the declared configuration." in cause.remedy
        assert cause.remedy.endswith("If the node has that already, run the playbook reset for it first.")


@pytest.mark.parametrize(
    ("own", "dropin", "remedy"),
    [
        ("110", False, "Run the rollout, which reverts it"),
        (None, False, "playbook reset"),
        # A secret: the plan of a drop-in reverts to the node's own file without knowing what it has.
        (None, True, "Run the rollout, which reverts it"),
    ],
)
def test_a_value_that_is_no_longer_declared(own: str | None, dropin: bool, remedy: str) -> None:
    found = drift_cause.of_undeclared(own, dropin)
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
    found = drift_cause.of_field(path, {D: True, P: None, L: None}, facts)
    assert found.cause == ("other kubelet version" if text else "not rolled out")


@pytest.mark.parametrize(
    ("facts", "causes"),
    [
        ({}, []),
        (LOST, ["configmap gone"]),
        ({"error": "failed to load"}, ["fell back"]),
        ({"error": "left over", **LOCAL}, []),
        ({"edited": True}, ["configmap changed"]),
        ({"pushed": LATER}, ["configmap changed"]),
        ({"pushed": LATER, "checkpoint": True}, []),
        ({"pushed": LATER, "dropin": True}, []),
        ({"pushed": LATER, "checkpoint": True, "edited": True}, ["configmap changed"]),
        ({"pushed": LATER, "checkpoint": True, "ours": False}, ["configmap changed"]),
        ({"host": host(damage="no digest")}, ["edited file"]),
        ({"checkpoint": True, "host": host(reference=None)}, ["drop-in"]),
        ({"active": B}, ["not restarted"]),
        ({"assigned": B, "active": B}, ["not restarted"]),
        ({"host": host(other_command=True)}, ["not restarted"]),
        ({**LOCAL, "ours": False, "host": host(reference=None)}, []),
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
    found = drift_cause.of_override(["maxPods", "eventBurst", "podsPerCore"], kubelet)[1:]
    assert found == ["the drop-in /d/10.conf in --config-dir may override eventBurst, podsPerCore"]
    assert len(drift_cause.of_override(["maxPods"], kubelet)) == 1
    found = drift_cause.of_override(["maxPods"], {"config_dir_files": ["/d/10.conf", "/d/20.conf"]})
    assert found == ["the drop-ins /d/10.conf, /d/20.conf in --config-dir may override maxPods"]
    for nothing in ({"shadowed": ["maxPods"]}, {}):
        assert drift_cause.of_override(["maxPods"], nothing) == []


OURS = "/etc/kubernetes/kubelet.conf.d/90-livenodes-kubelet.conf"
FILE, EARLY, LATE = "/var/lib/kubelet/config.yaml", "/d/10-a.conf", "/d/99-z.conf"


def test_what_was_seen_on_a_node() -> None:
    given = {"file": "/etc/x.conf", "line": 2}
    kubelet = {"shadowed": FLAG, "changes_at_restart": True, "config_given_by": given, "reason": ""}
    checkpoint = {"uid": "u", "resourceVersion": "7", "damage": "no"}
    disk = {"path": "/f", "content": {"a": 1}, "unreadable": None, "checkpoint": checkpoint, "dropins": {"/d": {}}}
    disk.update(changed=20.5, started=20.4)
    assert host_facts.read({"kubelet": kubelet, "disk": disk}) == HostFacts(
        "/f", {"a": 1}, ("u", "7"), "no", True, True, FLAG, {"/d": {}}, "/etc/x.conf, line 2"
    )
    assert host_facts.read({"kubelet": {"reason": "refused"}}) == HostFacts(given_by="refused")
    assert host_facts.read({"kubelet": {}}) == HostFacts()
    assert not host_facts.read({"kubelet": {}, "disk": {**disk, "changed": 20.3}}).outdated
    assert not host_facts.read({"kubelet": {}, "disk": {**disk, "started": None}}).outdated


@pytest.mark.parametrize(
    ("names", "file", "later"),
    [
        (["/d/10-a.conf", OURS, "/d/95-b.conf"], OURS, ["/d/95-b.conf"]),
        ([OURS], OURS, []),
        # Without ours, any of them may explain a difference.
        (["/d/10-a.conf"], "", ["/d/10-a.conf"]),
        ([], "", []),
    ],
)
def test_our_drop_in_and_those_after_it(names: list[str], file: str, later: list[str]) -> None:
    dropins = {name: {"maxPods": position} for position, name in enumerate(names)}
    found = drift_cause.with_dropin(HostFacts(file=FILE, content={"maxPods": 1}, dropins=dropins))
    assert (found.file, found.content, list(found.dropins)) == (file, dropins.get(file), later)


@pytest.mark.parametrize(("file", "active", "strayed"), [("", True, True), (OURS, True, False), ("", False, False)])
def test_a_kubelet_that_does_not_read_our_drop_in(file: str, active: bool, strayed: bool) -> None:
    found = NodeFacts(36, dropin=True, active=reference() if active else None, host=HostFacts(file=file))
    assert found.strayed is strayed


HEADER = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}


def _facts(base: Any, *, early: Any = None, late: Any = None, **flags: str) -> dict[str, Any]:
    rows = [{"path": FILE, "content": base}]
    rows += [{"path": EARLY, "content": {**HEADER, **early}}] if early is not None else []
    rows += [{"path": LATE, "content": {**HEADER, **late}}] if late is not None else []
    uses = {path: {"flag": flag, "file": None, "line": None} for path, flag in flags.items()}
    return {"own": rows, "kubelet": {"local_config": FILE, "shadowed": uses}}


def _run_with(base: Any, *words: str) -> dict[str, Any]:
    facts = _facts(base)
    return {**facts, "kubelet": {**facts["kubelet"], "command": ["kubelet", *words]}}


NODEFS = 'evictionHard["nodefs.available"]'
THRESHOLD = {"evictionHard": {"memory.available": "1Gi"}}
MERGES = {"mergeDefaultEvictionSettings": True, **THRESHOLD}


@pytest.mark.parametrize(
    ("facts", "declared", "path", "live", "words"),
    [
        (_facts({"maxPods": 70}), {}, "maxPods", 70, f"{FILE} changed"),
        (_facts({"maxPods": 70}), {}, "maxPods", 71, ""),
        (_facts({}), {}, "maxPods", 110, "leaves it to the kubelet's default"),
        (_facts({}), {}, "maxPods", 70, ""),
        (_facts({"maxPods": 70}, early={"maxPods": 71}), {}, "maxPods", 71, f"{EARLY} changed"),
        (_facts({"maxPods": 70}, late={"maxPods": 72}), {}, "maxPods", 72, f"{LATE} changed"),
        (_facts({"maxPods": 70}, late={"maxPods": 72}), {}, "maxPods", 70, ""),
        (_facts({"clusterDNS": ["10.0.0.1"]}), {}, "clusterDNS", ["10.0.0.1"], f"{FILE} changed"),
        (_facts({}), {}, "clusterDNS", None, "leaves it"),
        (_facts({}), {}, "clusterDNS", ["10.0.0.1"], ""),
        (_facts({}, maxPods="--max-pods=61"), {}, "maxPods", 61, "the flag --max-pods=61"),
        # One key of a map, and a key that the file no longer has.
        (_facts(THRESHOLD), {}, MEMORY, "1Gi", FILE),
        (_facts(THRESHOLD), {}, NODEFS, None, FILE),
        (_facts(THRESHOLD), {}, NODEFS, "1%", ""),
        # A drop-in removes a threshold that was merged into the file before.
        (_facts(MERGES, early={"evictionHard": {"nodefs.available": None}}), {}, NODEFS, None, EARLY),
        # A default that follows another field is filled in before the drop-ins are laid over the file.
        (_facts({"nodeStatusUpdateFrequency": "20s"}), {}, "nodeStatusReportFrequency", "20s", "default"),
        (_facts({}), {"nodeStatusUpdateFrequency": "20s"}, "nodeStatusReportFrequency", "20s", ""),
        # What the kubelet computes.
        (_facts({}), {"reservedSystemCPUs": "0"}, "systemReserved.cpu", "1", "sets it itself"),
        (_facts({"cgroupDriver": "cgroupfs"}), {}, "cgroupDriver", "systemd", "sets it itself"),
        (_facts({}), {}, "tlsCertFile", "/var/lib/kubelet/pki/kubelet.crt", "sets it itself"),
        (_facts({}), {}, "notAField", "x", "default there is not known"),
        # A hidden secret, and a file that cannot be read.
        (_facts({"staticPodURLHeader": {"a": ["********"]}}), {}, "staticPodURLHeader.a", ["x"], "has a secret there"),
        (_facts(None), {}, "maxPods", 7, "is not known"),
        ({**_facts({"maxPods": 7}), "kubelet": []}, {}, "maxPods", 7, "is not known"),
        (_facts(["maxPods"]), {}, "maxPods", 7, "is not known"),
        ({}, {}, "maxPods", 7, "is not known"),
    ],
)
def test_what_explains_a_change(facts: Any, declared: Any, path: str, live: Any, words: str) -> None:
    found = differing.Inspected(host_facts.read(facts)).causes({path: live}, declared, 36)[path]
    assert words in found and bool(found) == bool(words), found


def test_a_drop_in_in_a_folder_below_comes_where_the_kubelet_reads_it() -> None:
    facts = _facts({}, early={"maxPods": 71}, late={"maxPods": 72})
    facts["own"].append({"path": "/d/99-zz/10.conf", "content": {**HEADER, "maxPods": 73}})
    found = differing.Inspected(host_facts.read(facts)).causes({"maxPods": 73}, {}, 36)
    assert found == {"maxPods": "/d/99-zz/10.conf changed"}


EMPTY_LIST = {"enforceNodeAllocatable": []}


@pytest.mark.parametrize(
    ("facts", "source", "path", "wins"),
    [
        (_facts({}, maxPods="--max-pods=61"), {"maxPods": 70}, "maxPods", True),
        (_facts({}, early={"maxPods": 61}), {"maxPods": 70}, "maxPods", True),
        (_facts({}, early={"kubeAPIQPS": 61}), {"maxPods": 70}, "maxPods", False),
        (_facts({}), {"maxPods": 70}, "maxPods", False),
        (_facts({}, early={}), EMPTY_LIST, "enforceNodeAllocatable", True),
        (_facts({}), EMPTY_LIST, "enforceNodeAllocatable", False),
        # An empty folder.
        (_run_with({}, "--config-dir=/d"), EMPTY_LIST, "enforceNodeAllocatable", True),
        (_run_with({}, "--config-dir", "/d"), EMPTY_LIST, "enforceNodeAllocatable", True),
        (_run_with({}, "--config_dir=/d"), EMPTY_LIST, "enforceNodeAllocatable", True),
        (_run_with({}, "--config-dir="), EMPTY_LIST, "enforceNodeAllocatable", False),
        (_run_with({}, "--config-dir=/d", "--config-dir="), EMPTY_LIST, "enforceNodeAllocatable", False),
        (_facts({}), {"cgroupDriver": "cgroupfs"}, "cgroupDriver", True),
        (_facts({}), {"reservedSystemCPUs": "0", "kubeReserved": {"cpu": "1"}}, "kubeReserved.cpu", True),
        (_facts({}), {"kubeReserved": {"cpu": "1"}}, "kubeReserved.cpu", False),
    ],
)
def test_what_wins_over_a_whole_configuration(facts: Any, source: Any, path: str, wins: bool) -> None:
    assert differing.Inspected(host_facts.read(facts)).overrides(path, source, 29) == wins
