# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the binary of another version, and the node that has it, know already."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import binary_findings, node_facts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade.binary_findings import differences
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade.node_facts import Finding
from tests.support.api.objects import HEADER
from tests.support.api.upgrading import CHECKPOINT, ENV, OWN, answer, facts_of, found, result
from tests.support.kubelets import binary_corpus
from tests.support.kubelets.table_minors import BEYOND, NEWEST

ANSWER = {**answer(36), "version": "v1.36.2"}
PAUSE = "--pod-infra-container-image=pause:3.9"
PAUSED = ("stops", "flag", "--pod-infra-container-image")
GATE = {"featureGates": {"AppArmor": True}}
NODE_SWAP = {"featureGates": {"NodeSwap": True}}
SWAP, NO_SWAP = {"memorySwap": {"swapBehavior": "NoSwap"}}, ("changes", "field", "memorySwap")
# Its default changes on the way.
POLICY = {"imagePullCredentialsVerificationPolicy": "NeverVerify"}
SANITIZED = {"logging": {"sanitization": True}}
GATE_STOPS, GATE_CHANGES = ("stops", "gate", "AppArmor"), ("changes", "gate", "AppArmor")
IGNORED = ("changes", "field", "logging.sanitization")
UNRECOGNIZED = {"verdict": "invalid", "messages": ["unrecognized feature gate: AppArmor"]}


@pytest.mark.parametrize(
    ("answer", "flags", "config", "expected"),
    [
        ({}, (), {}, []),
        # What it accepts does not stop it, but for flags that do not reach it.
        ({}, (), GATE, [GATE_CHANGES]),
        ({}, ("--logtostderr",), GATE, [("stops", "flag", "--logtostderr"), GATE_CHANGES]),
        # What both name appears once.
        ({"refused_flags": ["pod-infra-container-image"]}, (PAUSE,), {}, [PAUSED]),
        # The binary names a flag as it was given.
        ({"refused_flags": ["pod_infra_container_image"]}, (PAUSE.replace("-i", "_i"),), {}, [PAUSED]),
        (UNRECOGNIZED, (), GATE, [GATE_STOPS]),
        # What only the binary names.
        ({"refused_flags": ["max-pods"]}, ("--max-pods=6",), {}, [("stops", "flag", "--max-pods")]),
        ({"verdict": "invalid", "messages": ["a"]}, (), GATE, [GATE_STOPS, ("stops", "binary", "/opt/kubelet")]),
        ({"unknown_fields": ["maxPods"]}, (), {}, [("changes", "field", "maxPods")]),
        # The tables name this field, as one that 1.24 ignores.
        ({"unknown_fields": ["logging.sanitization"]}, (), SANITIZED, [IGNORED]),
        ({"unknown_fields": ["logging"]}, (), SANITIZED, [IGNORED]),
        # No answer is no consent.
        ({"verdict": "not checked", "messages": ["no sandbox"]}, (), {}, [("unknown", "binary", "/opt/kubelet")]),
        ({"version": "v1.35.1"}, (), GATE, [GATE_STOPS, ("unknown", "binary", "/opt/kubelet")]),
    ],
)
def test_answers(answer: t.Any, flags: tuple[str, ...], config: t.Any, expected: t.Any) -> None:
    given = result("v1.33.0", *flags, config={**POLICY, **config}, target={**ANSWER, **answer})
    assert found(36, given) == expected


FACTS = {"version": "v1.36.2", "flags": ["config", "docker"], "gates": {}, "fields": {}}


