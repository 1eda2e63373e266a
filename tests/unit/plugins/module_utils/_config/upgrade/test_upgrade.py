# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What another minor version would stop or change."""

from __future__ import annotations

import itertools
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import node_facts, upgrade
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade.node_facts import Finding
from tests.support.api.upgrading import CHECKPOINT, ENV, OWN, SOCKET, found, result
from tests.support.kubelets.table_minors import BEYOND

ALONE = {"file": "/etc/kubernetes/manifests/etcd.yaml", "name": "etcd", "refers_to": ["Secret certs"]}
ALONE_GATE = "PreventStaticPodAPIReferences"
ALLOWED = {"featureGates": {ALONE_GATE: False}}
GRACEFUL = {"featureGates": {"GracefulNodeShutdown": False}}
AWARE = {"featureGates": {"HugepageAwareEviction": False}}
GONE_GATES = ("AnyVolumeDataSource", "RelaxedDNSSearchValidation", "SidecarContainers")
GONE_FLAGS = ("--boot-id-file=/etc/boot-id", "--storage-driver-db=cadvisor")
FACTOR = {"memoryThrottlingFactor": 0.9}


def in_words(given: dict[str, t.Any], target: int, *severities: str) -> list[str]:
    return [" ".join(one) for one in found(target, given, *severities)]


@pytest.mark.parametrize(
    ("given", "target", "stops"),
    [
        (result("v1.33.13"), 36, []),
        # Two gates that are on by default need this one from 1.35 on.
        (result("v1.34.1", config=GRACEFUL), 34, []),
        (result("v1.34.1", config=GRACEFUL), 35, ["gate GracefulNodeShutdown"] * 2),
        (result("v1.33.1", static_pods=[ALONE]), 33, []),
        (result("v1.33.1", static_pods=[ALONE]), 34, ["pod etcd"]),
        (result("v1.36.2", static_pods=[ALONE], config=ALLOWED), 36, []),
        # The gate is gone in 1.37, and stops the kubelet too.
        (result("v1.36.2", static_pods=[ALONE], config=ALLOWED), 37, [f"gate {ALONE_GATE}", "pod etcd"]),
    ],
)
def test_what_stops_a_kubelet(given: dict[str, t.Any], target: int, stops: list[str]) -> None:
    assert in_words(given, target, "stops", "unknown") == [f"stops {one}" for one in stops]


@pytest.mark.parametrize(
    ("given", "target", "changes"),
    [
        # What a file sets does not change.
        (result("v1.29.0", config={"evictionHard": {"memory.available": "1Gi"}}), 30, []),
        (result("v1.36.2", runtime_version="1.7.2"), 37, ["changes default memoryThrottlingFactor"]),
        (result("v1.36.2", config={"eventRecordQPS": 0, **FACTOR}), 37, ["changes value eventRecordQPS"]),
        (result("v1.36.2", config={"eventRecordQPS": 50, **FACTOR}), 37, []),
        (
            result("v1.36.2", "--event-qps=0", config=FACTOR, huge_pages=2**30),
            37,
            ["changes default memory.available", "changes value eventRecordQPS"],
        ),
        (result("v1.35.0", "--event-qps=0", huge_pages=2**30), 36, []),
        (result("v1.37.0", "--event-qps=0", huge_pages=2**30), 37, []),
        (result("v1.36.2", config={**FACTOR, **AWARE}, huge_pages=2**30), 37, []),
        (result("v1.34.0", own={}), 34, ["stays delivery checkpoint"]),
    ],
)
def test_what_changes_and_what_stays(given: dict[str, t.Any], target: int, changes: list[str]) -> None:
    assert in_words(given, target) == changes


