# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an upgrade would stop: what is asked of a binary on the controller, and what is made of the answers."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster import upgrade_check
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.binary_facts import BinaryFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import ask_binary, binary
from tests.support.api.upgrading import SOCKET, answer, result
from tests.support.kubelets.table_minors import BEYOND


def test_the_result_for_programs_and_for_people() -> None:
    own = {"imagePullCredentialsVerificationPolicy": "NeverVerify"}
    hosts = {
        "n1": result("v1.34.1", "--pod-infra-container-image=pause:3.10", config=own),
        "n2": result("v1.34.1", config=own),
        "n3": {"unreachable": True, "msg": "no route"},
    }
    found = upgrade_check.compare({"hosts": hosts, "target_version": "v1.35.0"}, False)
    names = {"would_stop": ["n1"], "unknown": ["n3"], "changed": []}
    assert found["summary"] == {"target": "1.35", "nodes": 3, "ready": False, **names}
    assert found["nodes"]["n2"] == {"kubelet_version": "v1.34.1", "findings": []}
    assert found["text"][-1] == "upgrade to 1.35: 3 nodes, 1 would stop, 1 unknown, 0 would change"
    assert not found["changed"]


def test_a_version_that_is_none() -> None:
    with pytest.raises(ClusterError, match=r"kubelet_config_target_version is 1\.3,"):
        upgrade_check.compare({"hosts": {}, "target_version": "1.3"}, False)


PROGRAM = "/home/me/kubelet"
FLAGS = ["config", "container-runtime-endpoint", "max-pods", "static-pod-url-header"]


class Kubelet:
    """A binary of a minor that no table knows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[dict[str, t.Any]] = []
        self.names: set[str] = set()
        self.verdict = binary.Verdict("valid", [], [])
        monkeypatch.setattr(ask_binary, "ask", self.ask)
        monkeypatch.setattr(binary, "check", self.check)

    def ask(self, program: str, names: set[str], **where: t.Any) -> BinaryFacts:
        assert program == PROGRAM and where["cache"] == ""
        self.names = names
        has = {name: name != "maxPodz" for name in names if not name.startswith("featureGates.")}
        return BinaryFacts(f"v1.{BEYOND}.0", FLAGS, {"New": "b+=", "Gone": "x"}, has)

    def check(self, text: str, argv: t.Sequence[str], _program: str, **_where: t.Any) -> binary.Verdict:
        assert not argv
        self.texts.append(json.loads(text))
        return self.verdict


@pytest.fixture
def kubelet(monkeypatch: pytest.MonkeyPatch) -> Kubelet:
    return Kubelet(monkeypatch)


def nodes_of(**hosts: dict[str, t.Any]) -> dict[str, t.Any]:
    options = {"hosts": hosts, "target_version": f"1.{BEYOND}", "target_binary": PROGRAM}
    return upgrade_check.compare(options, False)


def test_nothing_is_unknown_of_a_version_that_no_table_has(kubelet: Kubelet) -> None:
    good = {"featureGates": {"New": True}, "newField": 1, "staticPodURLHeader": "********"}
    bad = {"featureGates": {"Gone": True}, "maxPodz": 5}
    found = nodes_of(
        n1=result("v1.36.2", SOCKET, "--max-pods=7", config=good),
        n2=result("v1.36.2", SOCKET, "--docker=x", "--no-such", config=bad),
    )
    first, second = (node["findings"] for node in found["nodes"].values())
    kinds = [row["kind"] for row in first]
    assert not {"flag", "gate", "field"} & {*kinds}
    known = [row for row in first if row["kind"] not in ("default", "runtime")]
    assert not [row for row in known if row["severity"] == "unknown"]
    rows = {(row["severity"], row["kind"], row["name"]) for row in second}
    assert rows >= {("stops", "flag", "--docker"), ("stops", "flag", "--no-such"), ("changes", "field", "maxPodz")}
    assert found["summary"]["unknown"] == []
    assert {"newField", "maxPodz", "featureGates.New", "failCgroupV1"} <= kubelet.names
    assert kubelet.texts[0]["maxPods"] == 7 and kubelet.texts[0]["failCgroupV1"] is False
    assert "staticPodURLHeader" not in kubelet.texts[0]


def test_what_it_refuses_stops_the_node(kubelet: Kubelet) -> None:
    kubelet.verdict = binary.Verdict("invalid", ["a new rule"], [])
    found = nodes_of(n1=result("v1.36.2", SOCKET))
    assert found["summary"]["would_stop"] == ["n1"]
    assert any("refuses: a new rule" in line for line in found["text"])


def test_equal_nodes_are_asked_about_once_and_others_stay_as_they_are(kubelet: Kubelet) -> None:
    asked = result("v1.36.2", target=answer(BEYOND))
    lost: dict[str, t.Any] = {"unreachable": True}
    odd = {**result("v1.36.2"), "words": "odd"}
    hosts = {"a": result("v1.36.2"), "b": result("v1.36.2"), "asked": asked, "lost": lost, "odd": odd, "none": None}
    found = upgrade_check.answered(hosts, PROGRAM, BEYOND)
    assert len(kubelet.texts) == 1
    assert found["a"]["target"]["version"] == f"v1.{BEYOND}.0" and found["b"]["target"]["verdict"] == "valid"
    assert [found[name] for name in ("asked", "lost", "odd", "none")] == [asked, lost, odd, None]


def test_a_binary_that_is_not_there() -> None:
    found = upgrade_check.answered({"n1": result("v1.36.2")}, "/none/kubelet", 36)["n1"]["target"]
    assert (found["version"], found["verdict"]) == (None, "not checked")
    assert found["messages"] == ["there is no kubelet binary /none/kubelet"]