@pytest.mark.parametrize(
    ("facts", "flags", "config", "expected"),
    [
        # Its own list of flags is right, whatever the tables have.
        ({}, ("--docker=x",), {}, []),
        ({}, ("--max-pods=5",), {}, [("stops", "flag", "--max-pods")]),
        ({"flags": []}, ("--max-pods=5", "--docker=x"), {}, [("stops", "flag", "--docker")]),
        ({"gates": {"AppArmor": "g+!"}}, (), GATE, []),
        ({"gates": {"AppArmor": "g-!"}}, (), GATE, [GATE_STOPS]),
        ({"gates": {"NodeSwap": "x"}}, (), NODE_SWAP, [("stops", "gate", "NodeSwap")]),
        ({"fields": {"maxPods": False}}, (), {"maxPods": 5}, [("changes", "field", "maxPods")]),
        ({"fields": dict.fromkeys(("memorySwap", "memorySwap.swapBehavior"), False)}, (), SWAP, [NO_SWAP]),
        ({"fields": {"logging.sanitization": True}}, (), SANITIZED, []),
        # The facts of another minor do not count, and its answer is unknown.
        ({"version": "v1.35.0", "gates": {"NodeSwap": "x"}}, (), NODE_SWAP, []),
    ],
)
def test_the_facts_of_the_binary_win(facts: t.Any, flags: tuple[str, ...], config: t.Any, expected: t.Any) -> None:
    answer = {**ANSWER, "verdict": "invalid", "facts": {**FACTS, **facts}}
    rows = found(36, result("v1.33.0", *flags, config={**POLICY, **config}, target=answer))
    assert [row for row in rows if row[1] != "binary"] == expected


def test_differences_from_the_tables_are_one_finding() -> None:
    facts = facts_of("v1.33.0", target={**ANSWER, "facts": {**FACTS, "gates": {"Mine": "a-", "NodeSwap": "b-"}}})
    (one,) = [row for row in binary_findings.weighed(facts, 36, []) if row.kind == "binary"]
    assert one.severity == "changes"
    assert "has the feature gate Mine that the tables do not give to 1.36; " in one.message
    assert "this kubelet has no flag --max-pods that the tables give to 1.36" in one.message


def test_a_finding_that_the_tables_are_not_sure_of_stops_if_the_binary_says_so() -> None:
    wrong = Finding("changes", "value", "maxPods", "maxPods is wrong", "Do.")
    rows = [wrong, Finding("changes", "default", "a", "b", "c")]
    answer = {**ANSWER, "verdict": "invalid", "messages": ["invalid configuration: maxPods is wrong"]}
    found_now = binary_findings.weighed(facts_of("v1.33.0", target=answer), 36, rows)
    assert [one.severity for one in found_now] == ["stops", "changes"], "it appears once"
    other = binary_findings.weighed(facts_of("v1.33.0", target={**answer, "version": "v1.35.1"}), 36, rows)
    assert [one.severity for one in other] == ["changes", "changes", "unknown"]


def test_a_flag_that_only_the_binary_refuses_has_its_place() -> None:
    facts = facts_of("v1.33.0", "--max_pods=6", target={**ANSWER, "refused_flags": ["max_pods", "v"]})
    known, short = binary_findings.weighed(facts, 36, [])
    assert (known.name, known.where) == ("--max-pods", f"{ENV}, line 1")
    assert known.message == "v1.36.2 does not know this flag and would not start"
    assert (short.name, short.where) == ("--v", ""), "no flag of the command line"


def test_the_words_about_cgroups_are_those_of_the_finding_of_the_host() -> None:
    """They do not name the field: what 1.36.2 printed for the own file of kubeadm 1.33 on a host with cgroup v1."""
    message = (
        "failed to validate kubelet configuration, error: kubelet is configured to not run on a host using cgroup v1. "
        "cgroup v1 support is unsupported and will be removed in a future release, path: &TypeMeta{Kind:,APIVersion:,}"
    )
    rows = [Finding("stops", "cgroup", "failCgroupV1", "why", "Do.")]
    facts = facts_of("v1.33.0", target={**ANSWER, "verdict": "invalid", "messages": [message]})
    assert binary_findings.weighed(facts, 36, rows) == rows


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"verdict": "not checked", "messages": ["a", "b"]}, "the binary did not check the configuration: a; b"),
        ({"version": "v1.35.1"}, "this binary is v1.35.1, not 1.36, so its answer does not count"),
        ({"verdict": "invalid", "messages": ["a new rule"]}, "v1.36.2 refuses: a new rule"),
        ({"unknown_fields": ["x"]}, "v1.36.2 does not know this field and ignores it"),
    ],
)
def test_what_is_said_of_an_answer(answer: dict[str, t.Any], message: str) -> None:
    (one,) = binary_findings.weighed(facts_of("v1.33.0", target={**ANSWER, **answer}), 36, [])
    assert one.message == message