def test_five_things_that_stop_1_37_each_with_file_and_line() -> None:
    """What 1.37 removed. What a later version knows is unknown, but the flags do not come back."""
    numbers = dict(zip(GONE_GATES, (12, 13, 14), strict=True))
    lines = {OWN: {f"featureGates.{name}": line for name, line in numbers.items()}}
    given = result("v1.36.2", *GONE_FLAGS, config={"featureGates": dict.fromkeys(GONE_GATES, True)}, lines=lines)
    rows = [row for row in upgrade.row(given, 37)["findings"] if row["severity"] == "stops"]
    where = {name: f"{OWN}, line {line}" for name, line in numbers.items()}
    where.update(dict.fromkeys(("--boot-id-file", "--storage-driver-db"), f"{ENV}, line 1"))
    assert {row["name"]: row["where"] for row in rows} == where and len(rows) == 5
    beyond = found(BEYOND, given, "stops", "unknown")
    assert ("unknown", "gate", "") in beyond and ("stops", "flag", "--boot-id-file") in beyond


def test_a_static_pod_that_cannot_be_read_is_unknown() -> None:
    given = result("v1.36.2", static_pods=[{**ALONE, "name": "", "refers_to": [], "unreadable": "line 2: a tab"}])
    assert found(37, given, "stops", "unknown") == [("unknown", "pod", "static pod")]


def test_each_finding_names_its_places_and_its_remedy() -> None:
    flags = ("--feature-gates=AppArmor=true", "--pod-infra-container-image=pause:3.9")
    gates = {"featureGates": {"AppArmor": True}}
    given = result("v1.28.7", *flags, config=gates, dropins={"/d/1.conf": gates})
    rows = upgrade.row(given, 36)
    assert rows["kubelet_version"] == "v1.28.7"
    gate, flag = (next(row for row in rows["findings"] if row["kind"] == kind) for kind in ("gate", "flag"))
    assert gate["where"] == f"{OWN}; /d/1.conf; flag --feature-gates in {ENV}, line 1"
    assert gate["message"] == "unrecognized feature gate: AppArmor"
    assert gate["remedy"] == "Remove it: 1.33 removed the gate, which was on by default before."
    assert (flag["name"], flag["where"]) == ("--pod-infra-container-image", f"{ENV}, line 1")
    assert "1.34 was the last version" in flag["message"] and ENV in flag["remedy"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"unreachable": True, "msg": "no route"}, "no route"),
        ({"failed": True, "msg": "The kubelet must be run by systemd."}, "The kubelet must be run by systemd"),
        # As a task with `failed_when: false` registers it.
        ({"failed": False, "msg": "no such unit"}, "no such unit"),
        (None, "there is no result"),
        (result("v1.36.1", words=5), "what it returned is malformed at words"),
        ({"kubelet": []}, "what it returned is malformed at kubelet"),
        (result("v1.36.1", target={"verdict": "invalid"}), "what it returned is malformed at target.binary"),
    ],
)
def test_a_node_that_was_not_examined_is_unknown(given: dict[str, t.Any] | None, why: str) -> None:
    row = upgrade.row(given, 36)
    assert row["kubelet_version"] is None
    (one,) = row["findings"]
    assert (one["severity"], one["kind"], one["name"]) == ("unknown", "version", "")
    assert one["message"].startswith(f"the node was not examined: {why}") and not one["message"].endswith(".")


def test_what_could_not_be_read_is_unknown() -> None:
    given = result("v1.36.1", dropins={"/d/1.conf": {}})
    given["disk"].update(content=None, unreadable="not plain YAML")
    given["disk"]["dropins"]["/d/2.conf"] = None
    assert found(36, given) == [("unknown", "version", "/d/2.conf"), ("unknown", "version", OWN)]
    bare = result("v1.36.1")
    bare.update(words=[], disk={"path": None, "content": None, "unreadable": "no file", "checkpoint": None})
    assert found(36, bare) == [("unknown", "version", "")]
    # Which runtime a kubelet uses is on its command line.
    for version, target in (("v1.23.0", 24), ("v1.25.0", 26)):
        silent = result(version, words=[])
        assert found(target, silent, "stops", "unknown") == [("unknown", "version", "")]
    nameless = result("", config={"maxPods": -1})
    assert found(36, nameless) == [("stops", "value", "maxPods"), ("unknown", "version", "")]