def test_what_is_said_of_a_finding_that_the_binary_does_not_confirm() -> None:
    rows = [Finding("stops", "gate", "A", "why", "Do.")]
    (one,) = binary_findings.weighed(facts_of("v1.33.0", target=ANSWER), 36, rows)
    assert one.severity == "changes" and one.message.startswith("why. The target binary accepts it")
    # Without a binary nothing changes.
    assert binary_findings.weighed(facts_of("v1.33.0"), 36, rows) == rows


RECORDED = binary_corpus.recorded("v1.36.2")
OTHER_FLAGS = [name for name in RECORDED.flags if name != "max-pods"]
# 1.36.2 was built from the sources of a distribution.
OF_A_BUILD = {
    "v1.36.2": [
        f"this kubelet has the feature gate {name} that the tables do not give to 1.36"
        for name in ("MinimumKubeletVersion", "RouteExternalCertificate", "StoragePerformantSecurityPolicy")
    ]
}


@pytest.mark.parametrize("version", ["v1.20.2", *binary_corpus.WHOLE])
def test_whole_binaries_beside_the_tables(version: str) -> None:
    """All flags, gates and fields of the tables."""
    assert differences(binary_corpus.recorded(version)) == OF_A_BUILD.get(version, [])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"flags": OTHER_FLAGS}, "this kubelet has no flag --max-pods that the tables give to 1.36"),
        ({"flags": [*RECORDED.flags, "docker"]}, "this kubelet has the flag --docker that the tables end with 1.23"),
        ({"gates": {"NodeSwap": "x"}}, "this kubelet has no feature gate NodeSwap that the tables give to 1.36"),
        (
            {"gates": {"NodeSwap": "b-"}},
            "the feature gate NodeSwap is off by default in this kubelet, unlike in the tables of 1.36",
        ),
        ({"fields": {"maxPods": False}}, "this kubelet has no field maxPods that the tables give to 1.36"),
        ({"fields": {"mine": True}}, "this kubelet has the field mine that the tables do not give to 1.36"),
    ],
)
def test_each_difference(change: dict[str, t.Any], words: str) -> None:
    assert differences(RECORDED._replace(**{"gates": {}, "fields": {}, **change})) == [words]


@pytest.mark.parametrize("version", ["v1.19.3", f"v1.{BEYOND}.0", "what?"])
def test_outside_the_tables_nothing_differs(version: str) -> None:
    assert differences(RECORDED._replace(version=version)) == []


def test_gates_and_flags_that_were_not_asked_do_not_differ() -> None:
    assert differences(RECORDED._replace(flags=[], gates={"AllAlpha": "a+", "AllBeta": "x"}, fields={})) == []
    assert "max-pods" in fields.FLAGS


UNKNOWN_GATE = {"featureGates": {"NoSuchGate": True}}


@pytest.mark.parametrize(
    ("flags", "config", "kinds"),
    [
        ((), {}, ["flag"]),
        (("--max-pods=5",), {}, ["flag"]),
        ((), UNKNOWN_GATE, ["flag", "gate"]),
        (("--feature-gates=NoSuchGate=true",), {}, ["flag", "gate"]),
        ((), {"maxPodz": 5}, ["flag", "field"]),
        ((), {**UNKNOWN_GATE, "maxPods": 5}, ["flag", "gate", "field"]),
    ],
)
def test_what_was_not_asked_is_unknown(flags: tuple[str, ...], config: dict[str, t.Any], kinds: list[str]) -> None:
    facts = facts_of(f"v1.{NEWEST}.0", *flags, config=config)
    found = list(binary_findings.not_asked(facts, BEYOND))
    assert [(one.severity, one.kind) for one in found] == [("unknown", kind) for kind in kinds]
    assert all(f"1.{NEWEST}, and no binary of 1.{BEYOND} was asked" in one.message for one in found)
    assert all("kubelet_config_target_binary" in one.remedy for one in found)
    assert list(binary_findings.not_asked(facts, NEWEST)) == []
    answered = facts_of(f"v1.{NEWEST}.0", *flags, config=config, target=answer(BEYOND))
    assert list(binary_findings.not_asked(answered, BEYOND)) == []


def test_names_and_how_many() -> None:
    config = {"maxPods": 1, "kubeReserved": {"cpu": "1"}, "featureGates": {"B": True, "A": False}}
    facts = facts_of("v1.30.0", "--no_such=5", "--docker=x", config=config)
    flag, gate, field = binary_findings.not_asked(facts, BEYOND)
    assert flag.message.endswith("(--config, --no-such)"), "what an earlier version lost, stops the kubelet anyway"
    assert gate.message.endswith("(A, B)")
    assert field.message.endswith("(kubeReserved.cpu, maxPods)")
    many = dict.fromkeys(list(fields.children(""))[:20], "x")
    assert [*binary_findings.not_asked(facts_of("v1.30.0", config=many), BEYOND)][-1].message.endswith(" and 12 more)")


def test_a_node_that_sets_nothing_is_unknown_too() -> None:
    (found,) = binary_findings.not_asked(node_facts.UpgradeFacts(version="v1.30.0"), BEYOND)
    assert (found.severity, found.kind) == ("unknown", "version")


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
    config = {"maxPods": 1, "podsPerCore": 2, "featureGates": {"A": False, "B": True}, "clusterDNS": ["1.1.1.1"]}
    dropins = {"/d/1.conf": {"podsPerCore": 3, "clusterDNS": None}, "/d/2.conf": {"podsPerCore": 4}}
    facts = facts_of("v1.33.0", "--max-pods=61", "--feature-gates=A=true", config=config, dropins=dropins)
    assert facts.merged(33) == {**HEADER, "maxPods": 61, "podsPerCore": 4, "featureGates": {"A": True, "B": True}}
    # A flag sets a field only in the versions in which it is the field's flag.
    socket = facts_of("v1.26.0", "--container-runtime-endpoint=unix:///s")
    assert "containerRuntimeEndpoint" not in socket.merged(26)
    assert socket.merged(27)["containerRuntimeEndpoint"] == "unix:///s"


GATES = {"featureGates": {"A": True, "B": True}, "logging": {"format": "json"}}


def test_places() -> None:
    flags, dropins = ("--max-pods=61", "--max-pods=62"), {"/d/1.conf": {"maxPods": None}}
    facts = facts_of("v1.33.0", *flags, config={"maxPods": 1}, dropins=dropins)
    assert facts.places("maxPods", 33) == f"{OWN}; /d/1.conf; flag --max-pods in {ENV}, line 1"
    assert facts.places("podsPerCore", 33) == ""
    with_line = facts_of("v1.33.0", config=GATES, lines={OWN: {"featureGates": 5, "featureGates.A": 7, "logging": 9}})
    for path, line in (("featureGates.A", 7), ("featureGates.B", 5), ("logging.format", 9)):
        assert with_line.places(path, 33) == f"{OWN}, line {line}"
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


def test_values_that_are_absent() -> None:
    config = {"a": {"b": None}}
    assert node_facts.has(config, ("a", "b")) and not node_facts.has(config, ("a", "c"))
    assert not node_facts.has(config, ("a", "b", "c"))


def test_a_node_without_a_config_file_has_flags_only() -> None:
    given = result("v1.33.0", "--max-pods=7")
    given["disk"].update(path=None, content=None, unreadable="the command line names no config file")
    facts = node_facts.read(given)
    assert (facts.merged(33), facts.unreadable, facts.files) == ({"maxPods": 7}, {}, [])


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