def test_what_is_known_without_a_checkpoint_that_cannot_be_read() -> None:
    given = result("v1.26.0", SOCKET, "--kube-api-qps=5", own={})
    given["disk"].update(content=None, unreadable="not plain YAML")
    kept = ("stays", "delivery", "checkpoint")
    assert found(27, given, "unknown", "stays") == [("unknown", "version", CHECKPOINT), kept]


def test_a_target_that_is_older_is_unknown() -> None:
    (row,) = upgrade.row(result("v1.36.2", config={"maxPods": -1}), 35)["findings"]
    assert (row["severity"], row["name"]) == ("unknown", "")
    assert row["message"] == "the kubelet is v1.36.2, newer than 1.35; nothing was compared"


@pytest.mark.parametrize(
    ("version", "minor"), [("1.36", 36), ("1.20", 20), ("v1.36.2", 36), (" 1.24.0+rke2r1 ", 24), (1.36, 36)]
)
def test_versions(version: t.Any, minor: int) -> None:
    assert upgrade.target_minor(version) == minor


@pytest.mark.parametrize("version", ["", "2.0", "latest", "1.19", 1.3])
def test_texts_that_are_no_version(version: t.Any) -> None:
    with pytest.raises(upgrade.UpgradeError, match="put it in quotes"):
        upgrade.target_minor(version)


STOP = Finding("stops", "gate", "A", "it is gone", "Remove it.", "/f")
CHANGE = Finding("changes", "default", "b", "1 -> 2", "Declare it.")
LOST = Finding("unknown", "version", "", "unreachable", "Run again.")


def node(*rows: Finding, version: str | None = "v1.28.7") -> dict[str, t.Any]:
    return {"kubelet_version": version, "findings": [row._asdict() for row in rows]}


def test_nodes_with_the_same_findings_stand_together() -> None:
    nodes = {f"n{number}": node(STOP, CHANGE) for number in range(40)}
    nodes.update(m1=node(), m2=node(CHANGE), m3=node(LOST, version=None), m4=node(STOP, LOST))
    assert upgrade.lines(nodes, 36) == [
        "40 nodes (n0, n1, n2, n3, n4 and 35 more) (v1.28.7):",
        "  stops: gate A (/f): it is gone. Remove it.",
        "  changes: default b: 1 -> 2. Declare it.",
        "1 node (m2) (v1.28.7):",
        "  changes: default b: 1 -> 2. Declare it.",
        "1 node (m3) (unknown version):",
        "  unknown: version: unreachable. Run again.",
        "1 node (m4) (v1.28.7):",
        "  stops: gate A (/f): it is gone. Remove it.",
        "  unknown: version: unreachable. Run again.",
        "upgrade to 1.36: 44 nodes, 41 would stop, 1 unknown, 41 would change",
    ]
    counts = upgrade.summary(nodes, 36)
    assert (counts["target"], counts["nodes"], counts["unknown"], counts["ready"]) == ("1.36", 44, ["m3"], False)
    assert "m4" in counts["would_stop"] and "m2" in counts["changed"]


def test_only_what_stops_and_what_is_unknown_prevents_an_upgrade() -> None:
    assert upgrade.summary({"n1": node(CHANGE), "n2": node()}, 36)["ready"]
    assert not upgrade.summary({"n1": node(LOST)}, 36)["ready"]


def test_a_target_beyond_the_tables_is_said_once() -> None:
    newest = fields.NEWEST_MINOR
    assert len(upgrade.lines({"n1": node()}, newest)) == 1
    text = upgrade.lines({"n1": node(), "n2": node()}, newest + 1)
    assert len(text) == 2 and f"The tables end with 1.{newest}" in text[0]


def test_what_stops_a_kubelet_comes_first_and_order_does_not_depend_on_input() -> None:
    ordered = itertools.product(node_facts.SEVERITIES, node_facts.KINDS, ("a", "b"))
    rows = [Finding(severity, kind, name, "why", "Do.") for severity, kind, name in ordered]
    shuffled = [*rows[1::2], *rows[::2]]
    assert sorted(shuffled, key=node_facts.order) == rows
